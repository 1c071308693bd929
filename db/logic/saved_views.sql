-- Saved views of lists.
create or replace function saved_view_limit() returns integer as $$
  select 200
$$ language sql immutable;
comment on function saved_view_limit is 'The number of saved views that a user can have.';

create or replace function tg_saved_views__check() returns trigger as $$
begin
  if tg_op = 'INSERT' then
    perform from users u where u.id = new.user_id for no key update;
    if (select count(*) from saved_views v where v.user_id = new.user_id) >= saved_view_limit() then
      perform fail('OF409', format('You have %s saved views: delete one first', saved_view_limit()));
    end if;
  end if;
  -- Everybody with the role sees the view, so sharing it and what it shows are decisions about the role.
  if new.role_id is null or is_restoring() or current_user_id() is null or has_permission('roles.update') then
    return new;
  end if;
  if tg_op = 'INSERT' or new.role_id is distinct from old.role_id then
    perform fail('OF403', 'To share a view with a role, you need the permission roles.update',
      '{"path": ["input", "roleId"], "requiredPermission": "roles.update"}');
  elsif (new.name, new.query, new.order_by, new.columns, new.position)
    is distinct from (old.name, old.query, old.order_by, old.columns, old.position) then
    perform fail('OF403', 'To change a view that is shared with a role, you need the permission roles.update',
      '{"path": ["id"], "requiredPermission": "roles.update"}');
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_saved_views__check is 'Limits the views of a user, and who shares them and changes shared ones.';
select ensure_trigger('saved_views', '_200_check',
  'before insert or update on %TABLE% for each row execute function tg_saved_views__check()');

select ensure_policy('saved_views', 'saved_views_of_roles', 'select', 'office_api',
  '(select is_login()) and role_id = any ((select held_role_ids())::uuid[])');

create or replace function saved_views_owner_name(view saved_views) returns text as $$
  select colleague_name(view.user_id)
$$ language sql stable;
comment on function saved_views_owner_name is '@computed
@list 6
@title Owner
The name of the owner, also for callers without `users.read`.';
grant execute on function saved_views_owner_name to office_api;
