-- Exports of any list.
alter table export_jobs add column entity text collate "C";
comment on column export_jobs.entity is '@list off
The name of the exported list, such as `orders`; null for an export of products by a template.';

create table export_job_lists (
  job_id uuid primary key references export_jobs on delete cascade,
  table_name text not null,
  tables text[] not null,
  is_by_template boolean not null,
  statement text not null,
  statement_values jsonb not null,
  columns jsonb not null
);
comment on table export_job_lists is '@internal
@audit off because the job itself is recorded
What an export of a list reads, while it has not ended.';
comment on column export_job_lists.table_name is 'The table of the list.';
comment on column export_job_lists.tables is 'All tables that its columns read.';
comment on column export_job_lists.is_by_template is 'Whether a template was chosen, which may have been deleted since.';
comment on column export_job_lists.statement is 'The compiled search, with the columns as text.';
comment on column export_job_lists.statement_values is 'The parameters of the statement.';
comment on column export_job_lists.columns is 'The columns of the file, in the order of the statement, with the tables that each reads.';
