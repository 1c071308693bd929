-- Users and roles: who sees them, and the functions that change roles. The request role can only read the tables.

-- Policies beyond the tables' tags: a caller's own user and roles, and rows shown by other permissions. PostgreSQL
-- evaluates the policies of a table in reverse order of name until one passes, so policies with lookups have names that
-- sort first.

-- A function is evaluated only when needed; a subquery in a policy is planned with every statement that reads the
-- table.
create or replace function held_role_ids() returns uuid[] as $$
  select array(select ur.role_id from user_roles ur where ur.user_id = current_user_id())
$$ language sql stable;
comment on function held_role_ids is 'The caller''s roles.';
grant execute on function held_role_ids to office_api;

-- The cost keeps the planner from scanning all roles for each user.
create or replace function holds_role(role_id uuid) returns boolean as $$
begin
  return holds_role.role_id = any (held_role_ids());
end;
$$ language plpgsql stable cost 1000;
comment on function holds_role is 'Whether the caller has the role.';
grant execute on function holds_role to office_api;

select ensure_policy('users', 'users_self', 'select', 'office_api', 'id = (select current_user_id())');
select ensure_policy('users', 'users_managed', 'select', 'office_api',
  '(select has_any_permission(''users.update'', ''invitations.create''))');
select ensure_policy('users', 'users_campaign_authors', 'select', 'office_api',
  '(select has_any_permission(''campaigns.read'', ''campaigns.create'', ''campaigns.update'', ''campaigns.delete'')) and exists (select from campaigns c where c.author_user_id = users.id)');
select ensure_policy('user_roles', 'user_roles_self', 'select', 'office_api', 'user_id = (select current_user_id())');
select ensure_policy('user_roles', 'user_roles_managed', 'select', 'office_api',
  '(select has_any_permission(''users.update'', ''invitations.create''))');
select ensure_policy('roles', 'roles_of_users', 'select', 'office_api',
  '(select has_any_permission(''users.read'', ''users.update'', ''invitations.create'', ''roles.create'', ''roles.update''))');
select ensure_policy('roles', 'roles_held', 'select', 'office_api', 'holds_role(id)');
select ensure_policy('role_permissions', 'role_permissions_of_roles', 'select', 'office_api',
  '(select has_any_permission(''users.read'', ''roles.create'', ''roles.update''))');
select ensure_policy('role_permissions', 'role_permissions_held', 'select', 'office_api', 'role_id = any ((select held_role_ids())::uuid[])');
select ensure_policy('permissions', 'permissions_of_roles', 'select', 'office_api',
  '(select has_any_permission(''roles.read'', ''roles.create'', ''roles.update'', ''users.read''))');
select ensure_policy('permissions', 'permissions_held', 'select', 'office_api',
  'key = any ((select current_permissions())::text[])');

create or replace function users_roles(person users) returns setof roles as $$
  select r.* from user_roles ur join roles r on r.id = ur.role_id
  where ur.user_id = users_roles.person.id
  order by r.name
$$ language sql stable rows 3;
comment on function users_roles is '@computed
@follows own
@reads user_roles
@auditReads unless own
The roles that the user holds, by name.';

create or replace function roles_permissions(role roles) returns setof permissions as $$
  select p.* from role_permissions rp join permissions p on p.id = rp.permission_id
  where rp.role_id = roles_permissions.role.id
  order by p.key
$$ language sql stable rows 20;
comment on function roles_permissions is '@computed
@follows own
@reads role_permissions
The permissions that the role holds, by key.';

grant execute on function users_roles, roles_permissions to office_api;

-- A caller can grant only permissions that they hold.
create or replace function require_grantable(keys text[]) returns void as $$
declare
  v_missing text[] := array(
    select distinct k from unnest(require_grantable.keys) as k where k <> all (current_permissions()) order by k
  );
begin
  if cardinality(v_missing) > 0 then
    perform fail('OF403', 'You cannot grant what you do not hold: ' || array_to_string(v_missing, ', '),
      jsonb_build_object('permissionKeys', to_jsonb(v_missing)));
  end if;
end;
$$ language plpgsql stable;

create or replace function require_revocable(keys text[]) returns void as $$
declare
  v_missing text[] := array(
    select distinct k from unnest(require_revocable.keys) as k where k <> all (current_permissions()) order by k
  );
begin
  if cardinality(v_missing) > 0 then
    perform fail('OF403', 'You cannot take away what you do not hold: ' || array_to_string(v_missing, ', '),
      jsonb_build_object('permissionKeys', to_jsonb(v_missing)));
  end if;
end;
$$ language plpgsql stable;
comment on function require_revocable is 'Fails when the caller would remove permissions that they do not hold.';

create or replace function role_keys(role_ids uuid[]) returns text[] as $$
  select coalesce(array_agg(distinct p.key order by p.key), '{}')
  from role_permissions rp join permissions p on p.id = rp.permission_id
  where rp.role_id = any (role_keys.role_ids)
$$ language sql stable;

-- Serializes changes of active Superadmins, so that two transactions cannot both remove the last one.
create or replace function require_superadmin_left() returns void as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.superadmins', 0));
  if not exists (
    select from users u join user_roles ur on ur.user_id = u.id join roles r on r.id = ur.role_id
    where u.is_active and r.is_system and r.name = 'Superadmin'
  ) then
    perform fail('OF409', 'The last active Superadmin must stay');
  end if;
end;
$$ language plpgsql volatile;

create or replace function set_role_permissions(role_id uuid, keys text[]) returns void as $$
declare
  v_unknown text[] := array(
    select distinct coalesce(k, 'null') from unnest(set_role_permissions.keys) as k
    where not exists (select from permissions p where p.key = k) order by 1
  );
  v_held text[] := role_keys(array[set_role_permissions.role_id]);
begin
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'permissionKeys: there are no permissions ' || array_to_string(v_unknown, ', '),
      '{"path": ["input", "permissionKeys"]}');
  end if;
  perform require_grantable(array(select unnest(set_role_permissions.keys) except select unnest(v_held)));
  perform require_revocable(array(select unnest(v_held) except select unnest(set_role_permissions.keys)));
  delete from role_permissions rp using permissions p
  where rp.role_id = set_role_permissions.role_id and p.id = rp.permission_id and p.key <> all (set_role_permissions.keys);
  insert into role_permissions (role_id, permission_id)
  select set_role_permissions.role_id, p.id from permissions p where p.key = any (set_role_permissions.keys)
  on conflict do nothing;
end;
$$ language plpgsql volatile;

-- Stores the keys of users. Locks their roles first: changes of a role's permissions lock it exclusively, so each of two
-- concurrent changes sees the other one. The second lock makes changes of the same user wait for each other. Each
-- statement sees what was committed before it.
create or replace function keep_user_keys(user_ids uuid[]) returns void as $$
begin
  perform from roles r
  where r.id in (select ur.role_id from user_roles ur where ur.user_id = any (keep_user_keys.user_ids))
  order by r.id for share;
  perform from user_keys k where k.user_id = any (keep_user_keys.user_ids) order by k.user_id for no key update;
  insert into user_keys (user_id, is_active, permission_keys)
  select u.id, u.is_active,
    array_to_string(role_keys(array(select ur.role_id from user_roles ur where ur.user_id = u.id)), ',')
  from users u where u.id = any (keep_user_keys.user_ids)
  order by u.id
  -- Not is_active, which only changes of users write.
  on conflict (user_id) do update set permission_keys = excluded.permission_keys
  where user_keys.permission_keys <> excluded.permission_keys;
end;
$$ language plpgsql volatile;
comment on function keep_user_keys is 'Stores the permission keys of users with each user.';

create or replace function keep_keys_of_holders(role_ids uuid[]) returns void as $$
begin
  perform from roles r where r.id = any (keep_keys_of_holders.role_ids) order by r.id for no key update;
  perform keep_user_keys(array(
    select distinct ur.user_id from user_roles ur where ur.role_id = any (keep_keys_of_holders.role_ids)
  ));
end;
$$ language plpgsql volatile;
comment on function keep_keys_of_holders is 'Stores the keys of all users who hold one of the roles.';

-- Roles show their permissions and users show their roles as fields, so `updated_at` follows changes of both.
create or replace function tg_role_permissions__touch_roles() returns trigger as $$
begin
  perform keep_keys_of_holders(array(select c.role_id from changed_rows c));
  update roles r set updated_at = now() where r.id in (select c.role_id from changed_rows c);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_role_permissions__touch_roles is 'Updates `updated_at` of roles whose permissions change, and the keys of their holders.';

create or replace function tg_permissions__keep_user_keys() returns trigger as $$
begin
  perform keep_keys_of_holders(array(
    select rp.role_id from role_permissions rp where rp.permission_id in (select c.id from changed_rows c)
  ));
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_permissions__keep_user_keys is 'Updates the keys of users when permission keys change.';

create or replace function tg_user_roles__touch_users() returns trigger as $$
begin
  -- Locks rows in the order of their ids to avoid deadlocks.
  perform from users u where u.id in (select c.user_id from changed_rows c) order by u.id for no key update;
  update users u set updated_at = now() where u.id in (select c.user_id from changed_rows c);
  perform keep_user_keys(array(select distinct c.user_id from changed_rows c));
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_user_roles__touch_users is 'Updates `updated_at` and the keys of users whose roles change.';

create or replace function tg_users__keep_active() returns trigger as $$
begin
  insert into user_keys (user_id, is_active, permission_keys) values (new.id, new.is_active, '')
  on conflict (user_id) do update set is_active = excluded.is_active;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__keep_active is 'Stores whether a user is active where every request reads it.';
select ensure_trigger('users', '_500_keep_active',
  'after insert or update of is_active on %TABLE% for each row execute function tg_users__keep_active()');

-- An updated row affects both its old and its new parent.
select ensure_trigger(t.name, format('_500_touch_%s_%s', t.touched, e.name), format(
  'after %s on %%TABLE%% referencing %s table as changed_rows for each statement execute function tg_%s__touch_%s()',
  e.event, e.side, t.name, t.touched
))
from (values ('role_permissions', 'roles'), ('user_roles', 'users')) as t(name, touched),
  (values
    ('insert', 'insert', 'new'), ('delete', 'delete', 'old'), ('update_from', 'update', 'old'), ('update_to', 'update', 'new')
  ) as e(name, event, side);
select ensure_trigger('permissions', '_500_keep_user_keys', 'after update on %TABLE% referencing new table as changed_rows
  for each statement execute function tg_permissions__keep_user_keys()');

-- `restore` inserts rows without `create_role` and `set_user_roles`, so the same rules are checked here.
create or replace function tg_role_permissions__restore() returns trigger as $$
begin
  perform changeable_role(new.role_id) where exists (select from roles r where r.id = new.role_id);
  perform require_grantable(array(select p.key from permissions p where p.id = new.permission_id));
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_role_permissions__restore is 'Rejects restored permissions that the caller does not hold, and those of system roles.';
select ensure_trigger('role_permissions', '_400_restore',
  'before insert on %TABLE% for each row when (is_restoring()) execute function tg_role_permissions__restore()');

create or replace function tg_user_roles__restore() returns trigger as $$
begin
  if new.user_id = current_user_id() then
    perform require_full_login();
  end if;
  perform require_grantable(role_keys(array[new.role_id]));
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_user_roles__restore is 'Rejects restored roles of users whose permissions the caller does not hold.';
select ensure_trigger('user_roles', '_400_restore',
  'before insert on %TABLE% for each row when (is_restoring()) execute function tg_user_roles__restore()');

create or replace function create_role(input new_role) returns roles as $$
declare
  v_role roles;
begin
  perform require_permission('roles.create');
  insert into roles (name, description)
  values (coalesce(trim_to_null(create_role.input.name), ''), trim_to_null(create_role.input.description))
  returning * into v_role;
  perform set_role_permissions(v_role.id, create_role.input.permission_keys);
  return v_role;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_role is '@guard roles.create
Creates a role.';

-- Returns a role that may be changed, locked against concurrent changes.
create or replace function changeable_role(id uuid) returns roles as $$
declare
  v_role roles;
begin
  select * into v_role from roles where roles.id = changeable_role.id for update;
  if not found then
    perform fail('OF404', 'There is no role with this id', '{"path": ["id"]}');
  elsif v_role.is_system then
    perform fail('OF409', format('%s is a system role and can be neither changed nor deleted', v_role.name),
      '{"code": "SYSTEM_ROLE"}');
  end if;
  return v_role;
end;
$$ language plpgsql volatile;

create or replace function update_role(id uuid, input role_changes, given text[]) returns roles as $$
declare
  v_role roles;
begin
  perform require_permission('roles.update');
  v_role := changeable_role(update_role.id);
  if 'permission_keys' = any (given) then
    if update_role.input.permission_keys is null then
      perform fail('OF400', 'permissionKeys cannot be null: leave it out to keep the keys, or give [] for none',
        '{"path": ["input", "permissionKeys"]}');
    end if;
    perform set_role_permissions(v_role.id, update_role.input.permission_keys);
    select * into v_role from roles where roles.id = v_role.id;
  end if;
  if given && array['name', 'description'] then
    update roles set
      name = case when 'name' = any (given) then coalesce(trim_to_null(update_role.input.name), '') else v_role.name end,
      description = case when 'description' = any (given) then trim_to_null(update_role.input.description) else v_role.description end
    where roles.id = v_role.id
    returning * into v_role;
  end if;
  return v_role;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_role is '@guard roles.update
Changes a role; omitted fields stay unchanged. Callers can neither add nor remove permissions that they lack.';

create or replace function delete_role(id uuid) returns boolean as $$
declare
  v_role roles;
begin
  perform require_permission('roles.delete');
  -- Locks users before the role, in the same order as changes of a user do.
  perform from users u
  where u.id in (
    select ur.user_id from user_roles ur join roles r on r.id = ur.role_id where r.id = delete_role.id and not r.is_system
  )
  order by u.id
  for no key update;
  v_role := changeable_role(delete_role.id);
  perform require_revocable(role_keys(array[v_role.id]));
  if exists (select from invitations i where i.role_id = v_role.id and i.state = 'pending' and i.expires_at > now()) then
    perform fail('OF409', 'A pending invitation names this role: revoke it first, or wait until it ends');
  end if;
  -- Deletes the assignments first, so that the audit log records each loss.
  delete from user_roles where role_id = v_role.id;
  delete from role_permissions where role_id = v_role.id;
  delete from roles where roles.id = v_role.id;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_role is '@guard roles.delete
Deletes a role and removes it from its users. The caller must hold all of its permissions.';

grant execute on function create_role, update_role, delete_role to office_api;

create or replace function user_permissions(user_id uuid) returns text[] as $$
  select coalesce((
    select string_to_array(nullif(k.permission_keys, ''), ',') from user_keys k where k.user_id = user_permissions.user_id
  ), '{}')
$$ language sql stable;

create or replace function missing_to_read(table_name text, permissions text[]) returns text as $$
  select string_agg(k, ' and ')
  from regexp_split_to_table(table_tags(to_regclass(quote_ident(nullif(missing_to_read.table_name, '')))) ->> 'read', '[\s,]+') as k
  where k not in ('', 'login') and k <> all (missing_to_read.permissions)
$$ language sql stable security definer set search_path from current;
comment on function missing_to_read is '@behavior -*
The permissions that a reader of a table needs and does not hold, joined by "and"; null when none is missing.';
grant execute on function missing_to_read to office_api;
