-- The audit log: triggers record changes, requests record reads.
-- A single expression without a subquery, so that PostgreSQL inlines it. Most names are one word and need no
-- conversion.
create or replace function camel_case(name text) returns text as $$
  select case when strpos(camel_case.name, '_') = 0 then camel_case.name else
    lower(left(replace(camel_case.name, '_', ''), 1)) || substr(replace(initcap(replace(camel_case.name, '_', ' ')), ' ', ''), 2)
  end
$$ language sql immutable parallel safe;
comment on function camel_case is 'Converts a column name to its API name.';
grant execute on function camel_case to office_api;

create or replace function audit_metadata() returns jsonb as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'source', coalesce(nullif(current_setting('office.source', true), ''), 'db'),
    'tokenId', nullif(current_setting('office.token_id', true), '')
  ))
$$ language sql stable;
comment on function audit_metadata is 'The origin of a change (`api`, `job`, or `db` for direct changes in the database) and the API token.';

-- Arguments: entity type, id column, `search` for a table of the search engine, then excluded columns (secrets, noise) and
-- renamed columns as `column=name`.
create or replace function tg__audit() returns trigger as $$
declare
  v_entity text := tg_argv[0];
  v_key text := tg_argv[1];
  v_readers change_reader[] := change_readers(tg_table_name, tg_argv[2] = 'search');
  v_left_out text[] := tg_argv[3:];
  v_names jsonb := '{}';
  v_is_related boolean := is_watched_as_related(tg_table_name);
  v_before jsonb[];
  v_after jsonb[];
begin
  if strpos(array_to_string(v_left_out, ' '), '=') > 0 then
    select jsonb_object_agg(split_part(a, '=', 1), split_part(a, '=', 2)) into v_names
    from unnest(v_left_out) as a where strpos(a, '=') > 0;
  end if;

  if tg_op = 'INSERT' then
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, array(select n.id from new_rows n), true);
    end if;
    if v_is_related and exists (select from new_rows) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, after, metadata
    )
    select current_user_id(), 'CREATE', v_entity, j.row ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.values, audit_metadata()
    from (select to_jsonb(n) from new_rows as n) as j(row),
      lateral (
        select jsonb_object_agg(coalesce(v_names ->> e.key, camel_case(e.key)), e.value)
        from jsonb_each(jsonb_strip_nulls(j.row)) as e where e.key <> all (v_left_out)
      ) as v(values);
  elsif tg_op = 'DELETE' then
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, array(select o.id from old_rows o), false);
    end if;
    if v_is_related and exists (select from old_rows) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, metadata
    )
    select current_user_id(), 'DELETE', v_entity, j.row ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.values, audit_metadata()
    from (select to_jsonb(o) from old_rows as o) as j(row),
      lateral (
        select jsonb_object_agg(coalesce(v_names ->> e.key, camel_case(e.key)), e.value)
        from jsonb_each(jsonb_strip_nulls(j.row)) as e where e.key <> all (v_left_out)
      ) as v(values);
  else
    -- Both transition tables list a statement's rows in the same order. A join by key would be planned for the first
    -- statement's row count and could become quadratic.
    v_before := array(select to_jsonb(t) from old_rows as t);
    v_after := array(select to_jsonb(t) from new_rows as t);
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, changed_ids(v_before, v_after), false);
    end if;
    if v_is_related and exists (select from unnest(v_before, v_after) as u(before, after) where u.before <> u.after) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata
    )
    select current_user_id(), 'UPDATE', v_entity, u.before ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.before, v.after, audit_metadata()
    from unnest(v_before, v_after) as u(before, after),
      lateral (
        select jsonb_object_agg(n.name, u.before -> a.key), jsonb_object_agg(n.name, a.value)
        from jsonb_each(u.after) as a, lateral (select coalesce(v_names ->> a.key, camel_case(a.key))) as n(name)
        where a.key <> all (v_left_out) and a.key <> 'updated_at' and a.value <> u.before -> a.key
      ) as v(before, after)
    where v.before is not null;
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__audit is
  'Statement trigger: inserts one audit row for each changed row, without secrets, and adds the changed rows to the outbox.';

-- Compares byte for byte, because not every type has an equality operator. Tables with the generated column
-- `search_words` pass its name: it is computed after this trigger and is null in `new`.
create or replace function tg__timestamps() returns trigger as $$
begin
  if tg_nargs > 0 then
    -- lint: allow function-body because only tables with search_words give the argument
    old.search_words := null;
  end if;
  if new *<> old then
    new.updated_at := greatest(now(), old.updated_at);
  end if;
  return new;
end;
$$ language plpgsql volatile;
comment on function tg__timestamps is 'Sets `updated_at`, unless the update changes nothing.';

create or replace function tg__normalize_names() returns trigger as $$
declare
  v_row jsonb := to_jsonb(new);
  v_normalized jsonb;
begin
  select jsonb_object_agg(c.name, coalesce(normalize_name(v_row ->> c.name), '')) into v_normalized
  from unnest(tg_argv) as c(name) where v_row ->> c.name <> coalesce(normalize_name(v_row ->> c.name), '');
  return case when v_normalized is null then new else jsonb_populate_record(new, v_normalized) end;
end;
$$ language plpgsql volatile;
comment on function tg__normalize_names is 'Stores the named columns in the form of `normalize_name`; blank values are left to the table''s checks.';

-- Arguments: the columns of @owner. Jobs and people in the database name the owner, and a restored row keeps its own.
create or replace function tg__owner() returns trigger as $$
declare
  v_row jsonb := to_jsonb(new);
begin
  if is_restoring() then
    return new;
  end if;
  return jsonb_populate_record(new, (
    select coalesce(jsonb_object_agg(o.name, o.id), '{}')
    from (values (tg_argv[0], current_user_id()), (tg_argv[1], current_token_id())) as o(name, id)
    where v_row ->> o.name is null and o.name is not null and o.id is not null));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__owner is 'Makes the caller the owner of a new row.';

create or replace function is_erasing() returns boolean as $$
  select coalesce(current_setting('office.erasing', true), '') = 'on'
$$ language sql stable;
comment on function is_erasing is 'Whether `erase_personal_data` changes audit rows.';

create or replace function tg__append_only() returns trigger as $$
begin
  if tg_op = 'UPDATE' and is_erasing() then
    return new;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'OF403';
end;
$$ language plpgsql volatile;
comment on function tg__append_only is 'Rejects updates and deletes, except for the erasure of personal data.';

create or replace function record_change(
  operation text, entity_type text, entity_id text, before jsonb, after jsonb, metadata jsonb
) returns void as $$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata
  )
  values (
    current_user_id(), record_change.operation, record_change.entity_type, record_change.entity_id,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''), record_change.before, record_change.after,
    audit_metadata() || coalesce(without_tokens(record_change.metadata::text)::jsonb, '{}')
  )
$$ language sql volatile;
comment on function record_change is 'Records an event that no table trigger records, such as a refused login, a tool call or a started run.';

-- Skips rows without an entity type.
create or replace function record_reads(entity_types text[], entity_ids text[], metadata jsonb[]) returns void as $$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  -- The pattern is a cheap test for values that may contain a token.
  select current_user_id(), 'READ', r.entity_type, r.entity_id, nullif(current_setting('office.correlation_id', true), ''),
    nullif(current_setting('office.ip_address', true), ''), nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || case
      when r.metadata::text like any (array['%bos\_%', '%boa\_%', '%bol\_%', '%boc\_%']) then without_tokens(r.metadata::text)::jsonb
      else r.metadata
    end
  from unnest(record_reads.entity_types, record_reads.entity_ids, record_reads.metadata) as r(entity_type, entity_id, metadata)
  where r.entity_type is not null and current_user_id() is not null
$$ language sql volatile security definer set search_path from current;
comment on function record_reads is 'Records reads of audited entities; the arrays have one item for each entity.';
grant execute on function record_reads to office_api;

create or replace function record_read(entity_type text, entity_id text, metadata jsonb) returns void as $$
  select record_reads(array[record_read.entity_type], array[record_read.entity_id], array[record_read.metadata])
$$ language sql volatile;
comment on function record_read is 'Records that an operation read an audited entity.';
grant execute on function record_read to office_api;

-- Rows without a partition for their month go to the default partition, so that writes never wait for this job.
create or replace function ensure_audit_partitions(months_ahead integer default 2) returns void as $$
declare
  v_tree text;
  v_month date;
  v_name text;
begin
  foreach v_tree in array array['audit_log_writes', 'audit_log_reads'] loop
    for v_month in
      select generate_series(
        date_trunc('month', now() at time zone 'UTC'),
        date_trunc('month', now() at time zone 'UTC') + make_interval(months => months_ahead), '1 month'
      )::date
    loop
      v_name := v_tree || to_char(v_month, '"_"YYYY"_"MM');
      if to_regclass(format('%I', v_name)) is null then
        begin
          execute format(
            'create table %I partition of %I for values from (%L) to (%L)', v_name, v_tree,
            v_month::timestamp at time zone 'UTC', (v_month + interval '1 month')::timestamp at time zone 'UTC'
          );
          execute format('alter table %I enable row level security', v_name);
          execute format('alter table %I force row level security', v_name);
        exception when check_violation then
          -- After a long pause the default partition holds rows of this month already; they stay there.
          raise warning 'audit rows of % stay in the default partition of %', to_char(v_month, 'YYYY-MM'), v_tree;
        end;
      end if;
    end loop;
  end loop;
  -- Partitions inherit row triggers but no statement triggers, so each needs its own trigger for `truncate`.
  perform ensure_trigger(t.relid, '_900_no_truncate',
    'before truncate on %TABLE% for each statement execute function tg__append_only()')
  from pg_partition_tree('audit_log') as t
  where t.relid <> 'audit_log'::regclass;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function ensure_audit_partitions is 'Creates the audit log''s partitions for this month and the next ones.';

-- No role may delete audit rows, so expired rows are removed by dropping tables. Rows of the default partition that are
-- not expired move to a new table.
create or replace function renew_default_audit_partition(tree regclass, kept_since timestamptz) returns void as $$
declare
  v_name text := (select relname from pg_class where oid = renew_default_audit_partition.tree) || '_default';
begin
  execute format('alter table %s detach partition %I', tree, v_name);
  execute format('alter table %I rename to %I', v_name, v_name || '_old');
  execute format('alter table %I disable row level security', v_name || '_old');
  execute format('create table %I partition of %s default', v_name, tree);
  execute format('alter table %I enable row level security', v_name);
  execute format('alter table %I force row level security', v_name);
  perform ensure_trigger(v_name::regclass, '_900_no_truncate',
    'before truncate on %TABLE% for each statement execute function tg__append_only()');
  execute format('insert into audit_log select * from %I where created_at >= $1', v_name || '_old') using kept_since;
  execute format('drop table %I', v_name || '_old');
end;
$$ language plpgsql volatile;

create or replace function drop_old_audit_partitions(write_days integer, read_days integer) returns setof text as $$
declare
  v_tree record;
  v_part record;
  v_dropped_before timestamptz;
begin
  -- A lower limit for retention prevents misuse to remove recent rows.
  if coalesce(drop_old_audit_partitions.write_days < 31 or drop_old_audit_partitions.read_days < 31, true) then
    raise exception 'Audit rows must be kept for at least 31 days';
  end if;
  for v_tree in
    select t.name, now() - make_interval(days => t.days) as kept_since, t.operations
    from (values
      ('audit_log_writes', write_days, array['CREATE', 'UPDATE', 'DELETE']), ('audit_log_reads', read_days, array['READ'])
    ) as t(name, days, operations)
  loop
    v_dropped_before := null;
    for v_part in
      select c.relname, to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' as ends_at
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = v_tree.name::regclass and c.relname ~ '_\d{4}_\d{2}$'
    loop
      if v_part.ends_at < v_tree.kept_since then
        execute format('drop table %I', v_part.relname);
        v_dropped_before := greatest(v_dropped_before, v_part.ends_at at time zone 'UTC');
        return next v_part.relname;
      end if;
    end loop;
    if exists (
      select from audit_log a
      where a.created_at < v_tree.kept_since and a.operation = any (v_tree.operations)
        and a.tableoid = (v_tree.name || '_default')::regclass
    ) then
      perform renew_default_audit_partition(v_tree.name::regclass, v_tree.kept_since);
      v_dropped_before := v_tree.kept_since;
      return next v_tree.name || '_default';
    end if;
    if v_dropped_before is not null then
      perform seal_audit_drop(replace(v_tree.name, 'audit_log_', ''), v_dropped_before);
    end if;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function drop_old_audit_partitions is
  'Drops audit rows after their retention, by whole months, and expired rows of the default partitions. Returns the affected partitions.';
grant execute on function ensure_audit_partitions, drop_old_audit_partitions to office_worker;

select ensure_audit_partitions();
