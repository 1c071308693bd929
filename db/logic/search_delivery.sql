-- Functions for the worker that updates the search engine; one worker at a time for each tenant.

create or replace function search_state() returns table (
  type text, collection text, definition jsonb, wanted text, version text, signature text, building text, building_signature text,
  building_cursor uuid, error text
) as $$
  select coalesce(s.collection, i.collection), search_alias(coalesce(s.collection, i.collection)), s.definition, s.signature, i.version,
    i.signature, i.building, i.building_signature, i.building_cursor, i.error
  from search_catalogue s full join search_indexes i on i.collection = s.collection
  order by 1
$$ language sql stable security definer set search_path from current;
comment on function search_state is 'Declared and built collections; one without a definition is to be removed.';

create or replace function search_documents(collection text, ids uuid[]) returns table (id uuid, document jsonb) as $$
begin
  return query execute (select s.document_query from search_catalogue s where s.collection = search_documents.collection)
    using search_documents.ids;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_documents is 'The documents of rows by id; none for rows that are deleted or no documents.';

create or replace function search_ids(collection text, after uuid, row_limit integer) returns setof uuid as $$
declare
  v_catalogue search_catalogue;
begin
  select * into v_catalogue from search_catalogue s where s.collection = search_ids.collection;
  return query execute format('select t.id from %I t where ($1 is null or t.id > $1) and %s order by t.id limit $2',
    v_catalogue.table_name, v_catalogue.condition) using search_ids.after, search_ids.row_limit;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_ids is 'A page of the ids of a collection''s documents, in order.';

create or replace function search_row_count(collection text) returns bigint as $$
declare
  v_catalogue search_catalogue;
  v_count bigint;
begin
  select * into v_catalogue from search_catalogue s where s.collection = search_row_count.collection;
  execute format('select count(*) from %I t where %s', v_catalogue.table_name, v_catalogue.condition) into v_count;
  return v_count;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_row_count is 'The number of documents that a collection should have.';

-- Reads the rows in a separate statement after the outbox, so they are at least as new as the changes.
create or replace function search_changes(row_limit integer)
returns table (collection text, document_id uuid, change_ids bigint[], document jsonb) as $$
declare
  v_batch record;
begin
  delete from row_changes c
  where c.reader = 'search' and c.table_name not in (select s.table_name from search_catalogue s);
  for v_batch in
    select s.collection, array_agg(c.row_id) as ids, jsonb_object_agg(c.row_id, c.change_ids) as changes
    from (
      select b.table_name, b.row_id, jsonb_agg(b.id) as change_ids
      from (select c.* from row_changes c where c.reader = 'search' order by c.id limit search_changes.row_limit) as b
      group by 1, 2
    ) as c join search_catalogue s on s.table_name = c.table_name
    group by 1 order by 1
  loop
    return query
      select v_batch.collection, i.id, array(select jsonb_array_elements_text(v_batch.changes -> i.id::text)::bigint), d.document
      from unnest(v_batch.ids) as i(id) left join search_documents(v_batch.collection, v_batch.ids) as d on d.id = i.id;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function search_changes is 'The next changes for the search engine: current documents or deletions.';

create or replace function record_search_documents(collection text, ids uuid[], failures jsonb) returns void as $$
begin
  delete from search_failures f
  where f.collection = record_search_documents.collection and f.document_id = any (record_search_documents.ids);
  insert into search_failures (collection, document_id, message)
  select record_search_documents.collection, (f ->> 'id')::uuid, left(f ->> 'message', 500) from jsonb_array_elements(failures) as f
  on conflict do nothing;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_search_documents is 'Records which documents the engine rejected; it accepted the others.';

create or replace function delete_search_changes(change_ids bigint[]) returns void as $$
  delete from row_changes c where c.reader = 'search' and c.id = any (delete_search_changes.change_ids)
$$ language sql volatile security definer set search_path from current;
comment on function delete_search_changes is 'Deletes delivered changes from the outbox.';

create or replace function request_search_documents(collection text, ids uuid[]) returns void as $$
  select add_row_changes('{search}', s.table_name, request_search_documents.ids, false)
  from search_catalogue s where s.collection = request_search_documents.collection
$$ language sql volatile security definer set search_path from current;
comment on function request_search_documents is 'Queues rows for delivery again.';

create or replace function retry_search_failures(row_limit integer) returns void as $$
  insert into row_changes (reader, table_name, row_id)
  select 'search', s.table_name, f.document_id from search_failures f join search_catalogue s on s.collection = f.collection
  where not exists (
    select from row_changes c where c.reader = 'search' and c.table_name = s.table_name and c.row_id = f.document_id
  )
  order by f.failed_at limit retry_search_failures.row_limit
$$ language sql volatile security definer set search_path from current;
comment on function retry_search_failures is 'Queues rejected documents again, the longest untried first.';

create or replace function waiting_search_documents(collection text, ids uuid[]) returns setof uuid as $$
  select distinct c.row_id from row_changes c join search_catalogue s on s.table_name = c.table_name
  where c.reader = 'search' and s.collection = waiting_search_documents.collection and c.row_id = any (waiting_search_documents.ids)
$$ language sql stable security definer set search_path from current;
comment on function waiting_search_documents is 'The rows that wait for delivery.';

create or replace function begin_search_build(collection text, building text, signature text) returns void as $$
  insert into search_indexes as i (collection, building, building_signature)
  values (begin_search_build.collection, begin_search_build.building, begin_search_build.signature)
  on conflict on constraint search_indexes_pkey do update
    set building = excluded.building, building_signature = excluded.building_signature, building_cursor = null, building_rows = 0
$$ language sql volatile security definer set search_path from current;
comment on function begin_search_build is 'Records the start of a new version''s build.';

create or replace function advance_search_build(collection text, building text, building_cursor uuid, added integer) returns void as $$
  update search_indexes i set building_cursor = advance_search_build.building_cursor, building_rows = i.building_rows + advance_search_build.added
  where i.collection = advance_search_build.collection and i.building = advance_search_build.building
$$ language sql volatile security definer set search_path from current;
comment on function advance_search_build is 'Records the last row of a new version''s build.';

create or replace function finish_search_build(collection text, building text) returns boolean as $$
  with finished as (
    update search_indexes i set
      version = i.building, signature = i.building_signature, built_at = clock_timestamp(), building = null, building_signature = null,
      building_cursor = null, building_rows = 0, error = null
    where i.collection = finish_search_build.collection and i.building = finish_search_build.building
    returning 1
  )
  select exists (select from finished)
$$ language sql volatile security definer set search_path from current;
comment on function finish_search_build is 'Records that the new version is in use.';

create or replace function fail_search_build(collection text, error text) returns void as $$
  insert into search_indexes as i (collection, error) values (fail_search_build.collection, left(fail_search_build.error, 500))
  on conflict on constraint search_indexes_pkey do update set error = excluded.error, building = null
$$ language sql volatile security definer set search_path from current;
comment on function fail_search_build is 'Records why the engine rejected the new version.';

create or replace function delete_search_index(collection text) returns void as $$
  delete from search_indexes i where i.collection = delete_search_index.collection
$$ language sql volatile security definer set search_path from current;

create or replace function request_search_build(collection text) returns boolean as $$
begin
  if not exists (select from search_catalogue s where s.collection = request_search_build.collection) then
    return false;
  end if;
  update search_indexes i set signature = null, building = null, error = null where i.collection = request_search_build.collection;
  perform queue_search_indexing(true);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function request_search_build is 'Rebuilds a collection while the current version serves; false for an unknown name.';

-- The workers try again every second; only the first failure and the first success write.
create or replace function record_search_is_down(error text) returns void as $$
  update search_engine_state s set down_at = clock_timestamp(), error = left(record_search_is_down.error, 500) where s.down_at is null
$$ language sql volatile security definer set search_path from current;
comment on function record_search_is_down is 'Records the start of an outage of the search engine.';

create or replace function record_search_is_up() returns void as $$
  update search_engine_state s set down_at = null, error = null, up_at = clock_timestamp() where s.down_at is not null
$$ language sql volatile security definer set search_path from current;
comment on function record_search_is_up is 'Records the end of an outage of the search engine.';

create or replace function next_search_leftovers() returns setof search_leftovers as $$
  select * from search_leftovers order by kind desc, name limit 100
$$ language sql stable security definer set search_path from current;
comment on function next_search_leftovers is 'What to remove from the engine; collections come before their aliases.';

create or replace function delete_search_leftover(kind text, name text) returns void as $$
  delete from search_leftovers l where l.kind = delete_search_leftover.kind and l.name = delete_search_leftover.name
$$ language sql volatile security definer set search_path from current;

-- Called in the live schema when a test run ends. Records the exact names that the run used in the engine, so that a
-- new run of the same name keeps its own.
create or replace function import_search(tenant text) returns void as $$
begin
  if to_regclass(format('%I.search_keys', import_search.tenant)) is null then
    return;
  end if;
  execute format(
    'insert into search_leftovers (kind, name)
     select ''collection'', n from %1$I.search_indexes, unnest(array[version, building]) as n where n is not null
     union select ''alias'', collection || substring(%1$L from ''_e2e_.*$'') from %1$I.search_indexes
     union select ''key'', engine_id::text from %1$I.search_keys
     on conflict do nothing', import_search.tenant);
  if exists (select from search_leftovers) then
    perform queue_search_indexing(true);
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_search is 'Records a test run''s data in the search engine for removal.';

grant execute on function
  search_state, search_documents, search_ids, search_row_count, search_changes, record_search_documents, delete_search_changes,
  request_search_documents, retry_search_failures, waiting_search_documents, begin_search_build, advance_search_build, finish_search_build, fail_search_build,
  delete_search_index, request_search_build, record_search_is_down, record_search_is_up, next_search_leftovers, delete_search_leftover
to office_worker;
