-- Versions of rows, so that nobody overwrites a change unseen, and the changes of a row.

-- `xmin` changes with each update; the time tells rows apart whose transaction numbers repeat after a restore.
create or replace function version_of(changed_in text, changed_at timestamptz) returns text as $$
  select md5(version_of.changed_in || '/' || coalesce(extract(epoch from version_of.changed_at)::text, ''))
$$ language sql stable parallel safe;
comment on function version_of is 'The version of a row from its `xmin` and its `updated_at`.';
grant execute on function version_of to office_api;

-- Reads as the owner: the lock needs a privilege that callers of functions do not have. `conflicting_change` has checked that
-- the caller sees the row.
create or replace function locked_version(relation regclass, id uuid) returns text as $$
declare
  v_changed_at text := case when exists (
    select from pg_attribute where attrelid = locked_version.relation and attname = 'updated_at' and not attisdropped
  ) then 'updated_at' else 'null' end;
  v_version text;
begin
  -- lint: allow function-body because the table is an argument
  execute format('select version_of(xmin::text, %s) from %s where id = $1 for no key update', v_changed_at, locked_version.relation)
    into v_version using locked_version.id;
  return v_version;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function locked_version is 'Locks a row until the transaction ends and returns its version.';

create or replace function last_change(entity_type text, entity_id text) returns jsonb as $$
  select jsonb_build_object(
    'changedAt', a.created_at,
    'changedBy', case when u.id is not null then jsonb_build_object('id', u.id, 'name', u.name) end
  )
  from audit_log a left join users u on u.id = a.actor_user_id
  where a.entity_id = last_change.entity_id and a.entity_type = last_change.entity_type and a.operation in ('CREATE', 'UPDATE')
  order by a.created_at desc, a.id desc
  limit 1
$$ language sql stable security definer set search_path from current;
comment on function last_change is 'When a row was last changed and by whom, by name alone.';

create or replace function conflicting_change(relation text, entity_type text, id uuid, version text) returns jsonb as $$
declare
  v_table regclass := conflicting_change.relation::regclass;
  v_sees boolean;
  v_version text;
begin
  -- lint: allow function-body because the table is an argument
  execute format('select exists (select from %s where id = $1)', v_table) into v_sees using conflicting_change.id;
  if not v_sees then
    return '{"isMissing": true}';
  end if;
  v_version := locked_version(v_table, conflicting_change.id);
  if v_version = conflicting_change.version then
    return null;
  end if;
  return coalesce(last_change(conflicting_change.entity_type, conflicting_change.id::text), '{}');
end;
$$ language plpgsql volatile;
comment on function conflicting_change is
  'Locks a row that the caller sees; returns who changed it when its version is another one, and null otherwise. For other rows, `isMissing`: some mutations change rows that the caller does not see, and would ignore the version.';

-- The caller has been checked: they see the row or, for a deleted one, may read the audit log. With `owner`, the field of the
-- row's owner, the history begins when the row became that of its present owner: a key that people choose may have been that
-- of another row, and a row may have changed hands.
drop function if exists record_history(text, text, text[], timestamptz, uuid, integer);
create or replace function record_history(
  entity_type text, entity_id text, operations text[], before_time timestamptz, before_id uuid, size integer, owner text default null
) returns table (
  id uuid, created_at timestamptz, operation text, correlation_id text, source text, token_name text, user_id uuid, user_name text,
  before jsonb, after jsonb, also_changed integer
) as $$
  with beginning as materialized (
    select c.id, c.created_at, c.operation
    from audit_log c
    where record_history.owner is not null and c.entity_id = record_history.entity_id and c.entity_type = record_history.entity_type
      and (c.operation = 'CREATE' or c.operation = 'UPDATE' and c.after ->> record_history.owner is distinct from c.before ->> record_history.owner)
    order by c.created_at desc, c.id desc
    limit 1
  )
  select a.id, a.created_at, a.operation, a.correlation_id, a.metadata ->> 'source', t.name, u.id, u.name, a.before, a.after,
    case when a.correlation_id is null or a.operation = 'READ' then 0 else (
      select count(*)::integer from (
        select from audit_log o
        where o.correlation_id = a.correlation_id and o.operation in ('CREATE', 'UPDATE', 'DELETE') and o.id <> a.id
        limit 1000
      ) as others
    ) end
  from audit_log a
    left join users u on u.id = a.actor_user_id
    left join api_tokens t on t.id = (a.metadata ->> 'tokenId')::uuid
  where a.entity_id = record_history.entity_id and a.entity_type = record_history.entity_type
    and a.operation = any (record_history.operations)
    -- One condition with and without a cursor, so that the index finds its place under a generic plan too.
    and (a.created_at, a.id) < (
      coalesce(record_history.before_time, 'infinity'),
      coalesce(record_history.before_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    -- The change of the owner has values of the former one.
    and not exists (
      select from beginning b where (b.created_at, b.id) > (a.created_at, a.id) or b.id = a.id and b.operation = 'UPDATE')
  order by a.created_at desc, a.id desc
  limit record_history.size
$$ language sql stable security definer set search_path from current;
comment on function record_history is '@behavior -queryField -typeField
A page of the audit log about one row, newest first, with names in place of addresses.';

grant execute on function locked_version, last_change, conflicting_change, record_history to office_api;
