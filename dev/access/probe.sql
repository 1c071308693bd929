-- Counts the rows that a caller reaches in each table by policies alone. Every privilege is granted first, so that
-- a mistake in the grants cannot hide one in the policies. Created in a transaction that is rolled back.
create table access_probe_rows (relation text not null, own boolean not null, row jsonb not null);
grant select on access_probe_rows to public;

create function access_probe_keep(relation text, pattern text) returns void as $$
begin
  execute format(
    'insert into access_probe_rows select %L, to_jsonb(t)::text ~ %L, to_jsonb(t) from %s t', relation, pattern, relation
  );
end;
$$ language plpgsql;

-- For each verb the number of rows that the caller reaches, and how many of them are the caller's own.
create function access_probe(relation text, pattern text, out verb text, out reached integer, out reached_own integer)
returns setof record as $$
declare
  v_columns text;
  v_column text;
  v_row record;
begin
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum), min(quote_ident(a.attname)) filter (where a.attnum = 1)
  into v_columns, v_column
  from pg_attribute a
  where a.attrelid = access_probe.relation::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '';

  verb := 'select';
  begin
    execute format('select count(*), count(*) filter (where to_jsonb(t)::text ~ %L) from %s t', pattern, relation)
    into reached, reached_own;
  exception when insufficient_privilege then
    -- A policy calls a function that the caller may not execute.
    reached := 0;
    reached_own := 0;
  end;
  return next;

  -- Views are read-only: the migrate command refuses write grants on them.
  if (select c.relkind = 'v' from pg_class c where c.oid = access_probe.relation::regclass) then
    reached := 0;
    reached_own := 0;
    foreach verb in array array['insert', 'update', 'delete'] loop
      return next;
    end loop;
    return;
  end if;

  -- Inserts copies of existing rows: policies are checked before keys and constraints.
  verb := 'insert';
  reached := 0;
  reached_own := 0;
  for v_row in
    (select * from access_probe_rows r where r.relation = access_probe.relation and r.own limit 2)
    union all
    (select * from access_probe_rows r where r.relation = access_probe.relation and not r.own limit 2)
  loop
    begin
      begin
        execute format(
          'insert into %s (%s) select %2$s from jsonb_populate_record(null::%1$s, $1)', relation, v_columns
        ) using v_row.row;
        raise sqlstate 'PROBE';
      exception when sqlstate 'PROBE' or integrity_constraint_violation or generated_always then
        reached := reached + 1;
        reached_own := reached_own + v_row.own::integer;
      end;
    exception when insufficient_privilege then
      null;
    end;
  end loop;
  return next;

  -- Reads the rows before it changes them, as the API does, so that the policies for reading apply too.
  foreach verb in array array['update', 'delete'] loop
    select f.count into reached from access_probe_write(verb, relation, v_column, '') f(count);
    select f.count into reached_own from access_probe_write(verb, relation, v_column, pattern) f(count);
    return next;
  end loop;
end;
$$ language plpgsql;

create function access_probe_write(verb text, relation text, change text, pattern text) returns integer as $$
declare
  v_count integer := 0;
begin
  begin
    execute case verb
      when 'update' then format('update %s t set %s = %2$s where to_jsonb(t)::text ~ %L', relation, change, pattern)
      else format('delete from %s t where to_jsonb(t)::text ~ %L', relation, pattern)
    end;
    get diagnostics v_count = row_count;
    raise sqlstate 'PROBE';
  exception
    when sqlstate 'PROBE' then null;
    when insufficient_privilege then null;
  end;
  return v_count;
end;
$$ language plpgsql;
grant execute on function access_probe, access_probe_write to public;
