-- What anyone did or read. Reads and writes are kept for different times, so each has its own tree of monthly partitions,
-- and ending a month's retention is dropping one table.
create table audit_log (
  id uuid not null default uuidv7(),
  actor_user_id uuid,
  operation text not null,
  entity_type text not null,
  entity_id text,
  correlation_id text,
  ip_address text,
  user_agent text,
  before jsonb,
  after jsonb,
  metadata jsonb,
  created_at timestamptz not null default now(),
  primary key (id, operation, created_at),
  constraint audit_log_operation_check check (operation in ('CREATE', 'READ', 'UPDATE', 'DELETE'))
) partition by list (operation);
create table audit_log_writes partition of audit_log for values in ('CREATE', 'UPDATE', 'DELETE')
  partition by range (created_at);
create table audit_log_reads partition of audit_log for values in ('READ') partition by range (created_at);
create table audit_log_writes_default partition of audit_log_writes default;
create table audit_log_reads_default partition of audit_log_reads default;
create index audit_log_created_at_idx on audit_log (created_at desc, id desc);
create index audit_log_actor_idx on audit_log (actor_user_id, created_at desc);
create index audit_log_entity_idx on audit_log (entity_type, entity_id, created_at desc);
create index audit_log_correlation_id_idx on audit_log (correlation_id);
comment on table audit_log is '@read audit.read
@appendOnly
@root off
@audit off because it is the audit log itself
@defaultOrder created_at desc, id desc
One thing that someone did or read; it can be added to and never changed.';
comment on column audit_log.actor_user_id is 'Who did it; null for the service itself and for changes made directly in the database.';
comment on column audit_log.operation is 'One of `CREATE`, `READ`, `UPDATE`, `DELETE`.';
comment on column audit_log.entity_type is 'The kind of thing, such as `User`.';
comment on column audit_log.entity_id is 'Which one; null for a list.';
comment on column audit_log.correlation_id is 'The request that caused it: its `X-Correlation-Id`.';
comment on column audit_log.ip_address is 'The address that the request came from.';
comment on column audit_log.user_agent is 'The program that sent the request.';
comment on column audit_log.before is 'The changed values as they were; secrets are left out.';
comment on column audit_log.after is 'The changed values as they became; secrets are left out.';
comment on column audit_log.metadata is 'More about it: where the change came from, the filter of a read and the number of rows read.';
comment on column audit_log.created_at is 'When it happened.';
