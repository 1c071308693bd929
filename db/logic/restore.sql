-- Undoes deletions from the audit log.

-- The table of an entity type, with the permission to create its rows.
create or replace function restorable_table(entity_type text) returns table (relation regclass, permission text) as $$
  select c.oid::regclass, t.tags ->> 'create'
  from pg_class c, lateral table_tags(c.oid) as t(tags)
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and t.tags ? 'create'
    and substring(t.tags ->> 'audit' from '^(\w+)') = restorable_table.entity_type
$$ language sql stable;

create or replace function restore_row(audit audit_log) returns void as $$
declare
  v_table record;
  v_columns text;
  v_row jsonb;
begin
  select * into v_table from restorable_table(audit.entity_type);
  if not found then
    perform fail('OF409', format('A deleted %s cannot be restored', audit.entity_type));
  end if;
  perform require_all_permissions(variadic regexp_split_to_array(btrim(v_table.permission), '[\s,]+'));
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum), jsonb_object_agg(a.attname, audit.before -> n.name)
  into v_columns, v_row
  from pg_attribute a, lateral (
    select coalesce(comment_tags(col_description(a.attrelid, a.attnum)) ->> 'auditName', camel_case(a.attname))
  ) as n(name)
  where a.attrelid = v_table.relation and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and audit.before ? n.name;
  -- lint: allow function-body because the table is that of the audit row
  execute format('insert into %1$s (%2$s) select %2$s from jsonb_populate_record(null::%1$s, $1)', v_table.relation, v_columns) using v_row;
exception
  when unique_violation or exclusion_violation then
    perform fail('OF409', format('The %s cannot be restored: another row has the same unique value', audit.entity_type));
  when foreign_key_violation then
    perform fail('OF409', format('The %s cannot be restored: a row that it refers to was deleted', audit.entity_type));
  when not_null_violation or check_violation then
    perform fail('OF409', format('The %s cannot be restored: it violates a current rule of the table', audit.entity_type));
end;
$$ language plpgsql volatile;

create or replace function restore(audit_log_id uuid, together boolean default false) returns integer as $$
declare
  v_audit audit_log;
  v_rows audit_log[];
  v_left audit_log[];
  v_row audit_log;
  v_count integer := 0;
  v_message text;
begin
  perform require_login();
  select * into v_audit from audit_log a
  where a.id = restore.audit_log_id and a.operation = 'DELETE' and a.created_at > now() - interval '7 days';
  if not found or not exists (
    select from restorable_table(v_audit.entity_type) t
    where string_to_array(regexp_replace(btrim(t.permission), '[\s,]+', ' ', 'g'), ' ') <@ current_permissions()
  ) then
    perform fail('OF404', 'There is no deletion of the last seven days with this id that you may undo', '{"path": ["auditLogId"]}');
  end if;
  v_rows := case when restore.together and v_audit.correlation_id is not null then array(
      select a from audit_log a
      where a.correlation_id = v_audit.correlation_id and a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
      order by a.created_at, a.id limit 10001
    ) else array[v_audit] end;
  if cardinality(v_rows) > 10000 then
    perform fail('OF409', 'More than 10000 rows were deleted together: restore them one by one', '{"path": ["together"]}');
  end if;
  -- Retries rows that failed after the others, because they may refer to rows that are restored later.
  loop
    v_left := '{}';
    foreach v_row in array v_rows loop
      begin
        perform restore_row(v_row);
        v_count := v_count + 1;
      exception when sqlstate 'OF409' then
        get stacked diagnostics v_message = message_text;
        v_left := v_left || v_row;
      end;
    end loop;
    exit when cardinality(v_left) = 0;
    if cardinality(v_left) = cardinality(v_rows) then
      perform fail('OF409', v_message, '{"path": ["auditLogId"]}');
    end if;
    v_rows := v_left;
  end loop;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function restore is '@guard principal
@argument audit_log_id A deletion of the last seven days, as `auditLogs` and `recordHistory` list it.
@argument together Whether to restore all rows that the same request deleted, such as the campaigns of `deleteAllCampaigns`.
Restores a deleted row with its id. The caller needs the permission to create such rows. All or nothing; returns the number of rows.';
grant execute on function restore to office_api;
