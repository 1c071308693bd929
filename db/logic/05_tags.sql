-- Smart tags: the lines `@name value` at the head of a comment. What they declare is read here for the database's side
-- (policies, grants, triggers) and by the server for the API's side, so that nothing is said twice.
create or replace function comment_tags(comment text) returns jsonb as $$
  select coalesce(jsonb_object_agg(tag[1], coalesce(tag[2], '')), '{}')
  from regexp_matches(
    substring(comment_tags.comment from '^(?:@[^\n]*(?:\n|$))*'), '^@(\w+)[ \t]*([^\n]*)$', 'gn'
  ) as tag
$$ language sql immutable;
comment on function comment_tags is 'The smart tags of a comment, name to value.';

create or replace function table_tags(relation regclass) returns jsonb as $$
  select comment_tags(obj_description(table_tags.relation, 'pg_class'))
$$ language sql stable;
comment on function table_tags is 'The smart tags of a table.';

-- A policy is made anew only when its definition changed: replacing it locks the table.
create or replace function ensure_policy(
  relation regclass, name text, command text, role text, using_expression text, check_expression text default null
) returns void as $$
declare
  v_wanted text := concat_ws(' | ', command, role, using_expression, check_expression);
  v_present text;
begin
  select obj_description(oid, 'pg_policy') into v_present
  from pg_policy where polrelid = ensure_policy.relation and polname = ensure_policy.name;
  if found and v_present = v_wanted then
    return;
  end if;
  execute format('drop policy if exists %I on %s', name, relation);
  execute format('create policy %I on %s for %s to %I', name, relation, command, role)
    || coalesce(' using (' || using_expression || ')', '') || coalesce(' with check (' || check_expression || ')', '');
  execute format('comment on policy %I on %s is %L', name, relation, v_wanted);
end;
$$ language plpgsql volatile;
comment on function ensure_policy is 'Creates or replaces a row-level policy when it differs from what is wanted.';

create or replace function ensure_trigger(relation regclass, name text, definition text) returns void as $$
declare
  v_present text;
begin
  select obj_description(oid, 'pg_trigger') into v_present
  from pg_trigger where tgrelid = ensure_trigger.relation and tgname = ensure_trigger.name;
  if found and v_present = definition then
    return;
  end if;
  execute format('create or replace trigger %I ', name) || replace(definition, '%TABLE%', relation::text);
  execute format('comment on trigger %I on %s is %L', name, relation, definition);
end;
$$ language plpgsql volatile;
comment on function ensure_trigger is 'Creates or replaces a trigger when it differs from what is wanted; %TABLE% stands for the table.';
