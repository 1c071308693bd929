-- Adds jobs to the queue. For jobs started by users, `enqueue_job` and the worker also keep a row in `jobs`.

-- The tasks whose jobs are shown to the users who started them. Jobs of other tasks are hidden.
create or replace function job_kinds() returns table (
  kind text, title text, can_retry boolean, can_cancel boolean, permissions text[]
) as $$
  values
    -- Cancelled by `cancelErpSyncRun`; started again by the same mutation.
    ('import_erp_orders', 'Import of orders', false, false, array['erpsync.run']),
    ('reimport_orders', 'Import of orders by number', false, false, array['erpsync.run']),
    ('product_sync', 'Synchronisation of products', true, true, array['productsync.run']),
    -- Cancelled by `revokeInvitation`.
    ('send_invitation', 'Invitation by mail', true, false, array['invitations.create'])
$$ language sql immutable;
comment on function job_kinds is
  'The tasks whose jobs users see: title, whether a failed job can be retried and a waiting one cancelled, and the permissions for a retry.';

-- The worker's `tasks`. A job of another task would wait for ever.
create or replace function known_tasks() returns text[] as $$
  select array[
    'audit_partitions', 'check_search', 'clean_assistant', 'clean_exports', 'erp_schedule', 'expire_invitations',
    'import_erp_orders', 'index_search', 'product_sync', 'reimport_orders', 'remove_files', 'remove_old_idempotency_keys',
    'remove_old_sessions', 'run_export', 'run_watches', 'schedule_notifications', 'seal_audit_log', 'send_invitation',
    'send_notifications', 'settle_assistant', 'settle_jobs', 'start_campaigns', 'start_exports', 'sweep_test_tenants', 'verify_search'
  ]
$$ language sql immutable;
comment on function known_tasks is 'The tasks that workers run.';

create or replace function queue_job(
  task text, input jsonb, key text, run_at timestamptz, max_attempts integer, queue text default null
) returns bigint as $$
  select office_jobs.add(
    queue_job.task,
    jsonb_build_object(
      'tenant', current_schema(), 'input', queue_job.input,
      'correlationId', nullif(current_setting('office.correlation_id', true), '')
    ) || case
      when coalesce(current_setting('office.traceparent', true), '') = '' then '{}'
      else jsonb_build_object('traceparent', current_setting('office.traceparent', true))
    end,
    current_schema() || ':' || queue_job.task || ':' || queue_job.key,
    queue_job.run_at,
    queue_job.max_attempts,
    current_schema() || ':' || coalesce(queue_job.queue,
      -- Mails run one after the other, so that a slow mail server takes one of the workers' slots only.
      case when queue_job.task ~ '^send_' then 'mail' end)
  )
$$ language sql volatile;

create or replace function is_queued(task text, key text) returns boolean as $$
  select office_jobs.is_queued(current_schema() || ':' || is_queued.task || ':' || is_queued.key)
$$ language sql stable;
comment on function is_queued is 'Whether a job of this task and key is waiting or running.';

create or replace function is_own_action(task text) returns boolean as $$
  select current_user_id() is not null and current_setting('office.source', true) = 'api'
    and exists (select from job_kinds() k where k.kind = is_own_action.task)
$$ language sql stable;
comment on function is_own_action is 'Whether jobs of this task are started by users and shown to them.';

create or replace function join_job(
  queue_job_id bigint, task text, input jsonb, key text, run_at timestamptz, subject text, max_attempts integer default 25
) returns void as $$
begin
  if not is_own_action(task) then
    return;
  end if;
  -- The lock prevents duplicate rows for concurrent requests.
  perform pg_advisory_xact_lock(hashtextextended(format('%s.join_job.%s.%s', current_schema(), queue_job_id, current_user_id()), 0));
  if not exists (
    select from jobs j
    where j.queue_job_id = join_job.queue_job_id and j.finished_at is null and j.user_id = current_user_id()
      and j.api_token_id is not distinct from current_token_id()
  ) then
    insert into jobs (
      kind, subject, max_attempts, user_id, api_token_id, correlation_id, next_attempt_at, queue_job_id, input, key
    )
    values (
      join_job.task, left(without_tokens(join_job.subject), 300), join_job.max_attempts, current_user_id(), current_token_id(),
      nullif(current_setting('office.correlation_id', true), ''), join_job.run_at, join_job.queue_job_id, join_job.input, join_job.key
    );
  end if;
end;
$$ language plpgsql volatile;
comment on function join_job is 'Adds the caller to the users of a queued job.';

create or replace function enqueue_job(
  task text, input jsonb, key text default null, run_at timestamptz default null, subject text default null,
  max_attempts integer default 25, queue text default null
) returns bigint as $$
declare
  v_id bigint := queue_job(task, input, key, run_at, max_attempts, queue);
begin
  if not is_own_action(task) then
    return v_id;
  end if;
  -- The new job replaces a waiting job of the same key, and starts over for all its users.
  update jobs j set
    state = 'QUEUED', attempts = 0, max_attempts = enqueue_job.max_attempts, error = null, next_attempt_at = enqueue_job.run_at
  where j.queue_job_id = v_id and j.finished_at is null;
  perform join_job(v_id, task, input, key, run_at, subject, max_attempts);
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function enqueue_job is
  'Adds a job of this tenant in the caller''s transaction; replaces a waiting job of the same key. Called by functions, never by a request role. Jobs of tasks in `job_kinds` are shown to their users with `subject`. Jobs of one `queue` run one after the other.';

-- Called by the worker, and by the queue when a worker is lost. Rows in a final state do not change.
create or replace function record_job(
  queue_job_id bigint, state text, attempts integer default null, max_attempts integer default null,
  error text default null, next_attempt_at timestamptz default null
) returns integer as $$
declare
  v_count integer;
begin
  update jobs j set
    state = record_job.state::job_state,
    attempts = coalesce(record_job.attempts, j.attempts),
    max_attempts = coalesce(record_job.max_attempts, j.max_attempts),
    error = case when record_job.state <> 'SUCCEEDED' then coalesce(left(without_tokens(record_job.error), 1000), j.error) end,
    next_attempt_at = record_job.next_attempt_at,
    started_at = case when record_job.state = 'RUNNING' then coalesce(j.started_at, clock_timestamp()) else j.started_at end,
    finished_at = case when record_job.state not in ('QUEUED', 'RUNNING') then clock_timestamp() end
  where j.queue_job_id = record_job.queue_job_id and j.finished_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_job is
  'Updates the state of a job for its users; returns the number of rows that were not in a final state.';
grant execute on function record_job to office_worker;
