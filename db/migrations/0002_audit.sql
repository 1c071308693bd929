-- The audit log, erasures of personal data from it, and deleted rows.

-- Reads and writes have different retention periods, so each has a tree of monthly partitions. Retention drops whole
-- partitions.
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
  primary key (id, operation, created_at)
) partition by list (operation);
create table audit_log_writes partition of audit_log for values in ('CREATE', 'UPDATE', 'DELETE')
  partition by range (created_at);
create table audit_log_reads partition of audit_log for values in ('READ') partition by range (created_at);
create table audit_log_writes_default partition of audit_log_writes default;
create table audit_log_reads_default partition of audit_log_reads default;
create index audit_log_created_at_idx on audit_log (created_at desc, id desc);
-- Each filter of the log reads its rows in the order in which they are shown.
create index audit_log_actor_idx on audit_log (actor_user_id, created_at desc, id desc);
create index audit_log_correlation_id_idx on audit_log (correlation_id, created_at desc, id desc);
create index audit_log_entity_type_idx on audit_log (entity_type, created_at desc, id desc);
create index audit_log_entity_id_idx on audit_log (entity_id, created_at desc, id desc);
create index audit_log_writes_operation_idx on audit_log_writes (operation, created_at desc, id desc);
-- Pairs of filters that match many rows. Filters by entity id or correlation id match few rows and need no pair.
create index audit_log_actor_entity_type_idx on audit_log (actor_user_id, entity_type, created_at desc, id desc, operation);
create index audit_log_writes_actor_operation_idx on audit_log_writes (actor_user_id, operation, created_at desc, id desc);
create index audit_log_writes_entity_type_operation_idx on audit_log_writes (entity_type, operation, created_at desc, id desc);
comment on table audit_log is '@read audit.read
@appendOnly
@root off
@audit off because it is the audit log itself
@watch off because it records the deliveries of watches
@defaultOrder created_at desc, id desc
An entry of the audit log: a change, a read or another action. The log is append-only.';
comment on column audit_log.actor_user_id is
  'The user who acted; null for the service itself and for changes made directly in the database.';
comment on column audit_log.operation is 'One of `CREATE`, `READ`, `UPDATE`, `DELETE`.';
comment on column audit_log.entity_type is 'The type of the entity, such as `User`.';
comment on column audit_log.entity_id is 'The id of the entity; null for a list.';
comment on column audit_log.correlation_id is 'The `X-Correlation-Id` of the request that caused the entry.';
comment on column audit_log.ip_address is 'The IP address of the request.';
comment on column audit_log.user_agent is 'The user agent of the request.';
comment on column audit_log.before is 'The changed values before the change, without secrets.';
comment on column audit_log.after is 'The changed values after the change, without secrets.';
comment on column audit_log.metadata is
  'Further data: the origin of a change, the filter of a read and the number of rows read.';
comment on column audit_log.created_at is 'When the action happened.';

-- Batches of the log's rows are sealed in a chain. Each link holds the digests of its rows and of the link before.
create table audit_seals (
  tree text not null,
  position bigint not null,
  kind text not null,
  from_id uuid not null,
  to_id uuid not null,
  row_count integer not null,
  row_ids uuid[] not null,
  row_hashes bytea not null,
  rows_digest bytea not null,
  dropped_before timestamptz,
  sealed_at timestamptz not null,
  previous bytea not null,
  digest bytea not null,
  primary key (tree, position),
  constraint audit_seals_tree_check check (tree in ('writes', 'reads')),
  constraint audit_seals_kind_check check (kind in ('SEAL', 'DROP'))
);
comment on table audit_seals is '@internal
@appendOnly
@audit off because it seals the audit log itself
The links of two chains, one of the audit log''s writes and one of its reads.';
comment on column audit_seals.kind is
  '`SEAL` covers rows; `DROP` records that retention removed the rows before `dropped_before`.';
comment on column audit_seals.from_id is 'Lower bound of the ids of the link''s rows, exclusive.';
comment on column audit_seals.to_id is 'Upper bound of the ids of the link''s rows, inclusive.';
comment on column audit_seals.row_hashes is 'SHA-256 of each row, 32 bytes each, in the order of the ids.';
comment on column audit_seals.rows_digest is 'SHA-256 of `row_hashes`.';
comment on column audit_seals.previous is 'The digest of the previous link; zeros for the first.';
comment on column audit_seals.digest is 'SHA-256 of all other columns of the link.';

create table audit_seal_marks (
  tree text primary key,
  marked_at timestamptz not null,
  next_transaction text not null,
  constraint audit_seal_marks_tree_check check (tree in ('writes', 'reads'))
);
comment on table audit_seal_marks is '@internal
@audit off because it is the state of sealing
For each chain a time and the next transaction id at that time. Once all older transactions have ended, no more rows from before that time can appear.';

create table audit_erasures (
  erasure_id uuid not null,
  audit_log_id uuid not null,
  hash_before bytea not null,
  hash_after bytea not null,
  primary key (audit_log_id, erasure_id)
);
create index audit_erasures_erasure_id_idx on audit_erasures (erasure_id);
comment on table audit_erasures is '@internal
@appendOnly
@audit off because an audit row records the digest of each erasure
The audit rows from which an erasure removed personal data.';
comment on column audit_erasures.erasure_id is 'The audit row that records the erasure.';
comment on column audit_erasures.audit_log_id is 'The audit row that was changed.';
comment on column audit_erasures.hash_before is 'SHA-256 of the row before the erasure.';
comment on column audit_erasures.hash_after is 'SHA-256 of the row after the erasure.';

create table personal_column_names (
  subject text not null,
  entity text not null,
  reference text not null,
  name text not null,
  primary key (subject, entity, reference, name)
);
comment on table personal_column_names is '@internal
@audit off because it repeats the tags of migrations
The names of all columns that ever held personal data, as the audit log has them. An erasure finds the values of columns that were renamed or dropped.';
comment on column personal_column_names.subject is 'The entity type of the person.';
comment on column personal_column_names.entity is 'The entity type of the row.';
comment on column personal_column_names.reference is 'The name of the column that refers to the person; empty for the row of the person.';
comment on column personal_column_names.name is 'The name of the column.';

create type deletion as (
  audit_log_id uuid, entity_type text, entity_id text, label text, deleted_at timestamptz, user_id uuid, user_name text
);
comment on type deletion is 'A deleted row that can be restored.';
comment on column deletion.audit_log_id is '@list off
@notNull
The argument `auditLogId` of `restore`.';
comment on column deletion.entity_type is '@list 2
@notNull
@title Kind
The type of the row, such as `Campaign`.';
comment on column deletion.entity_id is '@list off
@notNull
@widget row
The id of the row.';
comment on column deletion.label is '@list 1
@title Name
The name of the row.';
comment on column deletion.deleted_at is '@list 3
@notNull
@title Deleted
When the row was deleted.';
comment on column deletion.user_id is '@list off
The id of the user who deleted the row.';
comment on column deletion.user_name is '@list 4
@title By
The name of the user who deleted the row.';
