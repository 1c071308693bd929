-- The interface between tenant schemas and the job queue. It runs as office_worker, the owner of the queue, and can be
-- repeated. All tenants (the live schema and test runs) share one queue; each job names its tenant.
create table if not exists office_jobs.workers (
  id text primary key,
  silence interval not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);
alter table office_jobs.workers enable row level security;
alter table office_jobs.workers force row level security;
drop policy if exists workers_own on office_jobs.workers;
create policy workers_own on office_jobs.workers to office_worker using (true) with check (true);
comment on table office_jobs.workers is
  'Live worker processes, named as in `locked_by` of their jobs. Each renews its row; a worker without a heartbeat for `silence` loses its jobs.';

create table if not exists office_jobs.tenants (
  tenant text primary key,
  run_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now()
);
alter table office_jobs.tenants enable row level security;
alter table office_jobs.tenants force row level security;
drop policy if exists tenants_own on office_jobs.tenants;
create policy tenants_own on office_jobs.tenants to office_worker using (true) with check (true);
comment on table office_jobs.tenants is 'The tenant schemas of isolated test runs, with their last use.';

create or replace function office_jobs.add(
  task text, payload jsonb, job_key text default null, run_at timestamptz default null,
  max_attempts integer default null, queue_name text default null
) returns bigint as $$
declare
  v_id bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('office_jobs.add ' || add.job_key, 0)) where add.job_key is not null;
  loop
    -- A running job gives up its key to the new one. Otherwise graphile-worker would set its attempts to the maximum,
    -- and it would count as failed if its worker dies. A waiting job is locked, so that no worker takes it between
    -- these statements.
    perform from graphile_worker._private_jobs j where j.key = add.job_key for update;
    update graphile_worker._private_jobs j set key = null where j.key = add.job_key and j.locked_at is not null;
    select id into v_id from graphile_worker.add_job(
      identifier => add.task, payload => add.payload::json, queue_name => add.queue_name, run_at => add.run_at,
      max_attempts => greatest(coalesce(add.max_attempts, 25), 2), job_key => add.job_key,
      job_key_mode => 'preserve_run_at'
    );
    -- add_job returns null when a worker has just locked the waiting job of this key. That job may have missed the
    -- current change, so another one is added.
    exit when v_id is not null;
  end loop;
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.add is
  'Adds a job in the caller''s transaction. At least two attempts, because a worker can die during the first.';

-- Does not wait for running jobs; the caller retries until none is left.
create or replace function office_jobs.remove_tenant(tenant text) returns integer as $$
declare
  v_running integer;
begin
  perform graphile_worker.complete_jobs(array(
    select id from graphile_worker._private_jobs where payload ->> 'tenant' = remove_tenant.tenant and locked_at is null
  ));
  select count(*) into v_running from graphile_worker._private_jobs where payload ->> 'tenant' = remove_tenant.tenant;
  return v_running;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_tenant is 'Removes a tenant''s waiting jobs; returns the number of running ones.';

create or replace function office_jobs.touch_tenant(tenant text, run_id text) returns void as $$
  insert into office_jobs.tenants as a (tenant, run_id) values (touch_tenant.tenant, touch_tenant.run_id)
  on conflict on constraint tenants_pkey do update
    set last_used_at = clock_timestamp(), run_id = coalesce(excluded.run_id, a.run_id)
$$ language sql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.touch_tenant is 'Records the use of a test run''s tenant, also before its schema exists.';

create or replace function office_jobs.stale_tenants(older_than interval) returns setof text as $$
  select a.tenant from office_jobs.tenants a
  where a.last_used_at < clock_timestamp() - stale_tenants.older_than
  order by a.last_used_at
$$ language sql stable security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.stale_tenants is 'The tenants that were not used for the given time.';

create or replace function office_jobs.unregister_tenant(tenant text, unused_for interval default null) returns boolean as $$
begin
  delete from office_jobs.tenants a
  where a.tenant = unregister_tenant.tenant
    and (unregister_tenant.unused_for is null or a.last_used_at < clock_timestamp() - unregister_tenant.unused_for);
  return found;
end;
$$ language plpgsql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.unregister_tenant is
  'Removes the record of a tenant before its schema is dropped; false when it is unknown or was used within the given time.';

create or replace function office_jobs.beat(worker text, silence interval) returns text as $$
declare
  v_before timestamptz;
begin
  insert into office_jobs.workers (id, silence) values (beat.worker, beat.silence)
  on conflict on constraint workers_pkey do update set seen_at = clock_timestamp(), silence = excluded.silence
  returning old.seen_at into v_before;
  return case
    when v_before is null then 'new'
    when v_before < clock_timestamp() - beat.silence / 2 then 'late'
    else 'steady'
  end;
end;
$$ language plpgsql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.beat is
  'Records a worker''s heartbeat. Returns `new` (unknown or removed as dead), `late` (the worker or the database was away) or `steady`.';

-- Updates the `jobs` row that users see. A failed job that no user started is reported to the operators. An error in one
-- tenant must not stop the release of other jobs.
create or replace function office_jobs.notify_job_owner(
  tenant text, job_id bigint, state text, attempts integer, error text
) returns void as $$
declare
  v_records integer;
begin
  if to_regprocedure(format('%I.record_job(bigint, text, integer, integer, text, timestamptz)', notify_job_owner.tenant)) is not null then
    execute format('select %I.record_job($1, $2, $3, null, $4)', notify_job_owner.tenant) into v_records
      using notify_job_owner.job_id, notify_job_owner.state, notify_job_owner.attempts, notify_job_owner.error;
    if notify_job_owner.state = 'FAILED' and v_records = 0 then
      execute format('select %I.notify_of_failed_task(q.task, q.id, $2) from office_jobs.queue q where q.id = $1', notify_job_owner.tenant)
        using notify_job_owner.job_id, notify_job_owner.error;
    end if;
  end if;
exception when others then
  raise warning 'state of job % was not recorded in tenant %: %', notify_job_owner.job_id, notify_job_owner.tenant, sqlerrm;
end;
$$ language plpgsql volatile;

-- A job that a worker has locked, or is locking, stays in the queue.
create or replace function office_jobs.cancel(job_id bigint) returns boolean as $$
declare
  v_id bigint;
begin
  select j.id into v_id from graphile_worker._private_jobs j
  where j.id = cancel.job_id and j.locked_at is null
  for update skip locked;
  if found then
    delete from graphile_worker._private_jobs j where j.id = v_id;
    return true;
  end if;
  return not exists (select from graphile_worker._private_jobs j where j.id = cancel.job_id);
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.cancel is 'Removes a waiting job; false when a worker holds it.';

create or replace function office_jobs.remove_dead(job_id bigint) returns void as $$
  delete from graphile_worker._private_jobs j
  where j.id = remove_dead.job_id and j.locked_at is null and j.attempts >= j.max_attempts
$$ language sql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_dead is 'Removes a failed job that is out of attempts.';

create or replace function office_jobs.remove_all_dead(older_than interval) returns integer as $$
declare
  v_count integer;
begin
  -- `updated_at` is when the job was added or replaced; `run_at` is when the next attempt was due.
  delete from graphile_worker._private_jobs j
  where j.locked_at is null and j.attempts >= j.max_attempts
    and greatest(j.run_at, j.updated_at) < clock_timestamp() - remove_all_dead.older_than;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_all_dead is 'Removes failed jobs of all tenants older than the given time; returns their number.';

create or replace function office_jobs.lost(job_ids bigint[]) returns setof bigint as $$
  select w.id from unnest(lost.job_ids) as w(id)
  where not exists (
    select from graphile_worker._private_jobs j where j.id = w.id and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.lost is 'The given jobs that are gone from the queue or out of attempts.';

create or replace function office_jobs.is_queued(job_key text) returns boolean as $$
  select exists (
    select from graphile_worker._private_jobs j
    where j.key = is_queued.job_key and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.is_queued is 'Whether a job of this key is waiting or running.';

create or replace function office_jobs.last_error(job_id bigint) returns text as $$
  select j.last_error from graphile_worker._private_jobs j where j.id = last_error.job_id
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.last_error is 'The error of a job''s last attempt; null for a job that is gone.';

-- Releases the jobs of workers without a recent heartbeat, instead of after graphile-worker's four hours. Each lost
-- worker costs an attempt; after three in a row the job fails, with the reason in `last_error`. Only workers with a
-- steady heartbeat call this: after an outage of the database or machine, a late worker cannot tell dead workers from
-- late ones.
create or replace function office_jobs.release_dead(silence interval) returns table (
  job_id bigint, task text, tenant text, correlation_id text, worker text, given_up boolean
) as $$
declare
  v_lost record;
  v_count integer := 0;
begin
  delete from office_jobs.workers w where w.seen_at < clock_timestamp() - w.silence;
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  where q.locked_at < clock_timestamp() - release_dead.silence
    and not exists (select from office_jobs.workers w where w.id = q.locked_by);
  for v_lost in
    with lost as (
      select j.id, j.locked_by as owner,
        coalesce(substring(j.last_error from '^Its worker died (\d+) times?$')::integer, 0) + 1 as deaths
      from graphile_worker._private_jobs j
      where j.locked_at < clock_timestamp() - release_dead.silence
        and not exists (select from office_jobs.workers w where w.id = j.locked_by)
      -- Skips a job whose worker is committing its result.
      for update of j skip locked
    )
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, updated_at = now(), run_at = greatest(j.run_at, now()),
      attempts = case when l.deaths >= 3 then j.max_attempts else j.attempts end,
      last_error = format('Its worker died %s %s', l.deaths, case when l.deaths = 1 then 'time' else 'times' end)
    from lost l, graphile_worker._private_tasks t
    where j.id = l.id and t.id = j.task_id
    returning j.id, t.identifier as task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
      l.owner, j.attempts >= j.max_attempts as given_up, l.deaths
  loop
    v_count := v_count + 1;
    perform office_jobs.notify_job_owner(v_lost.tenant, v_lost.id, case when v_lost.given_up then 'FAILED' else 'QUEUED' end, null,
      case
        when v_lost.deaths >= 3 then format('Its worker died %s times in a row: the job failed', v_lost.deaths)
        when v_lost.given_up then 'Its worker died: the job failed'
        else 'Its worker died: the job is retried'
      end);
    job_id := v_lost.id;
    task := v_lost.task;
    tenant := v_lost.tenant;
    correlation_id := v_lost.correlation_id;
    worker := v_lost.owner;
    given_up := v_lost.given_up;
    return next;
  end loop;
  if v_count > 0 then
    perform pg_notify('jobs:insert', '{"count":100}');
  end if;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.release_dead is
  'Releases and returns the jobs of dead workers; `given_up` marks jobs without further attempts.';

-- A job can be locked for a worker that never received it, when the connection broke before the response. `at_hand` are
-- the jobs that the worker knows; jobs locked less than `silence` ago may still arrive.
create or replace function office_jobs.requeue_undelivered(worker text, at_hand bigint[], silence interval) returns table (
  job_id bigint, task text, tenant text, correlation_id text
) as $$
declare
  v_job record;
begin
  for v_job in
    with unheard as (
      select j.id from graphile_worker._private_jobs j
      where j.locked_by = requeue_undelivered.worker and j.id <> all (requeue_undelivered.at_hand)
        and j.locked_at < clock_timestamp() - requeue_undelivered.silence
      for update of j skip locked
    )
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, attempts = greatest(j.attempts - 1, 0), updated_at = now()
    from unheard u, graphile_worker._private_tasks t
    where j.id = u.id and t.id = j.task_id
    returning j.id, t.identifier as task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
      j.attempts, j.job_queue_id
  loop
    update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
    where q.id = v_job.job_queue_id and q.locked_by = requeue_undelivered.worker;
    perform office_jobs.notify_job_owner(v_job.tenant, v_job.id, 'QUEUED', v_job.attempts, null);
    perform pg_notify('jobs:insert', '{"count":1}');
    job_id := v_job.id;
    task := v_job.task;
    tenant := v_job.tenant;
    correlation_id := v_job.correlation_id;
    return next;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.requeue_undelivered is
  'Releases and returns jobs locked for a live worker that never received them; their attempt does not count.';

create or replace function office_jobs.leave(worker text) returns integer as $$
declare
  v_job record;
  v_count integer := 0;
begin
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null where q.locked_by = leave.worker;
  for v_job in
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, attempts = greatest(j.attempts - 1, 0), updated_at = now()
    where j.locked_by = leave.worker
    returning j.id, j.attempts, j.payload ->> 'tenant' as tenant
  loop
    v_count := v_count + 1;
    perform office_jobs.notify_job_owner(v_job.tenant, v_job.id, 'QUEUED', v_job.attempts, null);
  end loop;
  delete from office_jobs.workers w where w.id = leave.worker;
  if v_count > 0 then
    perform pg_notify('jobs:insert', json_build_object('count', v_count)::text);
  end if;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.leave is
  'Unregisters a stopping worker and requeues its unfinished jobs without counting the attempt. Returns their number.';

-- Each worker calls this several times a second. A test run's schema can be dropped at the same time.
create or replace function office_jobs.queue_changes(main_tenant text, with_search boolean) returns void as $$
declare
  v_tenant text;
begin
  execute format('select %I.queue_changes($1)', queue_changes.main_tenant) using queue_changes.with_search;
  for v_tenant in select a.tenant from office_jobs.tenants a
  loop
    begin
      if to_regprocedure(format('%I.queue_changes(boolean)', v_tenant)) is not null then
        execute format('select %I.queue_changes($1)', v_tenant) using queue_changes.with_search;
      end if;
    exception when undefined_table or undefined_function or invalid_schema_name or internal_error then
      null;
    end;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.queue_changes is
  'Queues the jobs for changes of watched rows and for the search engine, in the live schema and all test runs that have any.';

-- All other code reads the tables of the queue by this view and these functions.
create or replace view office_jobs.queue with (security_invoker = true) as
select j.id, t.identifier as task, j.payload, j.run_at, j.attempts, j.max_attempts, j.last_error, j.locked_at
from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id;
comment on view office_jobs.queue is 'The jobs of all tenants: waiting, running and failed ones.';

-- `worker` is a process and `locked_at` one attempt. The attempt count does not identify an attempt, because adding a
-- job with the key of a running job sets its attempts to the maximum.
create or replace function office_jobs.is_owned(job_id bigint, worker text, locked_at timestamptz) returns boolean as $$
  select exists (
    select from graphile_worker._private_jobs j
    where j.id = is_owned.job_id and j.locked_by = is_owned.worker
      and date_trunc('milliseconds', j.locked_at) = is_owned.locked_at)
$$ language sql stable set search_path = graphile_worker, pg_temp;
comment on function office_jobs.is_owned is 'Whether a worker still holds a job for this attempt.';

create or replace function office_jobs.hold(job_id bigint, worker text, locked_at timestamptz) returns boolean as $$
begin
  perform from graphile_worker._private_jobs j
  where j.id = hold.job_id and j.locked_by = hold.worker and date_trunc('milliseconds', j.locked_at) = hold.locked_at
  for no key update;
  return found;
end;
$$ language plpgsql volatile set search_path = graphile_worker, pg_temp;
comment on function office_jobs.hold is 'Locks the row of a job until the transaction ends; false when the worker has lost the job.';

create or replace function office_jobs.unlock_queue(queue_id integer, worker text) returns void as $$
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  where q.id = unlock_queue.queue_id and q.locked_by = unlock_queue.worker
$$ language sql volatile set search_path = graphile_worker, pg_temp;

create or replace function office_jobs.finish(job_id bigint, worker text, locked_at timestamptz) returns boolean as $$
declare
  v_queue_id integer;
begin
  delete from graphile_worker._private_jobs j
  where j.id = finish.job_id and j.locked_by = finish.worker and date_trunc('milliseconds', j.locked_at) = finish.locked_at
  returning j.job_queue_id into v_queue_id;
  if not found then
    return false;
  end if;
  if v_queue_id is not null then
    perform office_jobs.unlock_queue(v_queue_id, finish.worker);
  end if;
  return true;
end;
$$ language plpgsql volatile set search_path = graphile_worker, pg_temp;
comment on function office_jobs.finish is 'Removes a job that is done; false when the worker has lost it.';

-- When the failure reaches the queue, it adds its own backoff to `run_at`.
create or replace function office_jobs.postpone(job_id bigint, worker text, locked_at timestamptz, not_before_ms integer)
returns table (attempts integer, max_attempts integer, next_attempt_at timestamptz) as $$
  update graphile_worker._private_jobs j
  set run_at = greatest(j.run_at, now() + postpone.not_before_ms * interval '1 ms')
  where j.id = postpone.job_id and j.locked_by = postpone.worker and date_trunc('milliseconds', j.locked_at) = postpone.locked_at
  returning j.attempts::integer, j.max_attempts::integer,
    greatest(j.run_at, now()) + exp(least(j.attempts, 10)) * interval '1 second'
$$ language sql volatile set search_path = graphile_worker, pg_temp;
comment on function office_jobs.postpone is
  'Delays the next attempt of a failing job; returns its state after the failure, and no row when the worker has lost the job.';

create or replace function office_jobs.give_back(job_id bigint, worker text, locked_at timestamptz, not_before_ms integer)
returns table (attempts integer, max_attempts integer, next_attempt_at timestamptz) as $$
  with j as (
    update graphile_worker._private_jobs g
    set locked_at = null, locked_by = null, attempts = greatest(g.attempts - 1, 0), updated_at = now(),
      run_at = greatest(g.run_at, now() + give_back.not_before_ms * interval '1 ms')
    where g.id = give_back.job_id and g.locked_by = give_back.worker
      and date_trunc('milliseconds', g.locked_at) = give_back.locked_at
    returning g.job_queue_id, g.attempts, g.max_attempts, g.run_at
  ), q as (
    update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
    from j where q.id = j.job_queue_id and q.locked_by = give_back.worker
  )
  select j.attempts::integer, j.max_attempts::integer, j.run_at from j
$$ language sql volatile set search_path = graphile_worker, pg_temp;
comment on function office_jobs.give_back is
  'Requeues a job without counting the attempt; no row when the worker has lost the job.';

create or replace function office_jobs.unlock_all() returns void as $$
  update graphile_worker._private_jobs j set locked_at = null, locked_by = null where j.locked_by is not null;
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null where q.locked_by is not null;
$$ language sql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.unlock_all is 'Releases all jobs, after a restore in which no worker exists.';

create or replace function office_jobs.backup_tables() returns text[] as $$
  select array['_private_tasks', '_private_job_queues', '_private_jobs']
$$ language sql immutable;
comment on function office_jobs.backup_tables is 'The tables of the queue that a backup has; those of workers and schedules are not part of it.';

revoke all on all functions in schema office_jobs from public;
grant usage on schema office_jobs to office_owner;
grant execute on function
  office_jobs.add, office_jobs.is_queued, office_jobs.cancel, office_jobs.remove_dead, office_jobs.lost, office_jobs.last_error,
  office_jobs.remove_tenant, office_jobs.touch_tenant, office_jobs.stale_tenants, office_jobs.unregister_tenant
to office_owner;
