-- Users are changed only by these functions, which check permissions first. A caller can neither grant nor remove
-- permissions that they lack, so `users.update` alone allows no escalation.

create or replace function set_user_roles(user_id uuid, role_ids uuid[]) returns void as $$
declare
  v_unknown uuid[] := array(
    select k from unnest(set_user_roles.role_ids) as k where not exists (select from roles r where r.id = k)
  );
begin
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'roleIds: there are no roles ' || array_to_string(v_unknown, ', '),
      '{"path": ["input", "roleIds"]}');
  end if;
  perform require_grantable(role_keys(array(
    select unnest(set_user_roles.role_ids)
    except select ur.role_id from user_roles ur where ur.user_id = set_user_roles.user_id
  )));
  perform require_revocable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = set_user_roles.user_id
    except select unnest(set_user_roles.role_ids)
  )));
  delete from user_roles ur
  where ur.user_id = set_user_roles.user_id and ur.role_id <> all (set_user_roles.role_ids);
  insert into user_roles (user_id, role_id)
  select set_user_roles.user_id, k from (select distinct unnest(set_user_roles.role_ids)) as d(k)
  on conflict do nothing;
end;
$$ language plpgsql volatile;

create or replace function update_user(id uuid, input user_changes, given text[]) returns users as $$
declare
  v_user users;
begin
  perform require_login();
  if update_user.id = current_user_id() then
    perform require_full_login();
  end if;
  if update_user.id is distinct from current_user_id() or given && array['role_ids', 'department_id'] then
    perform require_permission('users.update');
  end if;
  select * into v_user from users where users.id = update_user.id for update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["id"]}');
  elsif v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised and cannot be changed', '{"path": ["id"]}');
  end if;
  if 'role_ids' = any (given) then
    if update_user.input.role_ids is null then
      perform fail('OF400', 'roleIds cannot be null: leave it out to keep the roles, or give [] for none',
        '{"path": ["input", "roleIds"]}');
    end if;
    perform set_user_roles(v_user.id, update_user.input.role_ids);
    perform require_superadmin_left();
    select * into v_user from users where users.id = v_user.id;
  end if;
  if given && array['name', 'avatar_url', 'department_id', 'time_zone', 'locale'] then
    update users set
      name = case when 'name' = any (given) then trim_to_null(update_user.input.name) else v_user.name end,
      avatar_url = case when 'avatar_url' = any (given) then trim_to_null(update_user.input.avatar_url) else v_user.avatar_url end,
      department_id = case when 'department_id' = any (given) then update_user.input.department_id else v_user.department_id end,
      time_zone = case when 'time_zone' = any (given) then trim_to_null(update_user.input.time_zone) else v_user.time_zone end,
      locale = case when 'locale' = any (given) then trim_to_null(update_user.input.locale) else v_user.locale end
    where users.id = v_user.id
    returning * into v_user;
  end if;
  return v_user;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_user is '@guard principal
Changes a user; omitted fields stay unchanged. Users may change their own name, picture, time zone and locale; all other changes need `users.update`. A scoped token cannot change its owner, even with the scope `users.update`.';

-- Returns a user locked against concurrent changes, but not against rows that refer to it.
create or replace function changeable_user(user_id uuid) returns users as $$
declare
  v_user users;
begin
  select * into v_user from users where users.id = changeable_user.user_id for no key update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  end if;
  return v_user;
end;
$$ language plpgsql volatile;

create or replace function activate_user(user_id uuid) returns users as $$
declare
  v_user users;
begin
  perform require_permission('users.update');
  v_user := changeable_user(activate_user.user_id);
  if v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised and cannot be activated', '{"path": ["userId"]}');
  end if;
  if not v_user.is_active then
    -- Activation enables all permissions of the user, so the caller must be able to grant them.
    perform require_grantable(user_permissions(v_user.id));
    update users set is_active = true where users.id = v_user.id returning * into v_user;
  end if;
  update invitations set state = 'accepted', accepted_at = now()
  where invitations.user_id = v_user.id and state = 'pending' and expires_at > now();
  return v_user;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function activate_user is '@guard users.update
@action unless is_active
Activates a user and accepts a pending invitation of the user. The caller must hold the permissions of the user.';

create or replace function deactivate_user(user_id uuid) returns users as $$
declare
  v_user users;
begin
  perform require_permission('users.update');
  if deactivate_user.user_id = current_user_id() then
    perform fail('OF409', 'You cannot deactivate yourself');
  end if;
  v_user := changeable_user(deactivate_user.user_id);
  perform require_revocable(user_permissions(v_user.id));
  update users set is_active = false, invitations_closed_at = coalesce(users.invitations_closed_at, now())
  where users.id = v_user.id returning * into v_user;
  perform require_superadmin_left();
  -- Otherwise the user could log in again by a pending invitation.
  update invitations set state = 'expired' where invitations.user_id = v_user.id and state = 'pending';
  -- Like sessions and API tokens, they do not come back with a reactivation.
  update calendar_feeds f set revoked_at = now() where f.user_id = v_user.id and f.revoked_at is null;
  return v_user;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function deactivate_user is '@guard users.update
@action bad if is_active
Deactivates a user and ends the user''s sessions, API tokens and calendar feeds, and pending invitations sent by the user. The caller must hold the permissions of the user. Only `activateUser` reactivates the user; an invitation cannot.';

create or replace function unlink_user_logins(user_id uuid) returns users as $$
declare
  v_user users;
begin
  perform require_permission('users.update');
  if unlink_user_logins.user_id = current_user_id() then
    perform require_full_login();
  end if;
  v_user := changeable_user(unlink_user_logins.user_id);
  -- The person whom a provider next confirms for the address gets all permissions of the user.
  perform require_grantable(user_permissions(v_user.id));
  -- Logins that have begun end with it.
  delete from login_codes c where c.user_id = v_user.id;
  delete from user_identities i where i.user_id = v_user.id;
  if not found then
    perform fail('OF409', 'The user is linked with no account at an identity provider', '{"path": ["userId"]}');
  end if;
  return v_user;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function unlink_user_logins is '@guard users.update
@action bad unless erased_at
Forgets the accounts at identity providers by which a user logs in; the next login is matched by a verified e-mail address, as the first was. Use it when a user''s account at the provider was replaced by a new one. Sessions continue. The caller must hold the permissions of the user.';

grant execute on function update_user, activate_user, deactivate_user, unlink_user_logins to office_api;

-- A user who was active before keeps roles and history; only `users.update` reactivates them.
create or replace function tg_users__close_invitations() returns trigger as $$
begin
  new.invitations_closed_at := now();
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_users__close_invitations is 'Records when a user is first activated.';
select ensure_trigger('users', '_200_close_invitations',
  'before insert or update of is_active on %TABLE% for each row when (new.is_active and new.invitations_closed_at is null)
   execute function tg_users__close_invitations()');

-- Dots must stand between other characters, or mail is not delivered. A trigger instead of a constraint, so that users
-- with older addresses can still be changed or deactivated.
create or replace function tg_users__check_dots() returns trigger as $$
begin
  if new.email ~ '(^|[.@])[.]|[.](@|$)' then
    raise check_violation using constraint = 'users_email_check', table = 'users';
  end if;
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_users__check_dots is 'Rejects addresses with a misplaced dot, with the message of the constraint on addresses.';
select ensure_trigger('users', '_300_check_dots',
  'before insert or update of email on %TABLE% for each row execute function tg_users__check_dots()');
