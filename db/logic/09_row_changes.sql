-- The outbox of changed rows: triggers add the ids of changed rows in the changing transaction, one entry for each reader.
-- The search engine gets all changes of its tables, search watches those of watched tables. Workers poll the outbox and
-- read the current rows, so the latest state is always delivered and writers never wait.

create or replace function is_watched(table_name text) returns boolean as $$
  select exists (select from search_watches w where w.table_name = is_watched.table_name)
$$ language sql stable;

create or replace function is_watched_as_related(table_name text) returns boolean as $$
  select exists (select from search_watches w where w.related_tables @> array[is_watched_as_related.table_name])
$$ language sql stable;
comment on function is_watched_as_related is 'Whether a watch of another list searches the rows of this table through relations.';

create or replace function change_readers(table_name text, is_indexed boolean) returns change_reader[] as $$
  select array_remove(array[
    case when change_readers.is_indexed then 'search' end, case when is_watched(change_readers.table_name) then 'watches' end
  ]::change_reader[], null)
$$ language sql stable;
comment on function change_readers is 'The readers of the changes of a table; `is_indexed` for a table of the search engine.';

create or replace function add_row_changes(readers change_reader[], table_name text, ids uuid[], is_new boolean) returns void as $$
  insert into row_changes (reader, table_name, row_id, is_new)
  select r, add_row_changes.table_name, i, add_row_changes.is_new
  from unnest(add_row_changes.readers) as r, unnest(add_row_changes.ids) as i
$$ language sql volatile;
comment on function add_row_changes is 'Adds changed rows to the outbox, once for each reader.';

-- The rows are not named: a deleted row, or one with another reference, no longer leads to the rows that matched by it.
create or replace function add_related_change(table_name text) returns void as $$
  insert into row_changes (reader, table_name) values ('watches', add_related_change.table_name)
$$ language sql volatile;
comment on function add_related_change is 'Queues the evaluation of all rows for the watches that search this table through relations.';

create or replace function changed_ids(before jsonb[], after jsonb[]) returns uuid[] as $$
  select array(
    select (coalesce(u.after, u.before) ->> 'id')::uuid from unnest(changed_ids.before, changed_ids.after) as u(before, after)
    where u.before is distinct from u.after
    union all
    select (u.before ->> 'id')::uuid from unnest(changed_ids.before, changed_ids.after) as u(before, after)
    where u.before -> 'id' <> u.after -> 'id'
  )
$$ language sql immutable;
comment on function changed_ids is 'The ids of the rows that a statement changed. A row whose id changed has two.';

-- Argument: `search` for a table of the search engine.
create or replace function tg__row_changes() returns trigger as $$
declare
  v_readers change_reader[] := change_readers(tg_table_name, tg_argv[0] = 'search');
  v_is_related boolean := is_watched_as_related(tg_table_name);
  v_before jsonb[];
  v_after jsonb[];
begin
  if v_readers = '{}' and not v_is_related then
    return null;
  end if;
  if tg_op <> 'INSERT' then
    v_before := array(select to_jsonb(o) from old_rows as o);
  end if;
  if tg_op <> 'DELETE' then
    v_after := array(select to_jsonb(n) from new_rows as n);
  end if;
  if v_readers <> '{}' then
    perform add_row_changes(v_readers, tg_table_name, changed_ids(v_before, v_after), tg_op = 'INSERT');
  end if;
  if v_is_related and exists (select from unnest(v_before, v_after) as u(before, after) where u.before is distinct from u.after) then
    perform add_related_change(tg_table_name);
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg__row_changes is
  'Statement trigger: adds the changed rows of a table without an audit trail to the outbox. `tg__audit` does so for the others.';
