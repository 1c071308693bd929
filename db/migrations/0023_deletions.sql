-- Erasure of personal data, with the proof that only an erasure changed the audit log; the list of deleted rows.
alter table users add column erased_at timestamptz;
alter table customers add column erased_at timestamptz;
alter table orders add column erased_at timestamptz;
comment on column users.erased_at is '@mutations off
@title Anonymised
When the personal data was erased.';
comment on column customers.erased_at is '@mutations off
@title Anonymised
When the personal data was erased; the import from the ERP does not restore it.';
comment on column orders.erased_at is '@internal
When the personal data was erased; the import does not restore it, even if the order has another customer later.';

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

create type deletion as (
  audit_log_id uuid, entity_type text, entity_id text, label text, deleted_at timestamptz, user_id uuid, user_name text
);
comment on type deletion is 'A deleted row that can be restored.';
comment on column deletion.audit_log_id is '@notNull
The argument of `restore`.';
comment on column deletion.entity_type is '@notNull
The type of the row, such as `Campaign`.';
comment on column deletion.entity_id is '@notNull
The id that the row had.';
comment on column deletion.label is 'What the row was called.';
comment on column deletion.deleted_at is '@notNull
When it was deleted.';
comment on column deletion.user_id is 'Who deleted it.';
comment on column deletion.user_name is 'Their name.';
