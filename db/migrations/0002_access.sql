-- Who may do what: permissions, roles, users, invitations and sessions.
create table permissions (
  id uuid primary key default uuidv7(),
  key text not null,
  description text not null,
  created_at timestamptz not null default now(),
  constraint permissions_key_key unique (key),
  constraint permissions_key_check check (key ~ '^[a-z]+\.[a-z]+$')
);
comment on table permissions is '@read permissions.read
@audit off because permissions change only with a release
A right that roles hold and operations ask for.';
comment on column permissions.key is 'The name that operations ask for, such as `campaigns.read`.';
comment on column permissions.description is 'What the permission opens.';

create table roles (
  id uuid primary key default uuidv7(),
  name text not null,
  description text,
  is_system boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint roles_name_check check (is_label(name, 80)),
  constraint roles_description_check check (char_length(description) <= 500)
);
create unique index roles_name_key on roles (lower(name));
comment on table roles is '@read roles.read
@audit Role
@auditReads
@defaultOrder name
A named set of permissions that users hold.';
comment on column roles.name is 'Unique, whatever the case of its letters.';
comment on column roles.description is 'What the role is for.';
comment on column roles.is_system is 'A system role, such as Superadmin, can be neither changed nor deleted.';
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
@audit RolePermission role_id
Which role holds which permission.';

create table users (
  id uuid primary key default uuidv7(),
  email text not null,
  name text,
  avatar_url text,
  is_active boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint users_email_check check (
    is_label(email, 254) and email ~ '^[^\s@<>"(),:;\\]+@[^\s@<>"(),:;\\]+\.[^\s@<>"(),:;\\.]+$'
  ),
  constraint users_name_check check (is_label(name, 120)),
  constraint users_avatar_url_check check (avatar_url ~ '^https://[^\s<>"]+$' and char_length(avatar_url) <= 2000)
);
create unique index users_email_key on users (lower(email));
comment on table users is '@read users.read
@audit User
@auditReads
@defaultOrder email
A member of staff.';
comment on column users.email is 'Unique, whatever the case of its letters.';
comment on column users.name is 'The name that colleagues see.';
comment on column users.avatar_url is 'Address of a picture.';
comment on column users.is_active is 'Only an active user can log in.';
comment on constraint users_email_check on users is 'must be an e-mail address such as anna@example.com, 254 characters at most';
comment on constraint users_name_check on users is 'must be 1 to 120 visible characters without spaces at its ends';
comment on constraint users_avatar_url_check on users is 'must be an https:// address of 2000 characters at most';
comment on index users_email_key is 'A user with this e-mail address exists already.';

create table user_roles (
  user_id uuid not null references users on delete cascade,
  role_id uuid not null references roles on delete cascade,
  created_at timestamptz not null default now(),
  primary key (user_id, role_id)
);
create index user_roles_role_id_idx on user_roles (role_id);
comment on table user_roles is '@internal
@read users.read
@audit UserRole user_id
Which user holds which role.';

create table invitations (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  email text not null,
  role_id uuid not null,
  state text not null default 'pending',
  expires_at timestamptz not null,
  invited_by_user_id uuid references users on delete set null,
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint invitations_state_check check (state in ('pending', 'accepted', 'expired'))
);
create unique index invitations_one_pending_key on invitations (user_id) where state = 'pending';
create index invitations_user_id_idx on invitations (user_id);
create index invitations_role_id_idx on invitations (role_id) where state = 'pending';
create index invitations_invited_by_user_id_idx on invitations (invited_by_user_id);
create index invitations_expires_at_idx on invitations (expires_at) where state = 'pending';
create index invitations_created_at_idx on invitations (created_at);
comment on table invitations is '@read invitations.read
@audit Invitation
@auditReads
@defaultOrder created_at desc
An invitation of a person to join the staff with a role.';
comment on column invitations.user_id is 'The inactive user that the invitation made.';
comment on column invitations.email is 'Where the invitation was sent.';
comment on column invitations.role_id is 'The role that the user gets; it may have been deleted since.';
comment on column invitations.state is '@internal
The settled state; `status` also heeds the time.';
comment on column invitations.expires_at is 'The invitation can be accepted until then.';
comment on column invitations.invited_by_user_id is 'Who invited.';
comment on column invitations.accepted_at is 'When the person joined.';
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
@audit Session id except last_used_at idle_expires_at
A login: opened by a token of which only the hash is kept, ended by time, by logout or with its user''s deactivation.';
comment on column sessions.token_hash is '@secret
SHA-256 of the session token.';

-- What the inputs of mutations hold: a composite type gives each field its type and its description.
create type new_role as (name text, description text, permission_keys text[]);
create type role_changes as (name text, description text, permission_keys text[]);
create type new_invitation as (email text, role_id uuid);
create type user_changes as (name text, avatar_url text, role_ids uuid[]);
comment on column new_role.name is '@notNull
Unique, whatever the case of its letters.';
comment on column new_role.description is 'What the role is for.';
comment on column new_role.permission_keys is '@notNull
The keys that the role holds; you can give only what you hold yourself.';
comment on column role_changes.name is 'A new name.';
comment on column role_changes.description is 'A new description; null removes it.';
comment on column role_changes.permission_keys is
  'All the keys that the role holds from now on; you can add only what you hold yourself.';
comment on column new_invitation.email is '@notNull
The person''s e-mail address.';
comment on column new_invitation.role_id is '@notNull
The role that the person gets; you must hold all that it holds.';
comment on column user_changes.name is 'A new name; null removes it.';
comment on column user_changes.avatar_url is 'Address of a picture, https only; null removes it.';
comment on column user_changes.role_ids is
  'All the roles that the user holds from now on; you can add only roles whose permissions you hold.';
