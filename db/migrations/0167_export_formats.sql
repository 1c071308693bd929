alter table export_jobs add column query text;
comment on column export_jobs.query is 'The search whose products it holds; null where its products were named.';
comment on column export_jobs.format is 'The format of the file: `xlsx`, `csv` or `jsonl`.';
alter table export_jobs add constraint export_jobs_format_check check (format in ('xlsx', 'csv', 'jsonl')) not valid;
-- lint: allow validate-later because exports are few
alter table export_jobs validate constraint export_jobs_format_check;
comment on constraint export_jobs_format_check on export_jobs is 'must be xlsx, csv or jsonl';

alter type data_export_input add attribute query text, add attribute format text;
comment on column data_export_input.product_ids is 'Ids of products, in the order of the rows.';
comment on column data_export_input.query is 'The search that found the products; null where they were named.';
comment on column data_export_input.format is 'XLSX, CSV or JSONL; null means XLSX.';

create table export_slots (
  queue_job_id bigint primary key,
  user_id uuid not null
);
comment on table export_slots is '@internal
@audit off because it is bookkeeping
The exports that may run: as many rows as EXPORT_CONCURRENCY allows. A row lives as long as its job of the queue, also where the export was deleted.';
-- Exports that are in the queue already keep their place.
insert into export_slots (queue_job_id, user_id)
select j.queue_job_id, j.user_id from export_jobs j where j.state in ('queued', 'running') and j.queue_job_id is not null
on conflict do nothing;
-- lint: allow create-index because exports are few and the index holds only those that wait
create index export_jobs_waiting_idx on export_jobs (user_id, created_at, id) where state = 'queued' and queue_job_id is null;
-- lint: allow create-index because exports are few
create index export_jobs_started_idx on export_jobs (user_id, started_at);

-- It takes the formats that the worker knows from now on.
drop function if exists begin_export(uuid);
