-- Departments and colleagues.

-- All staff may see the colleagues and the name of their own department; a scoped token needs `departments.read`. Null
-- without the permission or without a department.
create or replace function colleagues_department_id() returns uuid as $$
  select u.department_id from users u
  where u.id = current_user_id() and (not is_scoped() or has_permission('departments.read'))
$$ language sql stable security definer set search_path from current;
comment on function colleagues_department_id is 'The caller''s department, when the caller may see its members.';

grant execute on function colleagues_department_id to office_api;

select ensure_policy('departments', 'departments_own', 'select', 'office_api', 'id = (select colleagues_department_id())');
select ensure_policy('users', 'users_colleagues', 'select', 'office_api',
  'is_active and department_id = (select colleagues_department_id())');

create or replace function users_colleagues(person users) returns setof users as $$
  select u.* from users u
  where u.department_id = users_colleagues.person.department_id and u.id <> users_colleagues.person.id and u.is_active
    -- A scoped token with `users.read` sees users by another policy, but needs `departments.read` here.
    and (select not is_scoped() or has_permission('departments.read'))
  order by coalesce(u.name, u.email), u.id
$$ language sql stable rows 20;
comment on function users_colleagues is '@computed
@follows own
@scopedRead departments.read
The other active users of the same department, by name.';
grant execute on function users_colleagues to office_api;

create or replace function create_department(input departments) returns departments as $$
declare
  v_department departments;
begin
  perform require_permission('departments.update');
  insert into departments (name, description)
  values (coalesce(trim_to_null(create_department.input.name), ''), trim_to_null(create_department.input.description))
  returning * into v_department;
  return v_department;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_department is '@guard departments.update
Creates a department.';

create or replace function update_department(id uuid, input departments, given text[]) returns departments as $$
declare
  v_department departments;
begin
  perform require_permission('departments.update');
  if 'name' = any (given) and update_department.input.name is null then
    perform fail('OF400', 'name cannot be null', '{"path": ["input", "name"]}');
  end if;
  update departments d set
    name = case when 'name' = any (given) then coalesce(trim_to_null(update_department.input.name), '') else d.name end,
    description = case when 'description' = any (given) then trim_to_null(update_department.input.description) else d.description end
  where d.id = update_department.id
  returning * into v_department;
  if not found then
    perform fail('OF404', 'There is no department with this id', '{"path": ["id"]}');
  end if;
  return v_department;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_department is '@guard departments.update
Changes a department; omitted fields stay unchanged.';

create or replace function delete_department(id uuid) returns boolean as $$
begin
  perform require_permission('departments.update');
  -- Locks the department first, so that no user joins it during the deletion.
  perform from departments d where d.id = delete_department.id for update;
  if not found then
    perform fail('OF404', 'There is no department with this id', '{"path": ["id"]}');
  end if;
  update users u set department_id = null where u.department_id = delete_department.id;
  delete from departments d where d.id = delete_department.id;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_department is '@guard departments.update
Deletes a department; its members then have no department.';

grant execute on function create_department, update_department, delete_department to office_api;
