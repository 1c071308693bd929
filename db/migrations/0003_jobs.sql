-- The jobs that users start, and the stored responses of mutations that were sent with an Idempotency-Key.
create type job_state as enum ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED');
comment on type job_state is 'The state of a job.';

create table jobs (
  id uuid primary key default uuidv7(),
  kind text collate "C" not null,
  subject text,
  state job_state not null default 'QUEUED',
  attempts integer not null default 0,
  max_attempts integer not null,
  error text,
  user_id uuid not null references users on delete cascade,
  api_token_id uuid references api_tokens on delete set null,
  correlation_id text collate "C",
  created_at timestamptz not null default now(),
  next_attempt_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  queue_job_id bigint not null,
  input jsonb not null,
  key text,
  constraint jobs_finished_at_check check ((finished_at is null) = (state in ('QUEUED', 'RUNNING')))
);
create index jobs_user_id_idx on jobs (user_id, created_at desc, id desc);
create index jobs_api_token_id_idx on jobs (api_token_id, created_at desc, id desc);
create index jobs_created_at_idx on jobs (created_at, id);
create index jobs_queue_job_id_idx on jobs (queue_job_id) where finished_at is null;
create index jobs_finished_at_idx on jobs (finished_at);
create index jobs_correlation_id_idx on jobs (correlation_id);
create index jobs_kind_idx on jobs (kind, created_at desc, id desc);
create index jobs_subject_search_idx on jobs using gin (search_text(subject) extensions.gin_trgm_ops);
comment on table jobs is '@group Operations 60
@icon list
@label kind subject
@read audit.read
@audit off because an action is recorded where it takes effect; retrying and cancelling are recorded by their functions
@watch off because each attempt of a job changes its row, and the user of a failed job is notified
@connection
@defaultOrder created_at desc, id desc
A background job that a user''s action started, such as a mail to send or a workflow to call.';
comment on column jobs.kind is '@list 1
@search exact
@behavior -attribute:orderBy
The kind of the job as a code, such as `product_sync`.';
comment on column jobs.subject is '@list 2
@search word
The subject of the job as text.';
comment on column jobs.state is '@list 3
@tone RUNNING info
@tone SUCCEEDED ok
@tone FAILED bad
The state of the job.';
comment on column jobs.attempts is '@list 4
The number of attempts, including a running one.';
comment on column jobs.max_attempts is 'The maximum number of attempts, after which the job fails.';
comment on column jobs.error is '@list 8
The error message of the last attempt; null without an error.';
comment on column jobs.user_id is '@list 5
The user whose action started the job.';
comment on column jobs.api_token_id is 'The API token of the action; null for a session.';
comment on column jobs.correlation_id is '@search exact
The correlation id of the request that started or retried the job.';
comment on column jobs.next_attempt_at is 'The earliest time of the next attempt; null unless the job waits for it.';
comment on column jobs.started_at is 'When the first attempt started; null before.';
comment on column jobs.finished_at is '@list 7
When the job succeeded, failed or was cancelled; null before.';
comment on column jobs.queue_job_id is '@internal
The job in the queue.';
comment on column jobs.input is '@internal
The payload of the task, for a retry.';
comment on column jobs.key is '@internal
The key under which the queue holds at most one waiting job.';
comment on column jobs.created_at is '@list 6
@title Queued';
comment on constraint jobs_finished_at_check on jobs is 'must be set for a finished job, and only for a finished job';
comment on constraint jobs_user_id_fkey on jobs is '@forwardFollows own
@forwardBehavior +singularRelation:resource:single
@fieldName user';

create table idempotency_keys (
  principal text not null,
  key_hash bytea not null,
  request_hash bytea not null,
  permissions text[] not null,
  answer json,
  created_at timestamptz not null default now(),
  primary key (principal, key_hash)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
comment on table idempotency_keys is '@internal
@audit off because the mutation itself is recorded
A mutation that took effect under an `Idempotency-Key`, with its response. Kept for a day.';
comment on column idempotency_keys.principal is 'The owner of the key: `user:` or `token:` and the id.';
comment on column idempotency_keys.key_hash is
  'SHA-256 of the key, so that a secret sent as a key is not stored.';
comment on column idempotency_keys.request_hash is 'SHA-256 of the document, the operation name and the variables.';
comment on column idempotency_keys.permissions is
  'The caller''s permissions. A caller who has lost one of them does not get the stored response.';
comment on column idempotency_keys.answer is 'The response as it was sent; null when it contained a secret.';
