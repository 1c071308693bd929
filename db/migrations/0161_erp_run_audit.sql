-- Who cancelled a run of the import.
alter table erp_sync_runs add column cancelled_by_user_id uuid references users on delete set null;
-- lint: allow create-index because runs are few and kept for 90 days
create index erp_sync_runs_cancelled_by_user_id_idx on erp_sync_runs (cancelled_by_user_id);
comment on column erp_sync_runs.cancelled_by_user_id is 'Who cancelled it; null for a run that nobody cancelled.';
comment on table erp_sync_runs is '@read erpsync.read
@audit off because the schedule makes a run every few minutes; what people start and cancel is recorded by the functions that do it
@connection
@defaultOrder queued_at desc
One run of the import from the ERP, with its progress.';
-- Replaced by `record_change`.
drop function if exists record_ai_change(text, text, text, jsonb);
