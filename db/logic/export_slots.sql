-- Exports with a slot are in the queue; all others wait in `export_jobs` until `start_exports` assigns a free slot.

create or replace function queue_export_start() returns void as $$
  select enqueue_job('start_exports', '{}')
$$ language sql volatile security definer set search_path from current;
comment on function queue_export_start is
  'Queues `start_exports`; called by every transaction that adds an export or frees a slot. Without a job key, so that it takes no lock.';

create or replace function next_waiting_export(per_user integer) returns export_jobs as $$
  select j
  from (
    select distinct on (w.user_id) w.user_id, w.created_at, w.id from export_jobs w
    where w.state = 'queued' and w.queue_job_id is null
    order by w.user_id, w.created_at, w.id
  ) as first
    join export_jobs j on j.id = first.id
    left join (select s.user_id, count(*) as count from export_slots s group by s.user_id) as held on held.user_id = first.user_id,
    lateral (select max(o.started_at) as at from export_jobs o where o.user_id = first.user_id) as served
  where coalesce(held.count, 0) < next_waiting_export.per_user
  order by coalesce(held.count, 0), greatest(first.created_at, served.at), first.id
  limit 1
$$ language sql volatile;
comment on function next_waiting_export is
  'The oldest waiting export of the user with the fewest running exports and, among those, the longest wait; null when none may start.';

create or replace function start_exports(at_once integer, per_user integer) returns integer as $$
declare
  v_per_user integer := least(start_exports.per_user, greatest(start_exports.at_once - 1, 1));
  v_free integer;
  v_job export_jobs;
  v_queue_job_id bigint;
  v_count integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.start_exports', 0));
  delete from export_slots s
  where s.queue_job_id in (select * from office_jobs.lost(array(select o.queue_job_id from export_slots o)));
  v_free := start_exports.at_once - (select count(*) from export_slots);
  while v_free > 0 loop
    v_job := next_waiting_export(v_per_user);
    exit when v_job.id is null;
    -- Waits for a concurrent cancellation.
    perform from export_jobs j where j.id = v_job.id and j.state = 'queued' and j.queue_job_id is null for update;
    continue when not found;
    v_queue_job_id := enqueue_job('run_export', jsonb_build_object('jobId', v_job.id), v_job.id::text);
    update export_jobs j set queue_job_id = v_queue_job_id where j.id = v_job.id;
    insert into export_slots (queue_job_id, user_id) values (v_queue_job_id, v_job.user_id);
    v_free := v_free - 1;
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function start_exports is
  'Queues waiting exports while slots are free; returns their number. One user never gets all slots, unless there is only one.';

grant execute on function queue_export_start, start_exports to office_worker;
