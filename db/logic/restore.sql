-- Undoes deletions from the audit log.

-- The tables whose deleted rows can be restored. Rows with files are not, because their files are deleted with them.
-- The columns of their rows have changed.
drop function if exists restorable_tables();
drop function if exists restorable_table(text);
drop function if exists may_restore_row(text[], text, audit_log);
create or replace function restorable_tables()
returns table (
  entity_type text, relation regclass, permissions text[], reads text, needs_login boolean, is_listed boolean, owner text, owner_token text,
  is_restricted boolean, labels text[]
) as $$
  select substring(t.tags ->> 'audit' from '^(\w+)'), c.oid::regclass,
    array_remove(regexp_split_to_array(btrim(t.tags ->> 'create'), '[\s,]+'), 'login'),
    nullif(t.tags ->> 'read', 'login'), t.tags ?| array['login', 'session'] or 'login' in (t.tags ->> 'read', t.tags ->> 'create'),
    not t.tags ? 'internal', camel_case(o.names[1]), camel_case(o.names[2]),
    exists (select from pg_policy p where p.polrelid = c.oid and not p.polpermissive and p.polcmd in ('r', '*')),
    array_remove(array[camel_case(substring(t.tags ->> 'label' from '^\w+')), 'name', 'title', 'email', 'number', 'key'], null)
  from pg_class c, lateral table_tags(c.oid) as t(tags), lateral owner_columns(t.tags) as o(names)
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and t.tags ? 'create'
    and t.tags ->> 'audit' !~ '^off\y'
    and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'file_key' and not a.attisdropped)
$$ language sql stable;

create or replace function restorable_table(entity_type text)
returns table (relation regclass, permissions text[], needs_login boolean, owner text, owner_token text, is_restricted boolean) as $$
  select t.relation, t.permissions, t.needs_login, t.owner, t.owner_token, t.is_restricted from restorable_tables() t where t.entity_type = restorable_table.entity_type
$$ language sql stable;

-- A row with an owner, and with a second column only to one API token, is visible to nobody else; a restrictive policy may
-- have hidden any row. Whoever deleted a row has seen it, and holders of `audit.read` see all deletions. Where every login may
-- create rows, only the owner of a row may restore it.
create or replace function may_restore_row(permissions text[], owner text, owner_token text, is_restricted boolean, deleted audit_log)
returns boolean as $$
  select coalesce(
    ((may_restore_row.owner is null or may_restore_row.deleted.before ->> may_restore_row.owner = current_user_id()::text)
        and (not may_restore_row.is_restricted or may_restore_row.deleted.actor_user_id = current_user_id())
      or may_restore_row.deleted.actor_user_id = current_user_id() and may_restore_row.permissions <> '{}'
      or may_restore_row.permissions <> '{}' and has_permission('audit.read'))
    and (may_restore_row.owner_token is null or current_token_id() is null
      or may_restore_row.deleted.before ->> may_restore_row.owner_token = current_token_id()::text),
    false)
$$ language sql stable;

-- An id can be that of several deletions. The audit log records a row that exists again as created.
create or replace function is_deleted_since(entity_type text, entity_id text, at timestamptz) returns boolean as $$
  select not exists (
    select from audit_log c
    where c.operation = 'CREATE' and c.entity_type = is_deleted_since.entity_type and c.entity_id = is_deleted_since.entity_id
      and c.created_at > is_deleted_since.at
  )
$$ language sql stable;
comment on function is_deleted_since is 'Whether a row that was deleted at that time has not been created again.';

create or replace function restorable_parents() returns table (entity_type text, reference text, parent_type text) as $$
  select t.entity_type, coalesce(c.tags ->> 'auditName', camel_case(a.attname)), substring(p.tags ->> 'audit' from '^(?!off\y)\w+')
  from restorable_tables() t
    join pg_constraint k on k.conrelid = t.relation and k.contype = 'f' and k.confdeltype = 'c' and cardinality(k.conkey) = 1
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
    cross join lateral comment_tags(col_description(a.attrelid, a.attnum)) as c(tags)
    cross join lateral table_tags(k.confrelid) as p(tags)
$$ language sql stable;
comment on function restorable_parents is 'The references by which rows are deleted, and restored, with the row that they refer to.';

create or replace function deletions(entity_type text default null, entity_id text default null, "limit" integer default 50) returns setof deletion as $$
declare
  v_types text[];
begin
  perform require_login();
  if deletions."limit" is null or deletions."limit" not between 1 and 200 then
    perform fail('OF400', 'limit must be from 1 to 200', '{"path": ["limit"]}');
  end if;
  select coalesce(array_agg(t.entity_type order by t.entity_type), '{}') into v_types from restorable_tables() t
  where t.is_listed and array_remove(t.permissions || t.reads, null) <@ current_permissions() and not (t.needs_login and is_scoped());
  if deletions.entity_type is not null and deletions.entity_type <> all (v_types) then
    perform fail('OF400', case when v_types = '{}' then 'entityType must be left out: you may restore nothing'
      else 'entityType must be one of ' || array_to_string(v_types, ', ') end, '{"path": ["entityType"]}');
  end if;
  return query
  with parents as materialized (select * from restorable_parents())
  select a.id, a.entity_type, a.entity_id,
    (select left(a.before ->> l.name, 200) from unnest(t.labels) with ordinality as l(name, place) where a.before ? l.name order by l.place limit 1),
    a.created_at, u.id, case when u.id is not null then user_name(u.id) end
  from audit_log a join restorable_tables() t on t.entity_type = a.entity_type left join users u on u.id = a.actor_user_id
  where a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
    and a.entity_type = any (case when deletions.entity_type is null then v_types else array[deletions.entity_type] end)
    and (deletions.entity_id is null or a.entity_id = deletions.entity_id)
    and may_restore_row(t.permissions, t.owner, t.owner_token, t.is_restricted, a)
    and not exists (select from audit_erasures e where e.audit_log_id = a.id)
    and is_deleted_since(a.entity_type, a.entity_id, a.created_at)
    and not exists (
      select from parents p join audit_log d on d.operation = 'DELETE' and d.entity_type = p.parent_type and d.entity_id = a.before ->> p.reference
        and d.created_at = a.created_at and d.correlation_id is not distinct from a.correlation_id
      where p.entity_type = a.entity_type and is_deleted_since(d.entity_type, d.entity_id, d.created_at)
    )
  order by a.created_at desc, a.id desc
  limit deletions."limit";
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function deletions is '@guard principal
@report Office 45
@icon clock
@title Deleted rows
@auditReads AuditLog
@argument entity_type Only rows of this type.
@argument entity_id Only the row with this id.
@argument limit The largest number of rows, 1 to 200.
The rows deleted in the last seven days that the caller may read and restore, newest first. Rows that exist again and rows with files are not included, nor rows that return with another one, such as the versions of a handbook page.';
grant execute on function deletions to office_api;

-- Inserts all rows of one type in one statement. Columns that the audit log leaves out, and columns that were added after the
-- deletion, get their defaults.
create or replace function restore_rows(entity_type text, rows jsonb) returns integer as $$
declare
  v_table record;
  v_left_out text[];
  v_columns text;
  v_names jsonb;
  v_key text;
  v_deleted_key text;
  v_count integer;
begin
  select * into v_table from restorable_table(restore_rows.entity_type);
  if v_table.needs_login then
    perform require_full_login();
  end if;
  if v_table.permissions <> '{}' then
    perform require_all_permissions(variadic v_table.permissions);
  end if;
  v_left_out := regexp_split_to_array(substring(table_tags(v_table.relation) ->> 'audit' from '\yexcept\s+(.+)$'), '\s+');
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    jsonb_object_agg(a.attname, coalesce(t.tags ->> 'auditName', camel_case(a.attname)))
  into v_columns, v_names
  from pg_attribute a, lateral comment_tags(col_description(a.attrelid, a.attnum)) as t(tags)
  where a.attrelid = v_table.relation and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and not t.tags ? 'secret'
    and a.attname <> all (coalesce(v_left_out, '{}'))
    -- The audit log leaves out nulls: a column may be missing in some of the rows.
    and exists (
      select from jsonb_array_elements(restore_rows.rows) as r(deleted)
      where r.deleted ? coalesce(t.tags ->> 'auditName', camel_case(a.attname)));
  select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum), string_agg('r.' || quote_ident(a.attname), ', ' order by a.attnum)
  into v_key, v_deleted_key
  from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey::smallint[])
  where i.indrelid = v_table.relation and i.indisprimary;
  -- lint: allow function-body because the table is that of the audit rows
  execute format(
    'insert into %1$s (%2$s) select %2$s from jsonb_populate_recordset(null::%1$s, (
       select jsonb_agg((select jsonb_object_agg(n.key, r.value -> n.value) from jsonb_each_text($2) as n where r.value ? n.value))
       from jsonb_array_elements($1) as r)) as r
     where not exists (select from %1$s t where (%3$s) = (%4$s))',
    v_table.relation, v_columns, v_key, v_deleted_key) using restore_rows.rows, v_names;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile;

-- Sets references to restored rows again that the same transaction had emptied, such as the department of its members.
create or replace function restore_references(deleted audit_log, entity_type text, ids text[]) returns void as $$
declare
  v_reference record;
begin
  for v_reference in
    select k.conrelid::regclass as relation, a.attname, coalesce(c.tags ->> 'auditName', camel_case(a.attname)) as name,
      substring(t.tags ->> 'audit' from '^(?!off\y)\w+') as entity_type
    from restorable_table(restore_references.entity_type) as r
      join pg_constraint k on k.confrelid = r.relation and k.contype = 'f' and k.confdeltype = 'n' and cardinality(k.conkey) = 1
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
      cross join lateral table_tags(k.conrelid) as t(tags)
      cross join lateral comment_tags(col_description(a.attrelid, a.attnum)) as c(tags)
    where not t.tags ->> 'audit' ~ '^off\y'
  loop
    -- lint: allow function-body because the table is one that refers to the restored rows
    execute format(
      'update %1$s t set %2$I = (a.before ->> $1)::uuid from audit_log a
       where a.created_at = $2 and a.correlation_id is not distinct from $3 and a.operation = ''UPDATE'' and a.entity_type = $4
         and a.entity_id = t.id::text and a.before ->> $1 = any ($5) and a.after ->> $1 is null and t.%2$I is null',
      v_reference.relation, v_reference.attname)
    using v_reference.name, deleted.created_at, deleted.correlation_id, v_reference.entity_type, restore_references.ids;
  end loop;
end;
$$ language plpgsql volatile;

-- The detail of the error would name the key, but not in tables with row-level security.
create or replace function key_fields(entity_type text, constraint_name text) returns text as $$
  select string_agg(camel_case(a.attname), ' and ' order by a.attnum)
  from restorable_table(key_fields.entity_type) as t cross join lateral (
    select k.conkey from pg_constraint k
    where k.conrelid = t.relation and k.conname = key_fields.constraint_name and k.contype = 'f'
    union all
    select case when i.indexprs is null then i.indkey::smallint[] else array(
      -- The columns of its expressions.
      select d.refobjsubid::smallint from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refobjid = i.indrelid and d.refobjsubid > 0) end
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = t.relation and c.relname = key_fields.constraint_name and i.indisunique and i.indpred is null
  ) as k(columns) join pg_attribute a on a.attrelid = t.relation and a.attnum = any (k.columns)
$$ language sql stable;
comment on function key_fields is 'The API names of the columns of a foreign key or unique index; null for partial indexes and other constraints.';

create or replace function restore(audit_log_id uuid, together boolean default true) returns integer as $$
declare
  v_audit audit_log;
  v_rows jsonb;
  v_all jsonb;
  v_left jsonb;
  v_type text;
  v_count integer := 0;
  v_message text;
  v_key text;
begin
  perform require_login();
  perform pg_advisory_xact_lock_shared(erasure_lock());
  select * into v_audit from audit_log a
  where a.id = restore.audit_log_id and a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
    and not exists (select from audit_erasures e where e.audit_log_id = a.id);
  if v_audit.id is not null and (v_audit.actor_user_id = current_user_id() or has_permission('audit.read'))
    and not exists (select from restorable_table(v_audit.entity_type)) then
    perform fail('OF409', format('The %s cannot be restored: its values or files are not kept', v_audit.entity_type), '{"path": ["auditLogId"]}');
  elsif v_audit.id is null or not exists (
    select from restorable_table(v_audit.entity_type) t
    where t.permissions <@ current_permissions() and not (t.needs_login and is_scoped())
      and may_restore_row(t.permissions, t.owner, t.owner_token, t.is_restricted, v_audit)
  ) then
    perform fail('OF404', 'There is no deletion of the last seven days with this id that you may undo', '{"path": ["auditLogId"]}');
  end if;
  -- A concurrent call for rows of the same deletion then finds them restored.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws('.', current_schema(), 'restore', v_audit.created_at) collate "C", 0));
  -- One transaction has one time. The correlation id separates transactions of the same time.
  select jsonb_object_agg(d.entity_type, d.rows) into v_rows
  from (
    select a.entity_type, jsonb_agg(a.before order by a.id) as rows
    from audit_log a join restorable_tables() t on t.entity_type = a.entity_type
    where may_restore_row(t.permissions, t.owner, t.owner_token, t.is_restricted, a) and a.operation = 'DELETE' and case when restore.together
      then a.created_at = v_audit.created_at and a.correlation_id is not distinct from v_audit.correlation_id
      else a.id = v_audit.id and a.created_at = v_audit.created_at end
      and not exists (select from audit_erasures e where e.audit_log_id = a.id)
    group by 1
  ) as d;
  v_all := v_rows;
  perform set_config('office.restoring', 'on', true);
  -- A type whose rows refer to rows of another type is retried after the others.
  loop
    v_left := '{}';
    v_message := null;
    -- The requested row comes last, because its reason is the one to tell: other rows may refer to it.
    for v_type in select k.key from jsonb_object_keys(v_rows) as k(key) order by k.key = v_audit.entity_type loop
      begin
        v_count := v_count + restore_rows(v_type, v_rows -> v_type);
      exception
        when foreign_key_violation then
          get stacked diagnostics v_key = constraint_name;
          v_message := format('The %s cannot be restored: the row %s was deleted', v_type,
            coalesce('of its ' || key_fields(v_type, v_key), 'that it refers to'));
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
        when unique_violation or exclusion_violation then
          get stacked diagnostics v_key = constraint_name;
          v_message := format('The %s cannot be restored: another row has the same %s', v_type,
            coalesce(key_fields(v_type, v_key), 'unique value'));
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
        when sqlstate 'OF400' or sqlstate 'OF409' then
          get stacked diagnostics v_message = message_text;
          v_message := format('The %s cannot be restored: %s', v_type, v_message);
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
        when not_null_violation or check_violation then
          v_message := format('The %s cannot be restored: it violates a current rule of the table', v_type);
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
      end;
    end loop;
    exit when v_left = '{}';
    if v_left = v_rows then
      perform fail('OF409', v_message, '{"path": ["auditLogId"]}');
    end if;
    v_rows := v_left;
  end loop;
  perform restore_references(v_audit, t.entity_type, array(select r ->> 'id' from jsonb_array_elements(v_all -> t.entity_type) as r))
  from jsonb_object_keys(v_all) as t(entity_type);
  perform set_config('office.restoring', '', true);
  if v_count = 0 then
    perform fail('OF409', format('The %s exists already', v_audit.entity_type), '{"path": ["auditLogId"]}');
  end if;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function restore is '@guard principal
@argument audit_log_id A deletion of the last seven days, as `auditLogs` and `recordHistory` list it.
@argument together Whether to restore all rows that the same transaction deleted, such as the versions of a handbook page or the campaigns of `deleteAllCampaigns`; true by default.
Restores deleted rows with their ids, and returns the number of restored rows. The caller needs the permissions to create such rows. Existing rows are skipped; if another row cannot be restored, none is.';
grant execute on function restore to office_api;
