-- Import runs: requests, schedule and status.

-- A run whose job failed or disappeared would wait for ever. Takes the error message from the queue.
create or replace function fail_lost_erp_runs() returns void as $$
begin
  update erp_sync_runs r set
    status = 'FAILED', finished_at = clock_timestamp(), retry_at = null,
    error = left('Given up: ' || coalesce(r.error, office_jobs.last_error(r.job_id), 'its job is gone'), 2000)
  where r.id in (
    select w.id from erp_sync_runs w
    where w.status in ('QUEUED', 'RUNNING', 'RETRYING') and w.job_id in (
      select office_jobs.lost(array(
        select l.job_id from erp_sync_runs l where l.status in ('QUEUED', 'RUNNING', 'RETRYING') and l.job_id is not null
      ))
    )
  ) and r.status in ('QUEUED', 'RUNNING', 'RETRYING');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function fail_lost_erp_runs is 'Fails runs whose job is lost.';

-- Locks a waiting run until the end of the transaction, so that the worker sees the caller's changes.
create or replace function queue_erp_run(kind erp_sync_run_kind, erp_order_number text default null) returns erp_sync_job_handle as $$
#variable_conflict use_column
declare
  v_run erp_sync_runs;
  v_new boolean;
  v_count integer;
  v_task text;
  v_subject text;
  v_input jsonb;
begin
  perform fail_lost_erp_runs();
  loop
    insert into erp_sync_runs (kind, requested_by_user_id, erp_order_number)
    values (queue_erp_run.kind, current_user_id(), queue_erp_run.erp_order_number)
    on conflict (kind, erp_order_number) where status = 'QUEUED' do nothing
    returning * into v_run;
    v_new := found;
    exit when v_new;
    select r.* into v_run from erp_sync_runs r
    where r.kind = queue_erp_run.kind and r.status = 'QUEUED' and r.erp_order_number is not distinct from queue_erp_run.erp_order_number
    for share;
    exit when found;
  end loop;
  v_count := case queue_erp_run.kind
    when 'RECHECK' then (select count(*) from orders o where o.has_import_mapping_issue)
    when 'DATA_RECHECK' then (
      select count(*) from (
        select o.erp_order_number from orders o where o.has_import_data_issue
        union select f.erp_order_number from erp_import_failures f where f.erp_order_number is not null
      ) as n)
    when 'ORDER' then 1
  end;
  v_task := case v_run.kind when 'IMPORT' then 'import_erp_orders' else 'reimport_orders' end;
  v_subject := case v_run.kind
    when 'IMPORT' then 'What changed in the ERP'
    when 'RECHECK' then 'Orders with a mapping gap'
    when 'DATA_RECHECK' then 'Orders with a data issue'
    else 'Order ' || v_run.erp_order_number
  end;
  v_input := jsonb_build_object('runId', v_run.id);
  if v_new then
    update erp_sync_runs r set
      orders_total = v_count,
      -- Runs that share a queue run one after the other, so that a slow ERP takes a part of the workers' slots only.
      job_id = enqueue_job(v_task, v_input, r.id::text, subject => v_subject, queue => case r.kind
        when 'IMPORT' then 'erp_import' when 'ORDER' then 'erp_order' else 'erp_recheck' end)
    where r.id = v_run.id;
  else
    perform join_job(v_run.job_id, v_task, v_input, v_run.id::text, null, v_subject);
  end if;
  if current_user_id() is not null then
    perform record_change(case when v_new then 'CREATE' else 'UPDATE' end, 'ErpSyncRun', v_run.id::text, null,
      case when v_new then jsonb_strip_nulls(jsonb_build_object(
        'kind', v_run.kind, 'status', v_run.status, 'erpOrderNumber', v_run.erp_order_number)) end,
      case when not v_new then jsonb_build_object('kind', v_run.kind, 'reused', true) end);
  end if;
  return (v_run.id, v_run.status, v_run.queued_at, not v_new, v_count);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function queue_erp_run is 'Queues a run, unless the same run is waiting already.';

create or replace function recheck_erp_order_import_issues() returns erp_sync_job_handle as $$
begin
  perform require_permission('erpsync.run');
  return queue_erp_run('RECHECK');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function recheck_erp_order_import_issues is '@guard erpsync.run
@action of erpSyncRuns
Queues the re-import of all orders with a mapping issue, like the nightly run. Returns the waiting run if there is one; a run queued while another is running starts after it.';

create or replace function import_erp_orders() returns erp_sync_job_handle as $$
begin
  perform require_permission('erpsync.run');
  return queue_erp_run('IMPORT');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_erp_orders is '@guard erpsync.run
@action of erpSyncRuns
Queues the import of ERP changes since the last import, without waiting for the schedule. Returns the waiting run if there is one; a run queued while another is running starts after it.';

create or replace function import_erp_order(erp_order_number text) returns erp_sync_job_handle as $$
begin
  perform require_permission('erpsync.run');
  if trim_to_null(import_erp_order.erp_order_number) is null or char_length(trim_to_null(import_erp_order.erp_order_number)) > 50 then
    perform fail('OF400', 'erpOrderNumber must be 1 to 50 characters', '{"path": ["erpOrderNumber"]}');
  end if;
  return queue_erp_run('ORDER', trim_to_null(import_erp_order.erp_order_number));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_erp_order is '@guard erpsync.run
@action of erpSyncRuns
@argument erp_order_number The order number of the ERP, compared byte for byte.
Queues the import of a single order by its number, even if the order is not imported yet. The run can overlap other imports. Returns the waiting run for the same number if there is one.';

create or replace function cancel_erp_sync_run(id uuid) returns erp_sync_runs as $$
declare
  v_run erp_sync_runs;
  v_was erp_sync_run_status;
begin
  perform require_permission('erpsync.run');
  select r.* into v_run from erp_sync_runs r where r.id = cancel_erp_sync_run.id for update;
  if not found then
    perform fail('OF404', 'There is no run of the import with this id', '{"path": ["id"]}');
  end if;
  if v_run.status not in ('QUEUED', 'RUNNING', 'RETRYING') then
    perform fail('OF409', 'The run has ended: it is ' || v_run.status);
  end if;
  v_was := v_run.status;
  update erp_sync_runs r set
    status = 'CANCELLED', finished_at = clock_timestamp(), retry_at = null, cancelled_by_user_id = current_user_id()
  where r.id = v_run.id returning r.* into v_run;
  perform record_job(v_run.job_id, 'CANCELLED');
  perform record_change('UPDATE', 'ErpSyncRun', v_run.id::text, jsonb_build_object('status', v_was),
    jsonb_build_object('status', v_run.status), jsonb_build_object('kind', v_run.kind));
  return v_run;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_erp_sync_run is '@guard erpsync.run
@action bad unless finished_at
Cancels a waiting or running import. Imported orders stay, and the next import continues from there.';

create or replace function dismiss_erp_import_failure(id uuid) returns boolean as $$
declare
  v_failure erp_import_failures;
begin
  perform require_permission('erpsync.run');
  delete from erp_import_failures f where f.id = dismiss_erp_import_failure.id returning f.* into v_failure;
  if not found then
    perform fail('OF404', 'There is no unreadable record with this id', '{"path": ["id"]}');
  end if;
  perform record_change('DELETE', 'ErpImportFailure', v_failure.id::text,
    jsonb_build_object('record', v_failure.record, 'message', v_failure.message), null, null);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function dismiss_erp_import_failure is '@guard erpsync.run
@action bad of erpImportFailures
Removes a record from the unreadable ones, such as one that the ERP has under another number. It comes back when an import cannot read it again.';
grant execute on function recheck_erp_order_import_issues, import_erp_orders, import_erp_order, cancel_erp_sync_run,
  dismiss_erp_import_failure to office_api;

-- Returns one moment per day, also on days with a clock change: a skipped time falls an hour later, and of a repeated
-- time the second counts.
create or replace function nightly_moment(day date, time_zone text) returns timestamptz as $$
  select (day + time '02:30') at time zone time_zone
$$ language sql stable;

create or replace function run_erp_schedule(import_minutes integer, time_zone text, at timestamptz default now()) returns void as $$
declare
  v_day date := (at at time zone time_zone)::date;
  v_next timestamptz;
  v_done_on date;
begin
  perform fail_lost_erp_runs();
  select s.next_at into v_next from erp_schedule s where s.what = 'import' for update;
  if at >= coalesce(v_next, at) then
    if not exists (select from erp_sync_runs r where r.kind = 'IMPORT' and r.status in ('QUEUED', 'RUNNING', 'RETRYING')) then
      perform queue_erp_run('IMPORT');
    end if;
    update erp_schedule s set
      next_at = date_bin(make_interval(mins => import_minutes), at, timestamptz '2000-01-01Z') + make_interval(mins => import_minutes)
    where s.what = 'import';
  end if;

  if at < nightly_moment(v_day, time_zone) then
    v_day := v_day - 1;
  end if;
  select s.next_at, s.done_on into v_next, v_done_on from erp_schedule s where s.what = 'recheck' for update;
  if v_done_on < v_day then
    perform queue_erp_run('RECHECK'), queue_erp_run('DATA_RECHECK');
    delete from erp_sync_runs r where r.queued_at < at - interval '90 days' and r.finished_at is not null;
  end if;
  -- A new database has no missed night.
  if v_done_on is distinct from greatest(v_done_on, v_day) or v_next is distinct from nightly_moment(v_day + 1, time_zone) then
    update erp_schedule s set done_on = greatest(v_done_on, v_day), next_at = nightly_moment(v_day + 1, time_zone)
    where s.what = 'recheck';
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function run_erp_schedule is
  'Queues due runs: the regular import, and the nightly rechecks at 02:30 local time, also after a missed night. Fails lost runs.';
grant execute on function run_erp_schedule to office_worker;

create or replace function sync_status() returns sync_status as $$
declare
  v_orders erp_cursors;
  v_seen erp_cursors;
  v_last erp_sync_runs;
begin
  perform require_permission('erpsync.read');
  select c.* into v_orders from erp_cursors c where c.entity = 'orders';
  select c.* into v_seen from erp_cursors c order by c.erp_seen_at desc nulls last limit 1;
  select r.* into v_last from erp_sync_runs r where r.started_at is not null order by r.queued_at desc limit 1;
  return row(
    v_last, v_orders.caught_up_at, v_orders.cursor, v_orders.cursor_at,
    extract(epoch from clock_timestamp() - v_orders.caught_up_at)::integer,
    (
      select count(*)::integer from erp_sync_runs r
      where r.status = 'FAILED' and not exists (
        -- An import also reads what a run of a single order should have read.
        select from erp_sync_runs s
        where s.status = 'SUCCEEDED' and s.queued_at >= r.queued_at
          and (s.kind = r.kind or s.kind = 'IMPORT' and r.kind = 'ORDER')
      )
    ),
    (select count(*)::integer from erp_import_failures),
    (select s.next_at from erp_schedule s where s.what = 'import'),
    (select s.next_at from erp_schedule s where s.what = 'recheck'),
    v_seen.erp_is_up, v_seen.erp_error, v_seen.erp_seen_at
  )::sync_status;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function sync_status is '@guard erpsync.read
The state of the order import from the ERP.';
grant execute on function sync_status to office_api;
