-- API tokens: secrets that scripts send. A token acts for its owner, with all of the owner's permissions or with some
-- of them.
create table api_tokens (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  name text collate display_order not null,
  token_hash bytea not null,
  is_scoped boolean not null,
  scopes text[] not null default '{}',
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_by_user_id uuid not null references users on delete cascade,
  created_by_token_id uuid references api_tokens on delete set null,
  created_at timestamptz not null default now(),
  constraint api_tokens_token_hash_key unique (token_hash),
  constraint api_tokens_name_check check (is_label(name, 100)),
  constraint api_tokens_scopes_check check (is_scoped or scopes = '{}')
);
create index api_tokens_user_id_idx on api_tokens (user_id, created_at desc);
create index api_tokens_created_by_user_id_idx on api_tokens (created_by_user_id);
create index api_tokens_created_by_token_id_idx on api_tokens (created_by_token_id);
create index api_tokens_expires_at_idx on api_tokens (expires_at);
comment on table api_tokens is '@read users.update
@root off
@audit ApiToken id except last_used_at
@auditReads
@defaultOrder created_at desc, id desc
A secret that a script sends instead of a login. It acts for its owner: with all of the owner''s permissions, or with those that its scopes name.';
comment on column api_tokens.user_id is 'The owner: whom the token acts for.';
comment on column api_tokens.name is 'What the token is for.';
comment on column api_tokens.token_hash is '@secret
SHA-256 of the token.';
comment on column api_tokens.is_scoped is
  'Whether the token is narrowed to its scopes. A scoped token stays scoped, even when its permissions are deleted.';
comment on column api_tokens.scopes is
  'The permission keys that the token is narrowed to; an empty list means unlimited: all that its owner holds.';
comment on column api_tokens.expires_at is 'The token works until then.';
comment on column api_tokens.last_used_at is 'When the token was last used, to the minute; null when it never was.';
comment on column api_tokens.revoked_at is
  'When the token was revoked, by hand or by its owner''s deactivation; null while it was not.';
comment on column api_tokens.created_by_user_id is 'Who made the token.';
comment on column api_tokens.created_by_token_id is
  'The API token that the token was made with; null when it was made in a session.';
comment on constraint api_tokens_name_check on api_tokens is
  'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint api_tokens_scopes_check on api_tokens is 'must be empty for a token without limits';
