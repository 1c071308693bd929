-- Jobs started by users: list, retry and cancel.
-- A session sees all jobs of its user, including those started with tokens; a token sees only its own; a scoped token
-- sees none, because no permission is checked.
create or replace function is_own_job(user_id uuid, api_token_id uuid) returns boolean as $$
  select is_own_job.user_id = current_user_id() and not is_scoped()
    and (current_token_id() is null or is_own_job.api_token_id = current_token_id()) is true
$$ language sql stable;
comment on function is_own_job is 'Whether the caller started a job.';

select ensure_policy('jobs', 'jobs_own', 'select', 'office_api',
  'user_id = (select current_user_id()) and not (select is_scoped()) and ((select current_token_id()) is null or api_token_id = (select current_token_id()))');

create or replace function jobs_title(job jobs) returns text as $$
  select coalesce((select k.title from job_kinds() k where k.kind = jobs_title.job.kind), jobs_title.job.kind)
$$ language sql stable;
comment on function jobs_title is '@computed
@list 1
@notNull
The title of the job''s kind.';

create or replace function jobs_can_retry(job jobs) returns boolean as $$
  select jobs_can_retry.job.state in ('FAILED', 'CANCELLED')
    and exists (select from job_kinds() k where k.kind = jobs_can_retry.job.kind and k.can_retry)
$$ language sql stable;
comment on function jobs_can_retry is '@computed
@notNull
Whether `retryJob` accepts the job, for the user who started it and still holds its permissions.';

create or replace function jobs_can_cancel(job jobs) returns boolean as $$
  select jobs_can_cancel.job.state = 'QUEUED'
    and exists (select from job_kinds() k where k.kind = jobs_can_cancel.job.kind and k.can_cancel)
$$ language sql stable;
comment on function jobs_can_cancel is '@computed
@notNull
Whether `cancelJob` accepts the job, for the user who started it.';
grant execute on function is_own_job, job_kinds, jobs_title, jobs_can_retry, jobs_can_cancel to office_api;

create or replace function own_job(id uuid) returns jobs as $$
declare
  v_job jobs;
begin
  perform require_full_login();
  select * into v_job from jobs j where j.id = own_job.id and is_own_job(j.user_id, j.api_token_id) for update;
  if not found then
    perform fail('OF404', 'There is no job of yours with this id', '{"path": ["id"]}');
  end if;
  return v_job;
end;
$$ language plpgsql volatile;

create or replace function record_job_change(job jobs, was job_state) returns void as $$
  select record_change('UPDATE', 'Job', job.id::text, jsonb_build_object('state', was), jsonb_build_object('state', job.state),
    jsonb_build_object('kind', job.kind))
$$ language sql volatile;

create or replace function retry_job(id uuid) returns jobs as $$
declare
  v_job jobs := own_job(retry_job.id);
  v_was job_state := v_job.state;
  v_permissions text[];
begin
  select k.permissions into v_permissions from job_kinds() k where k.kind = v_job.kind and k.can_retry;
  if not found then
    perform fail('OF409', 'Jobs of this kind cannot be retried');
  elsif v_was not in ('FAILED', 'CANCELLED') then
    perform fail('OF409', format('Only a failed or cancelled job can be retried: this one is %s', v_was),
      jsonb_build_object('state', v_was));
  end if;
  -- The caller may have lost a permission since the job was started.
  perform require_all_permissions(variadic v_permissions);
  perform office_jobs.remove_dead(v_job.queue_job_id);
  update jobs j set
    state = 'QUEUED', attempts = 0, error = null, next_attempt_at = null, started_at = null, finished_at = null,
    correlation_id = nullif(current_setting('office.correlation_id', true), ''),
    queue_job_id = queue_job(j.kind, j.input, j.key, null, j.max_attempts)
  where j.id = v_job.id
  returning * into v_job;
  perform record_job_change(v_job, v_was);
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function retry_job is '@guard login
@action if can_retry
Queues a failed or cancelled job of the caller again, with all its attempts. The caller needs the permission that starts such a job; `canRetry` states whether the job can be retried.';

create or replace function cancel_job(id uuid) returns jobs as $$
declare
  v_job jobs := own_job(cancel_job.id);
  v_was job_state := v_job.state;
begin
  if not exists (select from job_kinds() k where k.kind = v_job.kind and k.can_cancel) then
    perform fail('OF409', 'Jobs of this kind cannot be cancelled');
  elsif v_job.finished_at is not null then
    perform fail('OF409', format('The job has already ended: it is %s', v_was), jsonb_build_object('state', v_was));
  end if;
  -- A job that other users also wait for stays in the queue.
  if not exists (
    select from jobs j where j.queue_job_id = v_job.queue_job_id and j.finished_at is null and j.id <> v_job.id
  ) and not office_jobs.cancel(v_job.queue_job_id) then
    perform fail('OF409', 'The job is running', '{"state": "RUNNING"}');
  end if;
  update jobs j set state = 'CANCELLED', finished_at = clock_timestamp(), next_attempt_at = null
  where j.id = v_job.id
  returning * into v_job;
  perform record_job_change(v_job, v_was);
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_job is '@guard login
@action bad if can_cancel
Removes a waiting job of the caller from the queue; fails with `CONFLICT` for a running job. `canCancel` states whether the job can be cancelled.';
grant execute on function retry_job, cancel_job to office_api;

-- Jobs that disappeared from the queue without a report, such as rows removed by hand.
create or replace function fail_lost_jobs() returns integer as $$
declare
  v_count integer;
begin
  update jobs j set state = 'FAILED', finished_at = clock_timestamp(), next_attempt_at = null,
    error = coalesce(j.error, 'The job failed for an unknown reason')
  from office_jobs.lost(array(
    select o.queue_job_id from jobs o where o.finished_at is null order by o.created_at limit 10000
  )) as l(id)
  where j.queue_job_id = l.id and j.finished_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function fail_lost_jobs is 'Fails jobs that are lost from the queue; returns their number.';

create or replace function remove_old_jobs(days integer) returns integer as $$
declare
  v_count integer;
begin
  delete from jobs j where j.finished_at < now() - make_interval(days => remove_old_jobs.days);
  get diagnostics v_count = row_count;
  delete from product_sync_runs r
  where r.created_at < now() - make_interval(days => remove_old_jobs.days)
    and not exists (select from jobs j where j.kind = 'product_sync' and j.input ->> 'runId' = r.id::text);
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function remove_old_jobs is 'Removes jobs that ended at least the given number of days ago; returns their number.';
grant execute on function fail_lost_jobs, remove_old_jobs to office_worker;
