-- Declares policies and triggers. Undeclared ones are dropped at the end of each migration run.

-- Records an object declared in this transaction.
create or replace function declare_object(kind text, relation regclass, name text) returns void as $$
  select set_config(
    'office.declared',
    -- Appends without reading the list, which has hundreds of lines.
    concat(current_setting('office.declared', true), concat_ws(' ', declare_object.kind, declare_object.relation::oid, declare_object.name), e'\n'),
    true
  )
$$ language sql volatile;

-- Replaces a policy only when its definition changed, because replacing it locks the table.
drop function if exists ensure_policy(regclass, text, text, text, text, text);
create or replace function ensure_policy(
  relation regclass, name text, command text, role text, using_expression text, check_expression text default null,
  restrictive boolean default false
) returns void as $$
declare
  v_wanted text := case when restrictive then 'restrictive ' else '' end || concat_ws(' | ', command, role, using_expression, check_expression);
  v_present text;
begin
  perform declare_object('policy', relation, name);
  select d.description into v_present
  from pg_policy p left join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid
  where p.polrelid = ensure_policy.relation and p.polname = ensure_policy.name;
  if found and v_present = v_wanted then
    return;
  end if;
  execute format('drop policy if exists %I on %s', name, relation);
  execute format('create policy %I on %s as %s for %s to %I', name, relation,
    case when restrictive then 'restrictive' else 'permissive' end, command, role)
    || coalesce(' using (' || using_expression || ')', '') || coalesce(' with check (' || check_expression || ')', '');
  execute format('comment on policy %I on %s is %L', name, relation, v_wanted);
end;
$$ language plpgsql volatile;
comment on function ensure_policy is
  'Declares a row-level security policy; creates or replaces it when it differs. It shows or allows more rows, or fewer when it is restrictive.';

create or replace function ensure_trigger(relation regclass, name text, definition text) returns void as $$
declare
  v_present text;
begin
  perform declare_object('trigger', relation, name);
  select d.description into v_present
  from pg_trigger t left join pg_description d on d.classoid = 'pg_trigger'::regclass and d.objoid = t.oid
  where t.tgrelid = ensure_trigger.relation and t.tgname = ensure_trigger.name;
  if found and v_present = definition then
    return;
  end if;
  execute format('create or replace trigger %I ', name) || replace(definition, '%TABLE%', relation::text);
  execute format('comment on trigger %I on %s is %L', name, relation, definition);
end;
$$ language plpgsql volatile;
comment on function ensure_trigger is 'Declares a trigger; creates or replaces it when it differs. %TABLE% is replaced by the table name.';

-- The comment on a policy or trigger marks it as made by `ensure_policy` or `ensure_trigger`.
create or replace function is_ensured_policy(comment text) returns boolean as $$
  select coalesce(is_ensured_policy.comment ~ '^(restrictive )?(all|select|insert|update|delete) \| office_\w+( \||$)', false)
$$ language sql immutable;
comment on function is_ensured_policy is 'Whether the comment on a policy is that of `ensure_policy`.';

create or replace function drop_undeclared() returns void as $$
declare
  v_declared text[] := string_to_array(nullif(current_setting('office.declared', true), ''), e'\n');
  v_drop text;
begin
  if v_declared is null then
    raise exception 'No policy or trigger was declared in this transaction; drop_undeclared() is the last step of a migration';
  end if;
  for v_drop in
    select format('drop policy %I on %s', p.polname, c.oid::regclass)
    from pg_policy p join pg_class c on c.oid = p.polrelid
      join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid
    where c.relnamespace = (select current_schema()::regnamespace)
      and is_ensured_policy(d.description)
      and concat_ws(' ', 'policy', c.oid, p.polname) <> all (v_declared)
    union all
    select format('drop trigger %I on %s', t.tgname, c.oid::regclass)
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
      join pg_description d on d.classoid = 'pg_trigger'::regclass and d.objoid = t.oid
    where c.relnamespace = (select current_schema()::regnamespace)
      and strpos(d.description, '%TABLE%') > 0 and t.tgname ~ '^_\d{3}_'
      and concat_ws(' ', 'trigger', c.oid, t.tgname) <> all (v_declared)
  loop
    execute v_drop;
  end loop;
end;
$$ language plpgsql volatile;
comment on function drop_undeclared is
  'Drops policies and triggers that were not declared in this transaction.';
