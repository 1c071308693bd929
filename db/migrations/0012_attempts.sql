-- How often someone has tried to log in lately. Unlogged: after a crash of the database everyone starts at none, and a flood
-- of attempts writes no log.
create unlogged table attempt_counts (
  step text not null,
  subject_kind text not null,
  subject_hash bytea not null,
  started_at timestamptz not null,
  attempts integer not null,
  primary key (step, subject_kind, subject_hash)
) with (fillfactor = 70);
create index attempt_counts_started_at_idx on attempt_counts (started_at);
comment on table attempt_counts is '@internal
@audit off because it lives for minutes, and what comes of the attempts is recorded
How many attempts at a step of logging in came from an address, or for an account, since the minute that began with the first.';
comment on column attempt_counts.step is 'The step of logging in.';
comment on column attempt_counts.subject_kind is '`address` or `account`.';
comment on column attempt_counts.subject_hash is '@secret
SHA-256 of the address or of the e-mail address: enough to count by, and nothing that can be read.';
comment on column attempt_counts.started_at is 'The first attempt of the minute that is counted.';
comment on column attempt_counts.attempts is 'Attempts since then, refused ones included.';

-- Each filter of the audit log finds its rows in the order in which they are shown.
drop index audit_log_actor_idx;
drop index audit_log_entity_idx;
drop index audit_log_correlation_id_idx;
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_actor_idx on audit_log (actor_user_id, created_at desc, id desc);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_entity_type_idx on audit_log (entity_type, created_at desc, id desc);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_entity_id_idx on audit_log (entity_id, created_at desc, id desc);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_correlation_id_idx on audit_log (correlation_id, created_at desc, id desc);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_writes_operation_idx on audit_log_writes (operation, created_at desc, id desc);
