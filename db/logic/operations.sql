-- Metrics of the live schema for operators.
create or replace function operations_lags() returns table (what text, seconds double precision) as $$
  -- Before the first import has ended, its age counts, so that an ERP that was never reached is late too.
  select 'erp_' || c.entity, extract(epoch from clock_timestamp() - coalesce(c.caught_up_at, f.queued_at))
  from erp_cursors c, (select min(r.queued_at) as queued_at from erp_sync_runs r where r.kind = 'IMPORT') as f
  where c.caught_up_at is not null or f.queued_at is not null
  union all
  select 'search', coalesce(extract(epoch from clock_timestamp() - min(c.created_at)), 0)
  from row_changes c where c.reader = 'search'
  union all
  select 'audit_seal_' || s.tree, coalesce(extract(epoch from clock_timestamp() - s.oldest_unsealed), 0)
  from audit_seal_state() s
$$ language sql stable security definer set search_path from current;
comment on function operations_lags is
  'Seconds since each follower was level with its source: the import with the ERP, the search engine with the tables, the seals with the audit log.';
grant execute on function operations_lags to office_worker;
