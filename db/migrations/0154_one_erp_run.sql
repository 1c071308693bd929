-- One run of a kind waits and one works; single orders have one of each for each number.
update erp_sync_runs r set
  status = 'CANCELLED', finished_at = clock_timestamp(), retry_at = null, error = 'Another run reads the same from the ERP'
where r.finished_at is null and exists (
  select from erp_sync_runs o
  where o.kind = r.kind and o.erp_order_number is not distinct from r.erp_order_number and o.finished_at is null
    and (o.status = 'QUEUED') = (r.status = 'QUEUED') and o.id > r.id
);
drop index erp_sync_runs_waiting_key;
-- lint: allow create-index because runs are few and kept for 90 days
create unique index erp_sync_runs_waiting_key on erp_sync_runs (kind, erp_order_number) nulls not distinct where status = 'QUEUED';
-- lint: allow create-index because runs are few and kept for 90 days
create unique index erp_sync_runs_working_key on erp_sync_runs (kind, erp_order_number) nulls not distinct
  where status in ('RUNNING', 'RETRYING');

alter table erp_cursors add column pass_run_id uuid;
comment on column erp_cursors.pass_run_id is 'The run that began the pass that the cursor is in; null between passes.';
-- The stored cursors may be in the middle of a pass; the last run is the one that can have begun it.
update erp_cursors set pass_run_id = (select r.id from erp_sync_runs r where r.kind = 'IMPORT' order by r.queued_at desc limit 1)
where cursor is not null;
