-- The door between the application's schemas and the job queue, run as office_worker, who owns the queue; repeatable.
-- Every area (the main schema and each isolated test run) uses the one queue; a job says in which schema it works.
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

create table if not exists office_jobs.areas (
  area text primary key,
  run_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now()
);
alter table office_jobs.areas enable row level security;
alter table office_jobs.areas force row level security;
drop policy if exists areas_own on office_jobs.areas;
create policy areas_own on office_jobs.areas to office_worker using (true) with check (true);
comment on table office_jobs.areas is 'The schemas of isolated test runs, and when each was last used.';

create or replace function office_jobs.add(
  task text, payload jsonb, job_key text default null, run_at timestamptz default null,
  max_attempts integer default null, queue_name text default null
) returns bigint as $$
declare
  v_id bigint;
begin
  loop
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

-- Ends what the queue holds of one area; a job that runs just now is waited for by the caller, who asks again.
create or replace function office_jobs.remove_area(area text) returns integer as $$
declare
  v_running integer;
begin
  perform graphile_worker.complete_jobs(array(
    select id from graphile_worker._private_jobs where payload ->> 'area' = remove_area.area and locked_at is null
  ));
  select count(*) into v_running from graphile_worker._private_jobs where payload ->> 'area' = remove_area.area;
  return v_running;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.remove_area is 'Removes an area''s waiting jobs and returns how many still run.';

create or replace function office_jobs.touch_area(area text, run_id text) returns void as $$
  insert into office_jobs.areas as a (area, run_id) values (touch_area.area, touch_area.run_id)
  on conflict on constraint areas_pkey do update
    set last_used_at = clock_timestamp(), run_id = coalesce(excluded.run_id, a.run_id)
$$ language sql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.touch_area is 'Records that a test run''s area is in use; called before the area is made, too.';

create or replace function office_jobs.stale_areas(older_than interval) returns setof text as $$
  select a.area from office_jobs.areas a
  where a.last_used_at < clock_timestamp() - stale_areas.older_than
  order by a.last_used_at
$$ language sql stable security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.stale_areas is 'The areas that were not used for the given time.';

create or replace function office_jobs.forget_area(area text, unused_for interval default null) returns boolean as $$
begin
  delete from office_jobs.areas a
  where a.area = forget_area.area
    and (forget_area.unused_for is null or a.last_used_at < clock_timestamp() - forget_area.unused_for);
  return found;
end;
$$ language plpgsql volatile security definer set search_path = office_jobs, pg_temp;
comment on function office_jobs.forget_area is
  'Forgets an area that is about to be dropped; false when it is unknown or was used within the given time.';

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

-- A worker that was silent for too long is taken for dead: its jobs are free again at once instead of after graphile-worker's
-- four hours. Each death has spent an attempt, and a job whose workers die three times in a row is given up, with the reason
-- in `last_error`. Called by workers whose own heart beats steadily: one that was away itself, with the database or the whole
-- machine, cannot tell the dead from those who were away as well.
create or replace function office_jobs.release_dead(silence interval) returns table (
  job_id bigint, task text, area text, correlation_id text, worker text, given_up boolean
) as $$
begin
  delete from office_jobs.workers w where w.seen_at < clock_timestamp() - w.silence;
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  where q.locked_at < clock_timestamp() - release_dead.silence
    and not exists (select from office_jobs.workers w where w.id = q.locked_by);
  return query
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
    returning j.id, t.identifier, j.payload ->> 'area', j.payload ->> 'correlationId', l.owner, j.attempts >= j.max_attempts;
  if found then
    perform pg_notify('jobs:insert', '{"count":100}');
  end if;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.release_dead is
  'Frees the jobs of dead workers and returns them; `given_up` marks those that will not be tried again.';

create or replace function office_jobs.leave(worker text) returns integer as $$
declare
  v_count integer;
begin
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null where q.locked_by = leave.worker;
  update graphile_worker._private_jobs j
  set locked_at = null, locked_by = null, attempts = greatest(j.attempts - 1, 0), updated_at = now()
  where j.locked_by = leave.worker;
  get diagnostics v_count = row_count;
  delete from office_jobs.workers w where w.id = leave.worker;
  if v_count > 0 then
    perform pg_notify('jobs:insert', json_build_object('count', v_count)::text);
  end if;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path = graphile_worker, pg_temp;
comment on function office_jobs.leave is
  'A worker stops: the jobs it could not finish go to others, with the attempt given back. Returns how many.';

revoke all on all functions in schema office_jobs from public;
grant usage on schema office_jobs to office_owner;
grant execute on function
  office_jobs.add, office_jobs.remove_area, office_jobs.touch_area, office_jobs.stale_areas, office_jobs.forget_area
to office_owner;
