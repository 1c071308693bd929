-- Logging in through OpenID Connect: who is who at which provider, and what lives for the minutes that a login takes.
create table user_identities (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  issuer text not null,
  subject text not null,
  email text not null,
  created_at timestamptz not null default now(),
  constraint user_identities_issuer_subject_key unique (issuer, subject),
  constraint user_identities_user_id_issuer_key unique (user_id, issuer)
);
comment on table user_identities is '@internal
@audit UserIdentity
Who a user is at an identity provider. A person is matched once by e-mail address and from then on by this.';
comment on column user_identities.issuer is 'The provider, as it names itself.';
comment on column user_identities.subject is 'The person, as the provider names them: never given to anyone else.';
comment on column user_identities.email is 'The verified address by which the person was matched.';

create table login_attempts (
  state_hash bytea primary key,
  browser_hash bytea not null,
  provider text not null,
  nonce text not null,
  pkce_verifier text not null,
  return_to text not null,
  challenge text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index login_attempts_expires_at_idx on login_attempts (expires_at);
comment on table login_attempts is '@internal
@audit off because it lives for minutes, and what comes of it is recorded
A login that was sent to its provider and has not come back.';
comment on column login_attempts.state_hash is '@secret
SHA-256 of the state that the provider hands back; it can be used once.';
comment on column login_attempts.browser_hash is '@secret
SHA-256 of the cookie of the browser that began.';
comment on column login_attempts.nonce is '@secret
What the identity token must repeat.';
comment on column login_attempts.pkce_verifier is '@secret
What proves to the provider that the one who began asks for the tokens.';
comment on column login_attempts.return_to is 'The allow-listed address of the front end.';
comment on column login_attempts.challenge is 'SHA-256 (base64url) of what the front end keeps for itself, when it gave one.';

create table login_codes (
  code_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  provider text not null,
  return_to text not null,
  challenge text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index login_codes_user_id_idx on login_codes (user_id);
create index login_codes_expires_at_idx on login_codes (expires_at);
comment on table login_codes is '@internal
@audit off because it lives for a minute, and the session that it opens is recorded
What a browser carries to the front end after a login, to be exchanged once for a session.';
comment on column login_codes.code_hash is '@secret
SHA-256 of the code.';
comment on column login_codes.return_to is 'The address that the code was sent to; the exchange must name it.';
comment on column login_codes.challenge is 'SHA-256 (base64url) of what the exchange must show, when the login began with one.';
