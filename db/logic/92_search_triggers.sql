-- Triggers of the search engine for tables that the documents of another table show. The triggers of a collection's own table
-- are those of `protect_table`.

-- Arguments: the collection's table; then `from` and the referring column, or `to`, the referring column and the key column;
-- then the columns to compare.
create or replace function tg__search_changed() returns trigger as $$
declare
  v_table text := tg_argv[0];
  v_column text := tg_argv[2];
  v_ids uuid[];
begin
  execute format('select array(select x.id from (%s) as x(id) where x.id is not null)', case
    when tg_argv[1] = 'to' then format(
      'select t.id from %I t where t.%I in (
         select (u.n ->> %L)::uuid
         from unnest(array(select to_jsonb(o) from old_rows o), array(select to_jsonb(n) from new_rows n)) as u(o, n)
         where exists (select from unnest($1) as c where u.o -> c is distinct from u.n -> c))',
      v_table, v_column, tg_argv[3])
    when tg_op = 'INSERT' then format('select %I from new_rows', v_column)
    when tg_op = 'DELETE' then format('select %I from old_rows', v_column)
    else format('select %1$I from new_rows union select %1$I from old_rows', v_column)
  end) into v_ids using tg_argv[4:];
  perform add_row_changes(change_readers(v_table, true), v_table, v_ids, false);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__search_changed is 'Statement trigger: adds the rows whose documents show the changed rows to the outbox.';

create or replace function tg__search_emptied() returns trigger as $$
begin
  update search_indexes i set signature = null, building = null where i.collection = tg_argv[0];
  perform queue_search_indexing(true);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__search_emptied is 'Rebuilds a collection after `truncate`, which fires no row events.';

create or replace function queue_search_indexing(looks_around boolean default false) returns void as $$
  select queue_job('index_search', jsonb_build_object('check', looks_around),
    case when looks_around then 'check' else 'changes' end, null, null, 'search')
$$ language sql volatile security definer set search_path from current;
comment on function queue_search_indexing is
  'Queues the delivery of changes to the search engine; with `looks_around` also a comparison of the engine with the tables.';
grant execute on function queue_search_indexing to office_worker;

-- Each worker calls this several times a second without waiting for locks. A waiting or running job of this key
-- handles all changes; a failed one does not.
create or replace function queue_changes(with_search boolean) returns void as $$
begin
  -- The lookups use the index, which skips deleted rows that are not vacuumed yet.
  if with_search and (select c.id from row_changes c where c.reader = 'search' order by c.id limit 1) is not null
    and not is_queued('index_search', 'changes')
  then
    perform queue_search_indexing();
  end if;
  if ((select c.id from row_changes c where c.reader = 'watches' order by c.id limit 1) is not null
    or exists (select from search_watches w where w.related_due_at <= now() and w.is_ready and not w.is_paused))
    and not is_queued('run_watches', 'changes')
  then
    perform queue_watches('changes');
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function queue_changes is
  'Queues the evaluation of search watches when rows have changed, and with a search engine the delivery of its changes.';
grant execute on function queue_changes to office_worker;

create or replace function protect_search() returns void as $$
begin
  perform describe_search();
  perform ensure_trigger(s.relation, '_700_search_emptied',
    format('after truncate on %%TABLE%% for each statement execute function tg__search_emptied(%L)', s.collection))
  from search_tables() s;
  perform ensure_trigger(f.other, left('_700_search_' || concat_ws('_', f.collection, f.through, e.event), 63),
    format('after %s on %%TABLE%% referencing %s for each statement execute function tg__search_changed(%s)', e.event, e.tables,
      (select string_agg(quote_literal(a), ', ' order by place) from unnest(f.arguments) with ordinality as x(a, place))))
  from (
      select s.collection, x.other, x.through, x.direction, array[c.relname, x.direction, x.through]
        || case x.direction when 'to' then max(x.key) || array_agg(x.target order by x.target) end as arguments
      from search_tables() s join pg_class c on c.oid = s.relation, lateral search_fields(s.relation) as x
      where x.other is not null
      group by s.collection, c.relname, x.other, x.direction, x.through
    ) as f
    join (values
      ('insert', 'new table as new_rows'), ('update', 'old table as old_rows new table as new_rows'),
      ('delete', 'old table as old_rows')
    ) as e(event, tables) on f.direction = 'from' or e.event = 'update';
end;
$$ language plpgsql volatile;
comment on function protect_search is 'Applies the search tags; called at the end of a migration.';
