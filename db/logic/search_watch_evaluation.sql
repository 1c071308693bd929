-- Search watches: evaluation of changed rows, and notification of the owners.

-- Copies the baselines of saved watches to `search_watch_rows`. The job calls it after it has read the queued changes: a
-- transaction queues changes only if it sees a watch of the table, so the baseline of that watch is copied by then.
create or replace function load_watch_baselines() returns void as $$
declare
  v_ids uuid[];
begin
  -- After a restore to another cluster, the snapshot refers to other transactions.
  update search_watches w set baseline_snapshot = null
  where pg_snapshot_xmax(w.baseline_snapshot::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot());
  v_ids := array(
    select w.id from search_watches w join users u on u.id = w.user_id
    where w.baseline_ids is not null and not w.is_paused and u.is_active for no key update of w
  );
  delete from search_watch_rows o where o.watch_id = any (v_ids);
  insert into search_watch_rows (watch_id, row_id)
  select w.id, i from search_watches w, unnest(w.baseline_ids) as i where w.id = any (v_ids);
  update search_watches w set is_ready = true, baseline_ids = null where w.id = any (v_ids);
end;
$$ language plpgsql volatile;

-- Returns the watches of the changed tables, and some of those that need an evaluation of all rows. Paused watches, and
-- those of inactive owners, lose their baseline. Without one from a save, such as after an activation, the first
-- evaluation creates it without events.
-- A transaction that began before a watch was visible does not add its changes to the outbox. Therefore all rows
-- are evaluated once when all transactions have ended that ran when the worker first saw the watch: it marks the watch
-- with 0, and in its next transaction, whose id is higher than theirs, with that id. An id of another cluster, such as
-- after a restore, is set again.
create or replace function next_watch_changes(row_limit integer, is_first boolean) returns jsonb as $$
declare
  v_changes jsonb;
  v_changed text[];
  v_related text[];
  v_count integer;
  v_is_marked boolean;
begin
  if next_watch_changes.is_first then
    update search_watches w set is_ready = false, ready_after = null, is_settled = false, baseline_ids = null, baseline_snapshot = null
    from users u
    where u.id = w.user_id and (w.is_ready or w.baseline_ids is not null) and (w.is_paused or not u.is_active);
    -- A call of `is_watched` would be one statement for each row.
    delete from row_changes c
    where c.reader = 'watches' and c.row_id is not null and not exists (select from search_watches w where w.table_name = c.table_name);
    delete from row_changes c where c.reader = 'watches' and c.row_id is null and not is_watched_as_related(c.table_name);
  end if;
  update search_watches w set ready_after = case when w.ready_after = '0' then pg_current_xact_id()::text else '0' end
  where not (w.is_ready and w.is_settled) and not w.is_paused
    and (w.ready_after is null or w.ready_after = '0' or w.ready_after::xid8 > pg_snapshot_xmax(pg_current_snapshot()));
  v_is_marked := found;
  with batch as materialized (
    select c.id, c.table_name, c.row_id, c.is_new, c.changed_in
    from row_changes c where c.reader = 'watches' order by c.id limit next_watch_changes.row_limit
  )
  select jsonb_agg(to_jsonb(c) order by c.id), array_agg(distinct c.table_name) filter (where c.row_id is not null),
    array_agg(distinct c.table_name) filter (where c.row_id is null), count(*)
  into v_changes, v_changed, v_related, v_count
  from (
    select b.* from batch b
    union
    -- Includes all pending changes of a row, so that a new row and its related rows are one event.
    select c.id, c.table_name, c.row_id, c.is_new, c.changed_in
    from row_changes c where c.reader = 'watches' and (c.table_name, c.row_id) in (select b.table_name, b.row_id from batch b)
  ) as c;
  perform load_watch_baselines();
  -- At most once in ten seconds for each watch: the evaluation of all rows costs more than that of changed ones.
  update search_watches w set related_due_at = greatest(now(), w.related_at + interval '10 seconds')
  where w.is_ready and w.related_due_at is null and w.related_tables && v_related;
  return jsonb_build_object(
    'changes', coalesce(v_changes, '[]'),
    'isMarked', v_is_marked,
    'hasMore', v_count >= next_watch_changes.row_limit
      and v_count < (select count(*) from (select from row_changes c where c.reader = 'watches' limit v_count + 1) as c),
    'watches', (
      with whole as materialized (
        select w.id, s.settles from search_watches w join users u on u.id = w.user_id, lateral (
          select not (w.is_ready and w.is_settled) and w.ready_after <> '0'
            and w.ready_after::xid8 < pg_snapshot_xmin(pg_current_snapshot()) as settles
        ) as s
        where u.is_active and not w.is_paused and (s.settles or w.is_ready and w.related_due_at <= now())
        order by w.id limit 50
      )
      select coalesce(jsonb_agg(watch_to_run(w) || jsonb_build_object('isWhole', h.id is not null, 'settles', coalesce(h.settles, false))
        order by w.user_id, w.table_name, w.id), '[]')
      from search_watches w join users u on u.id = w.user_id left join whole h on h.id = w.id
      where h.id is not null or u.is_active and not w.is_paused and w.is_ready and w.table_name = any (v_changed)
    )
  );
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function next_watch_changes is 'The next changed rows and the watches to evaluate, 50 of them for all rows at most.';

create or replace function watch_version(watch search_watches) returns text as $$
  select md5(concat_ws(' ', watch.user_id, watch.statement, watch.statement_values))
$$ language sql immutable;
comment on function watch_version is 'Changes with the search and the owner of a watch.';

create or replace function watch_to_run(watch search_watches) returns jsonb as $$
  select jsonb_build_object(
    'id', watch.id, 'userId', watch.user_id, 'permissions', user_permissions(watch.user_id), 'tableName', watch.table_name,
    'statement', watch.statement, 'values', watch.statement_values, 'seenStatement', watch.seen_statement, 'idsAt', watch.ids_at,
    'isReady', watch.is_ready, 'needsNames', 'LEAVES' = any (watch.events), 'version', watch_version(watch)
  )
$$ language sql stable;

create or replace function rows_not_matching(watch_id uuid, matching uuid[]) returns setof uuid as $$
  select o.row_id from search_watch_rows o where o.watch_id = rows_not_matching.watch_id and o.row_id <> all (matching)
$$ language sql stable security definer set search_path from current;
comment on function rows_not_matching is 'The rows that matched at the last evaluation of a watch and are not among these.';

-- `results` holds for each watch the matching rows ([id, name]) among the changed rows, or a problem. `seen` holds the names of
-- the changed rows that are visible to each owner, by `<user>.<table>` and id. The number of statements is constant. Rows are
-- looked up in JSON objects, because the planner cannot estimate the rows of JSON and would join them by nested loops.
create or replace function record_watch_results(changes jsonb, results jsonb, seen jsonb) returns integer as $$
declare
  v_changed jsonb;
  v_current jsonb;
  v_ids uuid[];
  v_whole_ids uuid[];
  v_has_snapshots boolean;
  v_count integer;
begin
  -- A concurrent job may have recorded these changes and removed them.
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.record_watch_results', 0));
  if exists (
    select from jsonb_array_elements(changes) as x
    where not exists (select from row_changes c where c.reader = 'watches' and c.id = (x ->> 'id')::bigint)
  ) then
    return 0;
  end if;

  update search_watches w set is_paused = true, is_ready = false, is_settled = false, baseline_snapshot = null, problem = left(r ->> 'problem', 1000)
  from jsonb_array_elements(results) as r
  where w.id = (r ->> 'id')::uuid and r ? 'problem' and watch_version(w) = r ->> 'version';
  -- The baseline of an earlier search, or of the time before a pause.
  delete from search_watch_rows o
  using search_watches w, jsonb_array_elements(results) as r
  where w.id = (r ->> 'id')::uuid and o.watch_id = w.id and not w.is_ready;

  v_has_snapshots := exists (
    select from jsonb_array_elements(results) as r join search_watches w on w.id = (r ->> 'id')::uuid where w.baseline_snapshot is not null
  );
  select coalesce(jsonb_object_agg(c.table_name || '.' || c.row_id,
      jsonb_build_object('isNew', c.is_new, 'place', c.place, 'parts', c.parts)), '{}'),
    array_agg(distinct c.row_id)
  into v_changed, v_ids
  from (
    select c.table_name, c.row_id, bool_or(c.is_new) as is_new, min(c.id) as place,
      case when v_has_snapshots then jsonb_agg(jsonb_build_array(c.changed_in, c.is_new)) end as parts
    from jsonb_populate_recordset(null::row_changes, changes) as c where c.row_id is not null group by 1, 2
  ) as c;
  -- Skips watches that changed since `next_watch_changes`.
  select coalesce(jsonb_object_agg(c.id, to_jsonb(c)), '{}'), array_agg(c.id) filter (where c.is_whole and c.is_ready)
  into v_current, v_whole_ids
  from (
    select w.id, w.is_ready, (r ->> 'isWhole')::boolean as is_whole, (r ->> 'settles')::boolean as settles, w.baseline_snapshot, w.events, w.table_name, w.user_id || '.' || w.table_name as seen_key
    from jsonb_array_elements(results) as r join search_watches w on w.id = (r ->> 'id')::uuid
    where not r ? 'problem' and not w.is_paused and w.is_ready = (r ->> 'isReady')::boolean
      and watch_version(w) = r ->> 'version'
    for no key update of w
  ) as c;

  with matching as materialized (
    select (r ->> 'id')::uuid as watch_id, (m ->> 0)::uuid as row_id, m ->> 1 as name, (w.watch ->> 'is_ready')::boolean as is_ready
    from jsonb_array_elements(results) as r, lateral (select v_current -> (r ->> 'id')) as w(watch), jsonb_array_elements(r -> 'matches') as m
    where w.watch is not null
  ),
  first_rows as (
    insert into search_watch_rows (watch_id, row_id) select m.watch_id, m.row_id from matching m where not m.is_ready
    on conflict do nothing
  ),
  known as materialized (
    select o.watch_id, o.row_id from search_watch_rows o where o.row_id = any (v_ids)
    union
    select o.watch_id, o.row_id from search_watch_rows o where o.watch_id = any (v_whole_ids)
  ),
  compared as materialized (
    select p.*, w.watch, h.change ->> 'place' as place, h.change -> 'isNew' = 'true' as is_new,
      seen #>> array[w.watch ->> 'seen_key', p.row_id::text] as seen_name
    from (
      select watch_id, row_id, m.name, m.row_id is not null as matches, k.row_id is not null as matched
      from (select m.* from matching m where m.is_ready) as m full join known k using (watch_id, row_id)
    ) as p,
      lateral (select v_current -> p.watch_id::text) as w(watch),
      lateral (select v_changed -> ((w.watch ->> 'table_name') || '.' || p.row_id)) as b(change),
      -- Changes that the baseline holds are skipped.
      lateral (
        select case when w.watch ->> 'baseline_snapshot' is null then b.change else (
          select b.change || jsonb_build_object('isNew', bool_or((e ->> 1)::boolean))
          from jsonb_array_elements(b.change -> 'parts') as e
          where not pg_visible_in_snapshot((e ->> 0)::xid8, (w.watch ->> 'baseline_snapshot')::pg_snapshot)
          having count(*) > 0
        ) end
      ) as h(change)
    where (w.watch ->> 'is_ready')::boolean and (
      h.change is not null
      -- By a related row, or of a transaction that ran while the watch was saved. Changes since the evaluation are in the outbox.
      or (w.watch ->> 'is_whole')::boolean and p.matches <> p.matched and not exists (
        select from row_changes c
        where c.reader = 'watches' and c.table_name = w.watch ->> 'table_name' and c.row_id = p.row_id and v_changed -> (c.table_name || '.' || c.row_id) is null
      )
    )
  ),
  added as (
    insert into search_watch_rows (watch_id, row_id) select p.watch_id, p.row_id from compared p where p.matches and not p.matched
  ),
  removed as (
    delete from search_watch_rows o using compared p where o.watch_id = p.watch_id and o.row_id = p.row_id and not p.matches
  ),
  new_events as (
    insert into search_watch_notices (watch_id, event, row_id, name)
    select p.watch_id, e.event::search_watch_event, p.row_id, left(coalesce(p.name, p.seen_name, p.row_id::text), 200)
    from compared p, lateral (
      select case
        -- Of a row without a queued change that was written while the watch was saved, it is not known whether it is new.
        when p.matches and not p.matched and coalesce(p.is_new, (p.watch ->> 'settles')::boolean and not p.watch -> 'events' ? 'MATCHES') and p.watch -> 'events' ? 'CREATED' then 'CREATED'
        when p.matches and not p.matched then 'MATCHES'
        when p.matches and p.is_new is not null then 'CHANGED'
        -- Invisible and deleted rows cause no event.
        when p.seen_name is not null then 'LEAVES'
      end as event
    ) as e
    where p.watch -> 'events' ? e.event
    order by p.place::bigint
    returning watch_id
  )
  update search_watches w set
    match_count = w.match_count + n.number, last_match_at = now(),
    due_at = coalesce(w.due_at, case w.delivery when 'AT_ONCE' then now() else next_digest_at(w.user_id, now(), w.delivery = 'WEEKLY') end)
  from (select n.watch_id, count(*)::integer as number from new_events n group by 1) as n
  where w.id = n.watch_id;
  get diagnostics v_count = row_count;
  update search_watches w set related_due_at = null, related_at = case when (c.value ->> 'settles')::boolean then w.related_at else now() end
  from jsonb_each(v_current) as c where w.id = c.key::uuid and (c.value ->> 'is_whole')::boolean;
  update search_watches w set is_ready = true, is_settled = true, baseline_snapshot = null
  from jsonb_each(v_current) as c where w.id = c.key::uuid and (c.value ->> 'settles')::boolean;
  delete from row_changes c
  where c.reader = 'watches' and c.id in (select (x ->> 'id')::bigint from jsonb_array_elements(changes) as x);
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_watch_results is
  'Compares the matching rows with the baseline, records events and removes the changes from the outbox. Returns the number of watches with events.';

create or replace function due_watches(row_limit integer) returns jsonb as $$
  select coalesce(jsonb_agg(watch_to_run(w) || jsonb_build_object(
    'rowIds', (select coalesce(jsonb_agg(distinct n.row_id), '[]') from search_watch_notices n where n.watch_id = w.id)
  ) order by w.user_id), '[]')
  from (
    select w.* from search_watches w join users u on u.id = w.user_id
    where w.due_at <= now() and u.is_active order by w.due_at limit due_watches.row_limit
  ) as w
$$ language sql volatile security definer set search_path from current;
comment on function due_watches is 'The watches with events to deliver, with the ids of the rows.';

-- One line, short enough that ten fit into a notification uncut: an erasure finds a quoted note by this text.
create or replace function watched_row_text(name text) returns text as $$
  select btrim(left(regexp_replace(watched_row_text.name, '\s+', ' ', 'g'), 150))
$$ language sql immutable;
comment on function watched_row_text is 'The name of a row as notifications of search watches quote it.';

-- `checked` holds for the rows of each watch whether the owner can still read them: `{watchId: {rowId: true}}`. Events of
-- other rows were recorded meanwhile and wait for the next call.
create or replace function notify_watch_owners(checked jsonb) returns integer as $$
declare
  v_watch search_watches;
  v_last notifications;
  v_key text;
  v_lines text[];
  v_row_ids uuid[];
  v_number integer;
  v_total integer;
  v_count integer := 0;
begin
  for v_watch in
    select w.* from search_watches w join jsonb_object_keys(checked) as k(id) on w.id = k.id::uuid
    where w.due_at <= now() order by w.due_at for update of w skip locked
  loop
    with delivered as (
      delete from search_watch_notices n where n.watch_id = v_watch.id and checked -> v_watch.id::text ? n.row_id::text
      returning n.id, n.event, n.name, n.row_id
    )
    select count(*), array_agg(t.line order by t.id) filter (where t.place <= 10), array_agg(t.row_id) into v_number, v_lines, v_row_ids
    from (
      select t.id, t.row_id, row_number() over (order by t.id) as place,
        format('%s: %s', case t.event when 'CREATED' then 'New' when 'MATCHES' then 'Matches' when 'LEAVES' then 'No longer matches' else 'Changed' end, watched_row_text(t.name)) as line
      from delivered t where (checked -> v_watch.id::text ->> t.row_id::text)::boolean
    ) as t;
    update search_watches w set due_at = null
    where w.id = v_watch.id and not exists (select from search_watch_notices n where n.watch_id = w.id);
    continue when v_number = 0;
    perform record_watch_read(v_watch, v_number);
    -- Deliveries within an hour are merged into one notification, which lists the latest rows first.
    select n.* into v_last from notifications n
    where n.user_id = v_watch.user_id and n.kind = 'WATCH_MATCHED' and n.subject_key = v_watch.id::text
      and n.created_at > now() - interval '1 hour' for update;
    v_key := v_watch.id::text;
    -- A mail that is being sent may already hold the earlier text.
    if v_last.mail_id is not null and v_last.mailed_at is null then
      v_last := null;
      v_key := uuidv7()::text;
    end if;
    v_total := v_number + coalesce(v_last.occurrences, 0);
    v_row_ids := array(select distinct i from unnest(v_row_ids || v_last.row_ids) as i);
    v_lines := (v_lines || (string_to_array(v_last.body, E'\n'))[:least(v_last.occurrences, 10)])[:10];
    perform add_notifications(array[v_watch.user_id], 'WATCH_MATCHED',
      format('“%s”: %s', v_watch.name, case cardinality(v_row_ids) when 1 then '1 row' else cardinality(v_row_ids) || ' rows' end),
      array_to_string(v_lines, E'\n') || case when v_total > cardinality(v_lines) then format(E'\n%s more', v_total - cardinality(v_lines)) else '' end,
      'SearchWatch', v_watch.id::text, v_key, 'INBOX' = any (v_watch.channels),
      case when 'EMAIL' = any (v_watch.channels) then 'AT_ONCE' else 'OFF' end::notification_mail, v_number);
    update notifications n set row_ids = v_row_ids
    where n.user_id = v_watch.user_id and n.kind = 'WATCH_MATCHED' and n.subject_key = v_key and n.created_at > now() - interval '1 hour';
    -- Rows after the mail are in another one, an hour later.
    update notifications n set mail_at = n.mailed_at + interval '1 hour', mail_id = null, mailed_at = null
    where n.id = v_last.id and n.mailed_at is not null and 'EMAIL' = any (v_watch.channels);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function notify_watch_owners is 'Notifies the owners of due watches; returns the number of watches.';

create or replace function record_watch_read(watch search_watches, row_count integer) returns void as $$
declare
  v_tags jsonb := table_tags(to_regclass(quote_ident(watch.table_name)));
begin
  if v_tags ? 'auditReads' then
    perform act_as(watch.user_id);
    perform record_read(substring(v_tags ->> 'audit' from '^\w+'), null,
      jsonb_build_object('field', 'searchWatch', 'watchId', watch.id, 'rows', record_watch_read.row_count));
    perform set_config('office.user_id', '', true);
  end if;
end;
$$ language plpgsql volatile;
comment on function record_watch_read is 'Records that a watch showed rows of an audited table to its owner.';

grant execute on function next_watch_changes, rows_not_matching, record_watch_results, due_watches, notify_watch_owners to office_worker;
