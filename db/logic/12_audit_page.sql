-- Reads pages of the audit log. Entity types and timestamp columns come from the catalogue, which is too slow to read
-- in a request; each migration writes them into functions.
do $$
declare
  v_types text[] := array(
    select substring(t.tags ->> 'audit' from '^\w+')
    from pg_class c, table_tags(c.oid) as t(tags)
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and t.tags ->> 'audit' !~ '^off\y'
    union
    -- Recorded by functions and by the server, not by triggers.
    select unnest(array['AiToolCall', 'AuditLog', 'ErpSyncRun', 'Job', 'SearchKey'])
    order by 1
  );
  -- A single expression, so that PostgreSQL inlines it.
  v_moments text := (
    select string_agg(format('when %L then %L::text[]', m.entity_type, m.names), ' ' order by m.entity_type)
    from (
      select substring(t.tags ->> 'audit' from '^\w+') as entity_type,
        array_agg(coalesce(comment_tags(col_description(c.oid, a.attnum)) ->> 'auditName', camel_case(a.attname)) order by a.attnum) as names
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        join pg_type y on y.oid = a.atttypid, table_tags(c.oid) as t(tags)
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and t.tags ->> 'audit' !~ '^off\y' and coalesce(nullif(y.typbasetype, 0), y.oid) = 'timestamptz'::regtype
      group by 1
    ) as m
  );
begin
  execute format(
    'create or replace function audit_entity_types() returns text[] as $f$ select %L::text[] $f$ language sql immutable', v_types);
  execute format(
    'create or replace function audit_moments(entity_type text) returns text[] as $f$
      select case audit_moments.entity_type %s end $f$ language sql immutable', v_moments);
end;
$$;
comment on function audit_entity_types is '@behavior -queryField -typeField
The entity types recorded by this release.';
comment on function audit_moments is '@behavior -queryField -typeField
The timestamp values of an entity type.';
grant execute on function audit_entity_types, audit_moments to office_api;

-- One index lookup for each entity type in the log.
create or replace function recorded_entity_types() returns setof text as $$
  with recursive types as (
    (select a.entity_type from audit_log a order by a.entity_type limit 1)
    union all
    select (select a.entity_type from audit_log a where a.entity_type > t.entity_type order by a.entity_type limit 1)
    from types t where t.entity_type is not null
  )
  select t.entity_type from types t where t.entity_type is not null limit 500
$$ language sql stable rows 50;
comment on function recorded_entity_types is '@behavior -queryField -typeField
The entity types of existing audit rows, including those of older releases.';

create or replace function require_entity_type(entity_type text) returns void as $$
declare
  v_known text[];
  v_near text;
begin
  if require_entity_type.entity_type is null or require_entity_type.entity_type = any (audit_entity_types()) then
    return;
  end if;
  v_known := array(select unnest(audit_entity_types()) union select recorded_entity_types() order by 1);
  if require_entity_type.entity_type = any (v_known) then
    return;
  end if;
  select k.name into v_near
  from unnest(v_known) as k(name), lateral (
    select extensions.similarity(lower(k.name), lower(left(require_entity_type.entity_type, 100)))
  ) as s(similarity)
  where s.similarity >= 0.2
  order by s.similarity desc, k.name limit 1;
  perform fail('OF400', format('entityType: there is no `%s`%s; it must be one of %s', left(require_entity_type.entity_type, 100),
    ' (did you mean `' || v_near || '`?)', array_to_string(v_known, ', ')), '{"path": ["input", "entityType"]}');
end;
$$ language plpgsql stable;
comment on function require_entity_type is '@behavior -queryField -typeField
Fails for an entity type that is neither recorded nor present in the log.';

-- Rows are stored and sealed with timestamps in PostgreSQL's format.
create or replace function audit_values("values" jsonb, moments text[]) returns jsonb as $$
declare
  v_values jsonb := audit_values."values";
  v_name text;
  v_text text;
begin
  if v_values is null or moments is null then
    return v_values;
  end if;
  foreach v_name in array moments loop
    v_text := v_values ->> v_name;
    if v_text ~ '^\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d$' and pg_input_is_valid(v_text, 'timestamptz') then
      v_values := v_values || jsonb_build_object(v_name, to_char(v_text::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
    end if;
  end loop;
  return v_values;
end;
$$ language plpgsql stable;
comment on function audit_values is '@behavior -queryField -typeField
Changed values with timestamps in the format of the API.';

-- Builds a statement with only the requested conditions, planned for their values. A single statement with `(parameter
-- is null or ...)` would get a generic plan that scans the whole log.
create or replace function audit_log_conditions(
  actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text, "from" timestamptz, "to" timestamptz
) returns text as $$
  select concat_ws(' and ', 'true',
    case when audit_log_conditions.actor_user_id is not null then 'a.actor_user_id = $1' end,
    case when audit_log_conditions.entity_type is not null then 'a.entity_type = $2' end,
    case when audit_log_conditions.entity_id is not null then 'a.entity_id = $3' end,
    case when audit_log_conditions.operation is not null then 'a.operation = $4' end,
    case when audit_log_conditions.correlation_id is not null then 'a.correlation_id = $5' end,
    case when audit_log_conditions."from" is not null then 'a.created_at >= $6' end,
    case when audit_log_conditions."to" is not null then 'a.created_at < $7' end
  )
$$ language sql immutable;
comment on function audit_log_conditions is 'The conditions of `search_audit_log` on its alias `a`, over its first seven parameters.';

create or replace function search_audit_log(
  actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text,
  "from" timestamptz, "to" timestamptz, "limit" integer, "offset" integer
) returns setof audit_log as $$
declare
  v_row audit_log;
  v_moments text[];
begin
  perform require_entity_type(search_audit_log.entity_type);
  for v_row in execute
    'select a.* from audit_log a where ' || audit_log_conditions($1, $2, $3, $4, $5, $6, $7)
    || ' order by a.created_at desc, a.id desc limit $8 offset $9'
    using $1, $2, $3, $4, $5, $6, $7, $8, $9
  loop
    v_moments := audit_moments(v_row.entity_type);
    v_row.before := audit_values(v_row.before, v_moments);
    v_row.after := audit_values(v_row.after, v_moments);
    return next v_row;
  end loop;
end;
$$ language plpgsql stable rows 50;
comment on function search_audit_log is '@behavior -queryField -typeField
The audit rows that match all given filters, newest first.';

create or replace function count_audit_log(
  actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text,
  "from" timestamptz, "to" timestamptz, at_most integer
) returns integer as $$
declare
  v_count integer;
begin
  perform require_entity_type(count_audit_log.entity_type);
  execute
    'select count(*) from (select from audit_log a where ' || audit_log_conditions($1, $2, $3, $4, $5, $6, $7)
    || ' limit $8) as counted'
    into v_count using $1, $2, $3, $4, $5, $6, $7, $8;
  return v_count;
end;
$$ language plpgsql stable;
comment on function count_audit_log is '@behavior -queryField -typeField
The number of audit rows that match all given filters, at most `at_most`.';
grant execute on function recorded_entity_types, require_entity_type, audit_values, audit_log_conditions, search_audit_log, count_audit_log
  to office_api;
