-- Search watches: saving, restoring and deleting. search_watch_evaluation.sql evaluates them.

-- Two jobs at a time would evaluate the same watches, and each would discard the results of the other.
create or replace function queue_watches(key text) returns void as $$
  select queue_job('run_watches', '{}', queue_watches.key, null, 5, 'watches')
$$ language sql volatile;
comment on function queue_watches is 'Queues the evaluation of search watches, one job at a time.';

create or replace function drop_watch_notices(watch_id uuid) returns void as $$
begin
  delete from search_watch_notices n where n.watch_id = drop_watch_notices.watch_id;
  update search_watches w set due_at = null where w.id = drop_watch_notices.watch_id;
end;
$$ language plpgsql volatile;
comment on function drop_watch_notices is 'Discards the pending events of a watch.';

create or replace function search_watch_limit() returns integer as $$
  select 50
$$ language sql immutable;
comment on function search_watch_limit is 'The number of search watches that a user can have.';

create or replace function search_watches_problem(watch search_watches) returns text as $$
  select coalesce(watch.problem,
    'The watch finds nothing, because you lack the permission ' || missing_to_read(watch.table_name, current_permissions()))
$$ language sql stable;
comment on function search_watches_problem is '@computed
@list 9
Why the service paused the watch, or why it finds nothing; null without a problem.';
grant execute on function search_watches_problem to office_api;

create or replace function require_watch_limit() returns void as $$
declare
  v_count bigint;
begin
  perform from users u where u.id = current_user_id() for no key update;
  select count(*) into v_count from search_watches w where w.user_id = current_user_id();
  if v_count >= search_watch_limit() then
    perform fail('OF409', format('You have %s search watches: delete one first', v_count));
  end if;
end;
$$ language plpgsql volatile;

-- The audit log does not hold the compiled search.
create or replace function tg_search_watches__restore() returns trigger as $$
begin
  perform require_watch_limit();
  new.table_name := '';
  new.statement := '';
  new.statement_values := '[]';
  new.seen_statement := '';
  new.ids_at := 0;
  new.is_settled := false;
  new.baseline_ids := null;
  new.baseline_snapshot := null;
  new.is_paused := true;
  new.problem := 'Restored, and not evaluated until you resume it';
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_search_watches__restore is 'Pauses a restored watch. Resuming it compiles the search.';
select ensure_trigger('search_watches', '_400_restore',
  'before insert on %TABLE% for each row when (is_restoring()) execute function tg_search_watches__restore()');

-- Schemas from before the baseline was a parameter.
drop function if exists save_search_watch(uuid, jsonb);
-- `baseline_ids` are the rows that match in `baseline_snapshot`, the snapshot of the calling statement. Storing them in
-- one value takes a few milliseconds; the job writes the rows of `search_watch_rows`.
create or replace function save_search_watch(id uuid, input jsonb, baseline_ids uuid[] default null, baseline_snapshot text default null)
returns uuid as $$
declare
  v_watch search_watches;
  v_old search_watches;
  v_is_restarted boolean;
  v_baseline_ids uuid[];
  v_baseline_snapshot text;
begin
  perform require_full_login();
  if cardinality(save_search_watch.baseline_ids) > 10000 then
    perform fail('OF400', 'query matches more than 10000 rows: narrow it', '{"path": ["input", "query"]}');
  end if;
  if save_search_watch.id is null then
    perform require_watch_limit();
    insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement,
      ids_at, related_tables, events, delivery, channels, is_paused, baseline_ids, baseline_snapshot)
    select current_user_id(), coalesce(trim_to_null(n.name), ''), n.entity, n.query, n.table_name, n.statement, n.statement_values, n.seen_statement,
      n.ids_at, n.related_tables,
      array(select distinct unnest(coalesce(n.events, '{CREATED,MATCHES}')) order by 1), coalesce(n.delivery, 'AT_ONCE'),
      array(select distinct unnest(coalesce(n.channels, '{INBOX}')) order by 1), coalesce(n.is_paused, false),
      save_search_watch.baseline_ids, save_search_watch.baseline_snapshot
    from jsonb_populate_record(null::search_watches, save_search_watch.input) as n
    returning * into v_watch;
    perform queue_watches('saved');
    return v_watch.id;
  end if;
  select * into v_old from search_watches w where w.id = save_search_watch.id and w.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'There is no search watch of yours with this id', '{"path": ["id"]}');
  end if;
  v_watch := jsonb_populate_record(v_old, given_values(save_search_watch.input, array(select jsonb_object_keys(save_search_watch.input)),
    array['name', 'query', 'events', 'delivery', 'channels', 'is_paused']));
  v_is_restarted := v_watch.is_paused or v_watch.query <> v_old.query or v_old.is_paused
    or v_old.baseline_ids is null and not v_old.is_ready;
  if not v_watch.is_paused then
    v_baseline_ids := save_search_watch.baseline_ids;
    v_baseline_snapshot := save_search_watch.baseline_snapshot;
  end if;
  update search_watches w set
    name = coalesce(trim_to_null(v_watch.name), ''), query = v_watch.query, table_name = v_watch.table_name, statement = v_watch.statement,
    statement_values = v_watch.statement_values, seen_statement = v_watch.seen_statement, ids_at = v_watch.ids_at,
    related_tables = v_watch.related_tables,
    events = array(select distinct unnest(v_watch.events) order by 1), delivery = v_watch.delivery,
    channels = array(select distinct unnest(v_watch.channels) order by 1), is_paused = v_watch.is_paused,
    problem = case when v_watch.query <> v_old.query or not v_watch.is_paused then null else v_old.problem end,
    is_ready = w.is_ready and not v_is_restarted, ready_after = case when v_is_restarted then null else w.ready_after end,
    is_settled = w.is_settled and not v_is_restarted,
    baseline_ids = case when v_is_restarted then v_baseline_ids else w.baseline_ids end,
    baseline_snapshot = case when v_is_restarted then v_baseline_snapshot else w.baseline_snapshot end
  where w.id = v_old.id;
  if v_watch.is_paused or v_watch.query <> v_old.query then
    perform drop_watch_notices(v_old.id);
  end if;
  perform queue_watches('saved');
  return v_old.id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function save_search_watch is
  'Creates or changes a watch of the caller. The server compiles the search before the call.';

create or replace function delete_search_watch(id uuid) returns boolean as $$
begin
  perform require_full_login();
  delete from search_watches w where w.id = delete_search_watch.id and w.user_id = current_user_id();
  if not found then
    perform fail('OF404', 'There is no search watch of yours with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_search_watch is '@guard login
Deletes a search watch of the caller.';
grant execute on function save_search_watch, delete_search_watch to office_api;
