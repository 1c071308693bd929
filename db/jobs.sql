-- The door between the application's schemas and the job queue, run as office_worker, who owns the queue; repeatable.
-- Every tenant (the main schema and each isolated test run) uses the one queue; a job says in which schema it works.
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
  'Worker processes that are alive, named as in `locked_by` of their jobs: each renews its row; one silent for its `silence` loses its jobs.';

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
comment on table office_jobs.tenants is 'The schemas of isolated test runs, and when each was last used.';

create or replace function office_jobs.add(
  task text, payload jsonb, job_key text default null, run_at timestamptz default null,
  max_attempts integer default null, queue_name text default null
) returns bigint as $$
declare
  v_id bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('office_jobs.add ' || add.job_key, 0)) where add.job_key is not null;
  loop
    -- One that runs loses its key to the new one. The queue would take its attempts with it: it could not be tried again, and would
    -- be told of as given up when its worker dies. One that waits is held, and nobody else adds one, so that no worker takes one
    -- between these statements.
    perform from graphile_worker._private_jobs j where j.key = add.job_key for update;
    update graphile_worker._private_jobs j set key = null where j.key = add.job_key and j.locked_at is not null;
    select id into v_id from graphile_worker.add_job(
      identifier => add.task, payload => add.payload::json, queue_name => add.queue_name, run_at => add.run_at,
      max_attempts => greatest(coalesce(add.max_attempts, 25), 2), job_key => add.job_key,
      job_key_mode => 'preserve_run_at'
    );
    -- Nothing was added when a worker took the waiting job of this key at this very moment; that job may have missed what
    -- this one is about, so there has to be another.
    exit when v_id is not null;
  end loop;
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.add is
  'Adds a job to the queue, in the caller''s transaction. At least two attempts: the first may die with its worker.';

-- Ends what the queue holds of one tenant; a job that runs just now is waited for by the caller, who asks again.
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
comment on function office_jobs.remove_tenant is 'Removes a tenant''s waiting jobs and returns how many still run.';

create or replace function office_jobs.touch_tenant(tenant text, run_id text) returns void as $$
  insert into office_jobs.tenants as a (tenant, run_id) values (touch_tenant.tenant, touch_tenant.run_id)
  on conflict on constraint tenants_pkey do update
    set last_used_at = clock_timestamp(), run_id = coalesce(excluded.run_id, a.run_id)
$$ language sql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.touch_tenant is 'Records that a test run''s tenant is in use; called before the tenant is made, too.';

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
  'Forgets a tenant that is about to be dropped; false when it is unknown or was used within the given time.';

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
  'A worker''s sign of life. `new`: it was not known, or taken for dead; `late`: it, or the database, was away; else `steady`.';

-- Tells the people whose actions started a job where it stands. Whatever is wrong with a tenant must not keep the queue's jobs
-- from being freed.
create or replace function office_jobs.notify_job_owner(
  tenant text, job_id bigint, state text, attempts integer, error text
) returns void as $$
begin
  if to_regprocedure(format('%I.record_job(bigint, text, integer, integer, text, timestamptz)', notify_job_owner.tenant)) is not null then
    execute format('select %I.record_job($1, $2, $3, null, $4)', notify_job_owner.tenant)
      using notify_job_owner.job_id, notify_job_owner.state, notify_job_owner.attempts, notify_job_owner.error;
  end if;
exception when others then
  raise warning 'What became of job % is not on its record in %: %', notify_job_owner.job_id, notify_job_owner.tenant, sqlerrm;
end;
$$ language plpgsql volatile;

-- Cancelling takes a job out of the queue. One that a worker has just now, or is just taking, stays.
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
comment on function office_jobs.cancel is 'Removes a job that waits; false when a worker has it.';

create or replace function office_jobs.remove_dead(job_id bigint) returns void as $$
  delete from graphile_worker._private_jobs j
  where j.id = remove_dead.job_id and j.locked_at is null and j.attempts >= j.max_attempts
$$ language sql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_dead is 'Removes a job that was given up, if it is still there.';

create or replace function office_jobs.remove_all_dead(older_than interval) returns integer as $$
declare
  v_count integer;
begin
  -- `updated_at` says when it was added or last replaced, `run_at` when it would have been tried again.
  delete from graphile_worker._private_jobs j
  where j.locked_at is null and j.attempts >= j.max_attempts
    and greatest(j.run_at, j.updated_at) < clock_timestamp() - remove_all_dead.older_than;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_all_dead is 'Removes the jobs of all tenants that were given up so long ago; returns how many.';

create or replace function office_jobs.lost(job_ids bigint[]) returns setof bigint as $$
  select w.id from unnest(lost.job_ids) as w(id)
  where not exists (
    select from graphile_worker._private_jobs j where j.id = w.id and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.lost is 'Those of the given jobs that are in the queue no more, or were given up.';

create or replace function office_jobs.is_queued(job_key text) returns boolean as $$
  select exists (
    select from graphile_worker._private_jobs j
    where j.key = is_queued.job_key and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.is_queued is 'Whether a job of this key waits or is being done.';

create or replace function office_jobs.last_error(job_id bigint) returns text as $$
  select j.last_error from graphile_worker._private_jobs j where j.id = last_error.job_id
$$ language sql stable security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.last_error is 'What the queue knows of why a job''s last attempt failed; null for a job that is gone.';

-- A worker that was silent for too long is taken for dead: its jobs are free again at once instead of after graphile-worker's
-- four hours. Each death has spent an attempt, and a job whose workers die three times in a row is given up, with the reason
-- in `last_error`. Called by workers whose own heart beats steadily: one that was away itself, with the database or the whole
-- machine, cannot tell the dead from those who were away as well.
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
      -- A job whose effect is just being committed is left to its owner, frozen or not.
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
        when v_lost.deaths >= 3 then format('The worker that did it died, %s times in a row: it was given up', v_lost.deaths)
        when v_lost.given_up then 'The worker that did it died: it was given up'
        else 'The worker that did it died: it is tried again'
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
  'Frees the jobs of dead workers and returns them; `given_up` marks those that will not be tried again.';

-- The database may give a worker a job and be gone, or turned to another server, before it can say so: the worker lives on, and
-- would keep that job from everybody. `at_hand` are those that it knows of; what it was given later than `silence` ago it may hear of yet.
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
  'Frees the jobs that a living worker has without knowing of it, with the attempt given back, and returns them.';

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
  'A worker stops: the jobs it could not finish go to others, with the attempt given back. Returns how many.';

-- Called by each worker several times a second. A test run may end at that very moment.
create or replace function office_jobs.queue_changed_searches(main_tenant text) returns void as $$
declare
  v_tenant text;
begin
  execute format('select %I.queue_changed_search()', queue_changed_searches.main_tenant);
  for v_tenant in select a.tenant from office_jobs.tenants a
  loop
    begin
      if to_regprocedure(format('%I.queue_changed_search()', v_tenant)) is not null then
        execute format('select %I.queue_changed_search()', v_tenant);
      end if;
    exception when undefined_table or undefined_function or invalid_schema_name or internal_error then
      null;
    end;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.queue_changed_searches is
  'Has the search engine told of what has changed in the main tenant and in test runs; quick where nothing has.';

revoke all on all functions in schema office_jobs from public;
grant usage on schema office_jobs to office_owner;
grant execute on function
  office_jobs.add, office_jobs.is_queued, office_jobs.cancel, office_jobs.remove_dead, office_jobs.lost, office_jobs.last_error,
  office_jobs.remove_tenant, office_jobs.touch_tenant, office_jobs.stale_tenants, office_jobs.unregister_tenant
to office_owner;
