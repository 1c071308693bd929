-- Exports: templates, the jobs that write the files, and the list of all files in the object store.
create type export_template_kind as enum ('FORM', 'TABLE');
comment on type export_template_kind is 'The kind of a template. FORM: a sheet for one row; TABLE: one line for each row.';
create type export_field_kind as enum ('TEXT', 'INTEGER', 'DECIMAL', 'BOOLEAN', 'DATE', 'DATETIME', 'URL', 'IMAGE', 'JSON');
comment on type export_field_kind is 'The type of a field in a workbook cell. IMAGE is available in forms only; JSON is written as text, except in JSON Lines.';

create table export_workbooks (
  id uuid primary key default uuidv7(),
  entity text collate "C" not null default 'products',
  kind export_template_kind not null,
  file_name text not null,
  file_size integer not null,
  file_sha256 text not null,
  file_key text not null,
  fields text[] not null,
  uploaded_by_user_id uuid references users on delete set null,
  created_at timestamptz not null default now(),
  constraint export_workbooks_file_name_check check (is_label(file_name, 200))
);
create index export_workbooks_uploaded_by_user_id_idx on export_workbooks (uploaded_by_user_id);
create index export_workbooks_created_at_idx on export_workbooks (created_at);
comment on table export_workbooks is '@read exports.read
@create exporttemplates.update
@root off
@audit ExportWorkbook
An uploaded workbook with `{{field}}` placeholders, for use in templates.';
comment on column export_workbooks.entity is 'The name of the list whose fields the placeholders name, such as `orders`.';
comment on column export_workbooks.kind is 'The kind of template for which the placeholders were checked.';
comment on column export_workbooks.file_name is 'The name of the uploaded file.';
comment on column export_workbooks.file_size is 'The size of the file in bytes.';
comment on column export_workbooks.file_sha256 is 'The SHA-256 of the file, in hexadecimal.';
comment on column export_workbooks.file_key is '@internal
Where the file is in the object store.';
comment on column export_workbooks.uploaded_by_user_id is 'The user who uploaded the file.';
comment on column export_workbooks.fields is 'The fields named by the placeholders.';
comment on constraint export_workbooks_file_name_check on export_workbooks is
  'must be 1 to 200 visible characters without spaces at its ends';

create table export_templates (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  description text,
  entity text collate "C" not null default 'products',
  kind export_template_kind not null,
  workbook_id uuid references export_workbooks on delete restrict,
  owner_user_id uuid references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint export_templates_name_check check (is_label(name, 100)),
  constraint export_templates_description_check check (char_length(description) <= 500)
);
create unique index export_templates_name_key on export_templates (name_key(name));
create index export_templates_workbook_id_idx on export_templates (workbook_id);
create index export_templates_owner_user_id_idx on export_templates (owner_user_id);
create index export_templates_words_idx on export_templates using gin (search_text(name) extensions.gin_trgm_ops);
comment on table export_templates is '@group Exports 41
@icon folder
@title Templates
@titleOne Template
@read exports.read
@create exporttemplates.update
@update exporttemplates.update
@delete exporttemplates.update
@audit ExportTemplate
@defaultOrder name
The layout of an export: columns in the service''s own layout, or an uploaded workbook.';
comment on column export_templates.name is '@search word
@list 1
The name of the template, unique without regard to case.';
comment on column export_templates.description is '@list 2
The purpose of the template.';
comment on column export_templates.entity is '@list 3
@widget list
@title List
The name of the list whose rows the template shows, such as `orders`.';
comment on column export_templates.kind is '@list 4
Whether the template takes one row or several.';
comment on column export_templates.owner_user_id is '@internal
Who takes care of the template: the user who created it, or who took it over.';
comment on constraint export_templates_name_check on export_templates is
  'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint export_templates_description_check on export_templates is 'must be 500 characters at most';
comment on constraint export_templates_workbook_id_fkey on export_templates is '@fieldName workbook
@forwardBehavior +singularRelation:resource:single';
comment on index export_templates_name_key is 'An export template of this name exists already.';

create table export_template_columns (
  id uuid primary key default uuidv7(),
  template_id uuid not null references export_templates on delete cascade,
  position integer not null,
  field text not null,
  title text collate display_order not null,
  width numeric(5, 2),
  number_format text,
  constraint export_template_columns_position_key unique (template_id, position),
  constraint export_template_columns_position_check check (position between 1 and 200),
  constraint export_template_columns_title_check check (is_label(title, 200)),
  constraint export_template_columns_width_check check (width between 1 and 255),
  constraint export_template_columns_number_format_check check (is_label(number_format, 200))
);
comment on table export_template_columns is '@read exports.read
@create exporttemplates.update
@update exporttemplates.update
@delete exporttemplates.update
@root off
@audit ExportTemplateColumn
@defaultOrder position
A column of a table, or a line of a form.';
comment on column export_template_columns.position is 'The position of the column, from 1.';
comment on column export_template_columns.field is 'A field that `exportFields` or `listExportFields` lists.';
comment on column export_template_columns.title is 'The heading of the column.';
comment on column export_template_columns.width is
  'The width in characters, a decimal as text; null for an automatic width.';
comment on column export_template_columns.number_format is
  'The Excel format of numbers or dates, such as `0.00` or `yyyy-mm-dd`.';
comment on constraint export_template_columns_position_check on export_template_columns is 'must be from 1 to 200';
comment on constraint export_template_columns_title_check on export_template_columns is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint export_template_columns_width_check on export_template_columns is 'must be from 1 to 255';
comment on constraint export_template_columns_number_format_check on export_template_columns is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint export_template_columns_template_id_fkey on export_template_columns is '@foreignFieldName columns
@backwardBehavior +manyRelation:resource:list';

create table export_jobs (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  token_id uuid references api_tokens on delete set null,
  template_id uuid references export_templates on delete set null,
  source text not null,
  format text not null default 'xlsx',
  state text not null default 'queued',
  total_rows integer not null,
  exported_rows integer not null default 0,
  file_size integer,
  error_message text,
  notes text[] not null default '{}',
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  attempt integer not null default 0,
  failures integer not null default 0,
  file_key text,
  queue_job_id bigint,
  query text,
  entity text collate "C",
  needed_permissions text[] not null default '{}',
  constraint export_jobs_state_check check (state in ('queued', 'running', 'completed', 'failed', 'cancelled', 'expired')),
  constraint export_jobs_file_check check ((state = 'completed') = (file_key is not null)),
  constraint export_jobs_format_check check (format in ('xlsx', 'csv', 'jsonl'))
);
create index export_jobs_user_id_idx on export_jobs (user_id, created_at desc, id desc);
create index export_jobs_token_id_idx on export_jobs (token_id);
create index export_jobs_template_id_idx on export_jobs (template_id);
create index export_jobs_created_at_idx on export_jobs (created_at desc, id desc);
create index export_jobs_open_idx on export_jobs (created_at) where state in ('queued', 'running');
create index export_jobs_expires_at_idx on export_jobs (expires_at) where state = 'completed';
create index export_jobs_waiting_idx on export_jobs (user_id, created_at, id) where state = 'queued' and queue_job_id is null;
create index export_jobs_started_idx on export_jobs (user_id, started_at);
comment on table export_jobs is '@group Exports 40
@icon file
@title Exports
@titleOne Export
@label created_at format
@read exports.read
@create exports.create
@owner user_id token_id
@audit ExportJob id except exported_rows attempt failures queue_job_id needed_permissions
@auditReads
@connection
@defaultOrder created_at desc, id desc
A requested export: waiting, running, ready for download, or ended. Sessions of a user show all exports of the user, including those requested with an API token. An API token shows only its own exports.';
comment on column export_jobs.user_id is '@list 4
The user who requested the export.';
comment on column export_jobs.token_id is 'The API token that requested the export; null for a session.';
comment on column export_jobs.template_id is '@list 3
The template; null for an export without a template, or if the template was deleted.';
comment on column export_jobs.source is 'The name of the template or list at the time of the request.';
comment on column export_jobs.format is '@list 2
The format of the file: `xlsx`, `csv` or `jsonl`.';
comment on column export_jobs.state is '@internal
@auditName status
The stored state; `status` also considers the time.';
comment on column export_jobs.total_rows is '@list 5
@title Rows
The number of requested rows.';
comment on column export_jobs.exported_rows is '@list 6
@title Written
The number of rows written so far.';
comment on column export_jobs.file_size is 'The size of the finished file, in bytes.';
comment on column export_jobs.error_message is
  '@list 8
@title Error
A message that explains why the export failed or is retried; null without an error.';
comment on column export_jobs.notes is
  'Notes for readers of the file, such as deleted products, unavailable pictures or truncated texts.';
comment on column export_jobs.started_at is 'When processing of the export started.';
comment on column export_jobs.finished_at is '@list 7
When the export was completed, was cancelled or failed.';
comment on column export_jobs.expires_at is 'When the file expires and can no longer be downloaded.';
comment on column export_jobs.attempt is '@internal
Number of the latest attempt, from 1; part of the file''s key.';
comment on column export_jobs.failures is '@internal
Failed attempts.';
comment on column export_jobs.file_key is '@internal
Where the finished file is in the object store.';
comment on column export_jobs.queue_job_id is '@internal
The job in the queue.';
comment on column export_jobs.query is 'The search whose rows are exported; null for an export of given products.';
comment on column export_jobs.created_at is '@list 1
@title Asked for';
comment on column export_jobs.entity is '@list off
@title List
@widget list
The name of the exported list, such as `orders`; null for an export of products by a template.';
comment on column export_jobs.needed_permissions is '@internal
What a caller needs to download the file of a list. Of each item, permissions separated by spaces, one is enough.';
comment on constraint export_jobs_state_check on export_jobs is
  'must be queued, running, completed, failed, cancelled or expired';
comment on constraint export_jobs_file_check on export_jobs is 'must have a file when completed, and only then';
comment on constraint export_jobs_format_check on export_jobs is 'must be xlsx, csv or jsonl';
comment on constraint export_jobs_template_id_fkey on export_jobs is '@fieldName template
@forwardBehavior +singularRelation:resource:single';

-- Ids do not compress: `storage external` saves the time to try.
create table export_job_products (
  job_id uuid primary key references export_jobs on delete cascade,
  product_ids uuid[] storage external not null
);
comment on table export_job_products is '@internal
@audit off because the job itself is recorded
The products of an export in their order, while it has not ended.';

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

create table export_slots (
  queue_job_id bigint primary key,
  user_id uuid not null
);
comment on table export_slots is '@internal
@audit off because it is the state of the queue
The exports that may run, at most EXPORT_CONCURRENCY. A row exists as long as its job in the queue, also when the export was deleted.';

create table stored_files (
  key text primary key,
  job_id uuid,
  workbook_id uuid,
  created_at timestamptz not null default now(),
  delete_after timestamptz,
  removed_at timestamptz,
  attachment_id uuid
);
create index stored_files_job_id_idx on stored_files (job_id);
create index stored_files_workbook_id_idx on stored_files (workbook_id);
create index stored_files_delete_after_idx on stored_files (delete_after) where delete_after is not null;
create index stored_files_attachment_id_idx on stored_files (attachment_id);
comment on table stored_files is '@internal
@audit off because it only lists files
Every file of this tenant that may be in the object store. A row is added before the upload starts and removed after the deletion is certain, so that a crash leaves no unknown file.';

create type data_export_input as (template_id uuid, product_ids uuid[], query text, format text);
comment on type data_export_input is 'What to export.';
comment on column data_export_input.template_id is '@notNull
The template: a form takes exactly one product, a table one or several.';
comment on column data_export_input.product_ids is 'Ids of products, in the order of the rows.';
comment on column data_export_input.query is 'The search that found the products; null where they were named.';
comment on column data_export_input.format is 'XLSX, CSV or JSONL; null means XLSX.';

create type export_field_view as (field text, title text, kind export_field_kind, description text);
comment on type export_field_view is '@name export_field
A field that is available in templates.';
comment on column export_field_view.field is '@notNull
The name of the field in templates: in a column, or as `{{field}}` in an uploaded workbook.';
comment on column export_field_view.title is '@notNull
The default heading of its column.';
comment on column export_field_view.kind is '@notNull
The type of the field in a cell.';
comment on column export_field_view.description is 'The meaning of the field.';
