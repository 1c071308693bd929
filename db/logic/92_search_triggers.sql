-- The outbox of the search engine: triggers note the ids of changed rows in the changing transaction. Workers poll the
-- outbox and read the current rows, so the latest state is always delivered and writers never wait.

create or replace function tg__search_own() returns trigger as $$
begin
  if tg_op = 'INSERT' then
    insert into search_outbox (collection, document_id) select tg_argv[0], n.id from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into search_outbox (collection, document_id) select tg_argv[0], o.id from old_rows o;
  else
    insert into search_outbox (collection, document_id)
    select tg_argv[0], n.id from new_rows n union select tg_argv[0], o.id from old_rows o;
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__search_own is 'Statement trigger: adds the changed rows of a collection''s own table to the outbox.';

-- Arguments: the collection; then `from` and the referring column, or `to`, the referring column and the key column;
-- then the columns to compare.
create or replace function tg__search_changed() returns trigger as $$
declare
  v_collection text := tg_argv[0];
  v_column text := tg_argv[2];
  v_rows text;
  v_table text := (select c.relation::text from search_catalogue c where c.collection = v_collection);
begin
  v_rows := case
    when tg_argv[1] = 'to' then format(
      'select t.id from %s t where t.%I in (
         select (u.n ->> %L)::uuid
         from unnest(array(select to_jsonb(o) from old_rows o), array(select to_jsonb(n) from new_rows n)) as u(o, n)
         where exists (select from unnest($2) as c where u.o -> c is distinct from u.n -> c))',
      v_table, v_column, tg_argv[3])
    when tg_op = 'INSERT' then format('select %I from new_rows', v_column)
    when tg_op = 'DELETE' then format('select %I from old_rows', v_column)
    else format('select %1$I from new_rows union select %1$I from old_rows', v_column)
  end;
  execute format('insert into search_outbox (collection, document_id) select $1, x.id from (%s) as x(id) where x.id is not null', v_rows)
    using v_collection, tg_argv[4:];
  if is_watched(v_table) then
    execute format('insert into watched_changes (table_name, row_id, is_new) select $1, x.id, false from (%s) as x(id) where x.id is not null', v_rows)
      using v_table, tg_argv[4:];
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__search_changed is 'Statement trigger: adds the documents that show the changed rows to the outbox.';

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
  if with_search and (select o.id from search_outbox o order by o.id limit 1) is not null and not is_queued('index_search', 'changes') then
    perform queue_search_indexing();
  end if;
  if ((select c.id from watched_changes c order by c.id limit 1) is not null
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

create or replace function ensure_search_trigger(
  relation regclass, collection text, name text, event text, arguments text[] default '{}'
) returns void as $$
  select ensure_trigger(
    ensure_search_trigger.relation, left('_700_search_' || concat_ws('_', collection, name, event), 63),
    format('after %s on %%TABLE%% referencing %s for each statement execute function %s(%s)', event,
      case event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
        else 'old table as old_rows new table as new_rows' end,
      case when cardinality(arguments) = 0 then 'tg__search_own' else 'tg__search_changed' end,
      (select string_agg(quote_literal(a), ', ' order by place) from unnest(array[collection] || arguments) with ordinality as x(a, place)))
  )
$$ language sql volatile;

create or replace function protect_search() returns void as $$
begin
  perform describe_search();
  perform ensure_search_trigger(s.relation, s.collection, null, e)
  from search_tables() s, unnest(array['insert', 'update', 'delete']) as e;
  perform ensure_trigger(s.relation, '_700_search_emptied',
    format('after truncate on %%TABLE%% for each statement execute function tg__search_emptied(%L)', s.collection))
  from search_tables() s;
  perform ensure_search_trigger(f.other, f.collection, f.through, e,
      case f.direction when 'from' then array['from', f.through] else array['to', f.through, f.key] || f.columns end)
  from (
      select s.collection, x.other, x.direction, x.through, max(x.key) as key, array_agg(x.target order by x.target) as columns
      from search_tables() s, lateral search_fields(s.relation) as x
      where x.other is not null
      group by 1, 2, 3, 4
    ) as f,
    unnest(case f.direction when 'from' then array['insert', 'update', 'delete'] else array['update'] end) as e;
end;
$$ language plpgsql volatile;
comment on function protect_search is 'Applies the search tags; called at the end of a migration.';
