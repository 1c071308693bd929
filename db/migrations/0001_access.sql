-- Users, roles, permissions, sessions and API tokens; the settings of the office.

-- The rule for names that people read. `normalize_name`, `name_key`, `search_text`, `words_text` and the collation
-- `display_order` are shared by all schemas: db/prepare.sql creates them.
-- lint: allow function-in-migration because check constraints of the tables call it
create function is_label(value text, max_length integer) returns boolean as $$
  select value = btrim(value, E' \t\r\n\u00a0\u3000')
    and char_length(value) between 1 and max_length
    and value !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]'
$$ language sql immutable parallel safe;
comment on function is_label is
  'Whether a text is a valid name: not blank, not too long, no spaces at its ends, no invisible or direction-changing characters.';
grant execute on function is_label to office_api;

-- lint: allow function-in-migration because check constraints of the tables call it
create function is_time_zone(value text) returns boolean as $$
begin
  -- PostgreSQL also accepts zones that are made up of a name and an offset; none of them matches.
  if value !~ '^(UTC|[A-Z][A-Za-z_]+(/[A-Z][A-Za-z_-]+){1,2})$' then
    return false;
  end if;
  perform timestamptz 'epoch' at time zone value;
  return true;
exception when invalid_parameter_value then
  return false;
end;
$$ language plpgsql immutable;
comment on function is_time_zone is 'Whether a text is the name of a time zone, such as Europe/Copenhagen.';

-- lint: allow function-in-migration because check constraints of the tables call it
create function is_locale(value text) returns boolean language sql immutable strict
begin atomic
  -- PostgreSQL has a collation for each locale of ICU, whose locales are those of the programs that format texts.
  select value ~ '^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$'
    and exists (select from pg_catalog.pg_collation c where c.collname = value || '-x-icu');
end;
comment on function is_locale is 'Whether a text is the name of a locale, such as da-DK.';
grant execute on function is_time_zone, is_locale to office_api;

create table office_settings (
  id uuid primary key default uuidv7(),
  time_zone text not null default 'Europe/Copenhagen',
  locale text not null default 'en-GB',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint office_settings_time_zone_check check (is_time_zone(time_zone)),
  constraint office_settings_locale_check check (is_locale(locale))
);
create unique index office_settings_single_key on office_settings ((true));
comment on table office_settings is '@group Office 70
@icon gear
@title Office settings
@titleOne Office settings
@read login
@update settings.update
@mutations update
@audit OfficeSetting
@label time_zone
The settings of the office. The table has one row.';
comment on column office_settings.time_zone is '@list 1
The time zone of the office, such as `Europe/Copenhagen`. It is the default for users without a time zone.';
comment on constraint office_settings_time_zone_check on office_settings is 'must be the name of a time zone, such as Europe/Copenhagen';
comment on column office_settings.locale is '@list 2
The locale of the office, such as `da-DK`, for the format of dates and numbers. It is the default for users without a locale.';
comment on constraint office_settings_locale_check on office_settings is 'must be the name of a locale, such as da-DK';
comment on index office_settings_single_key is 'The office has its settings already.';

create table permissions (
  id uuid primary key default uuidv7(),
  key text not null,
  description text not null,
  created_at timestamptz not null default now(),
  constraint permissions_key_key unique (key),
  constraint permissions_key_check check (key ~ '^[a-z]+\.[a-z]+$')
);
comment on table permissions is '@group People 54
@icon lock
@read permissions.read
@audit off because permissions change only with a release
A right that roles grant and operations require.';
comment on column permissions.key is 'The key of the permission, such as `campaigns.read`.';
comment on constraint permissions_key_check on permissions is
  'must be two words of small letters with a point between, such as products.read';
comment on column permissions.description is 'What the permission allows.';

create table roles (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  description text,
  is_system boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint roles_name_check check (is_label(name, 80)),
  constraint roles_description_check check (char_length(description) <= 500)
);
create unique index roles_name_key on roles (name_key(name));
create index roles_words_idx on roles using gin (search_text(name) extensions.gin_trgm_ops);
comment on table roles is '@group People 51
@icon key
@read roles.read
@create roles.create
@audit Role
@auditReads
@defaultOrder name
A named set of permissions that users can hold.';
comment on column roles.name is '@search word
The name of the role, unique without regard to case.';
comment on column roles.description is '@widget long
The purpose of the role.';
comment on column roles.is_system is '@title System role
Whether the role is a system role, such as Superadmin, which cannot be changed or deleted.';
comment on constraint roles_name_check on roles is 'must be 1 to 80 visible characters without spaces at its ends';
comment on constraint roles_description_check on roles is 'must be 500 characters at most';
comment on index roles_name_key is 'A role of this name exists already.';

create table role_permissions (
  role_id uuid not null references roles on delete cascade,
  permission_id uuid not null references permissions on delete cascade,
  created_at timestamptz not null default now(),
  primary key (role_id, permission_id)
);
create index role_permissions_permission_id_idx on role_permissions (permission_id);
comment on table role_permissions is '@internal
@read roles.read
@create roles.update
@audit RolePermission role_id
Which role holds which permission.';

create table departments (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  description text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint departments_name_check check (is_label(name, 80)),
  constraint departments_description_check check (char_length(description) <= 500)
);
create unique index departments_name_key on departments (name_key(name));
create index departments_words_idx on departments using gin (search_text(name) extensions.gin_trgm_ops);
comment on table departments is '@group People 53
@icon building
@read departments.read
@create departments.update
@update departments.update
@audit Department
@defaultOrder name
A department of the company.';
comment on column departments.name is '@search word
The name of the department, unique without regard to case.';
comment on column departments.description is '@widget long
A description of the department.';
comment on constraint departments_name_check on departments is
  'must be 1 to 80 visible characters without spaces at its ends';
comment on constraint departments_description_check on departments is 'must be 500 characters at most';
comment on index departments_name_key is 'A department of this name exists already.';

create table users (
  id uuid primary key default uuidv7(),
  email text collate display_order not null,
  name text collate display_order,
  avatar_url text,
  is_active boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  department_id uuid references departments on delete set null,
  invitations_closed_at timestamptz,
  time_zone text,
  locale text,
  erased_at timestamptz,
  constraint users_email_check check (
    is_label(email, 254) and email ~ '^[^\s@<>"(),:;\\]+@[^\s@<>"(),:;\\]+\.[^\s@<>"(),:;\\.]+$'
  ),
  constraint users_name_check check (is_label(name, 120)),
  constraint users_avatar_url_check check (avatar_url ~ '^https://[^\s<>"]+$' and char_length(avatar_url) <= 2000),
  constraint users_avatar_url_public_check check (
    -- An address that is not https breaks the other constraint only, so that one message is shown.
    avatar_url !~ '^https://'
    or avatar_url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'
    and avatar_url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'
  ),
  constraint users_time_zone_check check (is_time_zone(time_zone)),
  constraint users_locale_check check (is_locale(locale))
);
create unique index users_email_key on users (name_key(email));
create index users_department_id_idx on users (department_id);
create index users_name_idx on users (name, id);
create index users_email_idx on users (email, id);
create index users_created_at_idx on users (created_at, id);
create index users_updated_at_idx on users (updated_at, id);
create index users_is_active_idx on users (is_active, id);
create index users_words_idx on users using gin (search_text(name) extensions.gin_trgm_ops, search_text(email) extensions.gin_trgm_ops);
comment on table users is '@group People 50
@icon person
@label name email
@read users.read
@audit User
@auditReads
@filter departmentId departmentId:$value
@filter roleId roles.id:$value
@filter isActive isActive:$value
@defaultOrder email
A member of staff.';
comment on column users.email is '@search word
@personal
@list 2
@widget email
The e-mail address, unique without regard to case.';
comment on column users.name is '@search word
@personal
@list 1
The name shown to colleagues.';
comment on column users.avatar_url is '@personal
@title Picture
@widget url
The address of the user''s picture.';
comment on column users.is_active is '@list 4
@title Active
Whether the user is active. Only active users can log in.';
comment on column users.department_id is '@list 3
The department of the user.';
comment on column users.invitations_closed_at is '@internal
When the user was first activated, or deactivated before that; no invitation activates the user from then on.';
comment on column users.updated_at is '@list 6';
comment on column users.time_zone is '@personal
The user''s time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';
comment on constraint users_time_zone_check on users is 'must be the name of a time zone, such as Europe/Copenhagen';
comment on column users.locale is '@personal
The user''s locale, such as `da-DK`, for the format of dates and numbers; null for the locale of the office.';
comment on constraint users_locale_check on users is 'must be the name of a locale, such as da-DK';
comment on column users.erased_at is '@mutations off
@title Anonymised
When the personal data was erased.';
comment on constraint users_email_check on users is
  'must be an e-mail address such as anna@example.com, 254 characters at most';
comment on constraint users_name_check on users is 'must be 1 to 120 visible characters without spaces at its ends';
comment on constraint users_avatar_url_check on users is 'must be an https:// address of 2000 characters at most';
comment on constraint users_avatar_url_public_check on users is
  'must name a public host: no IP address, no internal name';
comment on constraint users_department_id_fkey on users is '@forwardFollows own
@forwardScopedRead departments.read
@foreignConnectionFieldName members
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on index users_email_key is 'A user with this e-mail address exists already.';

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
A user''s account at an identity provider. The first login matches a user by e-mail address, later ones by this row.';
comment on column user_identities.issuer is 'The provider''s issuer identifier (`iss`).';
comment on column user_identities.subject is '@personal user_id
The provider''s identifier of the person (`sub`), which it never gives to another person.';
comment on column user_identities.email is '@personal user_id
The verified address that matched the user.';

create table user_roles (
  user_id uuid not null references users on delete cascade,
  role_id uuid not null references roles on delete cascade,
  created_at timestamptz not null default now(),
  primary key (user_id, role_id)
);
create index user_roles_role_id_idx on user_roles (role_id);
comment on table user_roles is '@internal
@read users.read
@create users.update
@audit UserRole user_id
Which user holds which role.';

-- Every request reads what its user may do: from one row of the user instead of one for each of their roles.
create table user_keys (
  user_id uuid primary key references users on delete cascade,
  is_active boolean not null,
  permission_keys text not null
);
comment on table user_keys is '@internal
@audit off because it copies users, user_roles and role_permissions
Whether a user is active, and the keys of their permissions, separated by commas. Triggers keep it; every request reads it.';

create table invitations (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  email text collate display_order not null,
  role_id uuid not null,
  state text not null default 'pending',
  expires_at timestamptz not null,
  invited_by_user_id uuid references users on delete set null,
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  revoked_at timestamptz,
  mailed_at timestamptz,
  mail_error text,
  mail_attempts integer not null default 0,
  mail_number integer not null default 1,
  constraint invitations_state_check check (state in ('pending', 'accepted', 'expired'))
);
create unique index invitations_one_pending_key on invitations (user_id) where state = 'pending';
create index invitations_user_id_idx on invitations (user_id);
create index invitations_role_id_idx on invitations (role_id) where state = 'pending';
create index invitations_invited_by_user_id_idx on invitations (invited_by_user_id);
create index invitations_expires_at_idx on invitations (expires_at) where state = 'pending';
create index invitations_created_at_idx on invitations (created_at);
create index invitations_words_idx on invitations using gin (search_text(email) extensions.gin_trgm_ops);
comment on table invitations is '@group People 52
@icon mail
@read invitations.read
@audit Invitation except mail_attempts
@auditReads
@defaultOrder created_at desc
An invitation for a person to join the staff with a role.';
comment on column invitations.user_id is '@list 2
The inactive user that the invitation created.';
comment on column invitations.email is '@search word
@personal user_id
@list 1
@widget email
The e-mail address of the invited person.';
comment on column invitations.role_id is '@list 3
The role that the user gets; it may have been deleted since.';
comment on column invitations.state is '@internal
@auditName status
The stored state; `status` also considers the time.';
comment on column invitations.expires_at is '@list 4
@title Ends
When the invitation expires.';
comment on column invitations.invited_by_user_id is 'The user who sent the invitation.';
comment on column invitations.accepted_at is '@list 5
When the invitation was accepted.';
comment on column invitations.revoked_at is 'When the invitation was revoked; null for an invitation that was not revoked.';
comment on column invitations.mailed_at is
  '@list 6
When the mail server accepted the latest mail of the invitation; null while the mail is pending or has failed.';
comment on column invitations.mail_error is
  '@personal user_id
@list 7
A message that explains why the latest mail was not sent; null without an error.';
comment on column invitations.mail_attempts is '@internal
Attempts to send the latest mail.';
comment on column invitations.mail_number is '@internal
Number of the latest mail of this invitation: 1, plus one for each time it was resent.';
comment on constraint invitations_user_id_fkey on invitations is '@behavior +singularRelation:resource:single';
comment on constraint invitations_invited_by_user_id_fkey on invitations is '@fieldName invitedBy
@behavior +singularRelation:resource:single';
comment on index invitations_one_pending_key is 'This person has a pending invitation already.';

create table sessions (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  token_hash bytea not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  idle_expires_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint sessions_token_hash_key unique (token_hash)
);
create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);
comment on table sessions is '@internal
@name stored_sessions
@audit Session id except last_used_at idle_expires_at
A session of a user, with the hash of its token. It ends by expiry, by logout or when its user is deactivated.';
comment on column sessions.ip_address is '@personal user_id
The address of the login.';
comment on column sessions.user_agent is '@personal user_id
The program of the login.';
comment on column sessions.token_hash is '@secret
SHA-256 of the session token.';

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
@audit off because it lives for minutes, and the session that it leads to is recorded
A login that was sent to its provider and has not come back.';
comment on column login_attempts.state_hash is '@secret
SHA-256 of the OAuth `state`, which the provider returns; single use.';
comment on column login_attempts.browser_hash is '@secret
SHA-256 of the cookie of the browser that started the login.';
comment on column login_attempts.nonce is '@secret
The nonce that the identity token must contain.';
comment on column login_attempts.pkce_verifier is '@secret
The PKCE code verifier.';
comment on column login_attempts.return_to is 'The allow-listed address of the front end.';
comment on column login_attempts.challenge is
  'SHA-256 (base64url) of the front end''s verifier; null when it sent none.';

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
A code that the browser takes to the front end after a login, exchanged once for a session.';
comment on column login_codes.code_hash is '@secret
SHA-256 of the code.';
comment on column login_codes.return_to is 'The address that the code was sent to; the exchange must repeat it.';
comment on column login_codes.challenge is
  'SHA-256 (base64url) of the verifier that the exchange must send; null when the login started without one.';

-- Unlogged: the counts are lost when the database crashes, and a flood of attempts writes no log.
create unlogged table attempt_counts (
  step text not null,
  subject_kind text not null,
  subject_hash bytea not null,
  started_at timestamptz not null,
  attempts integer not null,
  primary key (step, subject_kind, subject_hash)
) with (fillfactor = 70);
create index attempt_counts_started_at_idx on attempt_counts (started_at);
comment on table attempt_counts is '@internal
@audit off because it lives for minutes, and logins are recorded
Attempts at a step of logging in, counted per minute for each IP address and each account.';
comment on column attempt_counts.step is 'The step of logging in.';
comment on column attempt_counts.subject_kind is '`address` or `account`.';
comment on column attempt_counts.subject_hash is '@secret
SHA-256 of the IP address or of the e-mail address, so that neither is stored in clear.';
comment on column attempt_counts.started_at is 'When the minute started: the time of its first attempt.';
comment on column attempt_counts.attempts is 'Attempts since `started_at`, refused ones included.';

-- The inputs of mutations. A composite type gives each field a type and a description.
create type new_role as (name text, description text, permission_keys text[]);
comment on column new_role.name is '@notNull
The name of the role, unique without regard to case.';
comment on column new_role.description is 'The purpose of the role.';
comment on column new_role.permission_keys is '@notNull
The keys of the role''s permissions. The caller must hold all of them.';

create type role_changes as (name text, description text, permission_keys text[]);
comment on column role_changes.name is 'The new name.';
comment on column role_changes.description is 'The new description; null removes it.';
comment on column role_changes.permission_keys is
  'The complete new list of the role''s permission keys. The caller must hold each added permission.';

create type new_invitation as (email text, role_id uuid);
comment on column new_invitation.email is '@notNull
The person''s e-mail address.';
comment on column new_invitation.role_id is '@notNull
The role for the invited person. The caller must hold all permissions of the role.';

create type user_changes as (
  name text, avatar_url text, role_ids uuid[], department_id uuid, time_zone text, locale text
);
comment on column user_changes.name is 'The new name; null removes it.';
comment on column user_changes.avatar_url is 'The https address of a picture; null removes it.';
comment on column user_changes.role_ids is
  'The ids of all roles that the user is to hold. The caller must hold all permissions of each added role.';
comment on column user_changes.department_id is 'The new department of the user; null for none.';
comment on column user_changes.time_zone is 'The name of a time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';
comment on column user_changes.locale is 'The name of a locale, such as `da-DK`; null for the locale of the office.';

-- What a person sees of a session. The table itself is not in the API.
create type session_view as (
  id uuid,
  created_at timestamptz,
  last_used_at timestamptz,
  expires_at timestamptz,
  ip_address text,
  user_agent text,
  current boolean
);
comment on type session_view is '@name session
An active session of a user.';
comment on column session_view.id is '@notNull';
comment on column session_view.created_at is '@list 4
@notNull
@title Logged in
When the user logged in.';
comment on column session_view.last_used_at is '@list 3
@notNull
When the session was last used, to the minute.';
comment on column session_view.expires_at is '@list 5
@notNull
When the session expires unless it is used before; at the latest at the end of its maximum lifetime.';
comment on column session_view.ip_address is '@list 1
@title IP address
The IP address of the login.';
comment on column session_view.user_agent is '@list 2
@title Browser
The user agent of the login.';
comment on column session_view.current is '@list 6
@notNull
Whether it is the session of the request.';

create table user_logins (
  user_id uuid primary key references users on delete cascade,
  last_login_at timestamptz not null
);
comment on table user_logins is '@read users.read
@root off
@audit off because sessions are recorded
The last login of each user.';
comment on column user_logins.user_id is 'The user.';
comment on column user_logins.last_login_at is 'The time of the last login.';
comment on constraint user_logins_user_id_fkey on user_logins is '@behavior -*';

create type handed_over as (campaigns integer, bookings integer, watches integer, templates integer, views integer);
comment on type handed_over is 'The numbers of rows that a handover transferred.';
comment on column handed_over.campaigns is '@notNull
The number of transferred campaigns.';
comment on column handed_over.bookings is '@notNull
The number of transferred bookings.';
comment on column handed_over.watches is '@notNull
The number of transferred search watches.';
comment on column handed_over.templates is '@notNull
The number of transferred export templates.';
comment on column handed_over.views is '@notNull
The number of transferred views that are shared with a role.';

-- API tokens: secrets that scripts send. A token acts for its owner, with all of the owner's permissions or with some
-- of them.
create table api_tokens (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  name text collate display_order not null,
  token_hash bytea not null,
  is_scoped boolean not null default true,
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
comment on table api_tokens is '@group People 55
@icon key
@read login
@owner user_id
@audit ApiToken id except last_used_at
@history users.update
@auditReads
@defaultOrder created_at desc, id desc
@defaultQuery -revokedAt:*
A secret with which a script authenticates instead of a login. The token acts for its owner, with all permissions of the owner or only those in its scopes.';
comment on column api_tokens.user_id is '@list 2
The owner of the token, for whom it acts.';
comment on column api_tokens.name is '@list 1
@personal user_id
A name that states the purpose of the token.';
comment on column api_tokens.token_hash is '@secret
SHA-256 of the token.';
comment on column api_tokens.is_scoped is '@list 3
@title Limited
Whether the token is limited to its scopes. A scoped token stays scoped, even when its permissions are deleted.';
comment on column api_tokens.scopes is '@list 4
@namesOf permissions
The permission keys to which the token is limited; empty for an unlimited token, which has all permissions of its owner.';
comment on column api_tokens.expires_at is '@list 5
When the token expires.';
comment on column api_tokens.last_used_at is '@list 6
When the token was last used, to the minute; null before the first use.';
comment on column api_tokens.revoked_at is
  'When the token was revoked, explicitly or by the deactivation of its owner; null for a token that was not revoked.';
comment on column api_tokens.created_by_user_id is '@list 7
@title Created by
The user who created the token.';
comment on column api_tokens.created_by_token_id is '@title Created with
The API token that created the token; null for a token created in a session.';
comment on constraint api_tokens_user_id_fkey on api_tokens is '@forwardFollows own
@forwardBehavior +singularRelation:resource:single
@fieldName user';
comment on constraint api_tokens_created_by_user_id_fkey on api_tokens is '@forwardBehavior +singularRelation:resource:single
@fieldName createdBy';
comment on constraint api_tokens_created_by_token_id_fkey on api_tokens is '@forwardBehavior +singularRelation:resource:single
@fieldName createdByToken
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName createdTokens';
comment on constraint api_tokens_name_check on api_tokens is
  'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint api_tokens_scopes_check on api_tokens is 'must be empty for an unlimited token';
