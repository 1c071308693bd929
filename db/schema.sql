-- The database after all migrations. Written by `npm run generate`: change db/, not this file.

-- roles
alter default privileges for role office_owner: execute on functions to office_owner;
alter default privileges for role office_worker: execute on functions to office_worker;

create role office_api noinherit;

create role office_owner noinherit;

create role office_server noinherit;
grant office_api to office_server with inherit false, set true;

create role office_worker noinherit;
grant office_api to office_worker with inherit false, set true;

-- schemas
create schema (tenant) authorization office_owner;
grant usage on schema (tenant) to office_api;
grant usage on schema (tenant) to office_server;
grant usage on schema (tenant) to office_worker;

create extension btree_gin with schema extensions;

create extension btree_gist with schema extensions;

create extension pg_trgm with schema extensions;

create extension unaccent with schema extensions;

grant usage on schema extensions to office_api;
grant usage on schema extensions to office_owner;
grant usage on schema extensions to office_worker;

create schema office_jobs authorization office_worker;
grant usage on schema office_jobs to office_owner;

-- the tenant: types
create type absence_balance as (
  type absence_type,
  requested_days numeric,
  approved_days numeric
);
comment on type absence_balance is 'The working days of a year on which a user is absent for one reason.';

comment on column absence_balance.type is '@notNull
The reason for the absences.';

comment on column absence_balance.requested_days is '@notNull
Working days of requested absences that are not decided yet.';

comment on column absence_balance.approved_days is '@notNull
Working days of approved absences.';

create type absence_day as (
  day date,
  period_id uuid,
  user_id uuid,
  name text,
  is_half boolean
);
comment on type absence_day is 'A working day on which a person is away.';

comment on column absence_day.day is '@notNull
The day.';

comment on column absence_day.period_id is '@notNull
The id of the away period.';

comment on column absence_day.user_id is '@list off
@notNull
The id of the user who is away.';

comment on column absence_day.name is '@title Person
@notNull
The name of the person.';

comment on column absence_day.is_half is '@title Half day
@notNull
Whether the person is away for half of the day only.';

create type absence_status as enum ('REQUESTED', 'APPROVED', 'DECLINED', 'CANCELLED');
comment on type absence_status is 'The status of an absence. It stays REQUESTED until an approver decides on it or it is cancelled.';

create type absence_type as enum ('VACATION', 'SICK', 'PARENTAL', 'TRAINING', 'OTHER');
comment on type absence_type is 'The reason for an absence.';

create type ai_approval_status as enum ('PENDING', 'APPROVED', 'DENIED', 'USED', 'EXPIRED');
comment on type ai_approval_status is 'The status of a proposed change. APPROVED: the change is about to be made; USED: the change was made, or failed.';

create type campaign_medium as enum ('EMAIL', 'SMS', 'SOCIAL', 'WEB', 'PRINT', 'EVENT', 'OTHER');
comment on type campaign_medium is 'The medium of a campaign.';

create type campaign_status as enum ('DRAFT', 'SCHEDULED', 'ACTIVE', 'PAUSED', 'COMPLETED', 'CANCELLED');
comment on type campaign_status is 'The status of a campaign. Possible changes are DRAFT to SCHEDULED and back, SCHEDULED to ACTIVE, ACTIVE to PAUSED and back, and ACTIVE to COMPLETED. Every open campaign can be CANCELLED.';

create type change_reader as enum ('search', 'watches');

create type data_export_input as (
  template_id uuid,
  product_ids uuid[],
  query text,
  format text
);
comment on type data_export_input is 'What to export.';

comment on column data_export_input.template_id is '@notNull
The template: a form takes exactly one product, a table one or several.';
comment on column data_export_input.product_ids is 'Ids of products, in the order of the rows.';
comment on column data_export_input.query is 'The search that found the products; null where they were named.';
comment on column data_export_input.format is 'XLSX, CSV or JSONL; null means XLSX.';

create type deletion as (
  audit_log_id uuid,
  entity_type text,
  entity_id text,
  label text,
  deleted_at timestamp with time zone,
  user_id uuid,
  user_name text
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

create type documentation_change as enum ('REMOVED', 'ADDED');
comment on type documentation_change is 'Whether only the earlier or only the later text has a line.';

create type documentation_difference as (
  field text,
  change documentation_change,
  line integer,
  text text
);
comment on type documentation_difference is 'A line that differs between two versions of a handbook page.';

comment on column documentation_difference.field is '@notNull
The field: `title`, `tags` or `body`.';

comment on column documentation_difference.change is '@notNull
@tone REMOVED bad
@tone ADDED ok
Whether `fromVersion` (REMOVED) or `toVersion` (ADDED) has the line.';

comment on column documentation_difference.line is '@notNull
The number of the line in that version, from 1; of a tag, its place.';

comment on column documentation_difference.text is '@notNull
@widget long
The line.';

create type documentation_entry as (
  number text,
  documentation_page_id uuid,
  slug text,
  title text,
  is_published boolean
);
comment on type documentation_entry is 'A page in the contents of the handbook.';

comment on column documentation_entry.number is '@notNull
The place in the tree, such as `2.1` for the first page below the second one.';

comment on column documentation_entry.documentation_page_id is '@notNull
@title Page
The id of the page.';

comment on column documentation_entry.slug is '@notNull
@title Address
The address of the page.';

comment on column documentation_entry.title is '@list off
@notNull
The heading of the page.';

comment on column documentation_entry.is_published is '@notNull
@title Published
Whether every login can read the page.';

create type documentation_match as (
  documentation_page_id uuid,
  slug text,
  title text,
  excerpt text
);
comment on type documentation_match is 'A search result of the handbook.';

comment on column documentation_match.documentation_page_id is '@notNull
@title Page
The id of the page.';

comment on column documentation_match.slug is '@list off
@notNull
The address of the page.';

comment on column documentation_match.title is '@list off
@notNull
The heading of the page.';

comment on column documentation_match.excerpt is '@notNull
An excerpt of the text around the match.';

create type erp_customer_row as (
  place integer,
  sent jsonb,
  was customers,
  wanted customers
);

create type erp_fault as (
  place integer,
  path text,
  message text
);

create type erp_issue_row as (
  place integer,
  kind order_import_issue_kind,
  code text,
  key text,
  message text,
  value text,
  path text,
  occurrences integer
);

create type erp_line_row as (
  place integer,
  item integer,
  sent jsonb,
  was order_lines,
  wanted order_lines
);

create type erp_order_health as (
  orders_with_mapping_issues integer,
  orders_with_data_issues integer
);
comment on type erp_order_health is 'The health of the order import from the ERP.';

comment on column erp_order_health.orders_with_mapping_issues is '@notNull
The number of orders that contain a value without a mapping rule.';

comment on column erp_order_health.orders_with_data_issues is '@notNull
The number of orders that lack data that only the ERP can supply.';

create type erp_order_row as (
  place integer,
  sent jsonb,
  was orders,
  wanted orders
);

create type erp_sync_job_handle as (
  id uuid,
  status erp_sync_run_status,
  queued_at timestamp with time zone,
  reused boolean,
  order_count integer
);
comment on type erp_sync_job_handle is 'A waiting or running import; `erpSyncRun` with its `id` returns the progress.';

comment on column erp_sync_job_handle.id is '@notNull
The id of the run.';

comment on column erp_sync_job_handle.status is '@list off
@notNull
`QUEUED`, or `RUNNING` if a worker has already started the run.';

comment on column erp_sync_job_handle.queued_at is '@list off
@notNull
When the run was first requested.';

comment on column erp_sync_job_handle.reused is '@title Waiting already
@notNull
Whether the run was already waiting, so that the call queued no new run.';

comment on column erp_sync_job_handle.order_count is '@title Orders
The current number of orders to import; null if only the ERP knows the number.';

create type erp_sync_run_kind as enum ('IMPORT', 'RECHECK', 'DATA_RECHECK', 'ORDER');
comment on type erp_sync_run_kind is 'The data that a run reads from the ERP. IMPORT: changes since the last import; RECHECK: orders with a mapping issue; DATA_RECHECK: orders with a data issue; ORDER: one order, by its number.';

create type erp_sync_run_status as enum ('QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED', 'CANCELLED');
comment on type erp_sync_run_status is 'The status of a run. RETRYING: an attempt failed, and a later one continues from the same position; FAILED: the run failed and is not retried.';

create type export_field_kind as enum ('TEXT', 'INTEGER', 'DECIMAL', 'BOOLEAN', 'DATE', 'DATETIME', 'URL', 'IMAGE', 'JSON');
comment on type export_field_kind is 'The type of a field in a workbook cell. IMAGE is available in forms only; JSON is written as text, except in JSON Lines.';

create type export_field_view as (
  field text,
  title text,
  kind export_field_kind,
  description text
);

comment on type export_field_view is '@name export_field
A field that is available in templates.';

comment on column export_field_view.field is '@notNull
The name of the field in templates: in a column, or as `{{field}}` in an uploaded workbook.';

comment on column export_field_view.title is '@notNull
The default heading of its column.';

comment on column export_field_view.kind is '@notNull
The type of the field in a cell.';
comment on column export_field_view.description is 'The meaning of the field.';

create type export_template_kind as enum ('FORM', 'TABLE');
comment on type export_template_kind is 'The kind of a template. FORM: a sheet for one row; TABLE: one line for each row.';

create type handed_over as (
  campaigns integer,
  bookings integer,
  watches integer,
  templates integer
);
comment on type handed_over is 'The numbers of rows that a handover transferred.';

comment on column handed_over.campaigns is '@notNull
The number of transferred campaigns.';

comment on column handed_over.bookings is '@notNull
The number of transferred bookings.';

comment on column handed_over.watches is '@notNull
The number of transferred search watches.';

comment on column handed_over.templates is '@notNull
The number of transferred export templates.';

create type import_cause_change as (
  kind order_import_issue_kind,
  code text,
  key text,
  orders bigint,
  occurrences bigint,
  first_added timestamp with time zone,
  last_added timestamp with time zone,
  first_removed timestamp with time zone,
  last_removed timestamp with time zone
);

create type job_state as enum ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED');
comment on type job_state is 'The state of a job.';

create type new_invitation as (
  email text,
  role_id uuid
);

comment on column new_invitation.email is '@notNull
The person''s e-mail address.';

comment on column new_invitation.role_id is '@notNull
The role for the invited person. The caller must hold all permissions of the role.';

create type new_role as (
  name text,
  description text,
  permission_keys text[]
);

comment on column new_role.name is '@notNull
The name of the role, unique without regard to case.';
comment on column new_role.description is 'The purpose of the role.';

comment on column new_role.permission_keys is '@notNull
The keys of the role''s permissions. The caller must hold all of them.';

create type notification_kind as enum ('EXPORT_COMPLETED', 'EXPORT_FAILED', 'JOB_FAILED', 'INVITATION_ACCEPTED', 'INVITATION_UNDELIVERABLE', 'IMPORT_ISSUES', 'ERP_DOWN', 'SEARCH_DOWN', 'ABSENCE_REQUESTED', 'ABSENCE_DECIDED', 'BOOKING_CHANGED', 'TOKEN_EXPIRING', 'NEW_LOGIN_ADDRESS', 'WATCH_MATCHED');
comment on type notification_kind is 'The kind of event that a notification reports.';

create type notification_mail as enum ('OFF', 'AT_ONCE', 'DAILY');
comment on type notification_mail is 'When notifications are sent by e-mail. DAILY: those that are still unread at 08:00 in the person''s time zone, in one mail.';

create type order_import_issue_kind as enum ('MAPPING', 'DATA');
comment on type order_import_issue_kind is 'The kind of an import issue. MAPPING: an order contains a value without a mapping rule; DATA: an order lacks data that only the ERP can supply.';

create type order_line_kind as enum ('PRODUCT', 'SHIPPING', 'DISCOUNT', 'FEE', 'DEPOSIT', 'GIFT_CARD', 'COMMENT', 'OTHER');
comment on type order_line_kind is 'The kind of an order line.';

create type order_status as enum ('DRAFT', 'IN_REVIEW', 'OPEN', 'PARTLY_SHIPPED', 'SHIPPED', 'INVOICED', 'CANCELLED');
comment on type order_status is 'The status of an order in the ERP.';

create type resource_booking_status as enum ('BOOKED', 'CANCELLED');
comment on type resource_booking_status is 'Whether a booking reserves its resource.';

create type resource_kind as enum ('ROOM', 'VEHICLE', 'EQUIPMENT', 'TASTING_SET');
comment on type resource_kind is 'The kind of a resource.';

create type role_changes as (
  name text,
  description text,
  permission_keys text[]
);
comment on column role_changes.name is 'The new name.';
comment on column role_changes.description is 'The new description; null removes it.';
comment on column role_changes.permission_keys is 'The complete new list of the role''s permission keys. The caller must hold each added permission.';

create type search_collection_view as (
  collection_name text,
  display_name text,
  searchable_fields text[],
  filterable_fields text[],
  sortable_fields text[],
  facet_fields text[],
  default_sort text,
  page_size_options integer[]
);

comment on type search_collection_view is '@name search_collection_summary
A collection of the search engine, with its fields.';

comment on column search_collection_view.collection_name is '@notNull
The name of the collection in requests to the search engine.';

comment on column search_collection_view.display_name is '@notNull
The display name of the collection.';

comment on column search_collection_view.searchable_fields is '@notNull
The fields in which words are searched, in this order.';

comment on column search_collection_view.filterable_fields is '@notNull
The fields usable in `filter_by`.';

comment on column search_collection_view.sortable_fields is '@notNull
The fields usable in `sort_by`.';

comment on column search_collection_view.facet_fields is '@notNull
The fields usable in `facet_by`.';

comment on column search_collection_view.default_sort is '@notNull
The default `sort_by` of a list without a search, such as `name:asc`.';

comment on column search_collection_view.page_size_options is '@notNull
The page sizes that a front end can offer.';

create type search_status_view as (
  type text,
  collection_name text,
  enabled boolean,
  is_building boolean,
  built_rows integer,
  built_at timestamp with time zone,
  waiting integer,
  refused integer,
  error text,
  waiting_since timestamp with time zone
);

comment on type search_status_view is '@name search_status
The state of a collection in the search engine.';

comment on column search_status_view.type is '@notNull
The argument `type` of `searchConfig`.';

comment on column search_status_view.collection_name is '@notNull
The name of the collection in requests to the search engine.';

comment on column search_status_view.enabled is '@notNull
Whether the collection was built at least once.';

comment on column search_status_view.is_building is '@notNull
Whether a new version of the collection is being built.';

comment on column search_status_view.built_rows is '@notNull
The number of rows built so far for the new version.';
comment on column search_status_view.built_at is 'When the current version was built; null before the first version.';

comment on column search_status_view.waiting is '@notNull
The number of changes that are not yet sent to the search engine.';

comment on column search_status_view.refused is '@notNull
The number of rows that the search engine rejected.';
comment on column search_status_view.error is 'Why the search engine rejected the next version; null without an error.';
comment on column search_status_view.waiting_since is 'The time of the oldest change in `waiting`; null when none is waiting.';

create type search_watch_channel as enum ('INBOX', 'EMAIL');
comment on type search_watch_channel is 'Where the owner receives notifications.';

create type search_watch_delivery as enum ('AT_ONCE', 'DAILY', 'WEEKLY');
comment on type search_watch_delivery is 'When the owner is notified. AT_ONCE: within seconds. DAILY: at 08:00. WEEKLY: on Mondays at 08:00. Times are in the owner''s time zone.';

create type search_watch_event as enum ('CREATED', 'MATCHES', 'LEAVES', 'CHANGED');
comment on type search_watch_event is 'An event of a search watch. CREATED: a new row matches. MATCHES: an existing row starts to match. LEAVES: a row stops matching. CHANGED: a matching row changed.';

create type session_view as (
  id uuid,
  created_at timestamp with time zone,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  ip_address text,
  user_agent text,
  current boolean
);

comment on type session_view is '@name session
An active session of a user.';
comment on column session_view.id is '@notNull';

comment on column session_view.created_at is '@list 4
@notNull
@title Logged in
When the user logged in.';

comment on column session_view.last_used_at is '@list 3
@notNull
When the session was last used, to the minute.';

comment on column session_view.expires_at is '@list 5
@notNull
When the session expires unless it is used before; at the latest at the end of its maximum lifetime.';

comment on column session_view.ip_address is '@list 1
@title IP address
The IP address of the login.';

comment on column session_view.user_agent is '@list 2
@title Browser
The user agent of the login.';

comment on column session_view.current is '@list 6
@notNull
Whether it is the session of the request.';

create type sync_error as (
  row_no integer,
  code text,
  path jsonb,
  message text
);

create type sync_image as (
  row_no integer,
  item_no integer,
  sent jsonb,
  was product_images,
  wanted product_images
);

create type sync_price as (
  row_no integer,
  item_no integer,
  sent jsonb,
  was product_prices,
  wanted product_prices
);

create type sync_rating as (
  row_no integer,
  item_no integer,
  sent jsonb,
  reviewer text,
  was product_ratings,
  wanted product_ratings
);

create type sync_row as (
  row_no integer,
  sent jsonb,
  was products,
  wanted products
);

create type sync_status as (
  last_run erp_sync_runs,
  last_success_at timestamp with time zone,
  cursor text,
  cursor_at timestamp with time zone,
  lag_seconds integer,
  failed_runs integer,
  unreadable_records integer,
  next_import_at timestamp with time zone,
  next_recheck_at timestamp with time zone,
  erp_is_up boolean,
  erp_error text,
  erp_seen_at timestamp with time zone
);
comment on type sync_status is 'The state of the import from the ERP.';
comment on column sync_status.last_run is 'The latest run that a worker has started.';
comment on column sync_status.last_success_at is 'When an import last reached the end of the ERP''s changes.';
comment on column sync_status.cursor is 'The position from which the next import continues.';
comment on column sync_status.cursor_at is 'The time up to which changes of the ERP are imported.';
comment on column sync_status.lag_seconds is 'The number of seconds since an import last reached the end of the ERP''s changes; null before the first time.';

comment on column sync_status.failed_runs is '@notNull
The number of failed runs since the last successful one.';

comment on column sync_status.unreadable_records is '@notNull
The number of orders and customers of the ERP that could not be read or imported; `erpImportFailures` lists them.';
comment on column sync_status.next_import_at is 'When the next scheduled import is due; null before a worker has run.';
comment on column sync_status.next_recheck_at is 'When the next nightly run is due; null before a worker has run.';
comment on column sync_status.erp_is_up is 'Whether the last request to the ERP succeeded; null before the first request.';
comment on column sync_status.erp_error is 'The error of the last request to the ERP; null if it succeeded.';
comment on column sync_status.erp_seen_at is 'When the service last sent a request to the ERP.';

create type trigger_product_sync_input as (
  product_ids uuid[],
  erp_product_numbers text[]
);
comment on type trigger_product_sync_input is 'The products to synchronise, 1 to 1000, in either list or both.';
comment on column trigger_product_sync_input.product_ids is 'The ids of existing products. Unknown ids are not accepted.';
comment on column trigger_product_sync_input.erp_product_numbers is 'Product numbers of the ERP, including products that do not exist in this service yet. Surrounding spaces and duplicates are ignored.';

create type trigger_product_sync_payload as (
  accepted boolean,
  requested_count integer,
  accepted_count integer,
  accepted_at timestamp with time zone,
  message text
);
comment on type trigger_product_sync_payload is 'An acknowledgement of the request, not its result.';

comment on column trigger_product_sync_payload.accepted is '@notNull
Whether a synchronisation was started; false when no product was accepted.';

comment on column trigger_product_sync_payload.requested_count is '@notNull
The number of distinct products in the request.';

comment on column trigger_product_sync_payload.accepted_count is '@notNull
The number of products for which the synchronisation was started.';
comment on column trigger_product_sync_payload.accepted_at is 'When the synchronisation was started; null when it was not.';

comment on column trigger_product_sync_payload.message is '@notNull
A summary in words, with the ids that were not accepted.';

create type user_changes as (
  name text,
  avatar_url text,
  role_ids uuid[],
  department_id uuid,
  time_zone text,
  locale text
);
comment on column user_changes.name is 'The new name; null removes it.';
comment on column user_changes.avatar_url is 'The https address of a picture; null removes it.';
comment on column user_changes.role_ids is 'The ids of all roles that the user is to hold. The caller must hold all permissions of each added role.';
comment on column user_changes.department_id is 'The new department of the user; null for none.';
comment on column user_changes.time_zone is 'The name of a time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';
comment on column user_changes.locale is 'The name of a locale, such as `da-DK`; null for the locale of the office.';

-- the tenant: sequences
create sequence row_changes_id_seq as bigint increment 1 start 1 minvalue 1 maxvalue 9223372036854775807;

create sequence schema_migrations_id_seq as integer increment 1 start 1 minvalue 1 maxvalue 2147483647;

-- the tenant: tables
create table absences (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  type absence_type not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null default false,
  ends_half_day boolean not null default false,
  note text,
  status absence_status not null default 'REQUESTED'::absence_status,
  decided_by_user_id uuid,
  decided_at timestamp with time zone,
  decision_note text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint absences_decided_by_user_id_fkey FOREIGN KEY (decided_by_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint absences_decision_note_check CHECK (char_length(decision_note) <= 5000),
  constraint absences_ends_on_check CHECK (ends_on >= starts_on AND (ends_on - starts_on) <= 730),
  constraint absences_half_days_check CHECK (starts_on < ends_on OR NOT (starts_half_day AND ends_half_day)),
  constraint absences_note_check CHECK (char_length(note) <= 5000),
  constraint absences_overlap_excl EXCLUDE USING gist (user_id WITH =, tsrange(starts_on +
CASE
    WHEN starts_half_day THEN '12:00:00'::time without time zone
    ELSE '00:00:00'::time without time zone
END, ends_on +
CASE
    WHEN ends_half_day THEN '12:00:00'::time without time zone
    ELSE '24:00:00'::time without time zone
END) WITH &&) WHERE (status = ANY (ARRAY['REQUESTED'::absence_status, 'APPROVED'::absence_status])),
  constraint absences_pkey PRIMARY KEY (id),
  constraint absences_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE RESTRICT
);
alter table absences enable row level security, force row level security;
CREATE INDEX absences_created_at_idx ON absences USING btree (created_at, id);
CREATE INDEX absences_decided_at_idx ON absences USING btree (decided_at, id);
CREATE INDEX absences_decided_by_user_id_idx ON absences USING btree (decided_by_user_id);
CREATE INDEX absences_ends_on_idx ON absences USING btree (ends_on, id);
CREATE INDEX absences_starts_on_idx ON absences USING btree (starts_on, id);
CREATE INDEX absences_status_idx ON absences USING btree (status, id);
CREATE INDEX absences_type_idx ON absences USING btree (type, id);
CREATE INDEX absences_updated_at_idx ON absences USING btree (updated_at, id);
CREATE INDEX absences_user_id_idx ON absences USING btree (user_id, starts_on);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON absences FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _500_away AFTER INSERT OR UPDATE ON absences FOR EACH ROW EXECUTE FUNCTION tg_absences__away();
CREATE TRIGGER _500_notify AFTER INSERT ON absences FOR EACH ROW EXECUTE FUNCTION tg_absences__notify();
CREATE TRIGGER _500_notify_change AFTER UPDATE OF status ON absences FOR EACH ROW WHEN (new.status <> old.status) EXECUTE FUNCTION tg_absences__notify();
CREATE TRIGGER _500_notify_request AFTER UPDATE ON absences FOR EACH ROW WHEN (new.status = 'REQUESTED'::absence_status AND old.status = 'REQUESTED'::absence_status AND NOT is_erasing() AND (new.type IS DISTINCT FROM old.type OR new.starts_on IS DISTINCT FROM old.starts_on OR new.ends_on IS DISTINCT FROM old.ends_on OR new.note IS DISTINCT FROM old.note)) EXECUTE FUNCTION tg_absences__notify();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON absences REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Absence', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON absences REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Absence', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON absences REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Absence', 'id', '');

create policy absences_of_everybody on absences for select to office_api
  using ((( SELECT is_login() AS is_login) AND ( SELECT has_any_permission(VARIADIC ARRAY['absences.read'::text, 'absences.update'::text]) AS has_any_permission)));

create policy absences_owner on absences for all to office_owner
  using (true)
  with check (true);

create policy absences_read on absences for select to office_api
  using ((( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, type, starts_on, ends_on, starts_half_day, ends_half_day, note, status, decided_by_user_id, decided_at, decision_note, created_at, updated_at) on absences to office_api;

comment on table absences is '@group Office 57
@icon sun
@read login
@owner user_id
@audit Absence
@connection
@filter from endsOn:>=$value
@filter to startsOn:<=$value
@filter userId userId:$value
@filter departmentId departmentId:$value
@filter status status:$value
@defaultOrder starts_on
@defaultQuery endsOn:>=today OR status:REQUESTED
@label user_name starts_on
A period in which a person does not work. Callers see their own absences; with `absences.read` or `absences.update`, they see the absences of everyone. Two absences of one person never overlap.';

comment on column absences.user_id is '@mutations off
@list off
@title User
The absent user.';

comment on column absences.type is '@list 2
@personal user_id OTHER
The reason for the absence.';

comment on column absences.starts_on is '@list 3
@title From
The first day.';

comment on column absences.ends_on is '@list 4
@title Until
The last day.';

comment on column absences.starts_half_day is '@title From noon
Whether the absence starts at noon of the first day.';

comment on column absences.ends_half_day is '@title Until noon
Whether the absence ends at noon of the last day.';

comment on column absences.note is '@personal user_id
@widget long
A note for the approvers.';

comment on column absences.status is '@mutations off
@list 5
@tone REQUESTED info
@tone APPROVED ok
@tone DECLINED bad
The status of the absence.';

comment on column absences.decided_by_user_id is '@mutations off
@title Decided by
The user who approved or declined the absence.';

comment on column absences.decided_at is '@mutations off
When the absence was approved or declined.';

comment on column absences.decision_note is '@personal user_id
@mutations off
@widget long
The note of the approver.';

comment on constraint absences_decided_by_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName decidedBy';
comment on constraint absences_decision_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_ends_on_check on absences is 'must be in order and two years apart at most';
comment on constraint absences_half_days_check on absences is 'must not both be true for a single day';
comment on constraint absences_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_overlap_excl on absences is 'There is another absence at that time already.';

comment on constraint absences_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName user';

create table ai_answer_chunks (
  answer_id uuid not null,
  number integer not null,
  chunks jsonb not null,
  constraint ai_answer_chunks_answer_id_fkey FOREIGN KEY (answer_id) REFERENCES ai_answers(id) ON DELETE CASCADE,
  constraint ai_answer_chunks_pkey PRIMARY KEY (answer_id, number)
);
alter table ai_answer_chunks enable row level security, force row level security;

create policy ai_answer_chunks_owner on ai_answer_chunks for all to office_owner
  using (true)
  with check (true);

comment on table ai_answer_chunks is '@internal
@audit off because it is the state of streaming
The stream parts of an answer, for clients that reconnect and for the loss of the server.';

create table ai_answers (
  id uuid not null default uuidv7(),
  conversation_id text collate "C" not null,
  user_id uuid not null,
  message_id text not null,
  state text not null default 'running'::text,
  stop_requested_at timestamp with time zone,
  alive_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(14,6) not null default 0,
  reserved numeric(14,6) not null default 0,
  constraint ai_answers_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES ai_conversations(id) ON DELETE CASCADE,
  constraint ai_answers_pkey PRIMARY KEY (id),
  constraint ai_answers_state_check CHECK (state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text, 'failed'::text, 'interrupted'::text])),
  constraint ai_answers_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_answers enable row level security, force row level security;
CREATE INDEX ai_answers_conversation_id_idx ON ai_answers USING btree (conversation_id, created_at);
CREATE INDEX ai_answers_finished_at_idx ON ai_answers USING btree (finished_at);
CREATE INDEX ai_answers_user_id_idx ON ai_answers USING btree (user_id);
CREATE UNIQUE INDEX ai_answers_running_key ON ai_answers USING btree (conversation_id) WHERE state = 'running'::text;

create policy ai_answers_owner on ai_answers for all to office_owner
  using (true)
  with check (true);

comment on table ai_answers is '@internal
@audit off because it is the state of streaming
An answer of the assistant, while it is streamed and for some time after.';
comment on index ai_answers_running_key is 'The conversation is being answered already.';

create table ai_approvals (
  id uuid not null default uuidv7(),
  conversation_id text collate "C" not null,
  user_id uuid not null,
  tool_call_id text not null,
  tool text not null,
  summary text not null,
  operation text not null,
  variables jsonb not null,
  state ai_approval_status not null default 'PENDING'::ai_approval_status,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  answered_at timestamp with time zone,
  used_at timestamp with time zone,
  constraint ai_approvals_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES ai_conversations(id) ON DELETE CASCADE,
  constraint ai_approvals_pkey PRIMARY KEY (id),
  constraint ai_approvals_tool_call_key UNIQUE (conversation_id, tool_call_id),
  constraint ai_approvals_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_approvals enable row level security, force row level security;
CREATE INDEX ai_approvals_created_at_idx ON ai_approvals USING btree (created_at DESC, id DESC);
CREATE INDEX ai_approvals_user_id_idx ON ai_approvals USING btree (user_id, created_at DESC, id DESC);
CREATE TRIGGER _800_audit_delete AFTER DELETE ON ai_approvals REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiApproval', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON ai_approvals REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiApproval', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON ai_approvals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiApproval', 'id', '');

create policy ai_approvals_owner on ai_approvals for all to office_owner
  using (true)
  with check (true);

create policy ai_approvals_read on ai_approvals for select to office_api
  using ((( SELECT has_permission('ai.use'::text) AS has_permission) AND ( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, conversation_id, user_id, tool_call_id, tool, summary, operation, variables, state, expires_at, created_at, answered_at, used_at) on ai_approvals to office_api;

comment on table ai_approvals is '@group Assistant 71
@icon check
@title Approvals
@titleOne Approval
@label summary
@read ai.use
@login
@owner user_id
@audit AiApproval
@connection
@defaultOrder created_at desc
A change that the assistant proposes. After its user approves it, the service makes exactly this change, once, and not after the proposal has expired.';
comment on column ai_approvals.tool_call_id is 'The id of the tool call in the conversation.';

comment on column ai_approvals.tool is '@list 2
The tool that proposes the change.';

comment on column ai_approvals.summary is '@list 1
A summary of the change in one sentence.';
comment on column ai_approvals.operation is 'The GraphQL operation to execute.';
comment on column ai_approvals.variables is 'The variables of the operation.';

comment on column ai_approvals.state is '@internal
The stored state; `status` also considers the time.';

comment on column ai_approvals.expires_at is '@list 4
When the proposal expires and can no longer be approved.';
comment on column ai_approvals.created_at is '@list 3';

comment on column ai_approvals.answered_at is '@list 5
When the change was approved or denied, or the conversation continued without it.';
comment on column ai_approvals.used_at is 'When the change was made.';

comment on constraint ai_approvals_conversation_id_fkey on ai_approvals is '@backwardBehavior +manyRelation:resource:list
@foreignFieldName approvals';
comment on index ai_approvals_tool_call_key is 'The change was proposed already.';

create table ai_attachments (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  conversation_id text collate "C",
  file_name text not null,
  media_type text not null,
  file_size integer not null,
  file_sha256 text not null,
  file_key text not null,
  created_at timestamp with time zone not null default now(),
  constraint ai_attachments_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES ai_conversations(id) ON DELETE CASCADE,
  constraint ai_attachments_file_name_check CHECK (is_label(file_name, 200)),
  constraint ai_attachments_pkey PRIMARY KEY (id),
  constraint ai_attachments_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_attachments enable row level security, force row level security;
CREATE INDEX ai_attachments_conversation_id_idx ON ai_attachments USING btree (conversation_id);
CREATE INDEX ai_attachments_unused_idx ON ai_attachments USING btree (created_at) WHERE conversation_id IS NULL;
CREATE INDEX ai_attachments_user_id_idx ON ai_attachments USING btree (user_id);
CREATE TRIGGER _500_schedule_file_deletion AFTER DELETE ON ai_attachments FOR EACH ROW EXECUTE FUNCTION tg_ai_attachments__schedule_file_deletion();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON ai_attachments REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiAttachment', 'id', '', 'file_name');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON ai_attachments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiAttachment', 'id', '', 'file_name');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON ai_attachments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiAttachment', 'id', '', 'file_name');

create policy ai_attachments_owner on ai_attachments for all to office_owner
  using (true)
  with check (true);

create policy ai_attachments_read on ai_attachments for select to office_api
  using ((( SELECT has_permission('ai.use'::text) AS has_permission) AND ( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, conversation_id, file_name, media_type, file_size, file_sha256, file_key, created_at) on ai_attachments to office_api;

comment on table ai_attachments is '@read ai.use
@login
@owner user_id
@root off
@audit AiAttachment id except file_name
@defaultOrder created_at
A file that a user uploaded for the assistant.';
comment on column ai_attachments.file_name is 'The name of the file.';
comment on column ai_attachments.media_type is 'The media type, detected from the content of the file.';
comment on column ai_attachments.file_size is 'The size of the file in bytes.';
comment on column ai_attachments.file_sha256 is 'The SHA-256 of the file, in hexadecimal.';

comment on column ai_attachments.file_key is '@internal
Where the file is in the object store.';

comment on constraint ai_attachments_conversation_id_fkey on ai_attachments is '@backwardBehavior +manyRelation:resource:list
@foreignFieldName attachments';
comment on constraint ai_attachments_file_name_check on ai_attachments is 'must be 1 to 200 visible characters without spaces at its ends';

create table ai_conversations (
  id text collate "C" not null,
  user_id uuid not null,
  title text collate display_order not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint ai_conversations_id_check CHECK (id ~ '^[A-Za-z0-9_-]{8,64}$'::text),
  constraint ai_conversations_pkey PRIMARY KEY (id),
  constraint ai_conversations_title_check CHECK (is_label(title, 200)),
  constraint ai_conversations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_conversations enable row level security, force row level security;
CREATE INDEX ai_conversations_updated_at_idx ON ai_conversations USING btree (updated_at DESC, id DESC);
CREATE INDEX ai_conversations_user_id_idx ON ai_conversations USING btree (user_id, updated_at DESC, id DESC);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON ai_conversations FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON ai_conversations REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiConversation', 'id', '', 'title');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON ai_conversations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiConversation', 'id', '', 'title');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON ai_conversations REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('AiConversation', 'id', '', 'title');

create policy ai_conversations_owner on ai_conversations for all to office_owner
  using (true)
  with check (true);

create policy ai_conversations_read on ai_conversations for select to office_api
  using ((( SELECT has_permission('ai.use'::text) AS has_permission) AND ( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, title, created_at, updated_at) on ai_conversations to office_api;

comment on table ai_conversations is '@group Assistant 70
@icon chat
@title Conversations
@titleOne Conversation
@read ai.use
@login
@owner user_id
@audit AiConversation id except title
@connection
@defaultOrder updated_at desc
A conversation with the assistant. Only its user can read it.';
comment on column ai_conversations.title is 'The title of the conversation. Until it is renamed, the beginning of the first message.';
comment on constraint ai_conversations_id_check on ai_conversations is 'must be 8 to 64 letters, digits, hyphens or underscores';
comment on constraint ai_conversations_title_check on ai_conversations is 'must be 1 to 200 visible characters without spaces at its ends';

create table ai_messages (
  conversation_id text collate "C" not null,
  id text collate "C" not null,
  user_id uuid not null,
  "position" integer not null,
  role text not null,
  parts jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint ai_messages_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES ai_conversations(id) ON DELETE CASCADE,
  constraint ai_messages_pkey PRIMARY KEY (conversation_id, id),
  constraint ai_messages_position_key UNIQUE (conversation_id, "position"),
  constraint ai_messages_role_check CHECK (role = ANY (ARRAY['user'::text, 'assistant'::text])),
  constraint ai_messages_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_messages enable row level security, force row level security;
CREATE INDEX ai_messages_user_id_idx ON ai_messages USING btree (user_id);
CREATE TRIGGER _800_changes_delete AFTER DELETE ON ai_messages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON ai_messages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON ai_messages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy ai_messages_owner on ai_messages for all to office_owner
  using (true)
  with check (true);

create policy ai_messages_read on ai_messages for select to office_api
  using ((( SELECT has_permission('ai.use'::text) AS has_permission) AND ( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, conversation_id, id, user_id, "position", role, parts, created_at) on ai_messages to office_api;

comment on table ai_messages is '@read ai.use
@login
@owner user_id
@root off
@audit off because messages are private; the conversation, each use of a tool and each change are recorded
@defaultOrder position
A message of a conversation with the assistant.';
comment on column ai_messages."position" is 'The position of the message in the conversation, from 1.';
comment on column ai_messages.role is 'The author of the message: `user` or `assistant`.';
comment on column ai_messages.parts is 'The parts of the message, in the format of the AI SDK''s UI messages: texts, files, tool calls with their results, notes.';

comment on constraint ai_messages_conversation_id_fkey on ai_messages is '@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName messages';
comment on constraint ai_messages_role_check on ai_messages is 'must be user or assistant';

create table ai_usage (
  user_id uuid not null,
  day date not null,
  answers integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(14,6) not null default 0,
  attachments integer not null default 0,
  constraint ai_usage_pkey PRIMARY KEY (user_id, day),
  constraint ai_usage_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table ai_usage enable row level security, force row level security;

create policy ai_usage_owner on ai_usage for all to office_owner
  using (true)
  with check (true);

comment on table ai_usage is '@internal
@audit off because it is a counter
A user''s usage of the assistant on one day (UTC).';

create table api_tokens (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  name text collate display_order not null,
  token_hash bytea not null,
  is_scoped boolean not null,
  scopes text[] not null default '{}'::text[],
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_by_user_id uuid not null,
  created_by_token_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint api_tokens_created_by_token_id_fkey FOREIGN KEY (created_by_token_id) REFERENCES api_tokens(id) ON DELETE SET NULL,
  constraint api_tokens_created_by_user_id_fkey FOREIGN KEY (created_by_user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint api_tokens_name_check CHECK (is_label(name, 100)),
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_scopes_check CHECK (is_scoped OR scopes = '{}'::text[]),
  constraint api_tokens_token_hash_key UNIQUE (token_hash),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table api_tokens enable row level security, force row level security;
CREATE INDEX api_tokens_created_by_token_id_idx ON api_tokens USING btree (created_by_token_id);
CREATE INDEX api_tokens_created_by_user_id_idx ON api_tokens USING btree (created_by_user_id);
CREATE INDEX api_tokens_expires_at_idx ON api_tokens USING btree (expires_at);
CREATE INDEX api_tokens_user_id_idx ON api_tokens USING btree (user_id, created_at DESC);
CREATE TRIGGER _800_audit_delete AFTER DELETE ON api_tokens REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ApiToken', 'id', '', 'token_hash', 'last_used_at');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON api_tokens REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ApiToken', 'id', '', 'token_hash', 'last_used_at');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON api_tokens REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ApiToken', 'id', '', 'token_hash', 'last_used_at');

create policy api_tokens_made on api_tokens for select to office_api
  using ((created_by_token_id = ( SELECT current_token_id() AS current_token_id)));

create policy api_tokens_owner on api_tokens for all to office_owner
  using (true)
  with check (true);

create policy api_tokens_read on api_tokens for select to office_api
  using (( SELECT has_permission('users.update'::text) AS has_permission));

create policy api_tokens_self on api_tokens for select to office_api
  using (((user_id = ( SELECT current_user_id() AS current_user_id)) AND (NOT ( SELECT is_scoped() AS is_scoped))));
grant select (xmin, id, user_id, name, is_scoped, scopes, expires_at, last_used_at, revoked_at, created_by_user_id, created_by_token_id, created_at) on api_tokens to office_api;

comment on table api_tokens is '@read users.update
@root off
@audit ApiToken id except last_used_at
@auditReads
@defaultOrder created_at desc, id desc
A secret with which a script authenticates instead of a login. The token acts for its owner, with all permissions of the owner or only those in its scopes.';
comment on column api_tokens.user_id is 'The owner of the token, for whom it acts.';

comment on column api_tokens.name is '@personal user_id
A name that states the purpose of the token.';

comment on column api_tokens.token_hash is '@secret
SHA-256 of the token.';
comment on column api_tokens.is_scoped is 'Whether the token is limited to its scopes. A scoped token stays scoped, even when its permissions are deleted.';
comment on column api_tokens.scopes is 'The permission keys to which the token is limited; an empty list means an unlimited token with all permissions of its owner.';
comment on column api_tokens.expires_at is 'When the token expires.';
comment on column api_tokens.last_used_at is 'When the token was last used, to the minute; null before the first use.';
comment on column api_tokens.revoked_at is 'When the token was revoked, explicitly or by the deactivation of its owner; null for a token that was not revoked.';
comment on column api_tokens.created_by_user_id is 'The user who created the token.';
comment on column api_tokens.created_by_token_id is 'The API token that created the token; null for a token created in a session.';
comment on constraint api_tokens_name_check on api_tokens is 'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint api_tokens_scopes_check on api_tokens is 'must be empty for an unlimited token';

create unlogged table attempt_counts (
  step text not null,
  subject_kind text not null,
  subject_hash bytea not null,
  started_at timestamp with time zone not null,
  attempts integer not null,
  constraint attempt_counts_pkey PRIMARY KEY (step, subject_kind, subject_hash)
) with (fillfactor=70);
alter table attempt_counts enable row level security, force row level security;
CREATE INDEX attempt_counts_started_at_idx ON attempt_counts USING btree (started_at);

create policy attempt_counts_owner on attempt_counts for all to office_owner
  using (true)
  with check (true);

comment on table attempt_counts is '@internal
@audit off because it lives for minutes, and logins are recorded
Attempts at a step of logging in, counted per minute for each IP address and each account.';
comment on column attempt_counts.step is 'The step of logging in.';
comment on column attempt_counts.subject_kind is '`address` or `account`.';

comment on column attempt_counts.subject_hash is '@secret
SHA-256 of the IP address or of the e-mail address, so that neither is stored in clear.';
comment on column attempt_counts.started_at is 'When the minute started: the time of its first attempt.';
comment on column attempt_counts.attempts is 'Attempts since `started_at`, refused ones included.';

create table audit_erasures (
  erasure_id uuid not null,
  audit_log_id uuid not null,
  hash_before bytea not null,
  hash_after bytea not null,
  constraint audit_erasures_pkey PRIMARY KEY (audit_log_id, erasure_id)
);
alter table audit_erasures enable row level security, force row level security;
CREATE INDEX audit_erasures_erasure_id_idx ON audit_erasures USING btree (erasure_id);
CREATE TRIGGER _900_append_only BEFORE DELETE OR UPDATE ON audit_erasures FOR EACH ROW EXECUTE FUNCTION tg__append_only();
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_erasures FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();

create policy audit_erasures_owner_add on audit_erasures for insert to office_owner
  with check (true);

create policy audit_erasures_owner_read on audit_erasures for select to office_owner
  using (true);

comment on table audit_erasures is '@internal
@appendOnly
@audit off because an audit row records the digest of each erasure
The audit rows from which an erasure removed personal data.';
comment on column audit_erasures.erasure_id is 'The audit row that records the erasure.';
comment on column audit_erasures.audit_log_id is 'The audit row that was changed.';
comment on column audit_erasures.hash_before is 'SHA-256 of the row before the erasure.';
comment on column audit_erasures.hash_after is 'SHA-256 of the row after the erasure.';

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
  created_at timestamp with time zone not null default now(),
  constraint audit_log_pkey PRIMARY KEY (id, operation, created_at)
) partition by LIST (operation);
alter table audit_log enable row level security, force row level security;
CREATE INDEX audit_log_actor_entity_type_idx ON ONLY audit_log USING btree (actor_user_id, entity_type, created_at DESC, id DESC, operation);
CREATE INDEX audit_log_actor_idx ON ONLY audit_log USING btree (actor_user_id, created_at DESC, id DESC);
CREATE INDEX audit_log_correlation_id_idx ON ONLY audit_log USING btree (correlation_id, created_at DESC, id DESC);
CREATE INDEX audit_log_created_at_idx ON ONLY audit_log USING btree (created_at DESC, id DESC);
CREATE INDEX audit_log_entity_id_idx ON ONLY audit_log USING btree (entity_id, created_at DESC, id DESC);
CREATE INDEX audit_log_entity_type_idx ON ONLY audit_log USING btree (entity_type, created_at DESC, id DESC);
CREATE TRIGGER _900_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION tg__append_only();
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();
create table audit_log_reads partition of audit_log FOR VALUES IN ('READ') partition by RANGE (created_at);
create table audit_log_writes partition of audit_log FOR VALUES IN ('CREATE', 'UPDATE', 'DELETE') partition by RANGE (created_at);

create policy audit_log_owner_add on audit_log for insert to office_owner
  with check (true);

create policy audit_log_owner_erase on audit_log for update to office_owner
  using (( SELECT is_erasing() AS is_erasing))
  with check (true);

create policy audit_log_owner_read on audit_log for select to office_owner
  using (true);

create policy audit_log_read on audit_log for select to office_api
  using (( SELECT has_permission('audit.read'::text) AS has_permission));
grant select (xmin, id, actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata, created_at) on audit_log to office_api;

comment on table audit_log is '@read audit.read
@appendOnly
@root off
@audit off because it is the audit log itself
@watch off because it records the deliveries of watches
@defaultOrder created_at desc, id desc
An entry of the audit log: a change, a read or another action. The log is append-only.';
comment on column audit_log.actor_user_id is 'The user who acted; null for the service itself and for changes made directly in the database.';
comment on column audit_log.operation is 'One of `CREATE`, `READ`, `UPDATE`, `DELETE`.';
comment on column audit_log.entity_type is 'The type of the entity, such as `User`.';
comment on column audit_log.entity_id is 'The id of the entity; null for a list.';
comment on column audit_log.correlation_id is 'The `X-Correlation-Id` of the request that caused the entry.';
comment on column audit_log.ip_address is 'The IP address of the request.';
comment on column audit_log.user_agent is 'The user agent of the request.';
comment on column audit_log.before is 'The changed values before the change, without secrets.';
comment on column audit_log.after is 'The changed values after the change, without secrets.';
comment on column audit_log.metadata is 'Further data: the origin of a change, the filter of a read and the number of rows read.';
comment on column audit_log.created_at is 'When the action happened.';

alter table audit_log_reads enable row level security, force row level security;
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_log_reads FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();
create table audit_log_reads_default partition of audit_log_reads DEFAULT;

alter table audit_log_reads_default enable row level security, force row level security;
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_log_reads_default FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();

alter table audit_log_writes enable row level security, force row level security;
CREATE INDEX audit_log_writes_actor_operation_idx ON ONLY audit_log_writes USING btree (actor_user_id, operation, created_at DESC, id DESC);
CREATE INDEX audit_log_writes_entity_type_operation_idx ON ONLY audit_log_writes USING btree (entity_type, operation, created_at DESC, id DESC);
CREATE INDEX audit_log_writes_operation_idx ON ONLY audit_log_writes USING btree (operation, created_at DESC, id DESC);
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_log_writes FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();
create table audit_log_writes_default partition of audit_log_writes DEFAULT;

alter table audit_log_writes_default enable row level security, force row level security;
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_log_writes_default FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();

create table audit_seal_marks (
  tree text not null,
  marked_at timestamp with time zone not null,
  next_transaction text not null,
  constraint audit_seal_marks_pkey PRIMARY KEY (tree),
  constraint audit_seal_marks_tree_check CHECK (tree = ANY (ARRAY['writes'::text, 'reads'::text]))
);
alter table audit_seal_marks enable row level security, force row level security;

create policy audit_seal_marks_owner on audit_seal_marks for all to office_owner
  using (true)
  with check (true);

comment on table audit_seal_marks is '@internal
@audit off because it is the state of sealing
For each chain a time and the next transaction id at that time. Once all older transactions have ended, no more rows from before that time can appear.';

create table audit_seals (
  tree text not null,
  "position" bigint not null,
  kind text not null,
  from_id uuid not null,
  to_id uuid not null,
  row_count integer not null,
  row_ids uuid[] not null,
  row_hashes bytea not null,
  rows_digest bytea not null,
  dropped_before timestamp with time zone,
  sealed_at timestamp with time zone not null,
  previous bytea not null,
  digest bytea not null,
  constraint audit_seals_kind_check CHECK (kind = ANY (ARRAY['SEAL'::text, 'DROP'::text])),
  constraint audit_seals_pkey PRIMARY KEY (tree, "position"),
  constraint audit_seals_tree_check CHECK (tree = ANY (ARRAY['writes'::text, 'reads'::text]))
);
alter table audit_seals enable row level security, force row level security;
CREATE TRIGGER _900_append_only BEFORE DELETE OR UPDATE ON audit_seals FOR EACH ROW EXECUTE FUNCTION tg__append_only();
CREATE TRIGGER _900_no_truncate BEFORE TRUNCATE ON audit_seals FOR EACH STATEMENT EXECUTE FUNCTION tg__append_only();

create policy audit_seals_owner_add on audit_seals for insert to office_owner
  with check (true);

create policy audit_seals_owner_read on audit_seals for select to office_owner
  using (true);

comment on table audit_seals is '@internal
@appendOnly
@audit off because it seals the audit log itself
The links of two chains, one of the audit log''s writes and one of its reads.';
comment on column audit_seals.kind is '`SEAL` covers rows; `DROP` records that retention removed the rows before `dropped_before`.';
comment on column audit_seals.from_id is 'Lower bound of the ids of the link''s rows, exclusive.';
comment on column audit_seals.to_id is 'Upper bound of the ids of the link''s rows, inclusive.';
comment on column audit_seals.row_hashes is 'SHA-256 of each row, 32 bytes each, in the order of the ids.';
comment on column audit_seals.rows_digest is 'SHA-256 of `row_hashes`.';
comment on column audit_seals.previous is 'The digest of the previous link; zeros for the first.';
comment on column audit_seals.digest is 'SHA-256 of all other columns of the link.';

create table away_periods (
  id uuid not null,
  user_id uuid not null,
  name text collate display_order not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null,
  ends_half_day boolean not null,
  constraint away_periods_id_fkey FOREIGN KEY (id) REFERENCES absences(id) ON DELETE CASCADE,
  constraint away_periods_pkey PRIMARY KEY (id),
  constraint away_periods_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE RESTRICT
);
alter table away_periods enable row level security, force row level security;
CREATE INDEX away_periods_ends_on_idx ON away_periods USING btree (ends_on);
CREATE INDEX away_periods_name_idx ON away_periods USING gin (search_text(name) gin_trgm_ops);
CREATE INDEX away_periods_name_order_idx ON away_periods USING btree (name, id);
CREATE INDEX away_periods_starts_on_idx ON away_periods USING btree (starts_on, id);
CREATE INDEX away_periods_user_id_idx ON away_periods USING btree (user_id);
CREATE TRIGGER _800_changes_delete AFTER DELETE ON away_periods REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON away_periods REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON away_periods REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy away_periods_owner on away_periods for all to office_owner
  using (true)
  with check (true);

create policy away_periods_read on away_periods for select to office_api
  using (( SELECT is_login() AS is_login));
grant select (xmin, id, user_id, name, starts_on, ends_on, starts_half_day, ends_half_day) on away_periods to office_api;

comment on table away_periods is '@group Office 58
@icon door
@title Away
@titleOne Period away
@read login
@audit off because it only copies approved absences
@connection
@defaultOrder starts_on
@defaultQuery endsOn:>=today
A period in which a person is away, without the reason: a copy of an approved absence that all colleagues can see.';

comment on column away_periods.user_id is '@list off
@title Person
The user who is away.';

comment on column away_periods.name is '@personal user_id
@search word
@list 1
The name of the person at the time of the decision.';

comment on column away_periods.starts_on is '@list 2
@title From
The first day.';

comment on column away_periods.ends_on is '@list 3
@title Until
The last day.';

comment on column away_periods.starts_half_day is '@title From noon
@list 4
Whether the period starts at noon of the first day.';

comment on column away_periods.ends_half_day is '@title Until noon
@list 5
Whether the period ends at noon of the last day.';

comment on constraint away_periods_user_id_fkey on away_periods is '@forwardBehavior +singularRelation:resource:single
@fieldName user';

create table calendar_feeds (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  name text collate display_order not null,
  token_hash bytea not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint calendar_feeds_name_check CHECK (is_label(name, 100)),
  constraint calendar_feeds_pkey PRIMARY KEY (id),
  constraint calendar_feeds_token_hash_key UNIQUE (token_hash),
  constraint calendar_feeds_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table calendar_feeds enable row level security, force row level security;
CREATE INDEX calendar_feeds_user_id_idx ON calendar_feeds USING btree (user_id, created_at DESC, id DESC);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON calendar_feeds FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON calendar_feeds REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CalendarFeed', 'id', '', 'token_hash', 'last_used_at');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON calendar_feeds REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CalendarFeed', 'id', '', 'token_hash', 'last_used_at');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON calendar_feeds REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CalendarFeed', 'id', '', 'token_hash', 'last_used_at');

create policy calendar_feeds_owner on calendar_feeds for all to office_owner
  using (true)
  with check (true);

create policy calendar_feeds_read on calendar_feeds for select to office_api
  using ((( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, name, last_used_at, revoked_at, created_at, updated_at) on calendar_feeds to office_api;

comment on table calendar_feeds is '@group Office 60
@icon link
@read login
@owner user_id
@audit CalendarFeed id except last_used_at
@defaultOrder created_at desc, id desc
A secret address from which calendar programs read the bookings, absences and campaigns of its owner.';

comment on column calendar_feeds.user_id is '@internal
The owner of the feed.';

comment on column calendar_feeds.name is '@list 1
The program that reads the feed, such as "Phone".';

comment on column calendar_feeds.token_hash is '@secret
SHA-256 of the secret in the address.';

comment on column calendar_feeds.last_used_at is '@list 3
When the feed was last read, to the minute; null before the first read.';

comment on column calendar_feeds.revoked_at is '@list 4
When the feed was revoked; null for an active feed.';
comment on column calendar_feeds.created_at is '@list 2';
comment on constraint calendar_feeds_name_check on calendar_feeds is 'must be 1 to 100 visible characters without spaces at its ends';

create table campaign_colors (
  color text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint campaign_colors_color_check CHECK (color ~ '^#[0-9A-F]{6}$'::text),
  constraint campaign_colors_pkey PRIMARY KEY (color)
);
alter table campaign_colors enable row level security, force row level security;
CREATE INDEX campaign_colors_updated_at_idx ON campaign_colors USING btree (updated_at DESC);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON campaign_colors FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON campaign_colors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON campaign_colors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON campaign_colors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy campaign_colors_owner on campaign_colors for all to office_owner
  using (true)
  with check (true);

create policy campaign_colors_read on campaign_colors for select to office_api
  using (( SELECT has_permission('campaigns.read'::text) AS has_permission));
grant select (xmin, color, created_at, updated_at) on campaign_colors to office_api;

comment on table campaign_colors is '@group Marketing 31
@icon drop
@title Colours
@titleOne Colour
@read campaigns.read
@audit off because it only copies what campaigns hold
@defaultOrder updated_at desc
A colour that campaigns have used, as a suggestion for further campaigns.';

comment on column campaign_colors.color is '@title Colour
@widget color
The colour, as `#RRGGBB`.';
comment on column campaign_colors.updated_at is 'When a campaign last used the colour, to the second.';

create table campaigns (
  id uuid not null default uuidv7(),
  product_id uuid,
  title text collate display_order not null,
  vintage integer,
  color text,
  note text,
  price text not null,
  author_user_id uuid not null,
  medium campaign_medium not null,
  scheduled_at timestamp with time zone not null,
  status campaign_status not null default 'DRAFT'::campaign_status,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint campaigns_author_user_id_fkey FOREIGN KEY (author_user_id) REFERENCES users(id) ON DELETE RESTRICT,
  constraint campaigns_color_check CHECK (color ~ '^#[0-9A-F]{6}$'::text),
  constraint campaigns_note_check CHECK (char_length(note) <= 20000),
  constraint campaigns_pkey PRIMARY KEY (id),
  constraint campaigns_price_check CHECK (is_label(price, 64)),
  constraint campaigns_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE SET NULL,
  constraint campaigns_title_check CHECK (is_label(title, 300)),
  constraint campaigns_vintage_check CHECK (vintage >= 1700 AND vintage <= 2200)
);
alter table campaigns enable row level security, force row level security;
CREATE INDEX campaigns_author_user_id_idx ON campaigns USING btree (author_user_id);
CREATE INDEX campaigns_created_at_idx ON campaigns USING btree (created_at, id);
CREATE INDEX campaigns_due_idx ON campaigns USING btree (scheduled_at) WHERE status = 'SCHEDULED'::campaign_status;
CREATE INDEX campaigns_medium_idx ON campaigns USING btree (medium, id);
CREATE INDEX campaigns_product_id_idx ON campaigns USING btree (product_id);
CREATE INDEX campaigns_scheduled_at_idx ON campaigns USING btree (scheduled_at DESC, id);
CREATE INDEX campaigns_status_idx ON campaigns USING btree (status, id);
CREATE INDEX campaigns_title_idx ON campaigns USING btree (title, id);
CREATE INDEX campaigns_updated_at_idx ON campaigns USING btree (updated_at, id);
CREATE INDEX campaigns_vintage_idx ON campaigns USING btree (vintage, id);
CREATE INDEX campaigns_words_idx ON campaigns USING gin (search_text(title) gin_trgm_ops);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON campaigns FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_check BEFORE UPDATE ON campaigns FOR EACH ROW EXECUTE FUNCTION tg_campaigns__check();
CREATE TRIGGER _500_queue_start AFTER INSERT OR UPDATE OF status, scheduled_at ON campaigns FOR EACH ROW WHEN (new.status = 'SCHEDULED'::campaign_status) EXECUTE FUNCTION tg_campaigns__queue_start();
CREATE TRIGGER _500_remember_color AFTER INSERT OR UPDATE OF color ON campaigns FOR EACH ROW WHEN (new.color IS NOT NULL) EXECUTE FUNCTION tg_campaigns__remember_color();
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON campaigns FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('campaigns');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON campaigns REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Campaign', 'id', 'search');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON campaigns REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Campaign', 'id', 'search');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON campaigns REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Campaign', 'id', 'search');

create policy campaigns_owner on campaigns for all to office_owner
  using (true)
  with check (true);

create policy campaigns_read on campaigns for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['campaigns.read'::text, 'campaigns.create'::text, 'campaigns.update'::text, 'campaigns.delete'::text]) AS has_any_permission));
grant select (xmin, id, product_id, title, vintage, color, note, price, author_user_id, medium, scheduled_at, status, created_at, updated_at) on campaigns to office_api;

comment on table campaigns is '@group Marketing 30
@icon flag
@searchCollection campaigns
@searchSort scheduled_at desc
@read campaigns.read
@create campaigns.create
@update campaigns.update
@delete campaigns.delete
@audit Campaign
@filter from scheduledAt:>=$value
@filter to scheduledAt:<=$value
@filter status status:$value
@filter medium medium:$value
@filter authorUserId authorUserId:$value
@filter productId productId:$value
@defaultOrder scheduled_at desc, id
A marketing campaign, optionally for a product.';

comment on column campaigns.product_id is '@list 5
The product of the campaign.';

comment on column campaigns.title is '@search word
@list 1
@searchIndex searchable sort
The title of the campaign.';

comment on column campaigns.vintage is '@searchIndex facet sort
The vintage of the campaign. If omitted on creation, it is copied from the product.';

comment on column campaigns.color is '@title Colour
@widget color
@searchIndex facet dataType hexColor
The colour of the campaign, as `#RRGGBB`. If omitted on creation, it is copied from the product''s wine type.';

comment on column campaigns.note is '@widget long
@searchIndex searchable
A note for colleagues.';

comment on column campaigns.price is '@searchIndex searchable
The advertised price, free text of 1 to 64 characters.';

comment on column campaigns.author_user_id is '@list 6
@title Author
The user who is responsible for the campaign.';

comment on column campaigns.medium is '@list 2
@searchIndex facet
The medium of the campaign.';

comment on column campaigns.scheduled_at is '@list 4
@searchIndex filter sort
When the campaign starts.';

comment on column campaigns.status is '@list 3
@tone SCHEDULED info
@tone ACTIVE ok
@tone PAUSED warn
@tone CANCELLED bad
@searchIndex facet
The status of the campaign.';
comment on column campaigns.created_at is '@searchIndex filter sort';
comment on column campaigns.updated_at is '@searchIndex filter sort';

comment on constraint campaigns_author_user_id_fkey on campaigns is '@searchIndex name searchable
@forwardFollows parent
@fieldName author
@notNull
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_color_check on campaigns is 'must be a colour such as #7A0019';
comment on constraint campaigns_note_check on campaigns is 'must be 20000 characters at most';
comment on constraint campaigns_price_check on campaigns is 'must be 1 to 64 visible characters';

comment on constraint campaigns_product_id_fkey on campaigns is '@searchIndex name searchable
@forwardFollows parent
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_title_check on campaigns is 'must be 1 to 300 visible characters';
comment on constraint campaigns_vintage_check on campaigns is 'must be a year from 1700 to 2200';

create table customer_notes (
  id uuid not null default uuidv7(),
  customer_id uuid not null,
  body text not null,
  author_user_id uuid,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint customer_notes_author_user_id_fkey FOREIGN KEY (author_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint customer_notes_body_check CHECK (body ~ '\S'::text AND char_length(body) <= 10000),
  constraint customer_notes_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id) ON DELETE CASCADE,
  constraint customer_notes_pkey PRIMARY KEY (id)
);
alter table customer_notes enable row level security, force row level security;
CREATE INDEX customer_notes_author_user_id_idx ON customer_notes USING btree (author_user_id);
CREATE INDEX customer_notes_body_search_idx ON customer_notes USING gin (search_text(body) gin_trgm_ops);
CREATE INDEX customer_notes_created_at_idx ON customer_notes USING btree (created_at DESC, id DESC);
CREATE INDEX customer_notes_customer_id_idx ON customer_notes USING btree (customer_id, created_at DESC, id DESC);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON customer_notes FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_author BEFORE INSERT ON customer_notes FOR EACH ROW EXECUTE FUNCTION tg_customer_notes__author();
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON customer_notes FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('customer_notes');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON customer_notes REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CustomerNote', 'id', 'search');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON customer_notes REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CustomerNote', 'id', 'search');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON customer_notes REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('CustomerNote', 'id', 'search');

create policy customer_notes_create on customer_notes for insert to office_api
  with check (( SELECT has_permission('customers.update'::text) AS has_permission));

create policy customer_notes_delete on customer_notes for delete to office_api
  using (( SELECT has_permission('customers.update'::text) AS has_permission));

create policy customer_notes_owner on customer_notes for all to office_owner
  using (true)
  with check (true);

create policy customer_notes_read on customer_notes for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['customers.read'::text, 'customers.update'::text]) AS has_any_permission));

create policy customer_notes_update on customer_notes for update to office_api
  using (( SELECT has_permission('customers.update'::text) AS has_permission))
  with check (( SELECT has_permission('customers.update'::text) AS has_permission));
grant delete on customer_notes to office_api;
grant insert (customer_id, body) on customer_notes to office_api;
grant select (xmin, id, customer_id, body, author_user_id, created_at, updated_at) on customer_notes to office_api;
grant update (customer_id, body) on customer_notes to office_api;

comment on table customer_notes is '@group Sales 22
@icon chat
@searchCollection customer_notes
@searchSort created_at desc
@label body created_at
@title Customer notes
@read customers.read
@create customers.update
@update customers.update
@delete customers.update
@mutations create update delete
@audit CustomerNote
@auditReads
@connection
@defaultOrder created_at desc
A note about a customer, in addition to the data of the ERP.';

comment on column customer_notes.customer_id is '@list 2
@title Customer
The customer.';

comment on column customer_notes.body is '@personal customer_id
@searchIndex searchable
@title Note
@list 1
@widget long
@search word
The text of the note.';

comment on column customer_notes.author_user_id is '@mutations off
@list off
@title Author (user)
The user who created the note; null if the user was deleted.';

comment on column customer_notes.created_at is '@searchIndex filter sort
@title Written
@list 4';

comment on constraint customer_notes_author_user_id_fkey on customer_notes is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
comment on constraint customer_notes_body_check on customer_notes is 'must be 1 to 10000 characters, not only spaces';

comment on constraint customer_notes_customer_id_fkey on customer_notes is '@searchIndex name searchable
@forwardBehavior +singularRelation:resource:single
@fieldName customer
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName notes';

create table customers (
  id uuid not null default uuidv7(),
  erp_customer_number text collate "C" not null,
  name text collate display_order not null,
  contact_name text collate display_order,
  email text collate display_order,
  phone text,
  website text,
  address_line1 text,
  address_line2 text,
  postal_code text,
  city text collate display_order,
  region text,
  country text collate display_order,
  currency text,
  vat_number text,
  payment_terms text,
  credit_limit numeric(14,2),
  balance_due numeric(14,2),
  is_blocked boolean not null default false,
  erp_revision text,
  source_updated_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  search_words text collate "C" not null generated always as (words_text(VARIADIC ARRAY[erp_customer_number, name, contact_name, email, city])) stored,
  erased_at timestamp with time zone,
  constraint customers_address_line1_check CHECK (char_length(address_line1) <= 300),
  constraint customers_address_line2_check CHECK (char_length(address_line2) <= 300),
  constraint customers_city_check CHECK (char_length(city) <= 200),
  constraint customers_contact_name_check CHECK (char_length(contact_name) <= 300),
  constraint customers_country_check CHECK (char_length(country) <= 100),
  constraint customers_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
  constraint customers_email_check CHECK (char_length(email) <= 254),
  constraint customers_erp_customer_number_check CHECK (char_length(erp_customer_number) >= 1 AND char_length(erp_customer_number) <= 50 AND erp_customer_number ~ '^[[:print:]]+$'::text AND erp_customer_number = btrim(erp_customer_number)),
  constraint customers_erp_customer_number_key UNIQUE (erp_customer_number),
  constraint customers_erp_revision_check CHECK (char_length(erp_revision) <= 300),
  constraint customers_name_check CHECK (is_label(name, 300)),
  constraint customers_payment_terms_check CHECK (char_length(payment_terms) <= 200),
  constraint customers_phone_check CHECK (char_length(phone) <= 80),
  constraint customers_pkey PRIMARY KEY (id),
  constraint customers_postal_code_check CHECK (char_length(postal_code) <= 40),
  constraint customers_region_check CHECK (char_length(region) <= 200),
  constraint customers_vat_number_check CHECK (char_length(vat_number) <= 50),
  constraint customers_website_check CHECK (char_length(website) <= 2000)
);
alter table customers enable row level security, force row level security;
CREATE INDEX customers_country_idx ON customers USING btree (country, id);
CREATE INDEX customers_country_search_idx ON customers USING btree (search_text(country) text_pattern_ops);
CREATE INDEX customers_created_at_idx ON customers USING btree (created_at, id);
CREATE INDEX customers_name_idx ON customers USING btree (name, id) INCLUDE (search_words);
CREATE INDEX customers_postal_code_search_idx ON customers USING btree (search_text(postal_code) text_pattern_ops);
CREATE INDEX customers_search_idx ON customers USING gin (search_words gin_trgm_ops);
CREATE INDEX customers_updated_at_idx ON customers USING btree (updated_at, id);
CREATE INDEX customers_vat_number_search_idx ON customers USING btree (search_text(vat_number) text_pattern_ops);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION tg__timestamps('search_words');
CREATE TRIGGER _700_search_customer_notes_customer_id_update AFTER UPDATE ON customers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('customer_notes', 'to', 'customer_id', 'id', 'name');
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON customers FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('customers');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON customers REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Customer', 'id', 'search', 'search_words');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON customers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Customer', 'id', 'search', 'search_words');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON customers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Customer', 'id', 'search', 'search_words');

create policy customers_owner on customers for all to office_owner
  using (true)
  with check (true);

create policy customers_read on customers for select to office_api
  using (( SELECT has_permission('customers.read'::text) AS has_permission));
grant select (xmin, id, erp_customer_number, name, contact_name, email, phone, website, address_line1, address_line2, postal_code, city, region, country, currency, vat_number, payment_terms, credit_limit, balance_due, is_blocked, erp_revision, source_updated_at, created_at, updated_at, search_words, erased_at) on customers to office_api;

comment on table customers is '@group Sales 21
@icon people
@label name erp_customer_number
@searchCollection customers
@searchSort name
@read customers.read
@audit Customer
@auditReads
@connection
@defaultOrder name
A customer, as recorded in the ERP.';

comment on column customers.erp_customer_number is '@list 2
@title Number
@searchIndex searchable filter sort title Customer number
@search exact word
The customer number of the ERP, stored byte for byte with leading zeros.';

comment on column customers.name is '@personal
@list 1
@searchIndex searchable sort
@search word
The name on invoices.';

comment on column customers.contact_name is '@personal
@searchIndex searchable
@search word
The name of the contact person.';

comment on column customers.email is '@personal
@list 5
@widget email
@searchIndex searchable dataType email
@search word
The customer''s e-mail address.';

comment on column customers.phone is '@personal
The phone number, as recorded in the ERP.';

comment on column customers.website is '@personal
@widget url
The website, as recorded in the ERP.';

comment on column customers.address_line1 is '@personal
The street and number.';

comment on column customers.address_line2 is '@personal
The second line of the address.';

comment on column customers.postal_code is '@personal
@searchIndex searchable filter
The postal code, as text.';

comment on column customers.city is '@personal
@list 3
@searchIndex searchable facet
@search word
The town or city.';

comment on column customers.region is '@searchIndex searchable facet
The state, province or county.';

comment on column customers.country is '@list 4
@searchIndex searchable facet sort
The name or code of the country, as recorded in the ERP.';

comment on column customers.currency is '@searchIndex facet
The ISO 4217 code of the customer''s currency, such as `DKK`.';

comment on column customers.vat_number is '@personal
@searchIndex searchable title VAT number
The VAT registration number of the customer.';
comment on column customers.payment_terms is 'The payment terms of invoices, as worded in the ERP.';

comment on column customers.credit_limit is '@widget money
The maximum amount that the customer may owe, a decimal as text; null for no limit.';

comment on column customers.balance_due is '@list 6
@widget money
@title Balance
The amount that the customer owed at the last import, a decimal as text.';

comment on column customers.is_blocked is '@list 7
@title Blocked
@searchIndex facet
Whether the customer is blocked: the ERP accepts no further orders from it.';
comment on column customers.erp_revision is 'The ERP''s revision of the customer.';
comment on column customers.source_updated_at is 'When the customer last changed in the ERP; null if the ERP does not provide this time.';
comment on column customers.created_at is '@searchIndex filter sort';

comment on column customers.updated_at is '@list 8
@searchIndex filter sort';

comment on column customers.search_words is '@internal
The normalised text that word searches compare.';

comment on column customers.erased_at is '@mutations off
@title Anonymised
When the personal data was erased; the import from the ERP does not restore it.';
comment on constraint customers_address_line1_check on customers is 'must be 300 characters at most';
comment on constraint customers_address_line2_check on customers is 'must be 300 characters at most';
comment on constraint customers_city_check on customers is 'must be 200 characters at most';
comment on constraint customers_contact_name_check on customers is 'must be 300 characters at most';
comment on constraint customers_country_check on customers is 'must be 100 characters at most';
comment on constraint customers_currency_check on customers is 'must be a currency code of three capitals, such as DKK';
comment on constraint customers_email_check on customers is 'must be 254 characters at most';
comment on constraint customers_erp_customer_number_check on customers is 'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint customers_erp_customer_number_key on customers is 'A customer with this ERP number exists already.';
comment on constraint customers_erp_revision_check on customers is 'must be 300 characters at most';
comment on constraint customers_name_check on customers is 'must be 1 to 300 visible characters without spaces at its ends';
comment on constraint customers_payment_terms_check on customers is 'must be 200 characters at most';
comment on constraint customers_phone_check on customers is 'must be 80 characters at most';
comment on constraint customers_postal_code_check on customers is 'must be 40 characters at most';
comment on constraint customers_region_check on customers is 'must be 200 characters at most';
comment on constraint customers_vat_number_check on customers is 'must be 50 characters at most';
comment on constraint customers_website_check on customers is 'must be 2000 characters at most';

create table departments (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  description text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint departments_description_check CHECK (char_length(description) <= 500),
  constraint departments_name_check CHECK (is_label(name, 80)),
  constraint departments_pkey PRIMARY KEY (id)
);
alter table departments enable row level security, force row level security;
CREATE INDEX departments_words_idx ON departments USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX departments_name_key ON departments USING btree (name_key(name));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON departments FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON departments FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON departments REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Department', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON departments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Department', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON departments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Department', 'id', '');

create policy departments_own on departments for select to office_api
  using ((id = ( SELECT colleagues_department_id() AS colleagues_department_id)));

create policy departments_owner on departments for all to office_owner
  using (true)
  with check (true);

create policy departments_read on departments for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['departments.read'::text, 'departments.update'::text]) AS has_any_permission));
grant select (xmin, id, name, description, created_at, updated_at) on departments to office_api;

comment on table departments is '@group People 53
@icon building
@read departments.read
@create departments.update
@update departments.update
@audit Department
@defaultOrder name
A department of the company.';

comment on column departments.name is '@search word
The name of the department, unique without regard to case.';

comment on column departments.description is '@widget long
A description of the department.';
comment on constraint departments_description_check on departments is 'must be 500 characters at most';
comment on constraint departments_name_check on departments is 'must be 1 to 80 visible characters without spaces at its ends';
comment on index departments_name_key is 'A department of this name exists already.';

create table documentation_pages (
  id uuid not null default uuidv7(),
  title text collate display_order not null,
  slug text collate "C" not null default ''::text,
  body text not null default ''::text,
  parent_id uuid,
  "position" integer not null default 0,
  tags text[] not null default '{}'::text[],
  is_published boolean not null default false,
  is_built_in boolean not null default false,
  author_user_id uuid,
  updated_by_user_id uuid,
  version integer not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  search_vector tsvector not null default ''::tsvector,
  constraint documentation_pages_author_user_id_fkey FOREIGN KEY (author_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint documentation_pages_body_check CHECK (octet_length(body) <= 200000),
  constraint documentation_pages_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES documentation_pages(id) ON DELETE RESTRICT,
  constraint documentation_pages_pkey PRIMARY KEY (id),
  constraint documentation_pages_slug_check CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text AND char_length(slug) <= 100),
  constraint documentation_pages_tags_check CHECK (cardinality(tags) <= 20 AND char_length(array_to_string(tags, ''::text)) <= 1000),
  constraint documentation_pages_tags_words_check CHECK (are_tags(tags)),
  constraint documentation_pages_title_check CHECK (is_label(title, 200)),
  constraint documentation_pages_updated_by_user_id_fkey FOREIGN KEY (updated_by_user_id) REFERENCES users(id) ON DELETE SET NULL
);
alter table documentation_pages enable row level security, force row level security;
CREATE INDEX documentation_pages_author_user_id_idx ON documentation_pages USING btree (author_user_id);
CREATE INDEX documentation_pages_body_idx ON documentation_pages USING gin (search_text(body) gin_trgm_ops);
CREATE INDEX documentation_pages_created_at_idx ON documentation_pages USING btree (created_at, id);
CREATE INDEX documentation_pages_is_published_idx ON documentation_pages USING btree (is_published, id);
CREATE INDEX documentation_pages_order_idx ON documentation_pages USING btree (title, id);
CREATE INDEX documentation_pages_parent_id_idx ON documentation_pages USING btree (parent_id, "position", title, id);
CREATE INDEX documentation_pages_position_idx ON documentation_pages USING btree ("position", title, id);
CREATE INDEX documentation_pages_search_idx ON documentation_pages USING gin (search_vector);
CREATE INDEX documentation_pages_title_idx ON documentation_pages USING gin (search_text(title) gin_trgm_ops);
CREATE INDEX documentation_pages_updated_at_idx ON documentation_pages USING btree (updated_at, id);
CREATE INDEX documentation_pages_updated_by_user_id_idx ON documentation_pages USING btree (updated_by_user_id);
CREATE UNIQUE INDEX documentation_pages_slug_key ON documentation_pages USING btree (slug);
CREATE TRIGGER _060_owner BEFORE INSERT ON documentation_pages FOR EACH ROW EXECUTE FUNCTION tg__owner('author_user_id');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON documentation_pages FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_check BEFORE INSERT OR UPDATE ON documentation_pages FOR EACH ROW EXECUTE FUNCTION tg_documentation_pages__check();
CREATE TRIGGER _200_check_delete BEFORE DELETE ON documentation_pages FOR EACH ROW EXECUTE FUNCTION tg_documentation_pages__check_delete();
CREATE TRIGGER _500_keep AFTER INSERT OR UPDATE ON documentation_pages FOR EACH ROW EXECUTE FUNCTION tg_documentation_pages__keep();
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON documentation_pages FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('documentation');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON documentation_pages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationPage', 'id', 'search', 'search_vector');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON documentation_pages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationPage', 'id', 'search', 'search_vector');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON documentation_pages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationPage', 'id', 'search', 'search_vector');

create policy documentation_pages_create on documentation_pages for insert to office_api
  with check ((( SELECT has_permission('documentation.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy documentation_pages_delete on documentation_pages for delete to office_api
  using ((( SELECT has_permission('documentation.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy documentation_pages_owner on documentation_pages for all to office_owner
  using (true)
  with check (true);

create policy documentation_pages_published on documentation_pages for select to office_api
  using ((( SELECT is_login() AS is_login) AND (is_published OR ( SELECT has_permission('documentation.update'::text) AS has_permission))));

create policy documentation_pages_read on documentation_pages for select to office_api
  using ((( SELECT is_login() AS is_login) AND (author_user_id = ( SELECT current_user_id() AS current_user_id))));

create policy documentation_pages_update on documentation_pages for update to office_api
  using ((( SELECT has_permission('documentation.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)))
  with check ((( SELECT has_permission('documentation.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));
grant delete on documentation_pages to office_api;
grant insert (title, slug, body, parent_id, "position", tags, is_published) on documentation_pages to office_api;
grant select (xmin, id, title, slug, body, parent_id, "position", tags, is_published, is_built_in, author_user_id, updated_by_user_id, version, created_at, updated_at, search_vector) on documentation_pages to office_api;
grant update (title, slug, body, parent_id, "position", tags, is_published) on documentation_pages to office_api;

comment on table documentation_pages is '@group Office 53
@icon book
@title Handbook
@titleOne Page
@read login
@create documentation.update
@update documentation.update
@delete documentation.update
@mutations create update delete
@owner author_user_id
@audit DocumentationPage id except search_vector
@connection
@searchCollection documentation
@searchTitle Handbook
@searchOnly is_published
@searchSort title
@defaultOrder position, title, id
@label title
A handbook page. Every caller with a login can read published pages. Only the author and holders of `documentation.update` can read drafts.';

comment on column documentation_pages.title is '@list 1
@searchIndex searchable sort
@search word
The heading of the page.';

comment on column documentation_pages.slug is '@title Address
@searchIndex filter
The page''s name in links, such as `leave-rules`. By default, it is derived from the title. Earlier addresses redirect to the page.';

comment on column documentation_pages.body is '@list off
@search word
@searchIndex searchable
@widget markdown
The text in Markdown, at most 200 kB. HTML is shown as text. A link to another page is `[text](leave-rules)`.';

comment on column documentation_pages.parent_id is '@list 2
@title Below
The parent page; null for a page at the top level.';
comment on column documentation_pages."position" is 'The position among the pages with the same parent.';

comment on column documentation_pages.tags is '@list 3
@searchIndex searchable facet
Search terms, at most 20.';

comment on column documentation_pages.is_published is '@list 4
@title Published
Whether every caller with a login can read the page.';

comment on column documentation_pages.is_built_in is '@mutations off
@title Of the product
Whether the page is part of the product and read-only.';

comment on column documentation_pages.author_user_id is '@mutations off
@list off
@title Author (user)
The author of the first version.';

comment on column documentation_pages.updated_by_user_id is '@mutations off
@list off
@title Changed by (user)
The author of the latest version.';

comment on column documentation_pages.version is '@mutations off
The number of the latest version.';
comment on column documentation_pages.updated_at is '@list 6';

comment on column documentation_pages.search_vector is '@internal
The words of title, tags and body, in Danish and English.';

comment on constraint documentation_pages_author_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
comment on constraint documentation_pages_body_check on documentation_pages is 'must be 200 kB at most';

comment on constraint documentation_pages_parent_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName parent
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName children';
comment on constraint documentation_pages_slug_check on documentation_pages is 'must be 1 to 100 lowercase letters and digits, with single hyphens between them';
comment on constraint documentation_pages_tags_check on documentation_pages is 'must be 20 words at most, of 1000 characters together';
comment on constraint documentation_pages_tags_words_check on documentation_pages is 'must be different words of visible characters without spaces at their ends';
comment on constraint documentation_pages_title_check on documentation_pages is 'must be 1 to 200 visible characters without spaces at its ends';

comment on constraint documentation_pages_updated_by_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName updatedBy';
comment on index documentation_pages_slug_key is 'A page with this address exists already.';

create table documentation_slugs (
  slug text collate "C" not null,
  page_id uuid not null,
  constraint documentation_slugs_pkey PRIMARY KEY (slug)
);
alter table documentation_slugs enable row level security, force row level security;
CREATE INDEX documentation_slugs_page_id_idx ON documentation_slugs USING btree (page_id);

create policy documentation_slugs_owner on documentation_slugs for all to office_owner
  using (true)
  with check (true);

comment on table documentation_slugs is '@internal
@audit off because the change of the address is recorded
The earlier addresses of pages.';
comment on column documentation_slugs.page_id is 'The page, which may be deleted: a restored page has its earlier addresses again.';

create table documentation_versions (
  id uuid not null default uuidv7(),
  page_id uuid not null,
  number integer not null,
  title text collate display_order not null,
  body text not null,
  tags text[] not null default '{}'::text[],
  author_user_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint documentation_versions_author_user_id_fkey FOREIGN KEY (author_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint documentation_versions_page_id_fkey FOREIGN KEY (page_id) REFERENCES documentation_pages(id) ON DELETE CASCADE,
  constraint documentation_versions_pkey PRIMARY KEY (id)
);
alter table documentation_versions enable row level security, force row level security;
CREATE INDEX documentation_versions_author_user_id_idx ON documentation_versions USING btree (author_user_id);
CREATE UNIQUE INDEX documentation_versions_page_id_number_key ON documentation_versions USING btree (page_id, number DESC);
CREATE TRIGGER _800_audit_delete AFTER DELETE ON documentation_versions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationVersion', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON documentation_versions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationVersion', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON documentation_versions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('DocumentationVersion', 'id', '');

create policy documentation_versions_owner on documentation_versions for all to office_owner
  using (true)
  with check (true);

create policy documentation_versions_read on documentation_versions for select to office_api
  using (( SELECT has_permission('documentation.update'::text) AS has_permission));
grant select (xmin, id, page_id, number, title, body, tags, author_user_id, created_at) on documentation_versions to office_api;

comment on table documentation_versions is '@title Versions
@titleOne Version
@read documentation.update
@create documentation.update
@root off
@audit DocumentationVersion
@defaultOrder number desc
@label number title
A version of a handbook page.';

comment on column documentation_versions.number is '@list 1
The number of the version, from 1.';

comment on column documentation_versions.title is '@list 2
The heading of this version.';

comment on column documentation_versions.body is '@list off
@widget markdown
The text of this version.';

comment on column documentation_versions.tags is '@list 5
The search terms of this version.';

comment on column documentation_versions.author_user_id is '@list off
@title Author (user)
The author; null for a page of the product.';
comment on column documentation_versions.created_at is '@list 4';

comment on constraint documentation_versions_author_user_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName author';

comment on constraint documentation_versions_page_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName page
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName versions';
comment on index documentation_versions_page_id_number_key is 'The page has a version of this number already.';

create table erp_cursors (
  entity text not null,
  cursor text,
  cursor_at timestamp with time zone,
  caught_up_at timestamp with time zone,
  erp_is_up boolean,
  erp_error text,
  erp_seen_at timestamp with time zone,
  pass_run_id uuid,
  erp_down_at timestamp with time zone,
  constraint erp_cursors_cursor_check CHECK (char_length(cursor) <= 4000),
  constraint erp_cursors_entity_check CHECK (entity = ANY (ARRAY['orders'::text, 'customers'::text])),
  constraint erp_cursors_erp_error_check CHECK (char_length(erp_error) <= 2000),
  constraint erp_cursors_pkey PRIMARY KEY (entity)
);
alter table erp_cursors enable row level security, force row level security;

create policy erp_cursors_owner on erp_cursors for all to office_owner
  using (true)
  with check (true);

comment on table erp_cursors is '@internal
@audit off because it is the state of the import
The progress of the imports of orders and customers, and the state of the ERP at its last response.';
comment on column erp_cursors.cursor is 'Where the next import goes on, in the words of the ERP''s client.';
comment on column erp_cursors.cursor_at is 'Up to when the ERP''s changes are in.';
comment on column erp_cursors.caught_up_at is 'When an import last came to the end of what the ERP had.';
comment on column erp_cursors.pass_run_id is 'The run that started the current pass of the cursor; null between passes.';
comment on column erp_cursors.erp_down_at is 'Since when the ERP does not answer; null while it does.';

create table erp_import_failures (
  id uuid not null default uuidv7(),
  record text collate "C" not null,
  erp_order_number text collate "C",
  message text not null,
  path text,
  revision text,
  first_seen_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint erp_import_failures_erp_order_number_check CHECK (char_length(erp_order_number) <= 200),
  constraint erp_import_failures_message_check CHECK (char_length(message) >= 1 AND char_length(message) <= 2000),
  constraint erp_import_failures_path_check CHECK (char_length(path) <= 300),
  constraint erp_import_failures_pkey PRIMARY KEY (id),
  constraint erp_import_failures_record_check CHECK (char_length(record) >= 1 AND char_length(record) <= 200),
  constraint erp_import_failures_record_key UNIQUE (record)
);
alter table erp_import_failures enable row level security, force row level security;
CREATE INDEX erp_import_failures_created_at_idx ON erp_import_failures USING btree (created_at, id);
CREATE INDEX erp_import_failures_erp_order_number_idx ON erp_import_failures USING btree (erp_order_number);
CREATE INDEX erp_import_failures_last_seen_at_idx ON erp_import_failures USING btree (last_seen_at, id);
CREATE INDEX erp_import_failures_search_idx ON erp_import_failures USING gin (search_text(erp_order_number) gin_trgm_ops, search_text(message) gin_trgm_ops);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON erp_import_failures FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON erp_import_failures REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON erp_import_failures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON erp_import_failures REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy erp_import_failures_owner on erp_import_failures for all to office_owner
  using (true)
  with check (true);

create policy erp_import_failures_read on erp_import_failures for select to office_api
  using (( SELECT has_permission('erpsync.read'::text) AS has_permission));
grant select (xmin, id, record, erp_order_number, message, path, revision, first_seen_at, last_seen_at, created_at, updated_at) on erp_import_failures to office_api;

comment on table erp_import_failures is '@group Operations 62
@icon alert
@title Unreadable orders
@titleOne Unreadable order
@read erpsync.read
@audit off because no data of this service has changed
@connection
@defaultOrder last_seen_at desc
An order or customer of the ERP that could not be read or imported. The failure stays until an import reads the record successfully.';

comment on column erp_import_failures.record is '@search exact
The record: `order` or `customer` and its number, or the ERP''s id if the number is unreadable.';

comment on column erp_import_failures.erp_order_number is '@search exact word
The order number; null for a customer and for an unreadable number.';

comment on column erp_import_failures.message is '@search word
The error message.';
comment on column erp_import_failures.path is 'The path of the invalid value, such as `lines[2].quantity`.';

comment on column erp_import_failures.revision is '@internal
The ERP''s revision of the record that failed; another failure of the same revision changes nothing.';
comment on column erp_import_failures.first_seen_at is 'When an import first found the failure.';
comment on column erp_import_failures.last_seen_at is 'When an import last found the failure in a new version of the record, or a different failure of the record.';
comment on constraint erp_import_failures_erp_order_number_check on erp_import_failures is 'must be 200 characters at most';
comment on constraint erp_import_failures_message_check on erp_import_failures is 'must be 1 to 2000 characters';
comment on constraint erp_import_failures_path_check on erp_import_failures is 'must be 300 characters at most';
comment on constraint erp_import_failures_record_check on erp_import_failures is 'must be 1 to 200 characters';
comment on constraint erp_import_failures_record_key on erp_import_failures is 'This record failed already.';

create table erp_mapping_rules (
  id uuid not null default uuidv7(),
  code text collate "C" not null,
  key text collate "C" not null,
  target text collate "C",
  is_ignored boolean not null default false,
  note text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint erp_mapping_rules_code_check CHECK (code = ANY (ARRAY['line_kind.unmapped'::text, 'payment_method.unmapped'::text, 'shipping_method.unmapped'::text, 'vat_code.unmapped'::text, 'currency.unmapped'::text, 'warehouse.unmapped'::text])),
  constraint erp_mapping_rules_key_check CHECK (is_label(key, 100)),
  constraint erp_mapping_rules_key_key UNIQUE (code, key),
  constraint erp_mapping_rules_note_check CHECK (char_length(note) <= 2000),
  constraint erp_mapping_rules_pkey PRIMARY KEY (id),
  constraint erp_mapping_rules_target_check CHECK ((target IS NULL) = is_ignored),
  constraint erp_mapping_rules_target_fkey FOREIGN KEY (code, target) REFERENCES erp_mapping_targets(code, value) ON UPDATE CASCADE ON DELETE RESTRICT
);
alter table erp_mapping_rules enable row level security, force row level security;
CREATE INDEX erp_mapping_rules_code_target_idx ON erp_mapping_rules USING btree (code, target);
CREATE INDEX erp_mapping_rules_created_at_idx ON erp_mapping_rules USING btree (created_at, id);
CREATE INDEX erp_mapping_rules_key_idx ON erp_mapping_rules USING btree (key);
CREATE INDEX erp_mapping_rules_search_idx ON erp_mapping_rules USING gin (search_text(key) gin_trgm_ops);
CREATE INDEX erp_mapping_rules_target_idx ON erp_mapping_rules USING btree (target);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON erp_mapping_rules FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_check BEFORE INSERT OR UPDATE ON erp_mapping_rules FOR EACH ROW EXECUTE FUNCTION tg_erp_mapping_rules__check();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON erp_mapping_rules REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingRule', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON erp_mapping_rules REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingRule', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON erp_mapping_rules REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingRule', 'id', '');

create policy erp_mapping_rules_delete on erp_mapping_rules for delete to office_api
  using (( SELECT has_permission('erpsync.run'::text) AS has_permission));

create policy erp_mapping_rules_owner on erp_mapping_rules for all to office_owner
  using (true)
  with check (true);

create policy erp_mapping_rules_read on erp_mapping_rules for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['erpsync.read'::text, 'erpsync.run'::text]) AS has_any_permission));

create policy erp_mapping_rules_update on erp_mapping_rules for update to office_api
  using (( SELECT has_permission('erpsync.run'::text) AS has_permission))
  with check (( SELECT has_permission('erpsync.run'::text) AS has_permission));
grant delete on erp_mapping_rules to office_api;
grant select (xmin, id, code, key, target, is_ignored, note, created_at, updated_at) on erp_mapping_rules to office_api;
grant update (code, key, target, is_ignored, note) on erp_mapping_rules to office_api;

comment on table erp_mapping_rules is '@group Sales 22
@icon link
@title Mapping rules
@titleOne Mapping rule
@read erpsync.read
@create erpsync.run
@update erpsync.run
@delete erpsync.run
@mutations update delete
@audit ErpMappingRule
@connection
@defaultOrder code, key
A rule that maps a code of the ERP to a value of this service. A rule clears the import issues with its `code` and `key` when their orders are next imported.';

comment on column erp_mapping_rules.code is '@list 1
@search exact
The code of the import issues that the rule clears, such as `warehouse.unmapped`.';

comment on column erp_mapping_rules.key is '@list 2
@search exact word
The value of the ERP, byte for byte the `key` of the import issues.';

comment on column erp_mapping_rules.target is '@list 3
@search exact
The meaning of the value: one of `erpMappingTargets` with the same code; null if `isIgnored` is true.';

comment on column erp_mapping_rules.is_ignored is '@list 4
@title Ignored
Whether the value is ignored: orders with it get neither a mapped value nor an import issue.';

comment on column erp_mapping_rules.note is '@list 5
@widget long
The reason for the rule, as a note for colleagues.';
comment on column erp_mapping_rules.updated_at is '@list 6';
comment on constraint erp_mapping_rules_code_check on erp_mapping_rules is 'must be line_kind.unmapped, payment_method.unmapped, shipping_method.unmapped, vat_code.unmapped, currency.unmapped or warehouse.unmapped';
comment on constraint erp_mapping_rules_key_check on erp_mapping_rules is 'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint erp_mapping_rules_key_key on erp_mapping_rules is 'There is a rule for this code and key already.';
comment on constraint erp_mapping_rules_note_check on erp_mapping_rules is 'must be 2000 characters at most';
comment on constraint erp_mapping_rules_target_check on erp_mapping_rules is 'is required, or must be omitted when isIgnored is true';

create table erp_mapping_targets (
  id uuid not null default uuidv7(),
  code text collate "C" not null,
  value text collate "C" not null,
  title text collate display_order not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint erp_mapping_targets_code_check CHECK (code = ANY (ARRAY['line_kind.unmapped'::text, 'payment_method.unmapped'::text, 'shipping_method.unmapped'::text, 'vat_code.unmapped'::text, 'currency.unmapped'::text, 'warehouse.unmapped'::text])),
  constraint erp_mapping_targets_currency_check CHECK (code <> 'currency.unmapped'::text OR value ~ '^[A-Z]{3}$'::text),
  constraint erp_mapping_targets_pkey PRIMARY KEY (id),
  constraint erp_mapping_targets_title_check CHECK (is_label(title, 200)),
  constraint erp_mapping_targets_value_check CHECK (is_label(value, 50)),
  constraint erp_mapping_targets_value_key UNIQUE (code, value)
);
alter table erp_mapping_targets enable row level security, force row level security;
CREATE INDEX erp_mapping_targets_value_idx ON erp_mapping_targets USING btree (value);
CREATE INDEX erp_mapping_targets_words_idx ON erp_mapping_targets USING gin (search_text(title) gin_trgm_ops);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON erp_mapping_targets FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_check BEFORE INSERT OR UPDATE ON erp_mapping_targets FOR EACH ROW EXECUTE FUNCTION tg_erp_mapping_targets__check();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON erp_mapping_targets REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingTarget', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON erp_mapping_targets REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingTarget', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON erp_mapping_targets REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ErpMappingTarget', 'id', '');

create policy erp_mapping_targets_create on erp_mapping_targets for insert to office_api
  with check (( SELECT has_permission('erpsync.run'::text) AS has_permission));

create policy erp_mapping_targets_delete on erp_mapping_targets for delete to office_api
  using (( SELECT has_permission('erpsync.run'::text) AS has_permission));

create policy erp_mapping_targets_owner on erp_mapping_targets for all to office_owner
  using (true)
  with check (true);

create policy erp_mapping_targets_read on erp_mapping_targets for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['erpsync.read'::text, 'erpsync.run'::text]) AS has_any_permission));

create policy erp_mapping_targets_update on erp_mapping_targets for update to office_api
  using (( SELECT has_permission('erpsync.run'::text) AS has_permission))
  with check (( SELECT has_permission('erpsync.run'::text) AS has_permission));
grant delete on erp_mapping_targets to office_api;
grant insert (code, value, title) on erp_mapping_targets to office_api;
grant select (xmin, id, code, value, title, created_at, updated_at) on erp_mapping_targets to office_api;
grant update (code, value, title) on erp_mapping_targets to office_api;

comment on table erp_mapping_targets is '@group Sales 23
@icon pin
@title Mapping targets
@titleOne Mapping target
@read erpsync.read
@create erpsync.run
@update erpsync.run
@delete erpsync.run
@mutations create update delete
@audit ErpMappingTarget
@defaultOrder code, value
A value to which mapping rules can map a code of the ERP.';

comment on column erp_mapping_targets.code is '@search exact
The code of the import issues that rules with this target clear, such as `warehouse.unmapped`.';

comment on column erp_mapping_targets.value is '@search exact
The value in the mapped orders, such as `MAIN`; for line kinds a value of `OrderLineKind`, for currencies an ISO 4217 code.';

comment on column erp_mapping_targets.title is '@search word
The title of the value.';
comment on constraint erp_mapping_targets_code_check on erp_mapping_targets is 'must be line_kind.unmapped, payment_method.unmapped, shipping_method.unmapped, vat_code.unmapped, currency.unmapped or warehouse.unmapped';
comment on constraint erp_mapping_targets_currency_check on erp_mapping_targets is 'must be a currency code of three capitals, such as DKK';
comment on constraint erp_mapping_targets_title_check on erp_mapping_targets is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint erp_mapping_targets_value_check on erp_mapping_targets is 'must be 1 to 50 visible characters without spaces at its ends';
comment on constraint erp_mapping_targets_value_key on erp_mapping_targets is 'There is a target of this code and value already.';

create table erp_schedule (
  what text not null,
  next_at timestamp with time zone,
  done_on date,
  constraint erp_schedule_pkey PRIMARY KEY (what),
  constraint erp_schedule_what_check CHECK (what = ANY (ARRAY['import'::text, 'recheck'::text]))
);
alter table erp_schedule enable row level security, force row level security;

create policy erp_schedule_owner on erp_schedule for all to office_owner
  using (true)
  with check (true);

comment on table erp_schedule is '@internal
@audit off because it is the state of the schedule
When the schedule acts next.';
comment on column erp_schedule.done_on is 'The last day, in the configured time zone, whose nightly run was queued.';

create table erp_sync_runs (
  id uuid not null default uuidv7(),
  kind erp_sync_run_kind not null,
  status erp_sync_run_status not null default 'QUEUED'::erp_sync_run_status,
  requested_by_user_id uuid,
  erp_order_number text collate "C",
  orders_total integer,
  orders_done integer not null default 0,
  orders_created integer not null default 0,
  orders_updated integer not null default 0,
  orders_unchanged integer not null default 0,
  orders_missing integer not null default 0,
  customers_done integer not null default 0,
  failures integer not null default 0,
  attempts integer not null default 0,
  error text,
  queued_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  retry_at timestamp with time zone,
  finished_at timestamp with time zone,
  "position" text collate "C",
  job_id bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  cancelled_by_user_id uuid,
  open_issue_groups integer,
  open_issue_orders integer,
  constraint erp_sync_runs_cancelled_by_user_id_fkey FOREIGN KEY (cancelled_by_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint erp_sync_runs_error_check CHECK (char_length(error) <= 2000),
  constraint erp_sync_runs_pkey PRIMARY KEY (id),
  constraint erp_sync_runs_requested_by_user_id_fkey FOREIGN KEY (requested_by_user_id) REFERENCES users(id) ON DELETE SET NULL
);
alter table erp_sync_runs enable row level security, force row level security;
CREATE INDEX erp_sync_runs_cancelled_by_user_id_idx ON erp_sync_runs USING btree (cancelled_by_user_id);
CREATE INDEX erp_sync_runs_created_at_idx ON erp_sync_runs USING btree (created_at, id);
CREATE INDEX erp_sync_runs_erp_order_number_idx ON erp_sync_runs USING btree (erp_order_number);
CREATE INDEX erp_sync_runs_kind_idx ON erp_sync_runs USING btree (kind, queued_at DESC);
CREATE INDEX erp_sync_runs_kind_order_idx ON erp_sync_runs USING btree (kind, id);
CREATE INDEX erp_sync_runs_open_issue_groups_idx ON erp_sync_runs USING btree (finished_at DESC, id DESC) WHERE open_issue_groups IS NOT NULL;
CREATE INDEX erp_sync_runs_queued_at_idx ON erp_sync_runs USING btree (queued_at, id);
CREATE INDEX erp_sync_runs_requested_by_user_id_idx ON erp_sync_runs USING btree (requested_by_user_id);
CREATE INDEX erp_sync_runs_status_idx ON erp_sync_runs USING btree (status, queued_at DESC);
CREATE INDEX erp_sync_runs_status_order_idx ON erp_sync_runs USING btree (status, id);
CREATE UNIQUE INDEX erp_sync_runs_waiting_key ON erp_sync_runs USING btree (kind, erp_order_number) NULLS NOT DISTINCT WHERE status = 'QUEUED'::erp_sync_run_status;
CREATE UNIQUE INDEX erp_sync_runs_working_key ON erp_sync_runs USING btree (kind, erp_order_number) NULLS NOT DISTINCT WHERE status = ANY (ARRAY['RUNNING'::erp_sync_run_status, 'RETRYING'::erp_sync_run_status]);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON erp_sync_runs FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON erp_sync_runs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON erp_sync_runs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON erp_sync_runs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy erp_sync_runs_owner on erp_sync_runs for all to office_owner
  using (true)
  with check (true);

create policy erp_sync_runs_read on erp_sync_runs for select to office_api
  using (( SELECT has_permission('erpsync.read'::text) AS has_permission));
grant select (xmin, id, kind, status, requested_by_user_id, erp_order_number, orders_total, orders_done, orders_created, orders_updated, orders_unchanged, orders_missing, customers_done, failures, attempts, error, queued_at, started_at, retry_at, finished_at, "position", job_id, created_at, updated_at, cancelled_by_user_id, open_issue_groups, open_issue_orders) on erp_sync_runs to office_api;

comment on table erp_sync_runs is '@group Operations 61
@icon truck
@title Imports
@titleOne Import
@label kind
@read erpsync.read
@audit off because the schedule creates a run every few minutes; the functions that start and cancel runs record it
@connection
@defaultOrder queued_at desc
A run of the import from the ERP, with its progress.';

comment on column erp_sync_runs.kind is '@list 1
The data that the run reads from the ERP.';

comment on column erp_sync_runs.status is '@list 2
@tone RUNNING info
@tone RETRYING warn
@tone SUCCEEDED ok
@tone FAILED bad
The status of the run.';
comment on column erp_sync_runs.requested_by_user_id is 'The user who requested the run; null for a scheduled run.';

comment on column erp_sync_runs.erp_order_number is '@search exact
The requested order number; null for kinds other than ORDER.';

comment on column erp_sync_runs.orders_total is '@list 5
@title Orders
The number of orders to read, if known.';

comment on column erp_sync_runs.orders_done is '@list 6
@title Done
The number of orders read so far, including failed ones.';
comment on column erp_sync_runs.orders_created is 'The number of new orders.';
comment on column erp_sync_runs.orders_updated is 'The number of orders that differed from the stored ones.';
comment on column erp_sync_runs.orders_unchanged is 'The number of orders that were equal to the stored ones, or older.';
comment on column erp_sync_runs.orders_missing is 'The number of requested orders that no longer exist in the ERP.';
comment on column erp_sync_runs.customers_done is 'The number of customers read so far.';

comment on column erp_sync_runs.failures is '@list 7
The number of orders and customers that could not be read or imported; `erpImportFailures` lists the reasons.';
comment on column erp_sync_runs.attempts is 'How often a worker has started or resumed the run.';

comment on column erp_sync_runs.error is '@list 8
The last error; null without an error.';

comment on column erp_sync_runs.queued_at is '@list 3
When the run was requested.';
comment on column erp_sync_runs.started_at is 'When a worker first started the run.';
comment on column erp_sync_runs.retry_at is 'When the run continues; null unless its status is `RETRYING`.';

comment on column erp_sync_runs.finished_at is '@list 4
When the run succeeded, failed or was cancelled.';

comment on column erp_sync_runs."position" is '@internal
The number of the last order done; the run continues after it.';

comment on column erp_sync_runs.job_id is '@internal
The job in the queue.';
comment on column erp_sync_runs.cancelled_by_user_id is 'The user who cancelled the run; null for a run that was not cancelled.';
comment on column erp_sync_runs.open_issue_groups is 'The number of open groups of import issues at the end of the run; null before.';
comment on column erp_sync_runs.open_issue_orders is 'The number of orders in these groups at the end of the run; null before. An order counts once for each of its groups.';
comment on constraint erp_sync_runs_error_check on erp_sync_runs is 'must be 2000 characters at most';
comment on constraint erp_sync_runs_requested_by_user_id_fkey on erp_sync_runs is '@behavior -*';

create table export_job_lists (
  job_id uuid not null,
  table_name text not null,
  tables text[] not null,
  is_by_template boolean not null,
  statement text not null,
  statement_values jsonb not null,
  columns jsonb not null,
  constraint export_job_lists_job_id_fkey FOREIGN KEY (job_id) REFERENCES export_jobs(id) ON DELETE CASCADE,
  constraint export_job_lists_pkey PRIMARY KEY (job_id)
);
alter table export_job_lists enable row level security, force row level security;

create policy export_job_lists_owner on export_job_lists for all to office_owner
  using (true)
  with check (true);

comment on table export_job_lists is '@internal
@audit off because the job itself is recorded
What an export of a list reads, while it has not ended.';
comment on column export_job_lists.table_name is 'The table of the list.';
comment on column export_job_lists.tables is 'All tables that its columns read.';
comment on column export_job_lists.is_by_template is 'Whether a template was chosen, which may have been deleted since.';
comment on column export_job_lists.statement is 'The compiled search, with the columns as text.';
comment on column export_job_lists.statement_values is 'The parameters of the statement.';
comment on column export_job_lists.columns is 'The columns of the file, in the order of the statement, with the tables that each reads.';

create table export_job_products (
  job_id uuid not null,
  product_ids uuid[] storage external not null,
  constraint export_job_products_job_id_fkey FOREIGN KEY (job_id) REFERENCES export_jobs(id) ON DELETE CASCADE,
  constraint export_job_products_pkey PRIMARY KEY (job_id)
);
alter table export_job_products enable row level security, force row level security;

create policy export_job_products_owner on export_job_products for all to office_owner
  using (true)
  with check (true);

comment on table export_job_products is '@internal
@audit off because the job itself is recorded
The products of an export in their order, while it has not ended.';

create table export_jobs (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  token_id uuid,
  template_id uuid,
  source text not null,
  format text not null default 'xlsx'::text,
  state text not null default 'queued'::text,
  total_rows integer not null,
  exported_rows integer not null default 0,
  file_size integer,
  error_message text,
  notes text[] not null default '{}'::text[],
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  attempt integer not null default 0,
  failures integer not null default 0,
  file_key text,
  queue_job_id bigint,
  query text,
  entity text collate "C",
  constraint export_jobs_file_check CHECK ((state = 'completed'::text) = (file_key IS NOT NULL)),
  constraint export_jobs_format_check CHECK (format = ANY (ARRAY['xlsx'::text, 'csv'::text, 'jsonl'::text])),
  constraint export_jobs_pkey PRIMARY KEY (id),
  constraint export_jobs_state_check CHECK (state = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'expired'::text])),
  constraint export_jobs_template_id_fkey FOREIGN KEY (template_id) REFERENCES export_templates(id) ON DELETE SET NULL,
  constraint export_jobs_token_id_fkey FOREIGN KEY (token_id) REFERENCES api_tokens(id) ON DELETE SET NULL,
  constraint export_jobs_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table export_jobs enable row level security, force row level security;
CREATE INDEX export_jobs_created_at_idx ON export_jobs USING btree (created_at DESC, id DESC);
CREATE INDEX export_jobs_expires_at_idx ON export_jobs USING btree (expires_at) WHERE state = 'completed'::text;
CREATE INDEX export_jobs_open_idx ON export_jobs USING btree (created_at) WHERE state = ANY (ARRAY['queued'::text, 'running'::text]);
CREATE INDEX export_jobs_started_idx ON export_jobs USING btree (user_id, started_at);
CREATE INDEX export_jobs_template_id_idx ON export_jobs USING btree (template_id);
CREATE INDEX export_jobs_token_id_idx ON export_jobs USING btree (token_id);
CREATE INDEX export_jobs_user_id_idx ON export_jobs USING btree (user_id, created_at DESC, id DESC);
CREATE INDEX export_jobs_waiting_idx ON export_jobs USING btree (user_id, created_at, id) WHERE state = 'queued'::text AND queue_job_id IS NULL;
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON export_jobs FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _500_notify AFTER UPDATE OF state ON export_jobs FOR EACH ROW WHEN ((new.state = ANY (ARRAY['completed'::text, 'failed'::text])) AND old.state <> new.state AND new.token_id IS NULL) EXECUTE FUNCTION tg_export_jobs__notify();
CREATE TRIGGER _500_schedule_file_deletion AFTER DELETE ON export_jobs FOR EACH ROW EXECUTE FUNCTION tg_export_jobs__schedule_file_deletion();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON export_jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportJob', 'id', '', 'attempt', 'exported_rows', 'state=status', 'failures', 'queue_job_id');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON export_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportJob', 'id', '', 'attempt', 'exported_rows', 'state=status', 'failures', 'queue_job_id');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON export_jobs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportJob', 'id', '', 'attempt', 'exported_rows', 'state=status', 'failures', 'queue_job_id');

create policy export_jobs_owner on export_jobs for all to office_owner
  using (true)
  with check (true);

create policy export_jobs_read on export_jobs for select to office_api
  using ((( SELECT has_any_permission(VARIADIC ARRAY['exports.read'::text, 'exports.create'::text]) AS has_any_permission) AND (user_id = ( SELECT current_user_id() AS current_user_id)) AND ((( SELECT current_token_id() AS current_token_id) IS NULL) OR (token_id = ( SELECT current_token_id() AS current_token_id)))));
grant select (xmin, id, user_id, token_id, template_id, source, format, state, total_rows, exported_rows, file_size, error_message, notes, started_at, finished_at, expires_at, created_at, updated_at, attempt, failures, file_key, queue_job_id, query, entity) on export_jobs to office_api;

comment on table export_jobs is '@group Exports 40
@icon file
@title Exports
@titleOne Export
@label created_at format
@read exports.read
@create exports.create
@owner user_id token_id
@audit ExportJob id except exported_rows attempt failures queue_job_id
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

comment on column export_jobs.error_message is '@list 8
@title Error
A message that explains why the export failed or is retried; null without an error.';
comment on column export_jobs.notes is 'Notes for readers of the file, such as deleted products, unavailable pictures or truncated texts.';
comment on column export_jobs.started_at is 'When processing of the export started.';

comment on column export_jobs.finished_at is '@list 7
When the export was completed, was cancelled or failed.';
comment on column export_jobs.expires_at is 'When the file expires and can no longer be downloaded.';

comment on column export_jobs.created_at is '@list 1
@title Asked for';

comment on column export_jobs.attempt is '@internal
Number of the latest attempt, from 1; part of the file''s key.';

comment on column export_jobs.failures is '@internal
Failed attempts.';

comment on column export_jobs.file_key is '@internal
Where the finished file is in the object store.';

comment on column export_jobs.queue_job_id is '@internal
The job in the queue.';
comment on column export_jobs.query is 'The search whose rows are exported; null for an export of given products.';

comment on column export_jobs.entity is '@list off
@title List
@widget list
The name of the exported list, such as `orders`; null for an export of products by a template.';
comment on constraint export_jobs_file_check on export_jobs is 'must have a file when completed, and only then';
comment on constraint export_jobs_format_check on export_jobs is 'must be xlsx, csv or jsonl';
comment on constraint export_jobs_state_check on export_jobs is 'must be queued, running, completed, failed, cancelled or expired';

comment on constraint export_jobs_template_id_fkey on export_jobs is '@fieldName template
@forwardBehavior +singularRelation:resource:single';

create table export_slots (
  queue_job_id bigint not null,
  user_id uuid not null,
  constraint export_slots_pkey PRIMARY KEY (queue_job_id)
);
alter table export_slots enable row level security, force row level security;

create policy export_slots_owner on export_slots for all to office_owner
  using (true)
  with check (true);

comment on table export_slots is '@internal
@audit off because it is the state of the queue
The exports that may run, at most EXPORT_CONCURRENCY. A row exists as long as its job in the queue, also when the export was deleted.';

create table export_template_columns (
  id uuid not null default uuidv7(),
  template_id uuid not null,
  "position" integer not null,
  field text not null,
  title text collate display_order not null,
  width numeric(5,2),
  number_format text,
  constraint export_template_columns_number_format_check CHECK (is_label(number_format, 200)),
  constraint export_template_columns_pkey PRIMARY KEY (id),
  constraint export_template_columns_position_check CHECK ("position" >= 1 AND "position" <= 200),
  constraint export_template_columns_position_key UNIQUE (template_id, "position"),
  constraint export_template_columns_template_id_fkey FOREIGN KEY (template_id) REFERENCES export_templates(id) ON DELETE CASCADE,
  constraint export_template_columns_title_check CHECK (is_label(title, 200)),
  constraint export_template_columns_width_check CHECK (width >= 1::numeric AND width <= 255::numeric)
);
alter table export_template_columns enable row level security, force row level security;
CREATE TRIGGER _800_audit_delete AFTER DELETE ON export_template_columns REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplateColumn', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON export_template_columns REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplateColumn', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON export_template_columns REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplateColumn', 'id', '');

create policy export_template_columns_owner on export_template_columns for all to office_owner
  using (true)
  with check (true);

create policy export_template_columns_read on export_template_columns for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['exports.read'::text, 'exporttemplates.update'::text]) AS has_any_permission));
grant select (xmin, id, template_id, "position", field, title, width, number_format) on export_template_columns to office_api;

comment on table export_template_columns is '@read exports.read
@create exporttemplates.update
@update exporttemplates.update
@delete exporttemplates.update
@root off
@audit ExportTemplateColumn
@defaultOrder position
A column of a table, or a line of a form.';
comment on column export_template_columns."position" is 'The position of the column, from 1.';
comment on column export_template_columns.field is 'A field that `exportFields` or `listExportFields` lists.';
comment on column export_template_columns.title is 'The heading of the column.';
comment on column export_template_columns.width is 'The width in characters, a decimal as text; null for an automatic width.';
comment on column export_template_columns.number_format is 'The Excel format of numbers or dates, such as `0.00` or `yyyy-mm-dd`.';
comment on constraint export_template_columns_number_format_check on export_template_columns is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint export_template_columns_position_check on export_template_columns is 'must be from 1 to 200';

comment on constraint export_template_columns_template_id_fkey on export_template_columns is '@foreignFieldName columns
@backwardBehavior +manyRelation:resource:list';
comment on constraint export_template_columns_title_check on export_template_columns is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint export_template_columns_width_check on export_template_columns is 'must be from 1 to 255';

create table export_templates (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  description text,
  entity text collate "C" not null default 'products'::text,
  kind export_template_kind not null,
  workbook_id uuid,
  owner_user_id uuid,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint export_templates_description_check CHECK (char_length(description) <= 500),
  constraint export_templates_name_check CHECK (is_label(name, 100)),
  constraint export_templates_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint export_templates_pkey PRIMARY KEY (id),
  constraint export_templates_workbook_id_fkey FOREIGN KEY (workbook_id) REFERENCES export_workbooks(id) ON DELETE RESTRICT
);
alter table export_templates enable row level security, force row level security;
CREATE INDEX export_templates_owner_user_id_idx ON export_templates USING btree (owner_user_id);
CREATE INDEX export_templates_words_idx ON export_templates USING gin (search_text(name) gin_trgm_ops);
CREATE INDEX export_templates_workbook_id_idx ON export_templates USING btree (workbook_id);
CREATE UNIQUE INDEX export_templates_name_key ON export_templates USING btree (name_key(name));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON export_templates FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON export_templates FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON export_templates REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplate', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON export_templates REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplate', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON export_templates REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportTemplate', 'id', '');

create policy export_templates_owner on export_templates for all to office_owner
  using (true)
  with check (true);

create policy export_templates_read on export_templates for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['exports.read'::text, 'exporttemplates.update'::text]) AS has_any_permission));
grant select (xmin, id, name, description, entity, kind, workbook_id, owner_user_id, created_at, updated_at) on export_templates to office_api;

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
comment on constraint export_templates_description_check on export_templates is 'must be 500 characters at most';
comment on constraint export_templates_name_check on export_templates is 'must be 1 to 100 visible characters without spaces at its ends';

comment on constraint export_templates_workbook_id_fkey on export_templates is '@fieldName workbook
@forwardBehavior +singularRelation:resource:single';
comment on index export_templates_name_key is 'An export template of this name exists already.';

create table export_workbooks (
  id uuid not null default uuidv7(),
  entity text collate "C" not null default 'products'::text,
  kind export_template_kind not null,
  file_name text not null,
  file_size integer not null,
  file_sha256 text not null,
  file_key text not null,
  fields text[] not null,
  uploaded_by_user_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint export_workbooks_file_name_check CHECK (is_label(file_name, 200)),
  constraint export_workbooks_pkey PRIMARY KEY (id),
  constraint export_workbooks_uploaded_by_user_id_fkey FOREIGN KEY (uploaded_by_user_id) REFERENCES users(id) ON DELETE SET NULL
);
alter table export_workbooks enable row level security, force row level security;
CREATE INDEX export_workbooks_created_at_idx ON export_workbooks USING btree (created_at);
CREATE INDEX export_workbooks_uploaded_by_user_id_idx ON export_workbooks USING btree (uploaded_by_user_id);
CREATE TRIGGER _500_schedule_file_deletion AFTER DELETE ON export_workbooks FOR EACH ROW EXECUTE FUNCTION tg_export_workbooks__schedule_file_deletion();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON export_workbooks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportWorkbook', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON export_workbooks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportWorkbook', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON export_workbooks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ExportWorkbook', 'id', '');

create policy export_workbooks_owner on export_workbooks for all to office_owner
  using (true)
  with check (true);

create policy export_workbooks_read on export_workbooks for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['exports.read'::text, 'exporttemplates.update'::text]) AS has_any_permission));
grant select (xmin, id, entity, kind, file_name, file_size, file_sha256, file_key, fields, uploaded_by_user_id, created_at) on export_workbooks to office_api;

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
comment on column export_workbooks.fields is 'The fields named by the placeholders.';
comment on column export_workbooks.uploaded_by_user_id is 'The user who uploaded the file.';
comment on constraint export_workbooks_file_name_check on export_workbooks is 'must be 1 to 200 visible characters without spaces at its ends';

create table idempotency_keys (
  principal text not null,
  key_hash bytea not null,
  request_hash bytea not null,
  permissions text[] not null,
  answer json,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_pkey PRIMARY KEY (principal, key_hash)
);
alter table idempotency_keys enable row level security, force row level security;
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys USING btree (created_at);

create policy idempotency_keys_owner on idempotency_keys for all to office_owner
  using (true)
  with check (true);

comment on table idempotency_keys is '@internal
@audit off because the mutation itself is recorded
A mutation that took effect under an `Idempotency-Key`, with its response. Kept for a day.';
comment on column idempotency_keys.principal is 'The owner of the key: `user:` or `token:` and the id.';
comment on column idempotency_keys.key_hash is 'SHA-256 of the key, so that a secret sent as a key is not stored.';
comment on column idempotency_keys.request_hash is 'SHA-256 of the document, the operation name and the variables.';
comment on column idempotency_keys.permissions is 'The caller''s permissions. A caller who has lost one of them does not get the stored response.';
comment on column idempotency_keys.answer is 'The response as it was sent; null when it contained a secret.';

create table invitations (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  email text collate display_order not null,
  role_id uuid not null,
  state text not null default 'pending'::text,
  expires_at timestamp with time zone not null,
  invited_by_user_id uuid,
  accepted_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  mailed_at timestamp with time zone,
  mail_error text,
  mail_attempts integer not null default 0,
  mail_number integer not null default 1,
  constraint invitations_invited_by_user_id_fkey FOREIGN KEY (invited_by_user_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_state_check CHECK (state = ANY (ARRAY['pending'::text, 'accepted'::text, 'expired'::text])),
  constraint invitations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table invitations enable row level security, force row level security;
CREATE INDEX invitations_created_at_idx ON invitations USING btree (created_at);
CREATE INDEX invitations_expires_at_idx ON invitations USING btree (expires_at) WHERE state = 'pending'::text;
CREATE INDEX invitations_invited_by_user_id_idx ON invitations USING btree (invited_by_user_id);
CREATE INDEX invitations_role_id_idx ON invitations USING btree (role_id) WHERE state = 'pending'::text;
CREATE INDEX invitations_user_id_idx ON invitations USING btree (user_id);
CREATE INDEX invitations_words_idx ON invitations USING gin (search_text(email) gin_trgm_ops);
CREATE UNIQUE INDEX invitations_one_pending_key ON invitations USING btree (user_id) WHERE state = 'pending'::text;
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON invitations FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_end BEFORE UPDATE OF state ON invitations FOR EACH ROW WHEN (new.state = 'expired'::text AND old.state <> 'expired'::text) EXECUTE FUNCTION tg_invitations__end();
CREATE TRIGGER _500_notify AFTER UPDATE OF state ON invitations FOR EACH ROW WHEN (new.state = 'accepted'::text AND old.state <> new.state) EXECUTE FUNCTION tg_invitations__notify();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON invitations REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Invitation', 'id', '', 'mail_attempts', 'state=status');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON invitations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Invitation', 'id', '', 'mail_attempts', 'state=status');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON invitations REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Invitation', 'id', '', 'mail_attempts', 'state=status');

create policy invitations_managed on invitations for select to office_api
  using (( SELECT has_permission('invitations.create'::text) AS has_permission));

create policy invitations_owner on invitations for all to office_owner
  using (true)
  with check (true);

create policy invitations_read on invitations for select to office_api
  using (( SELECT has_permission('invitations.read'::text) AS has_permission));
grant select (xmin, id, user_id, email, role_id, state, expires_at, invited_by_user_id, accepted_at, created_at, updated_at, revoked_at, mailed_at, mail_error, mail_attempts, mail_number) on invitations to office_api;

comment on table invitations is '@group People 52
@icon mail
@read invitations.read
@audit Invitation except mail_attempts
@auditReads
@defaultOrder created_at desc
An invitation for a person to join the staff with a role.';

comment on column invitations.user_id is '@list 2
The inactive user that the invitation created.';

comment on column invitations.email is '@search word
@personal user_id
@list 1
@widget email
The e-mail address of the invited person.';

comment on column invitations.role_id is '@list 3
The role that the user gets; it may have been deleted since.';

comment on column invitations.state is '@internal
@auditName status
The stored state; `status` also considers the time.';

comment on column invitations.expires_at is '@list 4
@title Ends
When the invitation expires.';
comment on column invitations.invited_by_user_id is 'The user who sent the invitation.';

comment on column invitations.accepted_at is '@list 5
When the invitation was accepted.';
comment on column invitations.revoked_at is 'When the invitation was revoked; null for an invitation that was not revoked.';

comment on column invitations.mailed_at is '@list 6
When the mail server accepted the latest mail of the invitation; null while the mail is pending or has failed.';

comment on column invitations.mail_error is '@personal user_id
@list 7
A message that explains why the latest mail was not sent; null without an error.';

comment on column invitations.mail_attempts is '@internal
Attempts to send the latest mail.';

comment on column invitations.mail_number is '@internal
Number of the latest mail of this invitation: 1, plus one for each time it was resent.';

comment on constraint invitations_invited_by_user_id_fkey on invitations is '@fieldName invitedBy
@behavior +singularRelation:resource:single';
comment on constraint invitations_user_id_fkey on invitations is '@behavior +singularRelation:resource:single';
comment on index invitations_one_pending_key is 'This person has a pending invitation already.';

create table jobs (
  id uuid not null default uuidv7(),
  kind text collate "C" not null,
  subject text,
  state job_state not null default 'QUEUED'::job_state,
  attempts integer not null default 0,
  max_attempts integer not null,
  error text,
  user_id uuid not null,
  api_token_id uuid,
  correlation_id text collate "C",
  created_at timestamp with time zone not null default now(),
  next_attempt_at timestamp with time zone,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  queue_job_id bigint not null,
  input jsonb not null,
  key text,
  constraint jobs_api_token_id_fkey FOREIGN KEY (api_token_id) REFERENCES api_tokens(id) ON DELETE SET NULL,
  constraint jobs_finished_at_check CHECK ((finished_at IS NULL) = (state = ANY (ARRAY['QUEUED'::job_state, 'RUNNING'::job_state]))),
  constraint jobs_pkey PRIMARY KEY (id),
  constraint jobs_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table jobs enable row level security, force row level security;
CREATE INDEX jobs_api_token_id_idx ON jobs USING btree (api_token_id, created_at DESC, id DESC);
CREATE INDEX jobs_correlation_id_idx ON jobs USING btree (correlation_id);
CREATE INDEX jobs_created_at_idx ON jobs USING btree (created_at, id);
CREATE INDEX jobs_finished_at_idx ON jobs USING btree (finished_at);
CREATE INDEX jobs_kind_idx ON jobs USING btree (kind, created_at DESC, id DESC);
CREATE INDEX jobs_queue_job_id_idx ON jobs USING btree (queue_job_id) WHERE finished_at IS NULL;
CREATE INDEX jobs_subject_search_idx ON jobs USING gin (search_text(subject) gin_trgm_ops);
CREATE INDEX jobs_user_id_idx ON jobs USING btree (user_id, created_at DESC, id DESC);
CREATE TRIGGER _500_notify AFTER UPDATE OF state ON jobs FOR EACH ROW WHEN (new.state = 'FAILED'::job_state AND old.state <> new.state) EXECUTE FUNCTION tg_jobs__notify();

create policy jobs_own on jobs for select to office_api
  using (((user_id = ( SELECT current_user_id() AS current_user_id)) AND (NOT ( SELECT is_scoped() AS is_scoped)) AND ((( SELECT current_token_id() AS current_token_id) IS NULL) OR (api_token_id = ( SELECT current_token_id() AS current_token_id)))));

create policy jobs_owner on jobs for all to office_owner
  using (true)
  with check (true);

create policy jobs_read on jobs for select to office_api
  using (( SELECT has_permission('audit.read'::text) AS has_permission));
grant select (xmin, id, kind, subject, state, attempts, max_attempts, error, user_id, api_token_id, correlation_id, created_at, next_attempt_at, started_at, finished_at, queue_job_id, input, key) on jobs to office_api;

comment on table jobs is '@group Operations 60
@icon list
@label kind subject
@read audit.read
@audit off because an action is recorded where it takes effect; retrying and cancelling are recorded by their functions
@watch off because each attempt of a job changes its row, and the user of a failed job is notified
@connection
@defaultOrder created_at desc, id desc
A background job that a user''s action started, such as a mail to send or a workflow to call.';

comment on column jobs.kind is '@list 1
@search exact
@behavior -attribute:orderBy
The kind of the job as a code, such as `product_sync`.';

comment on column jobs.subject is '@list 2
@search word
The subject of the job as text.';

comment on column jobs.state is '@list 3
@tone RUNNING info
@tone SUCCEEDED ok
@tone FAILED bad
The state of the job.';

comment on column jobs.attempts is '@list 4
The number of attempts, including a running one.';
comment on column jobs.max_attempts is 'The maximum number of attempts, after which the job fails.';

comment on column jobs.error is '@list 8
The error message of the last attempt; null without an error.';

comment on column jobs.user_id is '@list 5
The user whose action started the job.';
comment on column jobs.api_token_id is 'The API token of the action; null for a session.';

comment on column jobs.correlation_id is '@search exact
The correlation id of the request that started or retried the job.';

comment on column jobs.created_at is '@list 6
@title Queued';
comment on column jobs.next_attempt_at is 'The earliest time of the next attempt; null unless the job waits for it.';
comment on column jobs.started_at is 'When the first attempt started; null before.';

comment on column jobs.finished_at is '@list 7
When the job succeeded, failed or was cancelled; null before.';

comment on column jobs.queue_job_id is '@internal
The job in the queue.';

comment on column jobs.input is '@internal
The payload of the task, for a retry.';

comment on column jobs.key is '@internal
The key under which the queue holds at most one waiting job.';
comment on constraint jobs_finished_at_check on jobs is 'must be set for a finished job, and only for a finished job';

comment on constraint jobs_user_id_fkey on jobs is '@forwardFollows own
@forwardBehavior +singularRelation:resource:single
@fieldName user';

create table login_attempts (
  state_hash bytea not null,
  browser_hash bytea not null,
  provider text not null,
  nonce text not null,
  pkce_verifier text not null,
  return_to text not null,
  challenge text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint login_attempts_pkey PRIMARY KEY (state_hash)
);
alter table login_attempts enable row level security, force row level security;
CREATE INDEX login_attempts_expires_at_idx ON login_attempts USING btree (expires_at);

create policy login_attempts_owner on login_attempts for all to office_owner
  using (true)
  with check (true);

comment on table login_attempts is '@internal
@audit off because it lives for minutes, and the session that it leads to is recorded
A login that was sent to its provider and has not come back.';

comment on column login_attempts.state_hash is '@secret
SHA-256 of the OAuth `state`, which the provider returns; single use.';

comment on column login_attempts.browser_hash is '@secret
SHA-256 of the cookie of the browser that started the login.';

comment on column login_attempts.nonce is '@secret
The nonce that the identity token must contain.';

comment on column login_attempts.pkce_verifier is '@secret
The PKCE code verifier.';
comment on column login_attempts.return_to is 'The allow-listed address of the front end.';
comment on column login_attempts.challenge is 'SHA-256 (base64url) of the front end''s verifier; null when it sent none.';

create table login_codes (
  code_hash bytea not null,
  user_id uuid not null,
  provider text not null,
  return_to text not null,
  challenge text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint login_codes_pkey PRIMARY KEY (code_hash),
  constraint login_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table login_codes enable row level security, force row level security;
CREATE INDEX login_codes_expires_at_idx ON login_codes USING btree (expires_at);
CREATE INDEX login_codes_user_id_idx ON login_codes USING btree (user_id);

create policy login_codes_owner on login_codes for all to office_owner
  using (true)
  with check (true);

comment on table login_codes is '@internal
@audit off because it lives for a minute, and the session that it opens is recorded
A code that the browser takes to the front end after a login, exchanged once for a session.';

comment on column login_codes.code_hash is '@secret
SHA-256 of the code.';
comment on column login_codes.return_to is 'The address that the code was sent to; the exchange must repeat it.';
comment on column login_codes.challenge is 'SHA-256 (base64url) of the verifier that the exchange must send; null when the login started without one.';

create table notification_preferences (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  kind notification_kind not null,
  in_inbox boolean not null default true,
  mail notification_mail not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint notification_preferences_pkey PRIMARY KEY (id),
  constraint notification_preferences_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table notification_preferences enable row level security, force row level security;
CREATE UNIQUE INDEX notification_preferences_user_id_kind_key ON notification_preferences USING btree (user_id, kind);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON notification_preferences FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON notification_preferences REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON notification_preferences REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON notification_preferences REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy notification_preferences_owner on notification_preferences for all to office_owner
  using (true)
  with check (true);

create policy notification_preferences_read on notification_preferences for select to office_api
  using ((( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, kind, in_inbox, mail, created_at, updated_at) on notification_preferences to office_api;

comment on table notification_preferences is '@group Office 52
@icon bell
@title Notification settings
@titleOne Notification setting
@read login
@owner user_id
@audit off because rows are made with each user; a change is recorded by its function
@defaultOrder kind
@label kind
How the caller receives one kind of notification.';

comment on column notification_preferences.user_id is '@internal
Whose preference it is.';

comment on column notification_preferences.kind is '@mutations off
@list 1
The kind of event.';

comment on column notification_preferences.in_inbox is '@list 2
@title Inbox
Whether notifications of this kind arrive as unread. Otherwise they are marked as read immediately.';

comment on column notification_preferences.mail is '@list 3
@title By e-mail
Whether and when notifications of this kind are sent by e-mail.';
comment on index notification_preferences_user_id_kind_key is 'The person has this preference already.';

create table notifications (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  kind notification_kind not null,
  title text collate display_order not null,
  body text,
  entity text collate "C",
  entity_id text collate "C",
  occurrences integer not null default 1,
  happened_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  read_at timestamp with time zone,
  subject_key text not null,
  mail_at timestamp with time zone,
  mail_id uuid,
  mailed_at timestamp with time zone,
  row_ids uuid[],
  constraint notifications_body_check CHECK (char_length(body) <= 2000),
  constraint notifications_entity_check CHECK (entity ~ '^[A-Z][A-Za-z]*$'::text),
  constraint notifications_entity_id_check CHECK (char_length(entity_id) <= 100),
  constraint notifications_occurrences_check CHECK (occurrences > 0),
  constraint notifications_pkey PRIMARY KEY (id),
  constraint notifications_title_check CHECK (char_length(title) >= 1 AND char_length(title) <= 300),
  constraint notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table notifications enable row level security, force row level security;
CREATE INDEX notifications_created_at_idx ON notifications USING btree (created_at, id);
CREATE INDEX notifications_happened_at_idx ON notifications USING btree (happened_at, id);
CREATE INDEX notifications_mail_at_idx ON notifications USING btree (mail_at) WHERE mail_id IS NULL;
CREATE INDEX notifications_mail_id_idx ON notifications USING btree (mail_id) WHERE mail_id IS NOT NULL;
CREATE INDEX notifications_subject_idx ON notifications USING btree (kind, subject_key, created_at DESC);
CREATE INDEX notifications_title_idx ON notifications USING gin (search_text(title) gin_trgm_ops);
CREATE INDEX notifications_unread_idx ON notifications USING btree (user_id) WHERE read_at IS NULL;
CREATE INDEX notifications_user_id_idx ON notifications USING btree (user_id, happened_at DESC, id DESC);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON notifications FOR EACH ROW EXECUTE FUNCTION tg__timestamps();

create policy notifications_owner on notifications for all to office_owner
  using (true)
  with check (true);

create policy notifications_read on notifications for select to office_api
  using ((( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, kind, title, body, entity, entity_id, occurrences, happened_at, created_at, updated_at, read_at, subject_key, mail_at, mail_id, mailed_at, row_ids) on notifications to office_api;

comment on table notifications is '@group Office 51
@icon bell
@read login
@owner user_id
@audit off because the change that caused it is recorded
@watch off because watches create notifications
@connection
@filter unreadOnly -readAt:*
@defaultOrder happened_at desc, id desc
@label title
A notification of the caller. Kept for 60 days.';

comment on column notifications.user_id is '@internal
The recipient.';

comment on column notifications.kind is '@list 3
The kind of event.';

comment on column notifications.title is '@list 1
@search word
The event in one line.';

comment on column notifications.body is '@list 2
@title Details
Details of the event.';

comment on column notifications.entity is '@title About
The type of the related row, such as `ExportJob`.';

comment on column notifications.entity_id is '@title ID of the row
@widget row
The id of the related row.';

comment on column notifications.occurrences is '@title Times
How often the event repeated within an hour of the first.';

comment on column notifications.happened_at is '@list 4
@title When
When the event happened, for the last time if it repeated.';
comment on column notifications.created_at is '@title Since';

comment on column notifications.read_at is '@list 5
When the recipient marked it as read; null before.';

comment on column notifications.subject_key is '@internal
Notifications of one kind and subject within an hour are merged.';

comment on column notifications.mail_at is '@internal
When it is to be sent by mail; null for never.';

comment on column notifications.mail_id is '@internal
The mail that it is part of; null before.';

comment on column notifications.mailed_at is '@internal
When that mail was sent.';

comment on column notifications.row_ids is '@internal
The rows of a search watch that its title counts; null for other kinds.';
comment on constraint notifications_body_check on notifications is 'must be 2000 characters at most';
comment on constraint notifications_entity_check on notifications is 'must be the name of a type';
comment on constraint notifications_entity_id_check on notifications is 'must be 100 characters at most';
comment on constraint notifications_occurrences_check on notifications is 'must be 1 at least';
comment on constraint notifications_title_check on notifications is 'must be 1 to 300 characters';

create table office_settings (
  id uuid not null default uuidv7(),
  time_zone text not null default 'Europe/Copenhagen'::text,
  locale text not null default 'en-GB'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint office_settings_locale_check CHECK (is_locale(locale)),
  constraint office_settings_pkey PRIMARY KEY (id),
  constraint office_settings_time_zone_check CHECK (is_time_zone(time_zone))
);
alter table office_settings enable row level security, force row level security;
CREATE UNIQUE INDEX office_settings_single_key ON office_settings USING btree ((true));
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON office_settings FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON office_settings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OfficeSetting', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON office_settings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OfficeSetting', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON office_settings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OfficeSetting', 'id', '');

create policy office_settings_owner on office_settings for all to office_owner
  using (true)
  with check (true);

create policy office_settings_read on office_settings for select to office_api
  using (( SELECT is_login() AS is_login));

create policy office_settings_update on office_settings for update to office_api
  using ((( SELECT has_permission('settings.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)))
  with check ((( SELECT has_permission('settings.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));
grant select (xmin, id, time_zone, locale, created_at, updated_at) on office_settings to office_api;
grant update (time_zone, locale) on office_settings to office_api;

comment on table office_settings is '@group Office 70
@icon gear
@title Office settings
@titleOne Office settings
@read login
@update settings.update
@mutations update
@audit OfficeSetting
@label time_zone
The settings of the office. The table has one row.';

comment on column office_settings.time_zone is '@list 1
The time zone of the office, such as `Europe/Copenhagen`. It is the default for users without a time zone.';

comment on column office_settings.locale is '@list 2
The locale of the office, such as `da-DK`, for the format of dates and numbers. It is the default for users without a locale.';
comment on constraint office_settings_locale_check on office_settings is 'must be the name of a locale, such as da-DK';
comment on constraint office_settings_time_zone_check on office_settings is 'must be the name of a time zone, such as Europe/Copenhagen';
comment on index office_settings_single_key is 'The office has its settings already.';

create table order_import_causes (
  kind order_import_issue_kind not null,
  code text collate "C" not null,
  key text collate "C" not null,
  order_count bigint not null,
  occurrences bigint not null,
  first_seen_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  is_exact boolean not null default true,
  constraint order_import_causes_pkey PRIMARY KEY (kind, code, key)
);
alter table order_import_causes enable row level security, force row level security;
CREATE INDEX order_import_causes_size_idx ON order_import_causes USING btree (kind, order_count DESC, last_seen_at DESC, code, key);

create policy order_import_causes_owner on order_import_causes for all to office_owner
  using (true)
  with check (true);

comment on table order_import_causes is '@internal
@audit off because triggers compute it from the issues
The causes of open import issues with their counts; superseded orders are left out.';
comment on column order_import_causes.is_exact is 'False when the issue that was seen first or last may have been resolved; both times are then read from the issues.';

create table order_import_issues (
  id uuid not null default uuidv7(),
  order_id uuid not null,
  kind order_import_issue_kind not null,
  code text collate "C" not null,
  key text collate "C" not null,
  message text not null,
  value text,
  path text,
  occurrences integer not null default 1,
  first_seen_at timestamp with time zone not null default now(),
  last_seen_at timestamp with time zone not null default now(),
  resolved_at timestamp with time zone,
  order_placed_at timestamp with time zone not null,
  order_is_superseded boolean not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint order_import_issues_cause_key UNIQUE (order_id, code, key),
  constraint order_import_issues_code_check CHECK (code ~ '^[a-z_]+\.[a-z_]+$'::text AND char_length(code) <= 80),
  constraint order_import_issues_key_check CHECK (char_length(key) <= 300),
  constraint order_import_issues_last_seen_at_check CHECK (last_seen_at >= first_seen_at),
  constraint order_import_issues_message_check CHECK (char_length(message) >= 1 AND char_length(message) <= 2000),
  constraint order_import_issues_occurrences_check CHECK (occurrences > 0),
  constraint order_import_issues_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id) ON DELETE CASCADE,
  constraint order_import_issues_path_check CHECK (char_length(path) <= 300),
  constraint order_import_issues_pkey PRIMARY KEY (id),
  constraint order_import_issues_value_check CHECK (char_length(value) <= 2000)
);
alter table order_import_issues enable row level security, force row level security;
CREATE INDEX order_import_issues_code_key_idx ON order_import_issues USING btree (code, key);
CREATE INDEX order_import_issues_groups_idx ON order_import_issues USING btree (kind, code, key, order_placed_at DESC, order_id) INCLUDE (occurrences, first_seen_at, last_seen_at) WHERE resolved_at IS NULL AND NOT order_is_superseded;
CREATE INDEX order_import_issues_key_idx ON order_import_issues USING btree (key);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON order_import_issues FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_copy_order BEFORE INSERT ON order_import_issues FOR EACH ROW WHEN (new.order_placed_at IS NULL OR new.order_is_superseded IS NULL) EXECUTE FUNCTION tg_order_import_issues__copy_order();
CREATE TRIGGER _210_copy_other_order BEFORE UPDATE OF order_id ON order_import_issues FOR EACH ROW EXECUTE FUNCTION tg_order_import_issues__copy_order();
CREATE TRIGGER _500_flag_orders_delete AFTER DELETE ON order_import_issues REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__flag_orders();
CREATE TRIGGER _500_flag_orders_insert AFTER INSERT ON order_import_issues REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__flag_orders();
CREATE TRIGGER _500_flag_orders_update AFTER UPDATE ON order_import_issues REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__flag_orders();
CREATE TRIGGER _600_count_causes_delete AFTER DELETE ON order_import_issues REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__count_causes();
CREATE TRIGGER _600_count_causes_insert AFTER INSERT ON order_import_issues REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__count_causes();
CREATE TRIGGER _600_count_causes_update AFTER UPDATE ON order_import_issues REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_order_import_issues__count_causes();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON order_import_issues REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON order_import_issues REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON order_import_issues REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy order_import_issues_of_import on order_import_issues for select to office_api
  using (( SELECT has_permission('erpsync.read'::text) AS has_permission));

create policy order_import_issues_owner on order_import_issues for all to office_owner
  using (true)
  with check (true);

create policy order_import_issues_read on order_import_issues for select to office_api
  using (( SELECT has_permission('orders.read'::text) AS has_permission));
grant select (xmin, id, order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at, resolved_at, order_placed_at, order_is_superseded, created_at, updated_at) on order_import_issues to office_api;

comment on table order_import_issues is '@read orders.read
@audit off because a row tells its own history: when it was seen first and last, and when it was resolved
@root off
@defaultOrder kind, code, key
An issue of an order that the import could not interpret completely.';
comment on column order_import_issues.kind is 'Whether a mapping rule or data of the ERP is missing.';

comment on column order_import_issues.code is '@search exact
The code of the issue, such as `line_kind.unmapped`.';

comment on column order_import_issues.key is '@search exact
The subject of the issue, such as a product group. `code` and `key` together identify the cause.';
comment on column order_import_issues.message is 'A message that describes the issue.';
comment on column order_import_issues.value is 'The value, as recorded in the ERP.';
comment on column order_import_issues.path is 'The path of the first occurrence in the order, such as `lines[2].productGroup`.';
comment on column order_import_issues.occurrences is 'The number of occurrences in the order at the last import.';
comment on column order_import_issues.first_seen_at is 'When an import first found the issue. The time is kept if the issue is resolved and returns.';
comment on column order_import_issues.last_seen_at is 'When an import of a changed order last found the issue. Importing an unchanged order does not update this time.';
comment on column order_import_issues.resolved_at is 'When an import no longer found the issue; null for an open issue.';

comment on column order_import_issues.order_placed_at is '@internal
Copy of the order''s `placed_at` for the index of the groups.';

comment on column order_import_issues.order_is_superseded is '@internal
Whether the order is superseded, copied for the index of the groups.';
comment on constraint order_import_issues_cause_key on order_import_issues is 'The order has this issue already.';
comment on constraint order_import_issues_code_check on order_import_issues is 'must be two words joined by a dot, such as line_kind.unmapped';
comment on constraint order_import_issues_key_check on order_import_issues is 'must be 300 characters at most';
comment on constraint order_import_issues_last_seen_at_check on order_import_issues is 'must not be before firstSeenAt';
comment on constraint order_import_issues_message_check on order_import_issues is 'must be 1 to 2000 characters';
comment on constraint order_import_issues_occurrences_check on order_import_issues is 'must be 1 at least';

comment on constraint order_import_issues_order_id_fkey on order_import_issues is '@foreignFieldName importIssueHistory
@behavior +manyRelation:resource:list';
comment on constraint order_import_issues_path_check on order_import_issues is 'must be 300 characters at most';
comment on constraint order_import_issues_value_check on order_import_issues is 'must be 2000 characters at most';

create table order_lines (
  id uuid not null default uuidv7(),
  order_id uuid not null,
  line_number integer not null,
  kind order_line_kind,
  erp_product_group text,
  product_id uuid,
  erp_product_number text collate "C",
  description text,
  quantity numeric(14,3),
  unit text,
  unit_price numeric(14,4),
  discount_percent numeric(5,2),
  vat_code text,
  erp_vat_code text,
  vat_percent numeric(5,2),
  amount numeric(14,2),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  warehouse text,
  erp_warehouse text,
  constraint order_lines_description_check CHECK (char_length(description) <= 2000),
  constraint order_lines_erp_product_group_check CHECK (char_length(erp_product_group) <= 100),
  constraint order_lines_erp_product_number_check CHECK (char_length(erp_product_number) <= 50),
  constraint order_lines_erp_vat_code_check CHECK (char_length(erp_vat_code) <= 50),
  constraint order_lines_erp_warehouse_check CHECK (char_length(erp_warehouse) <= 100),
  constraint order_lines_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id) ON DELETE CASCADE,
  constraint order_lines_order_id_line_number_key UNIQUE (order_id, line_number),
  constraint order_lines_pkey PRIMARY KEY (id),
  constraint order_lines_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE SET NULL,
  constraint order_lines_unit_check CHECK (char_length(unit) <= 50),
  constraint order_lines_vat_code_check CHECK (char_length(vat_code) <= 50),
  constraint order_lines_warehouse_check CHECK (char_length(warehouse) <= 100)
);
alter table order_lines enable row level security, force row level security;
CREATE INDEX order_lines_erp_product_group_idx ON order_lines USING btree (erp_product_group text_pattern_ops);
CREATE INDEX order_lines_erp_product_number_idx ON order_lines USING btree (erp_product_number);
CREATE INDEX order_lines_product_id_idx ON order_lines USING btree (product_id);
CREATE INDEX order_lines_unlinked_idx ON order_lines USING btree (erp_product_number) WHERE product_id IS NULL AND kind = 'PRODUCT'::order_line_kind AND erp_product_number IS NOT NULL;
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON order_lines FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON order_lines REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OrderLine', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON order_lines REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OrderLine', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON order_lines REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('OrderLine', 'id', '');

create policy order_lines_owner on order_lines for all to office_owner
  using (true)
  with check (true);

create policy order_lines_read on order_lines for select to office_api
  using (( SELECT has_permission('orders.read'::text) AS has_permission));
grant select (xmin, id, order_id, line_number, kind, erp_product_group, product_id, erp_product_number, description, quantity, unit, unit_price, discount_percent, vat_code, erp_vat_code, vat_percent, amount, created_at, updated_at, warehouse, erp_warehouse) on order_lines to office_api;

comment on table order_lines is '@read orders.read
@audit OrderLine
@root off
@label description erp_product_number
@defaultOrder line_number
A line of an order.';

comment on column order_lines.order_id is '@list 1
The order of the line.';

comment on column order_lines.line_number is '@list 2
The number of the line in the order, assigned by the ERP.';

comment on column order_lines.kind is '@list 4
The kind of the line; null while the ERP''s product group has no mapping.';

comment on column order_lines.erp_product_group is '@search exact
The ERP''s product group, which determines `kind`.';
comment on column order_lines.product_id is 'The product; null for lines without a product, and until the product exists in this service.';

comment on column order_lines.erp_product_number is '@list 5
@search exact
The product number on the line, stored byte for byte.';

comment on column order_lines.description is '@list 3
The text of the line.';

comment on column order_lines.quantity is '@list 6
The number of units, a decimal as text; negative for returns, null if the ERP provides no valid quantity.';

comment on column order_lines.unit is '@list 7
The unit of the quantity, such as bottles or cases, as worded in the ERP.';

comment on column order_lines.unit_price is '@list 8
The price of one unit before discount and VAT, a decimal as text; null if the ERP provides no price.';

comment on column order_lines.discount_percent is '@list 9
@widget percent
The discount on the line in per cent, a decimal as text.';
comment on column order_lines.vat_code is 'The VAT code of the line; null while the ERP''s code has no mapping.';
comment on column order_lines.erp_vat_code is 'The ERP''s code of the VAT.';

comment on column order_lines.vat_percent is '@widget percent
The VAT rate in per cent, a decimal as text.';

comment on column order_lines.amount is '@list 10
The amount of the line after discount and before VAT, a decimal as text.';
comment on column order_lines.warehouse is 'The warehouse from which the line is shipped; null while the ERP''s code has no mapping.';
comment on column order_lines.erp_warehouse is 'The ERP''s code of the warehouse.';
comment on constraint order_lines_description_check on order_lines is 'must be 2000 characters at most';
comment on constraint order_lines_erp_product_group_check on order_lines is 'must be 100 characters at most';
comment on constraint order_lines_erp_product_number_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_erp_vat_code_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_erp_warehouse_check on order_lines is 'must be 100 characters at most';

comment on constraint order_lines_order_id_fkey on order_lines is '@fieldName order
@notNull
@foreignFieldName lines
@behavior +singularRelation:resource:single +manyRelation:resource:list';
comment on constraint order_lines_order_id_line_number_key on order_lines is 'The order has a line of this number already.';

comment on constraint order_lines_product_id_fkey on order_lines is '@foreignConnectionFieldName orderLines
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint order_lines_unit_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_vat_code_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_warehouse_check on order_lines is 'must be 100 characters at most';

create table orders (
  id uuid not null default uuidv7(),
  erp_order_number text collate "C" not null,
  erp_id text collate "C",
  customer_id uuid,
  erp_customer_number text collate "C",
  customer_name text collate display_order,
  customer_reference text,
  salesperson text,
  placed_at timestamp with time zone not null,
  requested_delivery_date date,
  status order_status not null default 'OPEN'::order_status,
  currency text,
  erp_currency text,
  net_amount numeric(14,2) not null default 0,
  discount_amount numeric(14,2) not null default 0,
  vat_amount numeric(14,2) not null default 0,
  total_amount numeric(14,2) not null default 0,
  payment_method text,
  erp_payment_method text,
  shipping_method text,
  erp_shipping_method text,
  warehouse text,
  erp_warehouse text,
  email text collate display_order,
  phone text,
  delivery_name text,
  delivery_address_line1 text,
  delivery_address_line2 text,
  delivery_postal_code text,
  delivery_city text,
  delivery_region text,
  delivery_country text,
  note text,
  has_import_mapping_issue boolean not null default false,
  has_import_data_issue boolean not null default false,
  superseded_by_order_id uuid,
  erp_revision text,
  source_updated_at timestamp with time zone,
  imported_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  search_words text collate "C" not null generated always as (words_text(VARIADIC ARRAY[erp_order_number, customer_name, customer_reference, delivery_name])) stored,
  erased_at timestamp with time zone,
  constraint orders_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
  constraint orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id) ON DELETE SET NULL,
  constraint orders_customer_name_check CHECK (char_length(customer_name) <= 300),
  constraint orders_customer_reference_check CHECK (char_length(customer_reference) <= 200),
  constraint orders_delivery_address_line1_check CHECK (char_length(delivery_address_line1) <= 300),
  constraint orders_delivery_address_line2_check CHECK (char_length(delivery_address_line2) <= 300),
  constraint orders_delivery_city_check CHECK (char_length(delivery_city) <= 200),
  constraint orders_delivery_country_check CHECK (char_length(delivery_country) <= 100),
  constraint orders_delivery_name_check CHECK (char_length(delivery_name) <= 300),
  constraint orders_delivery_postal_code_check CHECK (char_length(delivery_postal_code) <= 40),
  constraint orders_delivery_region_check CHECK (char_length(delivery_region) <= 200),
  constraint orders_email_check CHECK (char_length(email) <= 254),
  constraint orders_erp_currency_check CHECK (char_length(erp_currency) <= 50),
  constraint orders_erp_customer_number_check CHECK (char_length(erp_customer_number) <= 50),
  constraint orders_erp_id_check CHECK (char_length(erp_id) <= 100),
  constraint orders_erp_order_number_check CHECK (char_length(erp_order_number) >= 1 AND char_length(erp_order_number) <= 50 AND erp_order_number ~ '^[[:print:]]+$'::text AND erp_order_number = btrim(erp_order_number)),
  constraint orders_erp_order_number_key UNIQUE (erp_order_number),
  constraint orders_erp_payment_method_check CHECK (char_length(erp_payment_method) <= 100),
  constraint orders_erp_revision_check CHECK (char_length(erp_revision) <= 300),
  constraint orders_erp_shipping_method_check CHECK (char_length(erp_shipping_method) <= 100),
  constraint orders_erp_warehouse_check CHECK (char_length(erp_warehouse) <= 100),
  constraint orders_note_check CHECK (char_length(note) <= 20000),
  constraint orders_payment_method_check CHECK (char_length(payment_method) <= 100),
  constraint orders_phone_check CHECK (char_length(phone) <= 80),
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_salesperson_check CHECK (char_length(salesperson) <= 200),
  constraint orders_shipping_method_check CHECK (char_length(shipping_method) <= 100),
  constraint orders_superseded_by_order_id_check CHECK (superseded_by_order_id <> id),
  constraint orders_superseded_by_order_id_fkey FOREIGN KEY (superseded_by_order_id) REFERENCES orders(id) ON DELETE SET NULL,
  constraint orders_warehouse_check CHECK (char_length(warehouse) <= 100)
);
alter table orders enable row level security, force row level security;
CREATE INDEX orders_created_at_idx ON orders USING btree (created_at, id);
CREATE INDEX orders_customer_id_idx ON orders USING btree (customer_id, placed_at DESC, id DESC);
CREATE INDEX orders_customer_reference_idx ON orders USING btree (customer_reference, erp_customer_number) WHERE customer_reference IS NOT NULL;
CREATE INDEX orders_data_gaps_idx ON orders USING btree (erp_order_number) WHERE has_import_data_issue;
CREATE INDEX orders_delivery_country_search_idx ON orders USING btree (search_text(delivery_country) text_pattern_ops);
CREATE INDEX orders_erp_customer_number_idx ON orders USING btree (erp_customer_number);
CREATE INDEX orders_erp_id_idx ON orders USING btree (erp_id);
CREATE INDEX orders_has_import_data_issue_idx ON orders USING btree (has_import_data_issue, placed_at DESC, id DESC);
CREATE INDEX orders_has_import_mapping_issue_idx ON orders USING btree (has_import_mapping_issue, placed_at DESC, id DESC);
CREATE INDEX orders_mapping_gaps_idx ON orders USING btree (erp_order_number) WHERE has_import_mapping_issue;
CREATE INDEX orders_payment_method_search_idx ON orders USING btree (search_text(payment_method) text_pattern_ops);
CREATE INDEX orders_placed_at_idx ON orders USING btree (placed_at DESC, id DESC) INCLUDE (search_words);
CREATE INDEX orders_search_idx ON orders USING gin (search_words gin_trgm_ops);
CREATE INDEX orders_shipping_method_search_idx ON orders USING btree (search_text(shipping_method) text_pattern_ops);
CREATE INDEX orders_status_idx ON orders USING btree (status, placed_at DESC, id DESC);
CREATE INDEX orders_status_order_idx ON orders USING btree (status, id);
CREATE INDEX orders_superseded_by_order_id_idx ON orders USING btree (superseded_by_order_id) WHERE superseded_by_order_id IS NOT NULL;
CREATE INDEX orders_total_amount_idx ON orders USING btree (total_amount, id);
CREATE INDEX orders_updated_at_idx ON orders USING btree (updated_at, id);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION tg__timestamps('search_words');
CREATE TRIGGER _500_copy_to_issues AFTER UPDATE OF placed_at, superseded_by_order_id ON orders FOR EACH ROW WHEN (new.placed_at <> old.placed_at OR (new.superseded_by_order_id IS NULL) <> (old.superseded_by_order_id IS NULL)) EXECUTE FUNCTION tg_orders__copy_to_issues();
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('orders');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON orders REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Order', 'id', 'search', 'search_words', 'has_import_mapping_issue', 'has_import_data_issue');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON orders REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Order', 'id', 'search', 'search_words', 'has_import_mapping_issue', 'has_import_data_issue');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Order', 'id', 'search', 'search_words', 'has_import_mapping_issue', 'has_import_data_issue');

create policy orders_owner on orders for all to office_owner
  using (true)
  with check (true);

create policy orders_read on orders for select to office_api
  using (( SELECT has_permission('orders.read'::text) AS has_permission));
grant select (xmin, id, erp_order_number, erp_id, customer_id, erp_customer_number, customer_name, customer_reference, salesperson, placed_at, requested_delivery_date, status, currency, erp_currency, net_amount, discount_amount, vat_amount, total_amount, payment_method, erp_payment_method, shipping_method, erp_shipping_method, warehouse, erp_warehouse, email, phone, delivery_name, delivery_address_line1, delivery_address_line2, delivery_postal_code, delivery_city, delivery_region, delivery_country, note, has_import_mapping_issue, has_import_data_issue, superseded_by_order_id, erp_revision, source_updated_at, imported_at, created_at, updated_at, search_words, erased_at) on orders to office_api;

comment on table orders is '@group Sales 20
@icon cart
@label erp_order_number customer_name
@summary erp_order_number placed_at status
@searchCollection orders
@searchSort placed_at desc
@read orders.read
@audit Order id except has_import_mapping_issue has_import_data_issue
@auditReads
@connection
@defaultOrder placed_at desc
A customer''s order, as recorded in the ERP.';

comment on column orders.erp_order_number is '@list 1
@title Number
@searchIndex searchable filter sort title Order number
@search exact word
The order number of the ERP, stored byte for byte with leading zeros.';

comment on column orders.erp_id is '@search exact
The id of the order in the ERP.';
comment on column orders.customer_id is 'The customer; null until the customer is imported.';

comment on column orders.erp_customer_number is '@searchIndex searchable filter title Customer number
@search exact
The customer number on the order.';

comment on column orders.customer_name is '@personal customer_id
@list 2
@searchIndex searchable facet sort
@search word
The customer''s name on the order.';

comment on column orders.customer_reference is '@searchIndex searchable
@search word
The customer''s reference for the order.';

comment on column orders.salesperson is '@searchIndex searchable facet
The salesperson, as recorded in the ERP.';

comment on column orders.placed_at is '@list 3
@searchIndex filter sort
When the order was placed.';

comment on column orders.requested_delivery_date is '@searchIndex filter sort
The delivery date that the customer requested.';

comment on column orders.status is '@list 4
@tone CANCELLED bad
@tone OPEN info
@tone PARTLY_SHIPPED warn
@tone SHIPPED ok
@tone INVOICED ok
@searchIndex facet
The status of the order in the ERP.';

comment on column orders.currency is '@searchIndex facet
The ISO 4217 code of the currency, such as `DKK`; null while the ERP''s code has no mapping.';
comment on column orders.erp_currency is 'The ERP''s code of the currency.';

comment on column orders.net_amount is '@widget money
The sum of all lines after discounts and before VAT, a decimal as text.';

comment on column orders.discount_amount is '@widget money
The discounts, already deducted from `netAmount`, a decimal as text.';

comment on column orders.vat_amount is '@widget money
The VAT amount, a decimal as text.';

comment on column orders.total_amount is '@list 5
@widget money
@title Total
@searchIndex filter sort
The total amount including VAT, a decimal as text.';

comment on column orders.payment_method is '@searchIndex facet
The payment method; null while the ERP''s code has no mapping.';
comment on column orders.erp_payment_method is 'The ERP''s code of the payment method.';

comment on column orders.shipping_method is '@searchIndex facet
The shipping method; null while the ERP''s code has no mapping.';
comment on column orders.erp_shipping_method is 'The ERP''s code of the shipping method.';

comment on column orders.warehouse is '@searchIndex facet
The warehouse from which most lines are shipped; null while the ERP''s code has no mapping.';
comment on column orders.erp_warehouse is 'The ERP''s code of the warehouse.';

comment on column orders.email is '@personal customer_id
@widget email
The e-mail address for messages about the order.';

comment on column orders.phone is '@personal customer_id
The phone number that the driver can call.';

comment on column orders.delivery_name is '@personal customer_id
@searchIndex searchable
@search word
The name of the recipient.';

comment on column orders.delivery_address_line1 is '@personal customer_id
The street and number.';

comment on column orders.delivery_address_line2 is '@personal customer_id
The second line of the address.';

comment on column orders.delivery_postal_code is '@personal customer_id
The postal code, as text.';

comment on column orders.delivery_city is '@personal customer_id
@searchIndex searchable filter
The town or city.';
comment on column orders.delivery_region is 'The state, province or county.';

comment on column orders.delivery_country is '@searchIndex facet
The name or code of the country, as recorded in the ERP.';

comment on column orders.note is '@personal customer_id
@widget long
A note from the customer or the ERP.';

comment on column orders.has_import_mapping_issue is '@list 7
@title Mapping issue
@searchIndex facet title Lacks a mapping
@behavior -attribute:orderBy
Whether the order contains a value without a mapping rule.';

comment on column orders.has_import_data_issue is '@list 8
@title Data issue
@searchIndex facet title Lacks data
@behavior -attribute:orderBy
Whether the order lacks data that only the ERP can supply.';
comment on column orders.superseded_by_order_id is 'The newer order that replaces this one.';
comment on column orders.erp_revision is 'The ERP''s revision of the order.';
comment on column orders.source_updated_at is 'When the order last changed in the ERP; null if the ERP does not provide this time.';

comment on column orders.imported_at is '@list 9
When an import last changed the order. Importing an unchanged order does not update this time.';
comment on column orders.created_at is '@searchIndex filter sort';
comment on column orders.updated_at is '@searchIndex filter sort';

comment on column orders.search_words is '@internal
The normalised text that word searches compare.';

comment on column orders.erased_at is '@internal
When the personal data was erased; the import does not restore it, even if the order has another customer later.';
comment on constraint orders_currency_check on orders is 'must be a currency code of three capitals, such as DKK';

comment on constraint orders_customer_id_fkey on orders is '@foreignConnectionFieldName orders
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint orders_customer_name_check on orders is 'must be 300 characters at most';
comment on constraint orders_customer_reference_check on orders is 'must be 200 characters at most';
comment on constraint orders_delivery_address_line1_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_address_line2_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_city_check on orders is 'must be 200 characters at most';
comment on constraint orders_delivery_country_check on orders is 'must be 100 characters at most';
comment on constraint orders_delivery_name_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_postal_code_check on orders is 'must be 40 characters at most';
comment on constraint orders_delivery_region_check on orders is 'must be 200 characters at most';
comment on constraint orders_email_check on orders is 'must be 254 characters at most';
comment on constraint orders_erp_currency_check on orders is 'must be 50 characters at most';
comment on constraint orders_erp_customer_number_check on orders is 'must be 50 characters at most';
comment on constraint orders_erp_id_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_order_number_check on orders is 'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint orders_erp_order_number_key on orders is 'An order with this ERP number exists already.';
comment on constraint orders_erp_payment_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_revision_check on orders is 'must be 300 characters at most';
comment on constraint orders_erp_shipping_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_warehouse_check on orders is 'must be 100 characters at most';
comment on constraint orders_note_check on orders is 'must be 20000 characters at most';
comment on constraint orders_payment_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_phone_check on orders is 'must be 80 characters at most';
comment on constraint orders_salesperson_check on orders is 'must be 200 characters at most';
comment on constraint orders_shipping_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_superseded_by_order_id_check on orders is 'must be another order';

comment on constraint orders_superseded_by_order_id_fkey on orders is '@fieldName supersededBy
@behavior +singularRelation:resource:single';
comment on constraint orders_warehouse_check on orders is 'must be 100 characters at most';

create table permissions (
  id uuid not null default uuidv7(),
  key text not null,
  description text not null,
  created_at timestamp with time zone not null default now(),
  constraint permissions_key_check CHECK (key ~ '^[a-z]+\.[a-z]+$'::text),
  constraint permissions_key_key UNIQUE (key),
  constraint permissions_pkey PRIMARY KEY (id)
);
alter table permissions enable row level security, force row level security;
CREATE TRIGGER _500_keep_user_keys AFTER UPDATE ON permissions REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_permissions__keep_user_keys();
CREATE TRIGGER _800_changes_delete AFTER DELETE ON permissions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON permissions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON permissions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy permissions_held on permissions for select to office_api
  using ((key = ANY (( SELECT current_permissions() AS current_permissions)::text[])));

create policy permissions_of_roles on permissions for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['roles.read'::text, 'roles.create'::text, 'roles.update'::text, 'users.read'::text]) AS has_any_permission));

create policy permissions_owner on permissions for all to office_owner
  using (true)
  with check (true);

create policy permissions_read on permissions for select to office_api
  using (( SELECT has_permission('permissions.read'::text) AS has_permission));
grant select (xmin, id, key, description, created_at) on permissions to office_api;

comment on table permissions is '@group People 54
@icon lock
@read permissions.read
@audit off because permissions change only with a release
A right that roles grant and operations require.';
comment on column permissions.key is 'The key of the permission, such as `campaigns.read`.';
comment on column permissions.description is 'What the permission allows.';

create table product_images (
  id uuid not null default uuidv7(),
  product_id uuid not null,
  url text not null,
  alt_text text,
  "position" integer not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint product_images_alt_text_check CHECK (char_length(alt_text) <= 500),
  constraint product_images_pkey PRIMARY KEY (id),
  constraint product_images_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE CASCADE,
  constraint product_images_url_check CHECK (url ~ '^https://[^\s<>"]+$'::text AND char_length(url) <= 2000),
  constraint product_images_url_key UNIQUE (product_id, url),
  constraint product_images_url_public_check CHECK (url !~ '^https://'::text OR url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'::text AND url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'::text)
);
alter table product_images enable row level security, force row level security;
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON product_images FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON product_images REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductImage', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON product_images REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductImage', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON product_images REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductImage', 'id', '');

create policy product_images_create on product_images for insert to office_api
  with check (( SELECT has_permission('products.update'::text) AS has_permission));

create policy product_images_delete on product_images for delete to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission));

create policy product_images_owner on product_images for all to office_owner
  using (true)
  with check (true);

create policy product_images_read on product_images for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['products.read'::text, 'products.update'::text]) AS has_any_permission));

create policy product_images_update on product_images for update to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission))
  with check (( SELECT has_permission('products.update'::text) AS has_permission));
grant delete on product_images to office_api;
grant insert (product_id, url, alt_text, "position") on product_images to office_api;
grant select (xmin, id, product_id, url, alt_text, "position", created_at, updated_at) on product_images to office_api;
grant update (url, alt_text, "position") on product_images to office_api;

comment on table product_images is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductImage
@root off
@label alt_text url
@defaultOrder position
A picture of a product.';

comment on column product_images.product_id is '@mutations create
The product in the picture.';

comment on column product_images.url is '@widget image
The address of the picture.';
comment on column product_images.alt_text is 'A text that describes the picture.';
comment on column product_images."position" is 'The position among the product''s pictures, in ascending order.';
comment on constraint product_images_alt_text_check on product_images is 'must be 500 characters at most';

comment on constraint product_images_product_id_fkey on product_images is '@foreignFieldName images
@behavior +manyRelation:resource:list +singularRelation:resource:single';
comment on constraint product_images_url_check on product_images is 'must be an https:// address of 2000 characters at most';
comment on constraint product_images_url_key on product_images is 'The product has this picture already.';
comment on constraint product_images_url_public_check on product_images is 'must name a public host: no IP address, no internal name';

create table product_prices (
  id uuid not null default uuidv7(),
  product_id uuid not null,
  type text collate "C" not null,
  currency text collate "C" not null,
  amount numeric(14,2) not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint product_prices_amount_check CHECK (amount >= 0::numeric AND amount <= 999999999.99),
  constraint product_prices_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
  constraint product_prices_pkey PRIMARY KEY (id),
  constraint product_prices_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE CASCADE,
  constraint product_prices_type_check CHECK (type ~ '^[a-z][a-z0-9_]{0,39}$'::text),
  constraint product_prices_type_currency_key UNIQUE (product_id, type, currency)
);
alter table product_prices enable row level security, force row level security;
CREATE INDEX product_prices_amount_idx ON product_prices USING btree (amount);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON product_prices FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _700_search_products_product_id_delete AFTER DELETE ON product_prices REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('products', 'from', 'product_id');
CREATE TRIGGER _700_search_products_product_id_insert AFTER INSERT ON product_prices REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('products', 'from', 'product_id');
CREATE TRIGGER _700_search_products_product_id_update AFTER UPDATE ON product_prices REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('products', 'from', 'product_id');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON product_prices REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductPrice', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON product_prices REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductPrice', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON product_prices REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductPrice', 'id', '');

create policy product_prices_create on product_prices for insert to office_api
  with check (( SELECT has_permission('products.update'::text) AS has_permission));

create policy product_prices_delete on product_prices for delete to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission));

create policy product_prices_owner on product_prices for all to office_owner
  using (true)
  with check (true);

create policy product_prices_read on product_prices for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['products.read'::text, 'products.update'::text]) AS has_any_permission));

create policy product_prices_update on product_prices for update to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission))
  with check (( SELECT has_permission('products.update'::text) AS has_permission));
grant delete on product_prices to office_api;
grant insert (product_id, type, currency, amount) on product_prices to office_api;
grant select (xmin, id, product_id, type, currency, amount, created_at, updated_at) on product_prices to office_api;
grant update (type, currency, amount) on product_prices to office_api;

comment on table product_prices is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductPrice
@root off
@label type currency
@defaultOrder type, currency
A price of a product. A product has at most one price for each type and currency.';

comment on column product_prices.product_id is '@mutations create
The product of the price.';
comment on column product_prices.type is 'The type of the price, such as `retail` or `wholesale`.';
comment on column product_prices.currency is 'The ISO 4217 code of the currency, such as `DKK`.';

comment on column product_prices.amount is '@widget money
The price of one bottle, a decimal as text.';
comment on constraint product_prices_amount_check on product_prices is 'must be a decimal from 0 to 999999999.99';
comment on constraint product_prices_currency_check on product_prices is 'must be a currency code of three capitals, such as DKK';

comment on constraint product_prices_product_id_fkey on product_prices is '@foreignFieldName prices
@behavior +manyRelation:resource:list +singularRelation:resource:single';
comment on constraint product_prices_type_check on product_prices is 'must be 1 to 40 of a-z, 0-9 and _, a letter first';
comment on constraint product_prices_type_currency_key on product_prices is 'The product has a price of this type in this currency already.';

create table product_ratings (
  id uuid not null default uuidv7(),
  product_id uuid not null,
  reviewer_id uuid not null,
  year integer,
  points numeric(5,2) not null,
  review text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint product_ratings_pkey PRIMARY KEY (id),
  constraint product_ratings_points_check CHECK (points >= 0::numeric AND points <= 100::numeric),
  constraint product_ratings_product_id_fkey FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE CASCADE,
  constraint product_ratings_review_check CHECK (char_length(review) <= 20000),
  constraint product_ratings_reviewer_id_fkey FOREIGN KEY (reviewer_id) REFERENCES reviewers(id) ON DELETE RESTRICT,
  constraint product_ratings_reviewer_year_key UNIQUE NULLS NOT DISTINCT (product_id, reviewer_id, year),
  constraint product_ratings_year_check CHECK (year >= 1700 AND year <= 2200)
);
alter table product_ratings enable row level security, force row level security;
CREATE INDEX product_ratings_reviewer_id_idx ON product_ratings USING btree (reviewer_id);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON product_ratings FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON product_ratings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductRating', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON product_ratings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductRating', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON product_ratings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductRating', 'id', '');

create policy product_ratings_create on product_ratings for insert to office_api
  with check (( SELECT has_permission('reviewers.create'::text) AS has_permission));

create policy product_ratings_delete on product_ratings for delete to office_api
  using (( SELECT has_permission('reviewers.create'::text) AS has_permission));

create policy product_ratings_owner on product_ratings for all to office_owner
  using (true)
  with check (true);

create policy product_ratings_read on product_ratings for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['reviewers.read'::text, 'reviewers.create'::text]) AS has_any_permission));

create policy product_ratings_update on product_ratings for update to office_api
  using (( SELECT has_permission('reviewers.create'::text) AS has_permission))
  with check (( SELECT has_permission('reviewers.create'::text) AS has_permission));
grant delete on product_ratings to office_api;
grant insert (product_id, reviewer_id, year, points, review) on product_ratings to office_api;
grant select (xmin, id, product_id, reviewer_id, year, points, review, created_at, updated_at) on product_ratings to office_api;
grant update (year, points, review) on product_ratings to office_api;

comment on table product_ratings is '@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit ProductRating
@root off
@label points year
@defaultOrder year
A reviewer''s rating of a product.';

comment on column product_ratings.product_id is '@mutations create
The rated product.';

comment on column product_ratings.reviewer_id is '@mutations create
The reviewer.';
comment on column product_ratings.year is 'The year of the rating, if known.';
comment on column product_ratings.points is 'The points, from 0 to 100, a decimal as text.';
comment on column product_ratings.review is 'The text of the review.';
comment on constraint product_ratings_points_check on product_ratings is 'must be from 0 to 100';

comment on constraint product_ratings_product_id_fkey on product_ratings is '@foreignFieldName ratings
@behavior +manyRelation:resource:list +singularRelation:resource:single';
comment on constraint product_ratings_review_check on product_ratings is 'must be 20000 characters at most';

comment on constraint product_ratings_reviewer_id_fkey on product_ratings is '@foreignConnectionFieldName ratings
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint product_ratings_reviewer_year_key on product_ratings is 'The reviewer has rated this product for this year already.';
comment on constraint product_ratings_year_check on product_ratings is 'must be a year from 1700 to 2200';

create table product_sync_runs (
  id uuid not null default uuidv7(),
  erp_product_numbers text[] not null,
  user_id uuid,
  api_token_id uuid,
  correlation_id text,
  created_at timestamp with time zone not null default now(),
  delivered_at timestamp with time zone,
  constraint product_sync_runs_api_token_id_fkey FOREIGN KEY (api_token_id) REFERENCES api_tokens(id) ON DELETE SET NULL,
  constraint product_sync_runs_erp_product_numbers_check CHECK (cardinality(erp_product_numbers) >= 1 AND cardinality(erp_product_numbers) <= 1000),
  constraint product_sync_runs_pkey PRIMARY KEY (id),
  constraint product_sync_runs_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
);
alter table product_sync_runs enable row level security, force row level security;
CREATE INDEX product_sync_runs_api_token_id_idx ON product_sync_runs USING btree (api_token_id);
CREATE INDEX product_sync_runs_created_at_idx ON product_sync_runs USING btree (created_at);
CREATE INDEX product_sync_runs_user_id_idx ON product_sync_runs USING btree (user_id);
CREATE TRIGGER _800_audit_delete AFTER DELETE ON product_sync_runs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductSyncRun', 'id', '', 'delivered_at');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON product_sync_runs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductSyncRun', 'id', '', 'delivered_at');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON product_sync_runs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ProductSyncRun', 'id', '', 'delivered_at');

create policy product_sync_runs_owner on product_sync_runs for all to office_owner
  using (true)
  with check (true);

comment on table product_sync_runs is '@internal
@audit ProductSyncRun id except delivered_at
A call of the product-sync workflow for a list of products.';

create table products (
  id uuid not null default uuidv7(),
  erp_product_number text collate "C" not null,
  name text collate display_order not null,
  vintage integer,
  wine_type_id uuid,
  producer text collate display_order,
  grape_variety text collate display_order,
  country text collate display_order,
  province text collate display_order,
  region text collate display_order,
  description text,
  alcohol_percent numeric(4,2),
  bottle_size_ml integer,
  stock_quantity integer,
  is_active boolean not null default true,
  source_updated_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  search_words text collate "C" not null generated always as (words_text(VARIADIC ARRAY[name, producer, grape_variety, region])) stored,
  constraint products_alcohol_percent_check CHECK (alcohol_percent >= 0::numeric AND alcohol_percent <= 99.99),
  constraint products_bottle_size_ml_check CHECK (bottle_size_ml >= 1 AND bottle_size_ml <= 30000),
  constraint products_country_check CHECK (char_length(country) <= 100),
  constraint products_description_check CHECK (char_length(description) <= 20000),
  constraint products_erp_product_number_check CHECK (char_length(erp_product_number) >= 1 AND char_length(erp_product_number) <= 50 AND erp_product_number ~ '^[[:print:]]+$'::text AND erp_product_number = btrim(erp_product_number)),
  constraint products_erp_product_number_key UNIQUE (erp_product_number),
  constraint products_grape_variety_check CHECK (char_length(grape_variety) <= 300),
  constraint products_name_check CHECK (is_label(name, 300)),
  constraint products_pkey PRIMARY KEY (id),
  constraint products_producer_check CHECK (char_length(producer) <= 300),
  constraint products_province_check CHECK (char_length(province) <= 200),
  constraint products_region_check CHECK (char_length(region) <= 200),
  constraint products_vintage_check CHECK (vintage >= 1700 AND vintage <= 2200),
  constraint products_wine_type_id_fkey FOREIGN KEY (wine_type_id) REFERENCES wine_types(id) ON DELETE RESTRICT
);
alter table products enable row level security, force row level security;
CREATE INDEX products_country_idx ON products USING btree (country, id);
CREATE INDEX products_country_search_idx ON products USING btree (search_text(country) text_pattern_ops);
CREATE INDEX products_created_at_idx ON products USING btree (created_at, id);
CREATE INDEX products_name_idx ON products USING btree (name, id) INCLUDE (search_words);
CREATE INDEX products_province_search_idx ON products USING btree (search_text(province) text_pattern_ops);
CREATE INDEX products_search_idx ON products USING gin (search_words gin_trgm_ops);
CREATE INDEX products_updated_at_idx ON products USING btree (updated_at, id);
CREATE INDEX products_vintage_idx ON products USING btree (vintage, id);
CREATE INDEX products_vintage_name_idx ON products USING btree (vintage, name, id);
CREATE INDEX products_wine_type_id_idx ON products USING btree (wine_type_id);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON products FOR EACH ROW EXECUTE FUNCTION tg__timestamps('search_words');
CREATE TRIGGER _700_search_campaigns_product_id_update AFTER UPDATE ON products REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('campaigns', 'to', 'product_id', 'id', 'name');
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON products FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('products');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON products REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Product', 'id', 'search', 'search_words');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON products REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Product', 'id', 'search', 'search_words');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON products REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Product', 'id', 'search', 'search_words');

create policy products_create on products for insert to office_api
  with check (( SELECT has_permission('products.create'::text) AS has_permission));

create policy products_of_campaigns on products for select to office_api
  using ((( SELECT has_any_permission(VARIADIC ARRAY['campaigns.read'::text, 'campaigns.create'::text, 'campaigns.update'::text, 'campaigns.delete'::text]) AS has_any_permission) AND (EXISTS ( SELECT
   FROM campaigns c
  WHERE (c.product_id = products.id)))));

create policy products_owner on products for all to office_owner
  using (true)
  with check (true);

create policy products_read on products for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['products.read'::text, 'products.create'::text, 'products.update'::text]) AS has_any_permission));

create policy products_update on products for update to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission))
  with check (( SELECT has_permission('products.update'::text) AS has_permission));
grant insert (erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region, description, alcohol_percent, bottle_size_ml, stock_quantity, is_active) on products to office_api;
grant select (xmin, id, erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region, description, alcohol_percent, bottle_size_ml, stock_quantity, is_active, source_updated_at, created_at, updated_at, search_words) on products to office_api;
grant update (name, vintage, wine_type_id, producer, grape_variety, country, province, region, description, alcohol_percent, bottle_size_ml, stock_quantity, is_active) on products to office_api;

comment on table products is '@group Catalogue 10
@icon bottle
@label name erp_product_number
@searchCollection products
@searchSort name
@mutations create update
@read products.read
@create products.create
@update products.update
@audit Product
@connection
@defaultOrder name
A wine or other article of the catalogue, as recorded in the ERP.';

comment on column products.erp_product_number is '@list 2
@title Number
@searchIndex searchable filter sort title Product number
@search exact
@mutations create
The product number of the ERP, stored byte for byte with leading zeros. It cannot be changed after creation.';

comment on column products.name is '@list 1
@searchIndex searchable sort
@search word
The name of the product.';

comment on column products.vintage is '@list 3
@searchIndex facet sort
The year of the harvest; null for wines without a vintage.';
comment on column products.wine_type_id is '@list 4';

comment on column products.producer is '@list 5
@section Origin
@searchIndex searchable facet sort
@search word
The producer.';

comment on column products.grape_variety is '@section Origin
@searchIndex searchable facet
@search word
The grape variety or blend.';

comment on column products.country is '@list 6
@section Origin
@searchIndex searchable facet sort
The country of origin.';

comment on column products.province is '@section Origin
@searchIndex searchable facet
The province or wider region of origin.';

comment on column products.region is '@list 7
@section Origin
@searchIndex searchable facet
@search word
The region of origin.';

comment on column products.description is '@widget long
@section Text
@searchIndex searchable
A description for customers.';

comment on column products.alcohol_percent is '@title Alcohol
@unit %
@section Bottle
@searchIndex filter sort
The alcohol by volume, in per cent.';

comment on column products.bottle_size_ml is '@title Bottle size
@unit ml
@section Bottle
@searchIndex facet title Bottle size (ml)
The volume of the bottle, in millilitres.';

comment on column products.stock_quantity is '@list 8
@title Stock
@unit bottles
@section Bottle
@searchIndex filter sort
The number of bottles in stock at the last synchronisation.';

comment on column products.is_active is '@list 9
@title On sale
@searchIndex facet title On sale
Whether the product is on sale.';

comment on column products.source_updated_at is '@title Changed in the ERP
@section Times
@mutations off
When the product last changed in the ERP; null if the ERP does not provide this time.';

comment on column products.created_at is '@section Times
@searchIndex filter sort';

comment on column products.updated_at is '@list 10
@section Times
@searchIndex filter sort';

comment on column products.search_words is '@internal
The normalised text that word searches compare.';
comment on constraint products_alcohol_percent_check on products is 'must be from 0 to 99.99';
comment on constraint products_bottle_size_ml_check on products is 'must be from 1 to 30000';
comment on constraint products_country_check on products is 'must be 100 characters at most';
comment on constraint products_description_check on products is 'must be 20000 characters at most';
comment on constraint products_erp_product_number_check on products is 'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint products_erp_product_number_key on products is 'A product with this ERP number exists already.';
comment on constraint products_grape_variety_check on products is 'must be 300 characters at most';
comment on constraint products_name_check on products is 'must be 1 to 300 visible characters without spaces at its ends';
comment on constraint products_producer_check on products is 'must be 300 characters at most';
comment on constraint products_province_check on products is 'must be 200 characters at most';
comment on constraint products_region_check on products is 'must be 200 characters at most';
comment on constraint products_vintage_check on products is 'must be a year from 1700 to 2200';

comment on constraint products_wine_type_id_fkey on products is '@searchIndex name searchable facet sort, color filter dataType hexColor
@foreignConnectionFieldName products
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create table public_holidays (
  id uuid not null default uuidv7(),
  holiday_on date not null,
  name text collate display_order not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint public_holidays_name_check CHECK (is_label(name, 200)),
  constraint public_holidays_pkey PRIMARY KEY (id)
);
alter table public_holidays enable row level security, force row level security;
CREATE INDEX public_holidays_words_idx ON public_holidays USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX public_holidays_holiday_on_key ON public_holidays USING btree (holiday_on);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON public_holidays FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON public_holidays REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('PublicHoliday', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON public_holidays REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('PublicHoliday', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON public_holidays REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('PublicHoliday', 'id', '');

create policy public_holidays_create on public_holidays for insert to office_api
  with check ((( SELECT has_permission('absences.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy public_holidays_delete on public_holidays for delete to office_api
  using ((( SELECT has_permission('absences.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy public_holidays_owner on public_holidays for all to office_owner
  using (true)
  with check (true);

create policy public_holidays_read on public_holidays for select to office_api
  using (( SELECT is_login() AS is_login));

create policy public_holidays_update on public_holidays for update to office_api
  using ((( SELECT has_permission('absences.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)))
  with check ((( SELECT has_permission('absences.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));
grant delete on public_holidays to office_api;
grant insert (holiday_on, name) on public_holidays to office_api;
grant select (xmin, id, holiday_on, name, created_at, updated_at) on public_holidays to office_api;
grant update (holiday_on, name) on public_holidays to office_api;

comment on table public_holidays is '@group Office 59
@icon star
@read login
@create absences.update
@update absences.update
@delete absences.update
@mutations create update delete
@audit PublicHoliday
@defaultOrder holiday_on
@defaultQuery holidayOn:>=today
@label name holiday_on
A public holiday, which does not count as a working day of an absence.';

comment on column public_holidays.holiday_on is '@title Day
@list 1
The date, unique among the public holidays.';

comment on column public_holidays.name is '@search word
@list 2
The name of the holiday.';
comment on constraint public_holidays_name_check on public_holidays is 'must be 1 to 200 visible characters without spaces at its ends';
comment on index public_holidays_holiday_on_key is 'There is a public holiday on this day already.';

create table resource_bookings (
  id uuid not null default uuidv7(),
  resource_id uuid not null,
  booked_by_user_id uuid not null,
  booked_by_name text not null,
  title text collate display_order not null,
  starts_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  attendees integer,
  note text,
  status resource_booking_status not null default 'BOOKED'::resource_booking_status,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  repeat_weeks integer,
  repeat_until date,
  series_id uuid,
  constraint resource_bookings_attendees_check CHECK (attendees >= 1 AND attendees <= 100000),
  constraint resource_bookings_booked_by_name_check CHECK (char_length(booked_by_name) >= 1 AND char_length(booked_by_name) <= 320),
  constraint resource_bookings_booked_by_user_id_fkey FOREIGN KEY (booked_by_user_id) REFERENCES users(id) ON DELETE RESTRICT,
  constraint resource_bookings_ends_at_check CHECK (ends_at > starts_at AND (ends_at - starts_at) <= '31 days'::interval),
  constraint resource_bookings_note_check CHECK (char_length(note) <= 5000),
  constraint resource_bookings_overlap_excl EXCLUDE USING gist (resource_id WITH =, tstzrange(starts_at, ends_at) WITH &&) WHERE (status = 'BOOKED'::resource_booking_status) DEFERRABLE,
  constraint resource_bookings_pkey PRIMARY KEY (id),
  constraint resource_bookings_repeat_weeks_check CHECK (repeat_weeks = ANY (ARRAY[1, 2])),
  constraint resource_bookings_resource_id_fkey FOREIGN KEY (resource_id) REFERENCES resources(id) ON DELETE RESTRICT,
  constraint resource_bookings_series_check CHECK (num_nulls(repeat_weeks, repeat_until, series_id) = ANY (ARRAY[0, 3])),
  constraint resource_bookings_title_check CHECK (is_label(title, 200))
);
alter table resource_bookings enable row level security, force row level security;
CREATE INDEX resource_bookings_booked_by_name_idx ON resource_bookings USING btree (booked_by_name, id);
CREATE INDEX resource_bookings_booked_by_user_id_idx ON resource_bookings USING btree (booked_by_user_id);
CREATE INDEX resource_bookings_created_at_idx ON resource_bookings USING btree (created_at, id);
CREATE INDEX resource_bookings_ends_at_idx ON resource_bookings USING btree (ends_at, id);
CREATE INDEX resource_bookings_resource_id_idx ON resource_bookings USING btree (resource_id, starts_at);
CREATE INDEX resource_bookings_series_id_idx ON resource_bookings USING btree (series_id, starts_at);
CREATE INDEX resource_bookings_starts_at_idx ON resource_bookings USING btree (starts_at, id);
CREATE INDEX resource_bookings_status_idx ON resource_bookings USING btree (status, id);
CREATE INDEX resource_bookings_title_idx ON resource_bookings USING gin (search_text(title) gin_trgm_ops);
CREATE INDEX resource_bookings_title_order_idx ON resource_bookings USING btree (title, id);
CREATE INDEX resource_bookings_updated_at_idx ON resource_bookings USING btree (updated_at, id);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON resource_bookings FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _500_notify AFTER UPDATE ON resource_bookings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_resource_bookings__notify();
CREATE TRIGGER _700_search_emptied AFTER TRUNCATE ON resource_bookings FOR EACH STATEMENT EXECUTE FUNCTION tg__search_emptied('bookings');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON resource_bookings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ResourceBooking', 'id', 'search');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON resource_bookings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ResourceBooking', 'id', 'search');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON resource_bookings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('ResourceBooking', 'id', 'search');

create policy resource_bookings_owner on resource_bookings for all to office_owner
  using (true)
  with check (true);

create policy resource_bookings_read on resource_bookings for select to office_api
  using (( SELECT is_login() AS is_login));
grant select (xmin, id, resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at, attendees, note, status, created_at, updated_at, repeat_weeks, repeat_until, series_id) on resource_bookings to office_api;

comment on table resource_bookings is '@group Office 56
@icon calendar
@searchCollection bookings
@searchSort starts_at desc
@title Bookings
@titleOne Booking
@read login
@audit ResourceBooking
@connection
@filter from endsAt:>$value
@filter to startsAt:<$value
@filter resourceId resourceId:$value
@defaultOrder starts_at
@defaultQuery endsAt:>=today
@label title
A booking of a resource. Two bookings of one resource never overlap.';
comment on column resource_bookings.resource_id is '@list 3';

comment on column resource_bookings.booked_by_user_id is '@mutations off
@list off
@title User
The user who booked the resource.';

comment on column resource_bookings.booked_by_name is '@personal booked_by_user_id
@searchIndex searchable
@mutations off
@list 6
@title Booked by
The name of the person who booked the resource, at the time of the booking; without a name, the part of the e-mail address before the @. Every reader of the booking can see it.';

comment on column resource_bookings.title is '@list 1
@searchIndex searchable sort
@search word
The purpose of the booking.';

comment on column resource_bookings.starts_at is '@list 4
@searchIndex filter sort
@title From
When the booking starts.';

comment on column resource_bookings.ends_at is '@list 5
@searchIndex filter
@title Until
When the booking ends, at most 31 days after its start.';
comment on column resource_bookings.attendees is 'The number of attendees, at most the capacity of the resource.';

comment on column resource_bookings.note is '@widget long
@searchIndex searchable
A note for colleagues.';

comment on column resource_bookings.status is '@mutations off
@searchIndex facet
@list 2
@tone BOOKED ok
@tone CANCELLED bad
Whether the booking reserves its resource.';

comment on column resource_bookings.repeat_weeks is '@mutations create
@title Repeat every
@unit weeks
The interval of a series in weeks, 1 or 2.';

comment on column resource_bookings.repeat_until is '@mutations create
@title Repeat until
The last day of a series.';

comment on column resource_bookings.series_id is '@mutations off
@title Series
The id shared by all bookings of a series.';
comment on constraint resource_bookings_attendees_check on resource_bookings is 'must be 1 to 100000';
comment on constraint resource_bookings_booked_by_name_check on resource_bookings is 'must be 1 to 320 characters';

comment on constraint resource_bookings_booked_by_user_id_fkey on resource_bookings is '@forwardBehavior +singularRelation:resource:single
@fieldName bookedBy';
comment on constraint resource_bookings_ends_at_check on resource_bookings is 'must be in order and 31 days apart at most';
comment on constraint resource_bookings_note_check on resource_bookings is 'must be 5000 characters at most';
comment on constraint resource_bookings_overlap_excl on resource_bookings is 'The resource is booked at that time already.';
comment on constraint resource_bookings_repeat_weeks_check on resource_bookings is 'must be 1 or 2';

comment on constraint resource_bookings_resource_id_fkey on resource_bookings is '@searchIndex name searchable facet
@forwardBehavior +singularRelation:resource:single
@notNull
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName bookings';
comment on constraint resource_bookings_series_check on resource_bookings is 'must be given together with the other fields of a series';
comment on constraint resource_bookings_title_check on resource_bookings is 'must be 1 to 200 visible characters without spaces at its ends';

create table resources (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  kind resource_kind not null,
  location text,
  capacity integer,
  color text,
  description text,
  is_active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint resources_capacity_check CHECK (capacity >= 1 AND capacity <= 100000),
  constraint resources_color_check CHECK (color ~ '^#[0-9A-F]{6}$'::text),
  constraint resources_description_check CHECK (char_length(description) <= 5000),
  constraint resources_location_check CHECK (is_label(location, 200)),
  constraint resources_name_check CHECK (is_label(name, 200)),
  constraint resources_pkey PRIMARY KEY (id)
);
alter table resources enable row level security, force row level security;
CREATE INDEX resources_capacity_idx ON resources USING btree (capacity, id);
CREATE INDEX resources_is_active_idx ON resources USING btree (is_active, id);
CREATE INDEX resources_kind_idx ON resources USING btree (kind, id);
CREATE INDEX resources_location_idx ON resources USING btree (location, id);
CREATE INDEX resources_name_idx ON resources USING btree (name, id);
CREATE INDEX resources_words_idx ON resources USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX resources_name_key ON resources USING btree (name_key(name));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _700_search_bookings_resource_id_update AFTER UPDATE ON resources REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('resource_bookings', 'to', 'resource_id', 'id', 'name');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON resources REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Resource', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON resources REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Resource', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON resources REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Resource', 'id', '');

create policy resources_create on resources for insert to office_api
  with check ((( SELECT has_permission('resources.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy resources_delete on resources for delete to office_api
  using ((( SELECT has_permission('resources.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));

create policy resources_owner on resources for all to office_owner
  using (true)
  with check (true);

create policy resources_read on resources for select to office_api
  using (( SELECT is_login() AS is_login));

create policy resources_update on resources for update to office_api
  using ((( SELECT has_permission('resources.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)))
  with check ((( SELECT has_permission('resources.update'::text) AS has_permission) AND ( SELECT is_login() AS is_login)));
grant delete on resources to office_api;
grant insert (name, kind, location, capacity, color, description, is_active) on resources to office_api;
grant select (xmin, id, name, kind, location, capacity, color, description, is_active, created_at, updated_at) on resources to office_api;
grant update (name, kind, location, capacity, color, description, is_active) on resources to office_api;

comment on table resources is '@group Office 55
@icon box
@read login
@create resources.update
@update resources.update
@delete resources.update
@mutations create update delete
@audit Resource
@defaultOrder name, id
@label name location
A room, vehicle, piece of equipment or tasting set that staff can book.';

comment on column resources.name is '@search word
@list 1
The name of the resource, unique without regard to case.';

comment on column resources.kind is '@list 2
The kind of the resource.';

comment on column resources.location is '@list 3
The location of the resource.';

comment on column resources.capacity is '@list 4
The maximum number of people.';

comment on column resources.color is '@title Colour
@widget color
The colour of the resource in calendars, as `#RRGGBB`.';

comment on column resources.description is '@widget long
Information about the resource for colleagues.';

comment on column resources.is_active is '@list 5
@title In use
Whether the resource can be booked.';
comment on constraint resources_capacity_check on resources is 'must be 1 to 100000';
comment on constraint resources_color_check on resources is 'must be a colour such as #7A0019';
comment on constraint resources_description_check on resources is 'must be 5000 characters at most';
comment on constraint resources_location_check on resources is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint resources_name_check on resources is 'must be 1 to 200 visible characters without spaces at its ends';
comment on index resources_name_key is 'A resource of this name exists already.';

create table reviewers (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint reviewers_name_check CHECK (is_label(name, 200)),
  constraint reviewers_pkey PRIMARY KEY (id)
);
alter table reviewers enable row level security, force row level security;
CREATE INDEX reviewers_words_idx ON reviewers USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX reviewers_name_key ON reviewers USING btree (name_key(name));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON reviewers FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON reviewers FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON reviewers REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Reviewer', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON reviewers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Reviewer', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON reviewers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Reviewer', 'id', '');

create policy reviewers_create on reviewers for insert to office_api
  with check (( SELECT has_permission('reviewers.create'::text) AS has_permission));

create policy reviewers_delete on reviewers for delete to office_api
  using (( SELECT has_permission('reviewers.create'::text) AS has_permission));

create policy reviewers_owner on reviewers for all to office_owner
  using (true)
  with check (true);

create policy reviewers_read on reviewers for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['reviewers.read'::text, 'reviewers.create'::text]) AS has_any_permission));

create policy reviewers_update on reviewers for update to office_api
  using (( SELECT has_permission('reviewers.create'::text) AS has_permission))
  with check (( SELECT has_permission('reviewers.create'::text) AS has_permission));
grant delete on reviewers to office_api;
grant insert (name) on reviewers to office_api;
grant select (xmin, id, name, created_at, updated_at) on reviewers to office_api;
grant update (name) on reviewers to office_api;

comment on table reviewers is '@group Catalogue 12
@icon star
@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit Reviewer
@defaultOrder name
A person or guide that rates wines.';

comment on column reviewers.name is '@search word
The name of the reviewer, unique without regard to case.';
comment on constraint reviewers_name_check on reviewers is 'must be 1 to 200 visible characters without spaces at its ends';
comment on index reviewers_name_key is 'A reviewer of this name exists already.';

create table role_permissions (
  role_id uuid not null,
  permission_id uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint role_permissions_permission_id_fkey FOREIGN KEY (permission_id) REFERENCES permissions(id) ON DELETE CASCADE,
  constraint role_permissions_pkey PRIMARY KEY (role_id, permission_id),
  constraint role_permissions_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id) ON DELETE CASCADE
);
alter table role_permissions enable row level security, force row level security;
CREATE INDEX role_permissions_permission_id_idx ON role_permissions USING btree (permission_id);
CREATE TRIGGER _400_restore BEFORE INSERT ON role_permissions FOR EACH ROW WHEN (is_restoring()) EXECUTE FUNCTION tg_role_permissions__restore();
CREATE TRIGGER _500_touch_roles_delete AFTER DELETE ON role_permissions REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_role_permissions__touch_roles();
CREATE TRIGGER _500_touch_roles_insert AFTER INSERT ON role_permissions REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_role_permissions__touch_roles();
CREATE TRIGGER _500_touch_roles_update_from AFTER UPDATE ON role_permissions REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_role_permissions__touch_roles();
CREATE TRIGGER _500_touch_roles_update_to AFTER UPDATE ON role_permissions REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_role_permissions__touch_roles();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON role_permissions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('RolePermission', 'role_id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON role_permissions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('RolePermission', 'role_id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON role_permissions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('RolePermission', 'role_id', '');

create policy role_permissions_held on role_permissions for select to office_api
  using ((role_id = ANY (( SELECT held_role_ids() AS held_role_ids)::uuid[])));

create policy role_permissions_of_roles on role_permissions for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['users.read'::text, 'roles.create'::text, 'roles.update'::text]) AS has_any_permission));

create policy role_permissions_owner on role_permissions for all to office_owner
  using (true)
  with check (true);

create policy role_permissions_read on role_permissions for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['roles.read'::text, 'roles.update'::text]) AS has_any_permission));
grant select (xmin, role_id, permission_id, created_at) on role_permissions to office_api;

comment on table role_permissions is '@internal
@read roles.read
@create roles.update
@audit RolePermission role_id
Which role holds which permission.';

create table roles (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  description text,
  is_system boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint roles_description_check CHECK (char_length(description) <= 500),
  constraint roles_name_check CHECK (is_label(name, 80)),
  constraint roles_pkey PRIMARY KEY (id)
);
alter table roles enable row level security, force row level security;
CREATE INDEX roles_words_idx ON roles USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX roles_name_key ON roles USING btree (name_key(name));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON roles FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON roles FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON roles REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Role', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON roles REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Role', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON roles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Role', 'id', '');

create policy roles_held on roles for select to office_api
  using (holds_role(id));

create policy roles_of_users on roles for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['users.read'::text, 'users.update'::text, 'invitations.create'::text, 'roles.create'::text, 'roles.update'::text]) AS has_any_permission));

create policy roles_owner on roles for all to office_owner
  using (true)
  with check (true);

create policy roles_read on roles for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['roles.read'::text, 'roles.create'::text]) AS has_any_permission));
grant select (xmin, id, name, description, is_system, created_at, updated_at) on roles to office_api;

comment on table roles is '@group People 51
@icon key
@read roles.read
@create roles.create
@audit Role
@auditReads
@defaultOrder name
A named set of permissions that users can hold.';

comment on column roles.name is '@search word
The name of the role, unique without regard to case.';

comment on column roles.description is '@widget long
The purpose of the role.';

comment on column roles.is_system is '@title System role
Whether the role is a system role, such as Superadmin, which cannot be changed or deleted.';
comment on constraint roles_description_check on roles is 'must be 500 characters at most';
comment on constraint roles_name_check on roles is 'must be 1 to 80 visible characters without spaces at its ends';
comment on index roles_name_key is 'A role of this name exists already.';

create table row_changes (
  id bigint not null generated by default as identity,
  reader change_reader not null,
  table_name text not null,
  row_id uuid,
  is_new boolean not null default false,
  changed_in text not null default pg_current_xact_id()::text,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint row_changes_pkey PRIMARY KEY (reader, id),
  constraint row_changes_row_id_check CHECK (row_id IS NOT NULL OR reader = 'watches'::change_reader)
);
alter table row_changes enable row level security, force row level security;
CREATE INDEX row_changes_row_idx ON row_changes USING btree (table_name, row_id) WHERE reader = 'watches'::change_reader;

create policy row_changes_owner on row_changes for all to office_owner
  using (true)
  with check (true);

comment on table row_changes is '@internal
@audit off because it is a queue
The outbox: an entry for each changed, added and deleted row and each reader, until the reader has handled it.';
comment on column row_changes.reader is 'The search engine or the evaluation of search watches.';
comment on column row_changes.row_id is 'Null for changed rows of a table that a watched search reads through relations.';
comment on column row_changes.is_new is 'Whether the row was added.';
comment on column row_changes.changed_in is 'The id of the changing transaction.';

create table schema_migrations (
  id integer not null default nextval('schema_migrations_id_seq'::regclass),
  name character varying(255) not null,
  run_on timestamp without time zone not null,
  checksum text,
  constraint schema_migrations_pkey PRIMARY KEY (id)
);
alter table schema_migrations enable row level security, force row level security;

create policy schema_migrations_owner on schema_migrations for all to office_owner
  using (true)
  with check (true);

comment on table schema_migrations is '@internal
@audit off because migrations keep this list
The migrations that this schema has.';

create table search_catalogue (
  collection text not null,
  table_name text not null,
  keys text[] not null,
  own text[],
  condition text not null,
  title text not null,
  definition jsonb not null,
  document_query text not null,
  signature text not null,
  constraint search_catalogue_pkey PRIMARY KEY (collection)
);
alter table search_catalogue enable row level security, force row level security;

create policy search_catalogue_owner on search_catalogue for all to office_owner
  using (true)
  with check (true);

comment on table search_catalogue is '@internal
@audit off because each migration rewrites it from the tags
The collections of the search engine, derived from the tags.';
comment on column search_catalogue.table_name is 'The table whose rows the collection holds.';
comment on column search_catalogue.keys is 'The permissions that a search of the collection requires.';
comment on column search_catalogue.own is 'The owner columns of a table with `@owner`; null for other tables.';
comment on column search_catalogue.condition is 'Which rows of the table, with the alias `t`, are documents.';
comment on column search_catalogue.definition is 'The description that front ends get.';
comment on column search_catalogue.document_query is 'The query that returns the documents of the rows with the ids $1.';
comment on column search_catalogue.signature is 'Hash of everything whose change requires a new version of the collection.';

create table search_engine_state (
  id uuid not null default uuidv7(),
  down_at timestamp with time zone,
  error text,
  up_at timestamp with time zone,
  constraint search_engine_state_error_check CHECK (char_length(error) <= 500),
  constraint search_engine_state_pkey PRIMARY KEY (id)
);
alter table search_engine_state enable row level security, force row level security;
CREATE UNIQUE INDEX search_engine_state_single_key ON search_engine_state USING btree ((true));

create policy search_engine_state_owner on search_engine_state for all to office_owner
  using (true)
  with check (true);

comment on table search_engine_state is '@internal
@audit off because it is the state of the search engine
The outages of the search engine; one row.';
comment on column search_engine_state.down_at is 'The first failed attempt of an outage; null while the engine works.';
comment on column search_engine_state.error is 'The error of the first failed attempt; null while the engine works.';
comment on column search_engine_state.up_at is 'The end of the last outage; null before the first.';

create table search_failures (
  collection text not null,
  document_id uuid not null,
  message text not null,
  failed_at timestamp with time zone not null default clock_timestamp(),
  constraint search_failures_pkey PRIMARY KEY (collection, document_id)
);
alter table search_failures enable row level security, force row level security;

create policy search_failures_owner on search_failures for all to office_owner
  using (true)
  with check (true);

comment on table search_failures is '@internal
@audit off because it is the state of the search engine
Rows that the search engine rejected, until it accepts them.';

create table search_generations (
  generation integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint search_generations_pkey PRIMARY KEY (generation)
);
alter table search_generations enable row level security, force row level security;

create policy search_generations_owner on search_generations for all to office_owner
  using (true)
  with check (true);

comment on table search_generations is '@internal
@audit off because it is the state of the search engine
The rotations of the search-only keys.';

create table search_indexes (
  collection text not null,
  version text,
  signature text,
  built_at timestamp with time zone,
  building text,
  building_signature text,
  building_cursor uuid,
  building_rows integer not null default 0,
  error text,
  constraint search_indexes_pkey PRIMARY KEY (collection)
);
alter table search_indexes enable row level security, force row level security;

create policy search_indexes_owner on search_indexes for all to office_owner
  using (true)
  with check (true);

comment on table search_indexes is '@internal
@audit off because it is the state of the search engine
The collections of the search engine: the served version and the progress of the next one.';
comment on column search_indexes.version is 'The engine''s name of the version that the alias points to; null before the first.';
comment on column search_indexes.signature is 'Signature of the served version; null requests a rebuild.';
comment on column search_indexes.building is 'The engine''s name of the version that is being built; null when none is.';
comment on column search_indexes.building_cursor is 'Id of the last row in the version that is being built; rows are added in the order of their ids.';
comment on column search_indexes.error is 'Why the engine refused to build the next version; null when it did not.';

create table search_keys (
  mark text not null,
  generation integer not null,
  collections text[] not null,
  engine_id bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  retired_at timestamp with time zone,
  constraint search_keys_pkey PRIMARY KEY (mark, generation, collections)
);
alter table search_keys enable row level security, force row level security;

create policy search_keys_owner on search_keys for all to office_owner
  using (true)
  with check (true);

comment on table search_keys is '@internal
@audit off because it is the state of the search engine
The engine''s search-only keys, one for each set of collections. Users'' short-lived keys are derived from them. Their values are not stored; they are computed from the engine''s administration key.';
comment on column search_keys.mark is 'Identifies the administration key that the key was computed from.';
comment on column search_keys.generation is 'Number of the rotation.';
comment on column search_keys.engine_id is 'The engine''s id of the key, for its removal.';

create table search_leftovers (
  kind text not null,
  name text not null,
  constraint search_leftovers_kind_check CHECK (kind = ANY (ARRAY['alias'::text, 'collection'::text, 'key'::text])),
  constraint search_leftovers_pkey PRIMARY KEY (kind, name)
);
alter table search_leftovers enable row level security, force row level security;

create policy search_leftovers_owner on search_leftovers for all to office_owner
  using (true)
  with check (true);

comment on table search_leftovers is '@internal
@audit off because it is the state of the search engine
Objects that ended test runs have left in the search engine, to be removed.';

create table search_watch_notices (
  id uuid not null default uuidv7(),
  watch_id uuid not null,
  event search_watch_event not null,
  row_id uuid not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  constraint search_watch_notices_pkey PRIMARY KEY (id),
  constraint search_watch_notices_watch_id_fkey FOREIGN KEY (watch_id) REFERENCES search_watches(id) ON DELETE CASCADE
);
alter table search_watch_notices enable row level security, force row level security;
CREATE INDEX search_watch_notices_watch_id_idx ON search_watch_notices USING btree (watch_id, id);

create policy search_watch_notices_owner on search_watch_notices for all to office_owner
  using (true)
  with check (true);

comment on table search_watch_notices is '@internal
@audit off because notifications report these events
The pending events of a watch.';

create table search_watch_rows (
  watch_id uuid not null,
  row_id uuid not null,
  constraint search_watch_rows_pkey PRIMARY KEY (watch_id, row_id),
  constraint search_watch_rows_watch_id_fkey FOREIGN KEY (watch_id) REFERENCES search_watches(id) ON DELETE CASCADE
);
alter table search_watch_rows enable row level security, force row level security;
CREATE INDEX search_watch_rows_row_id_idx ON search_watch_rows USING btree (row_id);

create policy search_watch_rows_owner on search_watch_rows for all to office_owner
  using (true)
  with check (true);

comment on table search_watch_rows is '@internal
@audit off because it is derived data
The rows that matched a watch at its last evaluation.';

create table search_watches (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  name text collate display_order not null,
  entity text collate "C" not null,
  query text not null,
  events search_watch_event[] not null default '{CREATED,MATCHES}'::search_watch_event[],
  delivery search_watch_delivery not null default 'AT_ONCE'::search_watch_delivery,
  channels search_watch_channel[] not null default '{INBOX}'::search_watch_channel[],
  is_paused boolean not null default false,
  last_match_at timestamp with time zone,
  match_count integer not null default 0,
  problem text,
  table_name text not null,
  statement text not null,
  statement_values jsonb not null,
  seen_statement text not null,
  ids_at integer not null,
  related_tables text[] not null default '{}'::text[],
  related_at timestamp with time zone,
  related_due_at timestamp with time zone,
  is_ready boolean not null default false,
  ready_after text,
  is_settled boolean not null default false,
  baseline_ids uuid[],
  baseline_snapshot text,
  due_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint search_watches_channels_check CHECK (cardinality(channels) > 0),
  constraint search_watches_events_check CHECK (cardinality(events) > 0),
  constraint search_watches_name_check CHECK (is_label(name, 200)),
  constraint search_watches_pkey PRIMARY KEY (id),
  constraint search_watches_query_check CHECK (char_length(query) >= 1 AND char_length(query) <= 10000),
  constraint search_watches_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table search_watches enable row level security, force row level security;
CREATE INDEX search_watches_due_at_idx ON search_watches USING btree (due_at);
CREATE INDEX search_watches_related_due_at_idx ON search_watches USING btree (related_due_at);
CREATE INDEX search_watches_related_tables_idx ON search_watches USING gin (related_tables);
CREATE INDEX search_watches_table_name_idx ON search_watches USING btree (table_name);
CREATE INDEX search_watches_user_id_idx ON search_watches USING btree (user_id, name, id);
CREATE INDEX search_watches_words_idx ON search_watches USING gin (search_text(name) gin_trgm_ops);
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON search_watches FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _400_restore BEFORE INSERT ON search_watches FOR EACH ROW WHEN (is_restoring()) EXECUTE FUNCTION tg_search_watches__restore();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON search_watches REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('SearchWatch', 'id', '', 'baseline_ids', 'baseline_snapshot', 'match_count', 'statement_values', 'related_at', 'table_name', 'ids_at', 'last_match_at', 'related_tables', 'seen_statement', 'due_at', 'statement', 'related_due_at', 'is_ready', 'is_settled', 'ready_after');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON search_watches REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('SearchWatch', 'id', '', 'baseline_ids', 'baseline_snapshot', 'match_count', 'statement_values', 'related_at', 'table_name', 'ids_at', 'last_match_at', 'related_tables', 'seen_statement', 'due_at', 'statement', 'related_due_at', 'is_ready', 'is_settled', 'ready_after');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON search_watches REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('SearchWatch', 'id', '', 'baseline_ids', 'baseline_snapshot', 'match_count', 'statement_values', 'related_at', 'table_name', 'ids_at', 'last_match_at', 'related_tables', 'seen_statement', 'due_at', 'statement', 'related_due_at', 'is_ready', 'is_settled', 'ready_after');

create policy search_watches_owner on search_watches for all to office_owner
  using (true)
  with check (true);

create policy search_watches_read on search_watches for select to office_api
  using ((( SELECT is_login() AS is_login) AND (user_id = ( SELECT current_user_id() AS current_user_id))));
grant select (xmin, id, user_id, name, entity, query, events, delivery, channels, is_paused, last_match_at, match_count, problem, table_name, statement, statement_values, seen_statement, ids_at, related_tables, related_at, related_due_at, is_ready, ready_after, is_settled, baseline_ids, baseline_snapshot, due_at, created_at, updated_at) on search_watches to office_api;

comment on table search_watches is '@group Office 54
@icon eye
@read login
@create login
@owner user_id
@audit SearchWatch id except table_name statement statement_values seen_statement ids_at related_tables related_at related_due_at is_ready ready_after is_settled baseline_ids baseline_snapshot due_at last_match_at match_count
@watch off because each event of a watch changes its row
@defaultOrder name, id
@label name entity
A saved search that notifies its owner when rows start or stop matching.';

comment on column search_watches.user_id is '@internal
Whose watch it is.';

comment on column search_watches.name is '@search word
@list 1
The name of the search watch.';

comment on column search_watches.entity is '@list 2
@widget list
@title List
The name of the searched list, such as `products`.';

comment on column search_watches.query is '@list 3
@widget long
The search, as in the argument `query` of that list.';

comment on column search_watches.events is '@list 4
The events that the owner is notified of.';

comment on column search_watches.delivery is '@list 5
@title When
When the owner is notified.';

comment on column search_watches.channels is '@title How
Where the owner is notified.';

comment on column search_watches.is_paused is '@list 6
@title Paused
Whether the watch is paused. Events during a pause are not reported later.';

comment on column search_watches.last_match_at is '@list 7
When the watch last found an event; null before the first event.';

comment on column search_watches.match_count is '@list 8
@title Matches
The number of events that the watch found.';

comment on column search_watches.problem is '@internal
Why the service paused the watch; null without a problem.';

comment on column search_watches.table_name is '@internal
The table of the list.';

comment on column search_watches.statement is '@internal
The compiled search.';

comment on column search_watches.statement_values is '@internal
The parameters of the compiled search.';

comment on column search_watches.seen_statement is '@internal
SQL that selects the ids and names of changed rows.';

comment on column search_watches.ids_at is '@internal
The index of the parameter for the ids of changed rows, from 0.';

comment on column search_watches.related_tables is '@internal
The other tables that the search reads through relations.';

comment on column search_watches.related_at is '@internal
When all rows were last evaluated because of a change in a related table.';

comment on column search_watches.related_due_at is '@internal
When all rows are to be evaluated because of a change in a related table; null without such a change.';

comment on column search_watches.is_ready is '@internal
Whether `search_watch_rows` holds the matching rows.';

comment on column search_watches.ready_after is '@internal
The transaction id that all earlier transactions must end before, so that the baseline is complete.';

comment on column search_watches.is_settled is '@internal
Whether all rows were evaluated after the transactions ended that ran while the watch was saved.';

comment on column search_watches.baseline_ids is '@internal
The rows that matched when the watch was saved, until they are in `search_watch_rows`.';

comment on column search_watches.baseline_snapshot is '@internal
The transactions whose changes are part of the baseline; null when it is settled.';

comment on column search_watches.due_at is '@internal
When its pending events are delivered; null without pending events.';
comment on constraint search_watches_channels_check on search_watches is 'must name at least one channel';
comment on constraint search_watches_events_check on search_watches is 'must name at least one event';
comment on constraint search_watches_name_check on search_watches is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint search_watches_query_check on search_watches is 'must be 1 to 10000 characters';

create table sessions (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  token_hash bytea not null,
  ip_address text,
  user_agent text,
  created_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone not null default now(),
  idle_expires_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_token_hash_key UNIQUE (token_hash),
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table sessions enable row level security, force row level security;
CREATE INDEX sessions_expires_at_idx ON sessions USING btree (expires_at);
CREATE INDEX sessions_user_id_idx ON sessions USING btree (user_id);
CREATE TRIGGER _500_last_login AFTER INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION tg_sessions__last_login();
CREATE TRIGGER _500_notify AFTER INSERT ON sessions FOR EACH ROW WHEN (new.ip_address IS NOT NULL) EXECUTE FUNCTION tg_sessions__notify();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON sessions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Session', 'id', '', 'token_hash', 'idle_expires_at', 'last_used_at');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON sessions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Session', 'id', '', 'token_hash', 'idle_expires_at', 'last_used_at');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON sessions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('Session', 'id', '', 'token_hash', 'idle_expires_at', 'last_used_at');

create policy sessions_owner on sessions for all to office_owner
  using (true)
  with check (true);

comment on table sessions is '@internal
@name stored_sessions
@audit Session id except last_used_at idle_expires_at
A session of a user, with the hash of its token. It ends by expiry, by logout or when its user is deactivated.';

comment on column sessions.token_hash is '@secret
SHA-256 of the session token.';

comment on column sessions.ip_address is '@personal user_id
The address of the login.';

comment on column sessions.user_agent is '@personal user_id
The program of the login.';

create table stored_files (
  key text not null,
  job_id uuid,
  workbook_id uuid,
  created_at timestamp with time zone not null default now(),
  delete_after timestamp with time zone,
  removed_at timestamp with time zone,
  attachment_id uuid,
  constraint stored_files_pkey PRIMARY KEY (key)
);
alter table stored_files enable row level security, force row level security;
CREATE INDEX stored_files_attachment_id_idx ON stored_files USING btree (attachment_id);
CREATE INDEX stored_files_delete_after_idx ON stored_files USING btree (delete_after) WHERE delete_after IS NOT NULL;
CREATE INDEX stored_files_job_id_idx ON stored_files USING btree (job_id);
CREATE INDEX stored_files_workbook_id_idx ON stored_files USING btree (workbook_id);

create policy stored_files_owner on stored_files for all to office_owner
  using (true)
  with check (true);

comment on table stored_files is '@internal
@audit off because it only lists files
Every file of this tenant that may be in the object store. A row is added before the upload starts and removed after the deletion is certain, so that a crash leaves no unknown file.';

create table user_identities (
  id uuid not null default uuidv7(),
  user_id uuid not null,
  issuer text not null,
  subject text not null,
  email text not null,
  created_at timestamp with time zone not null default now(),
  constraint user_identities_issuer_subject_key UNIQUE (issuer, subject),
  constraint user_identities_pkey PRIMARY KEY (id),
  constraint user_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint user_identities_user_id_issuer_key UNIQUE (user_id, issuer)
);
alter table user_identities enable row level security, force row level security;
CREATE TRIGGER _800_audit_delete AFTER DELETE ON user_identities REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserIdentity', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON user_identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserIdentity', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON user_identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserIdentity', 'id', '');

create policy user_identities_owner on user_identities for all to office_owner
  using (true)
  with check (true);

comment on table user_identities is '@internal
@audit UserIdentity
A user''s account at an identity provider. The first login matches a user by e-mail address, later ones by this row.';
comment on column user_identities.issuer is 'The provider''s issuer identifier (`iss`).';

comment on column user_identities.subject is '@personal user_id
The provider''s identifier of the person (`sub`), which it never gives to another person.';

comment on column user_identities.email is '@personal user_id
The verified address that matched the user.';

create table user_keys (
  user_id uuid not null,
  is_active boolean not null,
  permission_keys text not null,
  constraint user_keys_pkey PRIMARY KEY (user_id),
  constraint user_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table user_keys enable row level security, force row level security;

create policy user_keys_owner on user_keys for all to office_owner
  using (true)
  with check (true);

comment on table user_keys is '@internal
@audit off because it copies users, user_roles and role_permissions
Whether a user is active, and the keys of their permissions, separated by commas. Triggers keep it; every request reads it.';

create table user_logins (
  user_id uuid not null,
  last_login_at timestamp with time zone not null,
  constraint user_logins_pkey PRIMARY KEY (user_id),
  constraint user_logins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table user_logins enable row level security, force row level security;
CREATE TRIGGER _800_changes_delete AFTER DELETE ON user_logins REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_insert AFTER INSERT ON user_logins REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');
CREATE TRIGGER _800_changes_update AFTER UPDATE ON user_logins REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__row_changes('');

create policy user_logins_own on user_logins for select to office_api
  using (((user_id = ( SELECT current_user_id() AS current_user_id)) AND (NOT ( SELECT is_scoped() AS is_scoped))));

create policy user_logins_owner on user_logins for all to office_owner
  using (true)
  with check (true);

create policy user_logins_read on user_logins for select to office_api
  using (( SELECT has_permission('users.read'::text) AS has_permission));
grant select (xmin, user_id, last_login_at) on user_logins to office_api;

comment on table user_logins is '@read users.read
@root off
@audit off because sessions are recorded
The last login of each user.';
comment on column user_logins.user_id is 'The user.';
comment on column user_logins.last_login_at is 'The time of the last login.';
comment on constraint user_logins_user_id_fkey on user_logins is '@behavior -*';

create table user_roles (
  user_id uuid not null,
  role_id uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint user_roles_pkey PRIMARY KEY (user_id, role_id),
  constraint user_roles_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id) ON DELETE CASCADE,
  constraint user_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
alter table user_roles enable row level security, force row level security;
CREATE INDEX user_roles_role_id_idx ON user_roles USING btree (role_id);
CREATE TRIGGER _400_restore BEFORE INSERT ON user_roles FOR EACH ROW WHEN (is_restoring()) EXECUTE FUNCTION tg_user_roles__restore();
CREATE TRIGGER _500_touch_users_delete AFTER DELETE ON user_roles REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_user_roles__touch_users();
CREATE TRIGGER _500_touch_users_insert AFTER INSERT ON user_roles REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_user_roles__touch_users();
CREATE TRIGGER _500_touch_users_update_from AFTER UPDATE ON user_roles REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_user_roles__touch_users();
CREATE TRIGGER _500_touch_users_update_to AFTER UPDATE ON user_roles REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_user_roles__touch_users();
CREATE TRIGGER _800_audit_delete AFTER DELETE ON user_roles REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserRole', 'user_id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON user_roles REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserRole', 'user_id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON user_roles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('UserRole', 'user_id', '');

create policy user_roles_managed on user_roles for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['users.update'::text, 'invitations.create'::text]) AS has_any_permission));

create policy user_roles_owner on user_roles for all to office_owner
  using (true)
  with check (true);

create policy user_roles_read on user_roles for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['users.read'::text, 'users.update'::text]) AS has_any_permission));

create policy user_roles_self on user_roles for select to office_api
  using ((user_id = ( SELECT current_user_id() AS current_user_id)));
grant select (xmin, user_id, role_id, created_at) on user_roles to office_api;

comment on table user_roles is '@internal
@read users.read
@create users.update
@audit UserRole user_id
Which user holds which role.';

create table users (
  id uuid not null default uuidv7(),
  email text collate display_order not null,
  name text collate display_order,
  avatar_url text,
  is_active boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  department_id uuid,
  invitations_closed_at timestamp with time zone,
  time_zone text,
  locale text,
  erased_at timestamp with time zone,
  constraint users_avatar_url_check CHECK (avatar_url ~ '^https://[^\s<>"]+$'::text AND char_length(avatar_url) <= 2000),
  constraint users_avatar_url_public_check CHECK (avatar_url !~ '^https://'::text OR avatar_url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'::text AND avatar_url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'::text),
  constraint users_department_id_fkey FOREIGN KEY (department_id) REFERENCES departments(id) ON DELETE SET NULL,
  constraint users_email_check CHECK (is_label(email, 254) AND email ~ '^[^\s@<>"(),:;\\]+@[^\s@<>"(),:;\\]+\.[^\s@<>"(),:;\\.]+$'::text),
  constraint users_locale_check CHECK (is_locale(locale)),
  constraint users_name_check CHECK (is_label(name, 120)),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_time_zone_check CHECK (is_time_zone(time_zone))
);
alter table users enable row level security, force row level security;
CREATE INDEX users_created_at_idx ON users USING btree (created_at, id);
CREATE INDEX users_department_id_idx ON users USING btree (department_id);
CREATE INDEX users_email_idx ON users USING btree (email, id);
CREATE INDEX users_is_active_idx ON users USING btree (is_active, id);
CREATE INDEX users_name_idx ON users USING btree (name, id);
CREATE INDEX users_updated_at_idx ON users USING btree (updated_at, id);
CREATE INDEX users_words_idx ON users USING gin (search_text(name) gin_trgm_ops, search_text(email) gin_trgm_ops);
CREATE UNIQUE INDEX users_email_key ON users USING btree (name_key(email));
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON users FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('email');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _200_close_invitations BEFORE INSERT OR UPDATE OF is_active ON users FOR EACH ROW WHEN (new.is_active AND new.invitations_closed_at IS NULL) EXECUTE FUNCTION tg_users__close_invitations();
CREATE TRIGGER _300_check_dots BEFORE INSERT OR UPDATE OF email ON users FOR EACH ROW EXECUTE FUNCTION tg_users__check_dots();
CREATE TRIGGER _500_end_invitations AFTER UPDATE OF is_active ON users FOR EACH ROW WHEN (old.is_active AND NOT new.is_active) EXECUTE FUNCTION tg_users__end_invitations();
CREATE TRIGGER _500_end_logins AFTER UPDATE OF is_active ON users FOR EACH ROW WHEN (old.is_active AND NOT new.is_active) EXECUTE FUNCTION tg_users__end_logins();
CREATE TRIGGER _500_forget_login_codes AFTER UPDATE OF is_active ON users FOR EACH ROW WHEN (old.is_active AND NOT new.is_active) EXECUTE FUNCTION tg_users__forget_login_codes();
CREATE TRIGGER _500_keep_active AFTER INSERT OR UPDATE OF is_active ON users FOR EACH ROW EXECUTE FUNCTION tg_users__keep_active();
CREATE TRIGGER _500_notification_preferences AFTER INSERT ON users REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg_users__notification_preferences();
CREATE TRIGGER _700_search_campaigns_author_user_id_update AFTER UPDATE ON users REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('campaigns', 'to', 'author_user_id', 'id', 'name');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON users REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('User', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON users REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('User', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON users REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('User', 'id', '');

create policy users_campaign_authors on users for select to office_api
  using ((( SELECT has_any_permission(VARIADIC ARRAY['campaigns.read'::text, 'campaigns.create'::text, 'campaigns.update'::text, 'campaigns.delete'::text]) AS has_any_permission) AND (EXISTS ( SELECT
   FROM campaigns c
  WHERE (c.author_user_id = users.id)))));

create policy users_colleagues on users for select to office_api
  using ((is_active AND (department_id = ( SELECT colleagues_department_id() AS colleagues_department_id))));

create policy users_managed on users for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['users.update'::text, 'invitations.create'::text]) AS has_any_permission));

create policy users_owner on users for all to office_owner
  using (true)
  with check (true);

create policy users_read on users for select to office_api
  using (( SELECT has_permission('users.read'::text) AS has_permission));

create policy users_self on users for select to office_api
  using ((id = ( SELECT current_user_id() AS current_user_id)));
grant select (xmin, id, email, name, avatar_url, is_active, created_at, updated_at, department_id, invitations_closed_at, time_zone, locale, erased_at) on users to office_api;

comment on table users is '@group People 50
@icon person
@label name email
@read users.read
@audit User
@auditReads
@filter departmentId departmentId:$value
@filter roleId roles.id:$value
@filter isActive isActive:$value
@defaultOrder email
A member of staff.';

comment on column users.email is '@search word
@personal
@list 2
@widget email
The e-mail address, unique without regard to case.';

comment on column users.name is '@search word
@personal
@list 1
The name shown to colleagues.';

comment on column users.avatar_url is '@personal
@title Picture
@widget url
The address of the user''s picture.';

comment on column users.is_active is '@list 4
@title Active
Whether the user is active. Only active users can log in.';
comment on column users.updated_at is '@list 6';

comment on column users.department_id is '@list 3
The department of the user.';

comment on column users.invitations_closed_at is '@internal
When the user was first activated, or deactivated before that; no invitation activates the user from then on.';

comment on column users.time_zone is '@personal
The user''s time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';

comment on column users.locale is '@personal
The user''s locale, such as `da-DK`, for the format of dates and numbers; null for the locale of the office.';

comment on column users.erased_at is '@mutations off
@title Anonymised
When the personal data was erased.';
comment on constraint users_avatar_url_check on users is 'must be an https:// address of 2000 characters at most';
comment on constraint users_avatar_url_public_check on users is 'must name a public host: no IP address, no internal name';

comment on constraint users_department_id_fkey on users is '@forwardFollows own
@forwardScopedRead departments.read
@foreignConnectionFieldName members
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint users_email_check on users is 'must be an e-mail address such as anna@example.com, 254 characters at most';
comment on constraint users_locale_check on users is 'must be the name of a locale, such as da-DK';
comment on constraint users_name_check on users is 'must be 1 to 120 visible characters without spaces at its ends';
comment on constraint users_time_zone_check on users is 'must be the name of a time zone, such as Europe/Copenhagen';
comment on index users_email_key is 'A user with this e-mail address exists already.';

create table wine_types (
  id uuid not null default uuidv7(),
  name text collate display_order not null,
  color text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint wine_types_color_check CHECK (color ~ '^#[0-9A-F]{6}$'::text),
  constraint wine_types_name_check CHECK (is_label(name, 80)),
  constraint wine_types_pkey PRIMARY KEY (id)
);
alter table wine_types enable row level security, force row level security;
CREATE INDEX wine_types_words_idx ON wine_types USING gin (search_text(name) gin_trgm_ops);
CREATE UNIQUE INDEX wine_types_name_key ON wine_types USING btree (name_key(name));
CREATE TRIGGER _050_normalize_color BEFORE INSERT OR UPDATE OF color ON wine_types FOR EACH ROW EXECUTE FUNCTION tg_wine_types__normalize_color();
CREATE TRIGGER _050_normalize_names BEFORE INSERT OR UPDATE ON wine_types FOR EACH ROW EXECUTE FUNCTION tg__normalize_names('name');
CREATE TRIGGER _100_timestamps BEFORE UPDATE ON wine_types FOR EACH ROW EXECUTE FUNCTION tg__timestamps();
CREATE TRIGGER _700_search_products_wine_type_id_update AFTER UPDATE ON wine_types REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__search_changed('products', 'to', 'wine_type_id', 'id', 'color', 'name');
CREATE TRIGGER _800_audit_delete AFTER DELETE ON wine_types REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('WineType', 'id', '');
CREATE TRIGGER _800_audit_insert AFTER INSERT ON wine_types REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('WineType', 'id', '');
CREATE TRIGGER _800_audit_update AFTER UPDATE ON wine_types REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tg__audit('WineType', 'id', '');

create policy wine_types_create on wine_types for insert to office_api
  with check (( SELECT has_permission('products.create'::text) AS has_permission));

create policy wine_types_delete on wine_types for delete to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission));

create policy wine_types_of_campaigns on wine_types for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['campaigns.read'::text, 'campaigns.create'::text, 'campaigns.update'::text, 'campaigns.delete'::text]) AS has_any_permission));

create policy wine_types_owner on wine_types for all to office_owner
  using (true)
  with check (true);

create policy wine_types_read on wine_types for select to office_api
  using (( SELECT has_any_permission(VARIADIC ARRAY['products.read'::text, 'products.create'::text, 'products.update'::text]) AS has_any_permission));

create policy wine_types_update on wine_types for update to office_api
  using (( SELECT has_permission('products.update'::text) AS has_permission))
  with check (( SELECT has_permission('products.update'::text) AS has_permission));
grant delete on wine_types to office_api;
grant insert (name, color) on wine_types to office_api;
grant select (xmin, id, name, color, created_at, updated_at) on wine_types to office_api;
grant update (name, color) on wine_types to office_api;

comment on table wine_types is '@group Catalogue 11
@icon glass
@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit WineType
@defaultOrder name
A type of wine, such as red or sparkling, with its colour.';

comment on column wine_types.name is '@search word
The name of the wine type, unique without regard to case.';

comment on column wine_types.color is '@title Colour
@widget color
The colour of the wine type, as `#RRGGBB`.';
comment on constraint wine_types_color_check on wine_types is 'must be a colour such as #7A0019';
comment on constraint wine_types_name_check on wine_types is 'must be 1 to 80 visible characters without spaces at its ends';
comment on index wine_types_name_key is 'A wine type of this name exists already.';

-- the tenant: functions
CREATE OR REPLACE FUNCTION abbreviate_list(items text[], at_most integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array_to_string(abbreviate_list.items[1 : abbreviate_list.at_most], ', ')
    || case when cardinality(abbreviate_list.items) > abbreviate_list.at_most
        then format(' and %s more', cardinality(abbreviate_list.items) - abbreviate_list.at_most) else '' end
$function$;

CREATE OR REPLACE FUNCTION absence_balances(year integer DEFAULT NULL::integer, user_id uuid DEFAULT NULL::uuid)
 RETURNS SETOF absence_balance
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_user_id uuid := coalesce(absence_balances.user_id, current_user_id());
  v_year integer := coalesce(absence_balances.year, extract(year from now() at time zone own_time_zone()));
  v_first_on date;
  v_last_on date;
begin
  perform require_full_login();
  if v_user_id <> current_user_id() and not has_any_permission('absences.read', 'absences.update') then
    perform require_permission('absences.read');
  end if;
  if v_year not between 1900 and 2200 then
    perform fail('OF400', 'year must be 1900 to 2200', '{"path": ["year"]}');
  elsif v_user_id <> current_user_id() and not is_user(v_user_id) then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  end if;
  v_first_on := make_date(v_year, 1, 1);
  v_last_on := make_date(v_year, 12, 31);
  return query
  select t.type,
    coalesce(sum(d.days) filter (where a.status = 'REQUESTED'), 0), coalesce(sum(d.days) filter (where a.status = 'APPROVED'), 0)
  from unnest(enum_range(null::absence_type)) as t(type)
    left join absences a on a.user_id = v_user_id and a.type = t.type and a.status in ('REQUESTED', 'APPROVED')
      and a.starts_on <= v_last_on and a.ends_on >= v_first_on
    left join lateral working_days(
      greatest(a.starts_on, v_first_on), least(a.ends_on, v_last_on),
      a.starts_half_day and a.starts_on >= v_first_on, a.ends_half_day and a.ends_on <= v_last_on
    ) as d(days) on a.id is not null
  group by t.type order by t.type;
end;
$function$;
grant execute on function absence_balances(integer,uuid) to office_api;

comment on function absence_balances(integer,uuid) is '@guard login
@report Office 30
@icon chart
@argument year The calendar year; by default the present one.
@argument user_id The user whose balances to read; the caller by default. Other users need `absences.read` or `absences.update`.
The working days of a year on which a user is absent, by reason.';

CREATE OR REPLACE FUNCTION absence_time_zone(user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select time_zone_of(absence_time_zone.user_id)
$function$;
grant execute on function absence_time_zone(uuid) to office_api;

comment on function absence_time_zone(uuid) is '@behavior -*
The time zone in which the days of the absences of a user begin and end.';

CREATE OR REPLACE FUNCTION absence_to_change(id uuid, is_decision boolean)
 RETURNS absences
 LANGUAGE plpgsql
AS $function$
declare
  v_absence absences;
begin
  perform require_full_login();
  if is_decision then
    perform require_permission('absences.update');
  end if;
  select * into v_absence from absences a where a.id = absence_to_change.id for update;
  if not found or v_absence.user_id <> current_user_id() and not has_any_permission('absences.read', 'absences.update') then
    perform fail('OF404', 'There is no absence with this id', '{"path": ["id"]}');
  end if;
  if is_decision and v_absence.user_id = current_user_id() then
    perform fail('OF403', 'Nobody decides on an absence of their own', '{"path": ["id"]}');
  elsif not is_decision and v_absence.user_id <> current_user_id() then
    perform require_permission('absences.update');
  end if;
  return v_absence;
end;
$function$;

CREATE OR REPLACE FUNCTION absences_department_id(absence absences)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select absent_department_id(absence.user_id)
$function$;
grant execute on function absences_department_id(absences) to office_api;

comment on function absences_department_id(absences) is '@computed
The id of the person''s current department. Every reader of the absence can see it.';

CREATE OR REPLACE FUNCTION absences_user_name(absence absences)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(absence.user_id)
$function$;
grant execute on function absences_user_name(absences) to office_api;

comment on function absences_user_name(absences) is '@computed
@title Person
@list 1
The name of the person; without a name, the part of the e-mail address before the @. Every reader of the absence can see it.';

CREATE OR REPLACE FUNCTION absences_working_days(absence absences)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select working_days(absence.starts_on, absence.ends_on, absence.starts_half_day, absence.ends_half_day)
$function$;
grant execute on function absences_working_days(absences) to office_api;

comment on function absences_working_days(absences) is '@computed
@list 6
@notNull
The number of working days: Monday to Friday without public holidays. Half days count as 0.5.';

CREATE OR REPLACE FUNCTION absent_department_id(user_id uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select u.department_id from users u
  where u.id = absent_department_id.user_id and is_login()
    and (u.id = current_user_id() or has_any_permission('absences.read', 'absences.update'))
$function$;
grant execute on function absent_department_id(uuid) to office_api;

comment on function absent_department_id(uuid) is '@behavior -*
The department of a user, for callers who see the absences of that user; null for others.';

CREATE OR REPLACE FUNCTION act_as(user_id uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform set_config('office.user_id', act_as.user_id::text, true);
end;
$function$;

CREATE OR REPLACE FUNCTION activate_on_login(user_id uuid, name text, picture text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update users u set
    is_active = true, name = coalesce(u.name, activate_on_login.name), avatar_url = coalesce(u.avatar_url, activate_on_login.picture)
  where u.id = activate_on_login.user_id and (
    not u.is_active or (u.name is null and activate_on_login.name is not null) or (u.avatar_url is null and activate_on_login.picture is not null)
  )
$function$;

CREATE OR REPLACE FUNCTION activate_user(user_id uuid)
 RETURNS users
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user users;
begin
  perform require_permission('users.update');
  v_user := changeable_user(activate_user.user_id);
  if v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised and cannot be activated', '{"path": ["userId"]}');
  end if;
  if not v_user.is_active then
    -- Activation enables all permissions of the user, so the caller must be able to grant them.
    perform require_grantable(user_permissions(v_user.id));
    update users set is_active = true where users.id = v_user.id returning * into v_user;
  end if;
  update invitations set state = 'accepted', accepted_at = now()
  where invitations.user_id = v_user.id and state = 'pending' and expires_at > now();
  return v_user;
end;
$function$;
grant execute on function activate_user(uuid) to office_api;

comment on function activate_user(uuid) is '@guard users.update
@action unless is_active
Activates a user and accepts a pending invitation of the user. The caller must hold the permissions of the user.';

CREATE OR REPLACE FUNCTION add_ai_message(conversation_id text, id text, role text, parts jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform own_ai_conversation(add_ai_message.conversation_id);
  perform append_ai_message(
    add_ai_message.conversation_id, current_user_id(), add_ai_message.id, add_ai_message.role, add_ai_message.parts);
end;
$function$;
grant execute on function add_ai_message(text,text,text,jsonb) to office_api;
comment on function add_ai_message(text,text,text,jsonb) is 'Adds a message to a conversation of the caller; a known id replaces that message and removes all later ones.';

CREATE OR REPLACE FUNCTION add_audit_seal(tree text, kind text, to_id uuid, row_ids uuid[], row_hashes bytea, dropped_before timestamp with time zone)
 RETURNS audit_seals
 LANGUAGE plpgsql
AS $function$
declare
  v_last audit_seals;
  v_seal audit_seals;
begin
  select * into v_last from audit_seals s where s.tree = add_audit_seal.tree order by s.position desc limit 1;
  v_seal.tree := tree;
  v_seal.position := coalesce(v_last.position, 0) + 1;
  v_seal.kind := kind;
  v_seal.from_id := coalesce(v_last.to_id, '00000000-0000-0000-0000-000000000000');
  v_seal.to_id := coalesce(to_id, v_seal.from_id);
  v_seal.row_count := cardinality(row_ids);
  v_seal.row_ids := row_ids;
  v_seal.row_hashes := row_hashes;
  v_seal.rows_digest := sha256(row_hashes);
  v_seal.dropped_before := dropped_before;
  v_seal.sealed_at := clock_timestamp();
  v_seal.previous := coalesce(v_last.digest, decode(repeat('00', 32), 'hex'));
  v_seal.digest := audit_seal_digest(v_seal);
  insert into audit_seals select v_seal.*;
  return v_seal;
end;
$function$;
comment on function add_audit_seal(text,text,uuid,uuid[],bytea,timestamp with time zone) is 'Adds a link to a chain; the caller must hold the sealing lock.';

CREATE OR REPLACE FUNCTION add_counts(one jsonb, other jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(jsonb_object_agg(k.key, coalesce((one ->> k.key)::integer, 0) + coalesce((other ->> k.key)::integer, 0)), '{}')
  from (select jsonb_object_keys(one) union select jsonb_object_keys(other)) as k(key)
$function$;

CREATE OR REPLACE FUNCTION add_notification_preferences()
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into notification_preferences (user_id, kind, mail)
  select u.id, k.kind, default_notification_mail(k.kind)
  from users u, notification_kinds() as k(kind)
  where not exists (select from notification_preferences p where p.user_id = u.id and p.kind = k.kind)
  on conflict do nothing
$function$;
comment on function add_notification_preferences() is 'Adds missing preferences, such as those of a new kind.';

CREATE OR REPLACE FUNCTION add_notifications(user_ids uuid[], kind notification_kind, title text, body text, entity text, entity_id text, subject_key text, in_inbox boolean DEFAULT NULL::boolean, mail notification_mail DEFAULT NULL::notification_mail, occurrences integer DEFAULT 1)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_key text := coalesce(add_notifications.subject_key, add_notifications.entity_id, '');
  v_title text := left(add_notifications.title, 300);
  v_body text := left(trim_to_null(add_notifications.body), 2000);
begin
  -- Concurrent repetitions are merged as well.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws('.', current_schema(), 'notify', add_notifications.kind, v_key) collate "C", 0));
  with recipients as (
    select u.id as user_id, coalesce(add_notifications.in_inbox, p.in_inbox) as in_inbox, coalesce(add_notifications.mail, p.mail) as mail
    from users u left join notification_preferences p on p.user_id = u.id and p.kind = add_notifications.kind
    where u.id = any (add_notifications.user_ids) and u.is_active
  ),
  again as (
    update notifications n set
      occurrences = n.occurrences + add_notifications.occurrences, happened_at = now(), title = v_title, body = v_body,
      entity = add_notifications.entity, entity_id = add_notifications.entity_id,
      read_at = case when t.in_inbox then null else n.read_at end,
      -- A daily mail that was sent before the repetition is followed by the next one.
      mail_at = case when n.mailed_at is not null and t.mail = 'DAILY' then next_digest_at(t.user_id) else n.mail_at end,
      mail_id = case when n.mailed_at is not null and t.mail = 'DAILY' then null else n.mail_id end,
      mailed_at = case when t.mail = 'DAILY' then null else n.mailed_at end
    from recipients t
    where n.kind = add_notifications.kind and n.subject_key = v_key and n.created_at > now() - interval '1 hour' and n.user_id = t.user_id
    returning n.user_id
  )
  insert into notifications (user_id, kind, title, body, entity, entity_id, subject_key, occurrences, read_at, mail_at)
  select t.user_id, add_notifications.kind, v_title, v_body, add_notifications.entity, add_notifications.entity_id, v_key,
    add_notifications.occurrences,
    case when not t.in_inbox then now() end,
    case t.mail when 'AT_ONCE' then now() when 'DAILY' then next_digest_at(t.user_id) end
  from recipients t
  where (t.in_inbox or t.mail <> 'OFF') and not exists (select from again a where a.user_id = t.user_id);
end;
$function$;

CREATE OR REPLACE FUNCTION add_related_change(table_name text)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into row_changes (reader, table_name) values ('watches', add_related_change.table_name)
$function$;
comment on function add_related_change(text) is 'Queues the evaluation of all rows for the watches that search this table through relations.';

CREATE OR REPLACE FUNCTION add_row_changes(readers change_reader[], table_name text, ids uuid[], is_new boolean)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into row_changes (reader, table_name, row_id, is_new)
  select r, add_row_changes.table_name, i, add_row_changes.is_new
  from unnest(add_row_changes.readers) as r, unnest(add_row_changes.ids) as i
$function$;
comment on function add_row_changes(change_reader[],text,uuid[],boolean) is 'Adds changed rows to the outbox, once for each reader.';

CREATE OR REPLACE FUNCTION advance_search_build(collection text, building text, building_cursor uuid, added integer)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update search_indexes i set building_cursor = advance_search_build.building_cursor, building_rows = i.building_rows + advance_search_build.added
  where i.collection = advance_search_build.collection and i.building = advance_search_build.building
$function$;
grant execute on function advance_search_build(text,text,uuid,integer) to office_worker;
comment on function advance_search_build(text,text,uuid,integer) is 'Records the last row of a new version''s build.';

CREATE OR REPLACE FUNCTION ai_answer_is_lost(answer ai_answers)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select ai_answer_is_lost.answer.state = 'running' and ai_answer_is_lost.answer.alive_at < now() - interval '10 seconds'
$function$;

CREATE OR REPLACE FUNCTION ai_approvals_status(approval ai_approvals)
 RETURNS ai_approval_status
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when ai_approvals_status.approval.state = 'PENDING' and ai_approvals_status.approval.expires_at <= now() then 'EXPIRED'
    else ai_approvals_status.approval.state
  end
$function$;
grant execute on function ai_approvals_status(ai_approvals) to office_api;

comment on function ai_approvals_status(ai_approvals) is '@computed
@notNull
The state of the approval.';

CREATE OR REPLACE FUNCTION ai_chunks_after(answer_id uuid, after integer)
 RETURNS TABLE(number integer, chunks jsonb, is_over boolean, is_lost boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return query
    select c.number, c.chunks, a.state <> 'running', ai_answer_is_lost(a)
    from ai_answers a
      left join ai_answer_chunks c on c.answer_id = a.id and c.number > ai_chunks_after.after
    where a.id = ai_chunks_after.answer_id and a.user_id = current_user_id()
    order by c.number;
end;
$function$;
grant execute on function ai_chunks_after(uuid,integer) to office_api;
comment on function ai_chunks_after(uuid,integer) is 'The chunks of an answer after a number, with the answer''s state; no row when the answer is gone.';

CREATE OR REPLACE FUNCTION ai_conversation_title(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(
    nullif(btrim(left(regexp_replace(trim_to_null(ai_conversation_title.value), '[[:cntrl:][:space:]]+', ' ', 'g'), 80)), ''),
    'New conversation')
$function$;

CREATE OR REPLACE FUNCTION ai_usage_today()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return coalesce((
    select jsonb_build_object(
      'answers', u.answers, 'inputTokens', u.input_tokens, 'outputTokens', u.output_tokens, 'cost', u.cost::float8)
    from ai_usage u where u.user_id = current_user_id() and u.day = (now() at time zone 'UTC')::date
  ), '{"answers": 0, "inputTokens": 0, "outputTokens": 0, "cost": 0}');
end;
$function$;
grant execute on function ai_usage_today() to office_api;
comment on function ai_usage_today() is 'The caller''s usage of today (UTC).';

CREATE OR REPLACE FUNCTION anonymise_customer(id uuid)
 RETURNS customers
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_customer customers;
begin
  perform require_all_permissions('customers.erase', 'customers.read');
  select * into v_customer from customers c where c.id = anonymise_customer.id for update;
  if not found then
    perform fail('OF404', 'There is no customer with this id', '{"path": ["id"]}');
  elsif v_customer.erased_at is not null then
    perform fail('OF409', 'The customer is anonymised already', '{"path": ["id"]}');
  end if;
  -- Watches quote the beginning of a note as its name.
  perform replace_in_notifications(watched_row_text(n.body), 'Erased') from customer_notes n where n.customer_id = anonymise_customer.id;
  delete from search_watch_notices x
  where x.row_id = anonymise_customer.id or x.row_id in (select n.id from customer_notes n where n.customer_id = anonymise_customer.id);
  delete from customer_notes n where n.customer_id = anonymise_customer.id;
  update customers c set erased_at = now() where c.id = anonymise_customer.id;
  update orders o set erased_at = now() where o.customer_id = anonymise_customer.id;
  perform replace_in_notifications(v_customer.name, 'Erased');
  perform erase_personal_data('customers', anonymise_customer.id, 'Customer');
  select * into v_customer from customers c where c.id = anonymise_customer.id;
  return v_customer;
end;
$function$;
grant execute on function anonymise_customer(uuid) to office_api;

comment on function anonymise_customer(uuid) is '@guard customers.erase customers.read
@action bad unless erased_at
Permanently erases the personal data of a customer: from the customer and its orders, the notes about it, searches and the audit log. Amounts and lines of orders stay. Imports from the ERP do not restore the data.';

CREATE OR REPLACE FUNCTION anonymise_user(user_id uuid)
 RETURNS users
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user users;
begin
  perform require_full_login();
  perform require_permission('users.update');
  v_user := changeable_user(anonymise_user.user_id);
  if v_user.is_active then
    perform fail('OF409', 'The user is active: deactivate them first', '{"path": ["userId"]}');
  elsif v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised already', '{"path": ["userId"]}');
  end if;
  -- As for a deactivation.
  perform require_revocable(user_permissions(v_user.id));
  -- Nobody decides on the absences of a former user, and what they booked is free again.
  update absences a set status = 'CANCELLED' where a.user_id = v_user.id and a.status = 'REQUESTED';
  update resource_bookings b set status = 'CANCELLED' where b.booked_by_user_id = v_user.id and b.status = 'BOOKED' and b.ends_at > now();
  delete from notifications n
  where n.user_id = v_user.id
    or n.entity = 'Absence' and n.entity_id in (select a.id::text from absences a where a.user_id = v_user.id)
    or n.entity = 'Invitation' and n.entity_id in (select i.id::text from invitations i where i.user_id = v_user.id);
  delete from notification_preferences p where p.user_id = v_user.id;
  delete from search_watches w where w.user_id = v_user.id;
  delete from calendar_feeds f where f.user_id = v_user.id;
  delete from ai_conversations c where c.user_id = v_user.id;
  delete from user_identities i where i.user_id = v_user.id;
  delete from notifications n
  where n.entity = 'Job' and n.entity_id in (
    select j.id::text from jobs j join invitations i on j.input ->> 'invitationId' = i.id::text
    where j.kind = 'send_invitation' and i.user_id = v_user.id);
  update jobs j set subject = 'Invitation', error = null
  from invitations i
  where j.kind = 'send_invitation' and j.input ->> 'invitationId' = i.id::text and i.user_id = v_user.id;
  perform replace_in_notifications(n.name, 'Former user') from unnest(array[v_user.email, user_name(v_user.id)]) as n(name);
  update users u set erased_at = now() where u.id = v_user.id;
  perform erase_personal_data('users', v_user.id, 'User',
    jsonb_build_object('email', format('erased-%s@erased.invalid', v_user.id), 'name', 'Former user'));
  select * into v_user from users u where u.id = v_user.id;
  return v_user;
end;
$function$;
grant execute on function anonymise_user(uuid) to office_api;

comment on function anonymise_user(uuid) is '@guard login users.update
@action bad unless is_active
@argument user_id An inactive user.
Permanently erases the personal data of a former user: name, e-mail address, picture, time zone, language, the types of absences and the names of API tokens, the conversations with the assistant, notifications, search watches and calendar feeds, and the values in the audit log. Requested absences and coming bookings are cancelled. Campaigns, bookings and decisions stay, attributed to a former user. The user can no longer be activated.';

CREATE OR REPLACE FUNCTION answer_ai_approval(conversation_id text, id uuid, approved boolean)
 RETURNS ai_approvals
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_approval ai_approvals;
  -- A worker may have recorded the expiry before this call.
  v_was_settled boolean;
begin
  perform require_assistant();
  select * into v_approval from ai_approvals a
  where a.id = answer_ai_approval.id and a.conversation_id = answer_ai_approval.conversation_id
    and a.user_id = current_user_id()
  for update;
  if not found then
    perform fail('OF404', 'There is no proposed change with this id', jsonb_build_object('approvalId', answer_ai_approval.id));
  elsif v_approval.state <> 'PENDING' and not (v_approval.state = 'EXPIRED' and v_approval.answered_at is null) then
    perform fail('OF409', format('The change was answered already: it is %s', v_approval.state),
      jsonb_build_object('approvalId', v_approval.id, 'status', v_approval.state));
  end if;
  v_was_settled := v_approval.state = 'EXPIRED';
  update ai_approvals a set
    state = case when not answer_ai_approval.approved then 'DENIED' when a.expires_at <= now() then 'EXPIRED' else 'APPROVED' end
      ::ai_approval_status,
    answered_at = now()
  where a.id = v_approval.id
  returning * into v_approval;
  if v_approval.state = 'DENIED' or v_approval.state = 'EXPIRED' and not v_was_settled then
    perform record_ai_approval_end(v_approval,
      case v_approval.state when 'DENIED' then 'Its user denied it.' else 'It was approved too late.' end);
  end if;
  return v_approval;
end;
$function$;
grant execute on function answer_ai_approval(text,uuid,boolean) to office_api;
comment on function answer_ai_approval(text,uuid,boolean) is 'Approves or denies a proposed change, once; an expired one stays unapproved.';

CREATE OR REPLACE FUNCTION any_word(query tsquery)
 RETURNS tsquery
 LANGUAGE sql
 STABLE
AS $function$
  select string_agg(m[1], ' | ')::tsquery from regexp_matches(querytree(any_word.query), '(''(?:[^'']|'''')+'')', 'g') as m
$function$;
grant execute on function any_word(tsquery) to office_api;
comment on function any_word(tsquery) is 'A search for any word of another search but those that it excludes.';

CREATE OR REPLACE FUNCTION api_tokens_lock()
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select hashtextextended(current_schema() || '.api_tokens', 0)
$function$;

CREATE OR REPLACE FUNCTION append_ai_message(conversation_id text, user_id uuid, id text, role text, parts jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_position integer;
begin
  select m.position into v_position from ai_messages m
  where m.conversation_id = append_ai_message.conversation_id and m.id = append_ai_message.id;
  if found then
    delete from ai_messages m where m.conversation_id = append_ai_message.conversation_id and m.position >= v_position;
  else
    select coalesce(max(m.position), 0) + 1 into v_position from ai_messages m
    where m.conversation_id = append_ai_message.conversation_id;
  end if;
  insert into ai_messages (conversation_id, id, user_id, position, role, parts)
  values (append_ai_message.conversation_id, append_ai_message.id, append_ai_message.user_id, v_position, append_ai_message.role,
    append_ai_message.parts);
  update ai_conversations c set updated_at = clock_timestamp() where c.id = append_ai_message.conversation_id;
end;
$function$;

CREATE OR REPLACE FUNCTION approve_absence(id uuid, note text DEFAULT NULL::text)
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  return decide_absence(approve_absence.id, 'APPROVED', approve_absence.note);
end;
$function$;
grant execute on function approve_absence(uuid,text) to office_api;

comment on function approve_absence(uuid,text) is '@guard login absences.update
@action
@argument note A note about the decision, for the person.
Approves the requested absence of a colleague. All colleagues then see the period as away.';

CREATE OR REPLACE FUNCTION are_tags(value text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select count(*) = count(distinct name_key(t)) and coalesce(bool_and(is_label(t, 1000)), true) from unnest(value) as t
$function$;
grant execute on function are_tags(text[]) to office_api;
comment on function are_tags(text[]) is 'Whether all tags are visible words and none is repeated, ignoring case.';

CREATE OR REPLACE FUNCTION as_decimal(value text, digits integer)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when as_decimal.value ~ '^\d{1,20}(\.\d{1,2}0{0,8})?$'
      and char_length(split_part(ltrim(as_decimal.value, '0'), '.', 1)) <= as_decimal.digits
      then as_decimal.value::numeric
  end
$function$;
comment on function as_decimal(text,integer) is 'Converts to a decimal with the given number of digits before the point and at most two after it; null for values that would need rounding.';

CREATE OR REPLACE FUNCTION as_integer(value text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when as_integer.value ~ '^-?\d{1,10}$' and as_integer.value::bigint between -2147483648 and 2147483647
      then as_integer.value::integer
  end
$function$;

CREATE OR REPLACE FUNCTION as_list(value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when jsonb_typeof(as_list.value) = 'array' then as_list.value else '[]' end
$function$;

CREATE OR REPLACE FUNCTION as_time(value text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select case
    when as_time.value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$'
      and pg_input_is_valid(as_time.value, 'timestamptz')
      then as_time.value::timestamptz
  end
$function$;

CREATE OR REPLACE FUNCTION assign_workbook(template export_templates, workbook_id uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_workbook export_workbooks;
begin
  select * into v_workbook from export_workbooks w where w.id = assign_workbook.workbook_id for key share;
  if not found then
    perform fail('OF400', 'workbookId: there is no uploaded workbook with this id; unused uploads are kept for a day',
      '{"path": ["input", "workbookId"]}');
  elsif v_workbook.entity <> template.entity then
    perform fail('OF400', format('workbookId: this workbook was uploaded for %s, and the template shows %s', v_workbook.entity, template.entity),
      '{"path": ["input", "workbookId"]}');
  elsif v_workbook.kind <> template.kind then
    perform fail('OF400', format('workbookId: this workbook was uploaded for a %s', v_workbook.kind),
      '{"path": ["input", "workbookId"]}');
  end if;
  update export_templates t set workbook_id = v_workbook.id where t.id = template.id;
  delete from export_template_columns c where c.template_id = template.id;
end;
$function$;

CREATE OR REPLACE FUNCTION attempt_address(address text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when pg_input_is_valid(bare, 'inet') and family(bare::inet) = 6 then network(set_masklen(bare::inet, 64))::text
    else bare
  end
  from split_part(attempt_address.address, '%', 1) as b(bare)
$function$;

CREATE OR REPLACE FUNCTION audit_entity_types()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$ select '{Absence,AiApproval,AiAttachment,AiConversation,AiToolCall,ApiToken,AuditLog,CalendarFeed,Campaign,Customer,CustomerNote,Department,DocumentationPage,DocumentationVersion,ErpMappingRule,ErpMappingTarget,ErpSyncRun,ExportJob,ExportTemplate,ExportTemplateColumn,ExportWorkbook,Invitation,Job,OfficeSetting,Order,OrderLine,Product,ProductImage,ProductPrice,ProductRating,ProductSyncRun,PublicHoliday,Resource,ResourceBooking,Reviewer,Role,RolePermission,SearchKey,SearchWatch,Session,User,UserIdentity,UserRole,WineType}'::text[] $function$;
grant execute on function audit_entity_types() to office_api;

comment on function audit_entity_types() is '@behavior -queryField -typeField
The entity types recorded by this release.';

CREATE OR REPLACE FUNCTION audit_erasures_made()
 RETURNS TABLE(erasure_id uuid, created_at timestamp with time zone, actor_user_id uuid, entity_type text, entity_id text, rows bigint, is_recorded boolean)
 LANGUAGE sql
 STABLE
AS $function$
  select e.erasure_id, a.created_at, a.actor_user_id, a.entity_type, a.entity_id, e.rows, is_recorded_erasure(e.erasure_id)
  from (select x.erasure_id, count(*) as rows from audit_erasures x group by 1) as e
    left join audit_log a on a.id = e.erasure_id and a.operation = 'UPDATE'
  order by e.erasure_id
$function$;
comment on function audit_erasures_made() is 'The erasures that explain changed rows, with who made them; the first columns are null where the log does not record one.';

CREATE OR REPLACE FUNCTION audit_log_conditions(actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text, "from" timestamp with time zone, "to" timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select concat_ws(' and ', 'true',
    case when audit_log_conditions.actor_user_id is not null then 'a.actor_user_id = $1' end,
    case when audit_log_conditions.entity_type is not null then 'a.entity_type = $2' end,
    case when audit_log_conditions.entity_id is not null then 'a.entity_id = $3' end,
    case when audit_log_conditions.operation is not null then 'a.operation = $4' end,
    case when audit_log_conditions.correlation_id is not null then 'a.correlation_id = $5' end,
    case when audit_log_conditions."from" is not null then 'a.created_at >= $6' end,
    case when audit_log_conditions."to" is not null then 'a.created_at < $7' end
  )
$function$;
grant execute on function audit_log_conditions(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone) to office_api;
comment on function audit_log_conditions(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone) is 'The conditions of `search_audit_log` on its alias `a`, over its first seven parameters.';

CREATE OR REPLACE FUNCTION audit_metadata()
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object(
    'source', coalesce(nullif(current_setting('office.source', true), ''), 'db'),
    'tokenId', nullif(current_setting('office.token_id', true), '')
  ))
$function$;
comment on function audit_metadata() is 'The origin of a change (`api`, `job`, or `db` for direct changes in the database) and the API token.';

CREATE OR REPLACE FUNCTION audit_moments(entity_type text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
      select case audit_moments.entity_type when 'Absence' then '{decidedAt,createdAt,updatedAt}'::text[] when 'AiApproval' then '{expiresAt,createdAt,answeredAt,usedAt}'::text[] when 'AiAttachment' then '{createdAt}'::text[] when 'AiConversation' then '{createdAt,updatedAt}'::text[] when 'ApiToken' then '{expiresAt,lastUsedAt,revokedAt,createdAt}'::text[] when 'CalendarFeed' then '{lastUsedAt,revokedAt,createdAt,updatedAt}'::text[] when 'Campaign' then '{scheduledAt,createdAt,updatedAt}'::text[] when 'Customer' then '{sourceUpdatedAt,createdAt,updatedAt,erasedAt}'::text[] when 'CustomerNote' then '{createdAt,updatedAt}'::text[] when 'Department' then '{createdAt,updatedAt}'::text[] when 'DocumentationPage' then '{createdAt,updatedAt}'::text[] when 'DocumentationVersion' then '{createdAt}'::text[] when 'ErpMappingRule' then '{createdAt,updatedAt}'::text[] when 'ErpMappingTarget' then '{createdAt,updatedAt}'::text[] when 'ExportJob' then '{startedAt,finishedAt,expiresAt,createdAt,updatedAt}'::text[] when 'ExportTemplate' then '{createdAt,updatedAt}'::text[] when 'ExportWorkbook' then '{createdAt}'::text[] when 'Invitation' then '{expiresAt,acceptedAt,createdAt,updatedAt,revokedAt,mailedAt}'::text[] when 'OfficeSetting' then '{createdAt,updatedAt}'::text[] when 'Order' then '{placedAt,sourceUpdatedAt,importedAt,createdAt,updatedAt,erasedAt}'::text[] when 'OrderLine' then '{createdAt,updatedAt}'::text[] when 'Product' then '{sourceUpdatedAt,createdAt,updatedAt}'::text[] when 'ProductImage' then '{createdAt,updatedAt}'::text[] when 'ProductPrice' then '{createdAt,updatedAt}'::text[] when 'ProductRating' then '{createdAt,updatedAt}'::text[] when 'ProductSyncRun' then '{createdAt,deliveredAt}'::text[] when 'PublicHoliday' then '{createdAt,updatedAt}'::text[] when 'Resource' then '{createdAt,updatedAt}'::text[] when 'ResourceBooking' then '{startsAt,endsAt,createdAt,updatedAt}'::text[] when 'Reviewer' then '{createdAt,updatedAt}'::text[] when 'Role' then '{createdAt,updatedAt}'::text[] when 'RolePermission' then '{createdAt}'::text[] when 'SearchWatch' then '{lastMatchAt,relatedAt,relatedDueAt,dueAt,createdAt,updatedAt}'::text[] when 'Session' then '{createdAt,lastUsedAt,idleExpiresAt,expiresAt,endedAt}'::text[] when 'User' then '{createdAt,updatedAt,invitationsClosedAt,erasedAt}'::text[] when 'UserIdentity' then '{createdAt}'::text[] when 'UserRole' then '{createdAt}'::text[] when 'WineType' then '{createdAt,updatedAt}'::text[] end $function$;
grant execute on function audit_moments(text) to office_api;

comment on function audit_moments(text) is '@behavior -queryField -typeField
The timestamp values of an entity type.';

CREATE OR REPLACE FUNCTION audit_row_hash(a audit_log)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  select sha256(convert_to(jsonb_build_array(
    a.id, a.actor_user_id, a.operation, a.entity_type, a.entity_id, a.correlation_id, a.ip_address, a.user_agent,
    a.before, a.after, a.metadata, extract(epoch from a.created_at)
  )::text, 'UTF8'))
$function$;
comment on function audit_row_hash(audit_log) is 'The hash of an audit row, independent of time zone and partition.';

CREATE OR REPLACE FUNCTION audit_seal_digest(s audit_seals)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  select sha256(convert_to(concat_ws('|',
    'audit seal 1', s.tree, s.position, s.kind, s.from_id, s.to_id, s.row_count, s.row_ids::text, encode(s.rows_digest, 'hex'),
    coalesce(extract(epoch from s.dropped_before)::text, 'none'), extract(epoch from s.sealed_at), encode(s.previous, 'hex')
  ), 'UTF8'))
$function$;

CREATE OR REPLACE FUNCTION audit_seal_state()
 RETURNS TABLE(tree text, links bigint, head text, sealed_up_to timestamp with time zone, unsealed bigint, oldest_unsealed timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select t.tree, coalesce(l.position, 0), encode(l.digest, 'hex'), uuid_extract_timestamp(nullif(l.to_id, '00000000-0000-0000-0000-000000000000')),
    u.count, u.oldest
  from unnest(array['writes', 'reads']) as t(tree)
  left join lateral (
    select s.position, s.digest, s.to_id from audit_seals s where s.tree = t.tree order by s.position desc limit 1
  ) as l on true
  left join lateral (
    select count(*) as count, min(uuid_extract_timestamp(r.id)) as oldest
    from (
      select a.id from audit_log a
      where a.operation = any (audit_tree_operations(t.tree)) and a.id > coalesce(l.to_id, '00000000-0000-0000-0000-000000000000')
      order by a.id limit 100000
    ) as r
  ) as u on true
$function$;
comment on function audit_seal_state() is 'The last link of each chain and the number of unsealed rows, up to 100,000.';

CREATE OR REPLACE FUNCTION audit_tree_operations(tree text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case audit_tree_operations.tree when 'reads' then array['READ'] else array['CREATE', 'UPDATE', 'DELETE'] end
$function$;

CREATE OR REPLACE FUNCTION audit_values("values" jsonb, moments text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_values jsonb := audit_values."values";
  v_name text;
  v_text text;
begin
  if v_values is null or moments is null then
    return v_values;
  end if;
  foreach v_name in array moments loop
    v_text := v_values ->> v_name;
    if v_text ~ '^\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d$' and pg_input_is_valid(v_text, 'timestamptz') then
      v_values := v_values || jsonb_build_object(v_name, to_char(v_text::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
    end if;
  end loop;
  return v_values;
end;
$function$;
grant execute on function audit_values(jsonb,text[]) to office_api;

comment on function audit_values(jsonb,text[]) is '@behavior -queryField -typeField
Changed values with timestamps in the format of the API.';

CREATE OR REPLACE FUNCTION authenticate(token_hash bytea, idle_hours integer)
 RETURNS TABLE(user_id uuid, session_id uuid, permissions text[], scoped boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select enter_with_session(authenticate.token_hash, authenticate.idle_hours);
  select current_user_id(), current_setting('office.session_id')::uuid, current_permissions(), false
  where current_user_id() is not null
$function$;
grant execute on function authenticate(bytea,integer) to office_server;
comment on function authenticate(bytea,integer) is 'The user, session and effective permissions of a live session; no row for an unknown, ended or expired token.';

CREATE OR REPLACE FUNCTION authenticate_api_token(token_hash bytea)
 RETURNS TABLE(user_id uuid, token_id uuid, permissions text[], scoped boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select w.user_id, w.token_id, w.permissions, w.scoped
  from use_api_token(authenticate_api_token.token_hash) as w
  where w.user_id is not null
$function$;
grant execute on function authenticate_api_token(bytea) to office_server;
comment on function authenticate_api_token(bytea) is 'The owner and effective permissions of a live API token; no row for an unknown, revoked or expired one.';

CREATE OR REPLACE FUNCTION awaits_first_user()
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select not exists (select from users)
$function$;
grant execute on function awaits_first_user() to office_api;
comment on function awaits_first_user() is 'Whether there are no users yet, so that `bootstrapFirstUser` works.';

CREATE OR REPLACE FUNCTION away_days(starts_on date DEFAULT NULL::date, ends_on date DEFAULT NULL::date)
 RETURNS SETOF absence_day
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_starts_on date := coalesce(away_days.starts_on, (now() at time zone own_time_zone())::date);
  v_ends_on date := coalesce(away_days.ends_on, v_starts_on + 6);
begin
  perform require_full_login();
  if v_ends_on < v_starts_on then
    perform fail('OF400', 'endsOn must not be before startsOn', '{"path": ["endsOn"]}');
  elsif v_ends_on - v_starts_on > 366 then
    perform fail('OF400', 'endsOn must be within a year of startsOn', '{"path": ["endsOn"]}');
  end if;
  return query
  select d.day, w.id, w.user_id, w.name, w.starts_half_day and d.day = w.starts_on or w.ends_half_day and d.day = w.ends_on
  from (select v_starts_on + n as day from generate_series(0, v_ends_on - v_starts_on) as n) as d
    join away_periods w on d.day between w.starts_on and w.ends_on
  where extract(isodow from d.day) < 6 and not exists (select from public_holidays h where h.holiday_on = d.day)
  order by d.day, w.name, w.id;
end;
$function$;
grant execute on function away_days(date,date) to office_api;

comment on function away_days(date,date) is '@guard login
@report Office 20
@icon door
@title Who is away
@argument starts_on The first day; by default today.
@argument ends_on The last day, within a year; by default the sixth day after the first.
The people who are away on each working day.';

CREATE OR REPLACE FUNCTION begin_ai_answer(conversation_id text, message_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid;
begin
  perform own_ai_conversation(begin_ai_answer.conversation_id);
  if exists (
    select from ai_answers a where a.conversation_id = begin_ai_answer.conversation_id and a.state = 'running'
  ) then
    perform fail('OF409', 'The conversation is being answered: wait for the answer, or stop it');
  end if;
  insert into ai_answers (conversation_id, user_id, message_id)
  values (begin_ai_answer.conversation_id, current_user_id(), begin_ai_answer.message_id)
  returning id into v_id;
  insert into ai_usage (user_id, day, answers) values (current_user_id(), (now() at time zone 'UTC')::date, 1)
  on conflict on constraint ai_usage_pkey do update set answers = ai_usage.answers + 1;
  return v_id;
end;
$function$;
grant execute on function begin_ai_answer(text,text) to office_api;
comment on function begin_ai_answer(text,text) is 'Starts an answer in a conversation of the caller; only one can be in progress.';

CREATE OR REPLACE FUNCTION begin_ai_attachment(bytes bigint DEFAULT 0, per_day integer DEFAULT NULL::integer, stored_bytes bigint DEFAULT NULL::bigint)
 RETURNS TABLE(id uuid, key text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid := uuidv7();
  v_key text := format('%s/assistant/%s/%s', current_schema(), current_user_id(), v_id);
  v_count integer;
begin
  perform require_assistant();
  insert into ai_usage (user_id, day, attachments) values (current_user_id(), (now() at time zone 'UTC')::date, 1)
  on conflict on constraint ai_usage_pkey do update set attachments = ai_usage.attachments + 1
  where begin_ai_attachment.per_day is null or ai_usage.attachments < begin_ai_attachment.per_day
  returning attachments into v_count;
  if v_count is null then
    return;
  end if;
  perform check_ai_storage(begin_ai_attachment.bytes, begin_ai_attachment.stored_bytes);
  -- Scheduled for deletion until the upload is finished, so that a failed upload leaves no file.
  insert into stored_files (key, attachment_id, delete_after) values (v_key, v_id, now() + interval '1 hour');
  return query select v_id, v_key;
end;
$function$;
grant execute on function begin_ai_attachment(bigint,integer,bigint) to office_api;
comment on function begin_ai_attachment(bigint,integer,bigint) is 'Returns the key for an upload; no row when the caller has reached the daily limit.';

CREATE OR REPLACE FUNCTION begin_erp_run(run_id uuid)
 RETURNS TABLE(kind erp_sync_run_kind, attempts integer, cursor text, customer_cursor text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with begun as (
    update erp_sync_runs r set
      status = 'RUNNING', attempts = r.attempts + 1, retry_at = null, started_at = coalesce(r.started_at, clock_timestamp())
    where r.id = begin_erp_run.run_id and r.status in ('QUEUED', 'RUNNING', 'RETRYING')
    returning r.kind, r.attempts
  )
  select b.kind, b.attempts, o.cursor, c.cursor
  from begun b, erp_cursors o, erp_cursors c
  where o.entity = 'orders' and c.entity = 'customers'
$function$;
grant execute on function begin_erp_run(uuid) to office_worker;
comment on function begin_erp_run(uuid) is 'Starts or resumes a run; no row when nothing is left to do.';

CREATE OR REPLACE FUNCTION begin_export(job_id uuid, formats text[] DEFAULT '{xlsx}'::text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job export_jobs;
  v_permissions text[];
  v_template export_templates;
  v_workbook export_workbooks;
  v_list export_job_lists;
  v_is_scoped boolean;
  v_refusal text;
  v_key text;
begin
  select * into v_job from export_jobs j where j.id = begin_export.job_id for update;
  if not found or v_job.state not in ('queued', 'running') then
    return null;
  elsif v_job.entity is not null and 'list' <> all (begin_export.formats) then
    raise exception 'This worker does not support exports of lists';
  elsif v_job.format <> all (begin_export.formats) then
    raise exception 'This worker does not support the format %', v_job.format;
  end if;
  v_permissions := case when v_job.token_id is null then user_permissions(v_job.user_id) else token_permissions(v_job.token_id) end;
  select * into v_list from export_job_lists l where l.job_id = v_job.id;
  v_refusal := export_refusal(v_job, v_permissions, array['exports.create', case when v_list.job_id is null then 'products.read'
    else nullif(table_tags(to_regclass(v_list.table_name)) ->> 'read', 'login') end]);
  select * into v_template from export_templates t where t.id = v_job.template_id;
  select * into v_workbook from export_workbooks w where w.id = v_template.workbook_id;
  v_refusal := coalesce(v_refusal, template_refusal(v_job, v_template, v_list));
  if v_refusal is not null then
    perform end_export(v_job.id, 'failed', v_refusal);
    return jsonb_build_object('refusal', v_refusal);
  end if;

  -- Each attempt writes its own file, because an earlier worker may have died during the upload.
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = v_job.id));
  v_key := export_file_key(v_job, v_job.attempt + 1);
  insert into stored_files (key, job_id) values (v_key, v_job.id);
  update export_jobs j
  set state = 'running', attempt = j.attempt + 1, exported_rows = 0, error_message = null,
    started_at = coalesce(j.started_at, clock_timestamp())
  where j.id = v_job.id
  returning * into v_job;
  v_is_scoped := coalesce((select t.is_scoped from api_tokens t where t.id = v_job.token_id), false);
  return jsonb_build_object(
    'attempt', v_job.attempt, 'format', v_job.format, 'failures', v_job.failures, 'key', v_key, 'source', v_job.source,
    'kind', coalesce(v_template.kind, 'TABLE'), 'values', v_list.statement_values,
    'workbookKey', v_workbook.file_key, 'userId', v_job.user_id, 'tokenId', v_job.token_id,
    'permissions', v_permissions, 'scoped', v_is_scoped,
    'totalRows', v_job.total_rows, 'timeZone', time_zone_of(v_job.user_id),
    'query', coalesce(v_list.statement, export_query(template_fields(v_template))),
    'columns', export_file_columns(v_template, v_list, v_permissions, v_is_scoped)
  );
end;
$function$;
grant execute on function begin_export(uuid,text[]) to office_worker;
comment on function begin_export(uuid,text[]) is 'Starts an attempt and returns its user, query and file key; null when nothing is left to do. With `refusal` when the export cannot run and has failed.';

CREATE OR REPLACE FUNCTION begin_invitation_mail(invitation_id uuid)
 RETURNS TABLE(email text, role_name text, invited_by text, expires_at timestamp with time zone, mail_number integer, attempt integer, time_zone text, locale text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update invitations i set
    mail_attempts = i.mail_attempts + 1,
    -- An attempt without an outcome means that its worker died.
    mail_error = case
      when i.mail_attempts > 0 then coalesce(i.mail_error, 'Sending was cut off and is tried again') end
  from users u
  where i.id = begin_invitation_mail.invitation_id and u.id = i.user_id
    and i.state = 'pending' and i.expires_at > now() and i.mailed_at is null and not u.is_active
  returning i.email, (select r.name from roles r where r.id = i.role_id),
    (select coalesce(b.name, b.email) from users b where b.id = i.invited_by_user_id),
    i.expires_at, i.mail_number, i.mail_attempts, time_zone_of(u.id), locale_of(u.id)
$function$;
grant execute on function begin_invitation_mail(uuid) to office_worker;
comment on function begin_invitation_mail(uuid) is 'Counts a delivery attempt and returns the content of the mail; no row when it was sent, or the invitation was accepted, revoked or expired.';

CREATE OR REPLACE FUNCTION begin_login(state_hash bytea, browser_hash bytea, provider text, nonce text, pkce_verifier text, return_to text, challenge text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform remove_expired_logins();
  insert into login_attempts (state_hash, browser_hash, provider, nonce, pkce_verifier, return_to, challenge, expires_at)
  values (begin_login.state_hash, begin_login.browser_hash, begin_login.provider, begin_login.nonce,
    begin_login.pkce_verifier, begin_login.return_to, begin_login.challenge, now() + interval '10 minutes');
end;
$function$;
grant execute on function begin_login(bytea,bytea,text,text,text,text,text) to office_server;
comment on function begin_login(bytea,bytea,text,text,text,text,text) is 'Stores a login attempt for ten minutes, before the redirect to the provider.';

CREATE OR REPLACE FUNCTION begin_notification_mail(mail_id uuid)
 RETURNS TABLE(email text, title text, body text, occurrences integer, happened_at timestamp with time zone, time_zone text, locale text, id uuid)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select u.email, n.title, n.body,
    -- The title of a watch has the number of rows.
    case n.kind when 'WATCH_MATCHED' then 1 else n.occurrences end, n.happened_at, time_zone_of(u.id), locale_of(u.id), n.id
  from notifications n join users u on u.id = n.user_id
  where n.mail_id = begin_notification_mail.mail_id and n.mailed_at is null and u.is_active
  order by n.happened_at desc, n.id desc
$function$;
grant execute on function begin_notification_mail(uuid) to office_worker;
comment on function begin_notification_mail(uuid) is 'The content of a mail; no row for a sent mail or an inactive recipient.';

CREATE OR REPLACE FUNCTION begin_search_build(collection text, building text, signature text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into search_indexes as i (collection, building, building_signature)
  values (begin_search_build.collection, begin_search_build.building, begin_search_build.signature)
  on conflict on constraint search_indexes_pkey do update
    set building = excluded.building, building_signature = excluded.building_signature, building_cursor = null, building_rows = 0
$function$;
grant execute on function begin_search_build(text,text,text) to office_worker;
comment on function begin_search_build(text,text,text) is 'Records the start of a new version''s build.';

CREATE OR REPLACE FUNCTION begin_workbook(kind export_template_kind)
 RETURNS TABLE(id uuid, key text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid := uuidv7();
  v_key text := format('%s/workbooks/%s.xlsx', current_schema(), v_id);
begin
  perform require_permission('exporttemplates.update');
  -- Scheduled for deletion until the upload is finished, so that a failed upload leaves no file.
  insert into stored_files (key, workbook_id, delete_after) values (v_key, v_id, now() + interval '1 hour');
  return query select v_id, v_key;
end;
$function$;
grant execute on function begin_workbook(export_template_kind) to office_api;
comment on function begin_workbook(export_template_kind) is 'Returns the key for the upload of a workbook.';

CREATE OR REPLACE FUNCTION behind_mark(mark text)
 RETURNS numeric
 LANGUAGE plpgsql
AS $function$
declare
  v_place text := split_part(behind_mark.mark, ' ', 1);
begin
  -- The later of the restart point and the minimum replay position, because a replica of a new primary advances either
  -- of them.
  if not pg_is_in_recovery() or v_place is distinct from (
    select format(
      '%s.%s.%s', s.system_identifier, lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0'), d.oid
    )
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r, pg_database d
    where d.datname = current_database()
  ) then
    raise exception using errcode = 'OFR01', message = 'This is not a replica of the database of the mark';
  end if;
  return pg_wal_lsn_diff(split_part(behind_mark.mark, ' ', 2)::pg_lsn, pg_last_wal_replay_lsn());
end;
$function$;
grant execute on function behind_mark(text) to office_server;
comment on function behind_mark(text) is 'How many bytes of write-ahead log this replica must replay to reach the mark; 0 or less when it has. Raises OFR01 when the mark belongs to another database.';

CREATE OR REPLACE FUNCTION booking_times(booking resource_bookings)
 RETURNS tstzrange[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_zone text := office_time_zone();
  v_starts timestamp := booking.starts_at at time zone v_zone;
  v_duration interval := local_duration(booking.starts_at, booking.ends_at, v_zone);
  v_repeats integer;
begin
  if booking.repeat_weeks is null and booking.repeat_until is null then
    return array[tstzrange(booking.starts_at, booking.ends_at)];
  elsif booking.repeat_weeks is null or booking.repeat_weeks not in (1, 2) then
    perform fail('OF400', 'repeatWeeks must be 1 or 2', '{"path": ["input", "repeatWeeks"]}');
  elsif booking.repeat_until is null then
    perform fail('OF400', 'repeatUntil must be given with repeatWeeks', '{"path": ["input", "repeatUntil"]}');
  elsif booking.ends_at - booking.starts_at > make_interval(weeks => booking.repeat_weeks) then
    perform fail('OF400', 'endsAt must be before the next booking of the series begins', '{"path": ["input", "endsAt"]}');
  end if;
  v_repeats := (booking.repeat_until - v_starts::date) / (7 * booking.repeat_weeks);
  if v_repeats < 1 then
    perform fail('OF400', 'repeatUntil must be late enough for a second booking', '{"path": ["input", "repeatUntil"]}');
  elsif v_repeats > 103 then
    perform fail('OF400', 'repeatUntil must be earlier: a series has 104 bookings at most', '{"path": ["input", "repeatUntil"]}');
  end if;
  return array(
    select case when n = 0 then tstzrange(booking.starts_at, booking.ends_at)
      else local_range(v_starts + make_interval(weeks => n * booking.repeat_weeks), v_duration, v_zone) end
    from generate_series(0, v_repeats) as n
    order by n
  );
end;
$function$;

CREATE OR REPLACE FUNCTION booking_to_change(id uuid)
 RETURNS resource_bookings
 LANGUAGE plpgsql
AS $function$
declare
  v_booking resource_bookings;
begin
  perform require_full_login();
  select * into v_booking from resource_bookings b where b.id = booking_to_change.id for update;
  if not found then
    perform fail('OF404', 'There is no booking with this id', '{"path": ["id"]}');
  end if;
  if v_booking.booked_by_user_id <> current_user_id() then
    perform require_permission('resourcebookings.update');
  end if;
  if v_booking.status = 'CANCELLED' then
    perform fail('OF409', 'The booking is cancelled', '{"path": ["id"]}');
  elsif v_booking.ends_at <= now() then
    perform fail('OF409', 'The booking is over', '{"path": ["id"]}');
  end if;
  return v_booking;
end;
$function$;

CREATE OR REPLACE FUNCTION bookings_of_series(booking resource_bookings)
 RETURNS SETOF resource_bookings
 LANGUAGE plpgsql
AS $function$
begin
  if booking.series_id is null then
    perform fail('OF409', 'The booking belongs to no series', '{"path": ["id"]}');
  end if;
  return query
  select * from resource_bookings b
  where b.series_id = booking.series_id and b.status = 'BOOKED' and b.starts_at >= booking.starts_at and b.ends_at > now()
  order by b.starts_at, b.id for update;
end;
$function$;

CREATE OR REPLACE FUNCTION bootstrap_first_user(email text, token_hash bytea, idle_hours integer, max_days integer)
 RETURNS TABLE(user_id uuid, permissions text[])
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid := uuidv7();
  v_refused boolean := exists (select from users);
begin
  if not v_refused then
    -- Serializes concurrent calls: the first creates the user.
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.bootstrap', 0));
    v_refused := exists (select from users);
  end if;
  if v_refused then
    perform record_refused_login('not_the_first_user',
      jsonb_build_object('step', 'bootstrapFirstUser', 'email', left(trim_to_null(bootstrap_first_user.email), 254)));
    return;
  end if;
  perform act_as(v_id);
  begin
    insert into users (id, email, is_active) values (v_id, coalesce(trim_to_null(bootstrap_first_user.email), ''), true);
  exception when check_violation then
    perform fail('OF400', 'email ' || column_message('users', 'email', 'must be an e-mail address'), '{"path": ["email"]}');
  end;
  insert into user_roles (user_id, role_id) select v_id, r.id from roles r where r.is_system and r.name = 'Superadmin';
  perform open_session(v_id, token_hash, idle_hours, max_days);
  return query select v_id, user_permissions(v_id);
end;
$function$;
grant execute on function bootstrap_first_user(text,bytea,integer,integer) to office_api;
comment on function bootstrap_first_user(text,bytea,integer,integer) is 'Creates the first user, a Superadmin, with a session. When users exist, records the refusal and returns no row.';

CREATE OR REPLACE FUNCTION calendar_events(user_id uuid)
 RETURNS TABLE(entity text, id uuid, starts_at timestamp with time zone, ends_at timestamp with time zone, starts_on date, ends_on date, title text, location text, description text, updated_at timestamp with time zone, sequence integer)
 LANGUAGE sql
 STABLE
AS $function$
  select 'resourceBookings', b.id, b.starts_at, b.ends_at, null::date, null::date, b.title, concat_ws(', ', r.name, r.location), b.note,
    b.updated_at, extract(epoch from b.updated_at - b.created_at)::integer
  from resource_bookings b join resources r on r.id = b.resource_id
  where b.booked_by_user_id = calendar_events.user_id and b.status = 'BOOKED'
    and b.ends_at > now() - interval '90 days' and b.starts_at < now() + interval '2 years'
  union all
  select 'absences', a.id, null, null, a.starts_on, a.ends_on,
    concat_ws(' ', initcap(a.type::text), case when a.starts_half_day then 'from noon' end, case when a.ends_half_day then 'until noon' end,
      case when a.status = 'REQUESTED' then '(requested)' end),
    null, a.note, a.updated_at, extract(epoch from a.updated_at - a.created_at)::integer
  from absences a
  where a.user_id = calendar_events.user_id and a.status in ('REQUESTED', 'APPROVED')
    and a.ends_on > (now() at time zone time_zone_of(calendar_events.user_id))::date - 90
    and a.starts_on < (now() at time zone time_zone_of(calendar_events.user_id))::date + interval '2 years'
  union all
  select 'campaigns', c.id, c.scheduled_at, c.scheduled_at, null, null, c.title, null, c.note, c.updated_at,
    extract(epoch from c.updated_at - c.created_at)::integer
  from campaigns c
  where c.author_user_id = calendar_events.user_id and c.status <> 'CANCELLED'
    and 'campaigns.read' = any (user_permissions(calendar_events.user_id))
    and c.scheduled_at between now() - interval '90 days' and now() + interval '2 years'
$function$;

CREATE OR REPLACE FUNCTION camel_case(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when strpos(camel_case.name, '_') = 0 then camel_case.name else
    lower(left(replace(camel_case.name, '_', ''), 1)) || substr(replace(initcap(replace(camel_case.name, '_', ' ')), ' ', ''), 2)
  end
$function$;
grant execute on function camel_case(text) to office_api;
comment on function camel_case(text) is 'Converts a column name to its API name.';

CREATE OR REPLACE FUNCTION campaigns_is_author_away(campaign campaigns)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from away_periods w
    where w.user_id = campaign.author_user_id and is_near_period(campaign.scheduled_at, w.starts_on, w.ends_on)
      and (campaign.scheduled_at at time zone absence_time_zone(campaign.author_user_id))::date between w.starts_on and w.ends_on
  )
  where is_login()
$function$;
grant execute on function campaigns_is_author_away(campaigns) to office_api;

comment on function campaigns_is_author_away(campaigns) is '@computed
@list 7
@title Author away
Whether the author is away on the day of the campaign in the author''s time zone; null for scoped tokens, which cannot read absences.';

CREATE OR REPLACE FUNCTION cancel_absence(id uuid)
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_absence absences := absence_to_change(cancel_absence.id, false);
begin
  if v_absence.status = 'APPROVED' and v_absence.user_id = current_user_id() then
    perform fail('OF409', 'The absence is approved: somebody else with absences.update can cancel it', '{"path": ["id"]}');
  elsif v_absence.status not in ('REQUESTED', 'APPROVED') then
    perform fail('OF409', format('The absence is %s already', lower(v_absence.status::text)), '{"path": ["id"]}');
  end if;
  update absences a set status = 'CANCELLED' where a.id = v_absence.id returning * into v_absence;
  return v_absence;
end;
$function$;
grant execute on function cancel_absence(uuid) to office_api;

comment on function cancel_absence(uuid) is '@guard login
@action bad
Cancels an absence. Callers can cancel their own absences before the decision; absences of other users need `absences.update`.';

CREATE OR REPLACE FUNCTION cancel_erp_sync_run(id uuid)
 RETURNS erp_sync_runs
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_run erp_sync_runs;
  v_was erp_sync_run_status;
begin
  perform require_permission('erpsync.run');
  select r.* into v_run from erp_sync_runs r where r.id = cancel_erp_sync_run.id for update;
  if not found then
    perform fail('OF404', 'There is no ErpSyncRun with this id', '{"path": ["id"]}');
  end if;
  if v_run.status not in ('QUEUED', 'RUNNING', 'RETRYING') then
    perform fail('OF409', 'The run has ended: it is ' || v_run.status);
  end if;
  v_was := v_run.status;
  update erp_sync_runs r set
    status = 'CANCELLED', finished_at = clock_timestamp(), retry_at = null, cancelled_by_user_id = current_user_id()
  where r.id = v_run.id returning r.* into v_run;
  perform record_job(v_run.job_id, 'CANCELLED');
  perform record_change('UPDATE', 'ErpSyncRun', v_run.id::text, jsonb_build_object('status', v_was),
    jsonb_build_object('status', v_run.status), jsonb_build_object('kind', v_run.kind));
  return v_run;
end;
$function$;
grant execute on function cancel_erp_sync_run(uuid) to office_api;

comment on function cancel_erp_sync_run(uuid) is '@guard erpsync.run
@action bad unless finished_at
Cancels a waiting or running import. Imported orders stay, and the next import continues from there.';

CREATE OR REPLACE FUNCTION cancel_export_job(id uuid)
 RETURNS export_jobs
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job export_jobs;
begin
  perform require_permission('exports.create');
  v_job := own_export(cancel_export_job.id);
  if v_job.state = 'cancelled' then
    return v_job;
  elsif v_job.state not in ('queued', 'running') then
    perform fail('OF409', format('The export is %s: only a waiting or running one can be cancelled', export_jobs_status(v_job)));
  end if;
  perform end_export(v_job.id, 'cancelled', null);
  perform dequeue_export(v_job);
  select * into v_job from export_jobs j where j.id = v_job.id;
  return v_job;
end;
$function$;
grant execute on function cancel_export_job(uuid) to office_api;

comment on function cancel_export_job(uuid) is '@guard exports.create
@action bad unless finished_at
Cancels a waiting or running export of the caller.';

CREATE OR REPLACE FUNCTION cancel_job(id uuid)
 RETURNS jobs
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job jobs := own_job(cancel_job.id);
  v_was job_state := v_job.state;
begin
  if not exists (select from job_kinds() k where k.kind = v_job.kind and k.can_cancel) then
    perform fail('OF409', 'Jobs of this kind cannot be cancelled');
  elsif v_job.finished_at is not null then
    perform fail('OF409', format('The job has already ended: it is %s', v_was), jsonb_build_object('state', v_was));
  end if;
  -- A job that other users also wait for stays in the queue.
  if not exists (
    select from jobs j where j.queue_job_id = v_job.queue_job_id and j.finished_at is null and j.id <> v_job.id
  ) and not office_jobs.cancel(v_job.queue_job_id) then
    perform fail('OF409', 'The job is running', '{"state": "RUNNING"}');
  end if;
  update jobs j set state = 'CANCELLED', finished_at = clock_timestamp(), next_attempt_at = null
  where j.id = v_job.id
  returning * into v_job;
  perform record_job_change(v_job, v_was);
  return v_job;
end;
$function$;
grant execute on function cancel_job(uuid) to office_api;

comment on function cancel_job(uuid) is '@guard login
@action bad if can_cancel
Removes a waiting job of the caller from the queue; fails with `CONFLICT` for a running job. `canCancel` states whether the job can be cancelled.';

CREATE OR REPLACE FUNCTION cancel_resource_booking(id uuid)
 RETURNS resource_bookings
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_booking resource_bookings := booking_to_change(cancel_resource_booking.id);
begin
  update resource_bookings b set status = 'CANCELLED' where b.id = v_booking.id returning * into v_booking;
  return v_booking;
end;
$function$;
grant execute on function cancel_resource_booking(uuid) to office_api;

comment on function cancel_resource_booking(uuid) is '@guard login
@action bad
Cancels a booking that has not ended. Bookings of other users need `resourcebookings.update`.';

CREATE OR REPLACE FUNCTION cancel_resource_booking_series(id uuid)
 RETURNS resource_bookings
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_booking resource_bookings := booking_to_change(cancel_resource_booking_series.id);
begin
  update resource_bookings b set status = 'CANCELLED' where b.id in (select s.id from bookings_of_series(v_booking) as s);
  select * into v_booking from resource_bookings b where b.id = v_booking.id;
  return v_booking;
end;
$function$;
grant execute on function cancel_resource_booking_series(uuid) to office_api;

comment on function cancel_resource_booking_series(uuid) is '@guard login
@action bad if series_id
Cancels a booking and all later bookings of its series that have not ended.';

CREATE OR REPLACE FUNCTION change_readers(table_name text, is_indexed boolean)
 RETURNS change_reader[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_remove(array[
    case when change_readers.is_indexed then 'search' end, case when is_watched(change_readers.table_name) then 'watches' end
  ]::change_reader[], null)
$function$;
comment on function change_readers(text,boolean) is 'The readers of the changes of a table; `is_indexed` for a table of the search engine.';

CREATE OR REPLACE FUNCTION changeable_role(id uuid)
 RETURNS roles
 LANGUAGE plpgsql
AS $function$
declare
  v_role roles;
begin
  select * into v_role from roles where roles.id = changeable_role.id for update;
  if not found then
    perform fail('OF404', 'There is no role with this id', '{"path": ["id"]}');
  elsif v_role.is_system then
    perform fail('OF409', format('%s is a system role and can be neither changed nor deleted', v_role.name),
      '{"code": "SYSTEM_ROLE"}');
  end if;
  return v_role;
end;
$function$;

CREATE OR REPLACE FUNCTION changeable_user(user_id uuid)
 RETURNS users
 LANGUAGE plpgsql
AS $function$
declare
  v_user users;
begin
  select * into v_user from users where users.id = changeable_user.user_id for no key update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  end if;
  return v_user;
end;
$function$;

CREATE OR REPLACE FUNCTION changed_ids(before jsonb[], after jsonb[])
 RETURNS uuid[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array(
    select (coalesce(u.after, u.before) ->> 'id')::uuid from unnest(changed_ids.before, changed_ids.after) as u(before, after)
    where u.before is distinct from u.after
    union all
    select (u.before ->> 'id')::uuid from unnest(changed_ids.before, changed_ids.after) as u(before, after)
    where u.before -> 'id' <> u.after -> 'id'
  )
$function$;
comment on function changed_ids(jsonb[],jsonb[]) is 'The ids of the rows that a statement changed. A row whose id changed has two.';

CREATE OR REPLACE FUNCTION charge_lost_ai_answer(answer_id uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into ai_usage (user_id, day, cost)
  select a.user_id, (a.alive_at at time zone 'UTC')::date, a.reserved from ai_answers a
  where a.id = charge_lost_ai_answer.answer_id and a.state = 'running' and a.reserved > 0
  on conflict on constraint ai_usage_pkey do update set cost = ai_usage.cost + excluded.cost
$function$;

CREATE OR REPLACE FUNCTION check_absence(absence absences)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_other absences;
begin
  if absence.ends_on < absence.starts_on then
    perform fail('OF400', 'endsOn must not be before startsOn', '{"path": ["input", "endsOn"]}');
  elsif absence.ends_on - absence.starts_on > 730 then
    perform fail('OF400', 'endsOn must be within two years of startsOn', '{"path": ["input", "endsOn"]}');
  elsif absence.starts_on = absence.ends_on and absence.starts_half_day and absence.ends_half_day then
    perform fail('OF400', 'endsHalfDay leaves nothing of a single day that begins at noon: set one of them',
      '{"path": ["input", "endsHalfDay"]}');
  end if;
  perform from users u where u.id = absence.user_id for no key update;
  select * into v_other from absences a
  where a.user_id = absence.user_id and a.status in ('REQUESTED', 'APPROVED') and a.id is distinct from absence.id
    and a.starts_on + case when a.starts_half_day then time '12:00' else time '00:00' end
      < absence.ends_on + case when absence.ends_half_day then time '12:00' else time '24:00' end
    and absence.starts_on + case when absence.starts_half_day then time '12:00' else time '00:00' end
      < a.ends_on + case when a.ends_half_day then time '12:00' else time '24:00' end
  order by a.starts_on limit 1;
  if found then
    perform fail('OF409', format('There is an absence from %s to %s already', v_other.starts_on, v_other.ends_on),
      jsonb_build_object('path', array['input', 'startsOn'], 'absence', jsonb_build_object('id', v_other.id,
        'startsOn', v_other.starts_on, 'endsOn', v_other.ends_on)));
  end if;
end;
$function$;
comment on function check_absence(absences) is 'Fails unless the person has no other absence at that time; names the one in the way.';

CREATE OR REPLACE FUNCTION check_ai_storage(bytes bigint, stored_bytes bigint)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_held bigint := (select coalesce(sum(a.file_size), 0) from ai_attachments a where a.user_id = current_user_id());
begin
  if v_held + check_ai_storage.bytes > check_ai_storage.stored_bytes then
    perform fail('OF409', format(
      'Your files for the assistant take %s bytes, and with this one would take more than the %s that they may: delete conversations or files',
      v_held, check_ai_storage.stored_bytes));
  end if;
end;
$function$;
comment on function check_ai_storage(bigint,bigint) is 'Fails when another file would exceed the caller''s storage limit.';

CREATE OR REPLACE FUNCTION check_booking(booking resource_bookings, times tstzrange[], own_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_resource resources;
  v_in_way jsonb;
  v_overlap tstzrange[];
  v_zone text := time_zone_of(current_user_id());
begin
  select * into v_resource from resources r where r.id = booking.resource_id for no key update;
  if not found then
    perform fail('OF400', 'There is no resource with this id', '{"path": ["input", "resourceId"]}');
  elsif not v_resource.is_active and not exists (
    select from resource_bookings b where b.id = booking.id and b.resource_id = booking.resource_id
  ) then
    perform fail('OF409', format('%s is not in use and cannot be booked', v_resource.name), '{"path": ["input", "resourceId"]}');
  elsif booking.attendees > v_resource.capacity then
    perform fail('OF400', format('attendees must be at most %s, the capacity of %s', v_resource.capacity, v_resource.name),
      '{"path": ["input", "attendees"]}');
  end if;
  -- Sorted by start, times overlap if and only if a neighbour does.
  select array[p.time, p.next_time] into v_overlap
  from (select t as time, lead(t) over (order by lower(t), upper(t)) as next_time from unnest(times) as t) as p
  where p.time && p.next_time
  order by lower(p.time) limit 1;
  if v_overlap is not null then
    perform fail('OF409',
      format('Two bookings of the series overlap: %s would be booked from %s to %s and from %s to %s', v_resource.name,
        local_text(lower(v_overlap[1]), v_zone), local_text(upper(v_overlap[1]), v_zone),
        local_text(lower(v_overlap[2]), v_zone), local_text(upper(v_overlap[2]), v_zone)),
      '{"path": ["input", "endsAt"]}');
  end if;
  select jsonb_agg(jsonb_build_object('id', b.id, 'title', b.title, 'startsAt', iso_text(b.starts_at), 'endsAt', iso_text(b.ends_at))
    order by b.starts_at)
  into v_in_way
  from (
    select b.* from resource_bookings b
    where b.resource_id = booking.resource_id and b.status = 'BOOKED' and b.id <> all (own_ids)
      and exists (select from unnest(times) as t where t && tstzrange(b.starts_at, b.ends_at))
      and tstzrange(b.starts_at, b.ends_at) && (select range_merge(range_agg(t)) from unnest(times) as t)
    order by b.starts_at limit 104
  ) as b;
  if v_in_way is not null then
    perform fail('OF409',
      format(case when cardinality(times) = 1 then '%1$s is booked from %3$s to %4$s: %5$s'
          else '%1$s is booked at some of these times by %2$s, the first from %3$s to %4$s: %5$s' end,
        v_resource.name, case jsonb_array_length(v_in_way) when 1 then '1 booking' else jsonb_array_length(v_in_way) || ' bookings' end, local_text((v_in_way -> 0 ->> 'startsAt')::timestamptz, v_zone),
        local_text((v_in_way -> 0 ->> 'endsAt')::timestamptz, v_zone), v_in_way -> 0 ->> 'title'),
      jsonb_build_object('path', array['input', 'startsAt'], 'booking', v_in_way -> 0, 'bookings', v_in_way));
  end if;
end;
$function$;
comment on function check_booking(resource_bookings,tstzrange[],uuid[]) is 'Fails unless the resource can be booked at all these times and they do not overlap. Names the bookings in the way, except those with `own_ids`.';

CREATE OR REPLACE FUNCTION check_booking_times(booking resource_bookings)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if booking.ends_at <= booking.starts_at then
    perform fail('OF400', 'endsAt must be after startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at - booking.starts_at > interval '31 days' then
    perform fail('OF400', 'endsAt must be within 31 days of startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at <= now() then
    perform fail('OF400', 'endsAt must be in the future', '{"path": ["input", "endsAt"]}');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION check_documentation_links(body text, own_slug text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_broken text;
begin
  select l.slug into v_broken from documentation_links(check_documentation_links.body) as l
  where l.slug <> check_documentation_links.own_slug and documentation_page_id(l.slug) is null
  order by l.slug limit 1;
  if found then
    perform fail('OF400', format('body links to %s, but no page has this address', v_broken), '{"path": ["input", "body"]}');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION check_documentation_parent(page_id uuid, parent_id uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_levels integer;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.documentation_pages', 0));
  with recursive above as (
    select p.id, p.parent_id, 1 as level from documentation_pages p where p.id = check_documentation_parent.parent_id
    union all
    select p.id, p.parent_id, a.level + 1 from above a join documentation_pages p on p.id = a.parent_id where a.level <= 10
  ),
  below as (
    select check_documentation_parent.page_id as id, 1 as level
    union all
    select p.id, b.level + 1 from below b join documentation_pages p on p.parent_id = b.id where b.level <= 10
  )
  select case when exists (select from above a where a.id = check_documentation_parent.page_id) then null
    else (select max(a.level) from above a) + (select max(b.level) from below b) end
  into v_levels;
  if v_levels is null and exists (select from documentation_pages p where p.id = check_documentation_parent.parent_id) then
    perform fail('OF400', 'parentId cannot be the page itself or one below it', '{"path": ["input", "parentId"]}');
  elsif v_levels > 10 then
    perform fail('OF400', 'parentId is too deep: the tree has 10 levels at most', '{"path": ["input", "parentId"]}');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION check_query(relation regclass)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  -- Computes messages for invalid rows only, because there are few of them.
  select format(
    'select r.place::integer - 1, k.attribute, case k.message when %1$L then %2$L else %3$L end, k.message
     from unnest($1) with ordinality as r(%4$s, place), lateral (values %5$s) as k(attribute, holds, message)
     where (%6$s) is false and not k.holds',
    'must be given', 'REQUIRED', 'INVALID',
    (
      select string_agg(quote_ident(attname), ', ' order by attnum)
      from pg_attribute where attrelid = check_query.relation and attnum > 0 and not attisdropped
    ),
    string_agg(format('(%L, %s, %L)', c.attribute, c.condition, c.message), ', '),
    string_agg(format('(%s)', c.condition), ' and ')
  )
  from check_rules(check_query.relation) as c
$function$;
comment on function check_query(regclass) is 'A query over $1, an array of rows: the index (from 0), column, code and message of each violation.';

CREATE OR REPLACE FUNCTION check_rules(relation regclass)
 RETURNS TABLE(attribute text, condition text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select a.attname, pg_get_expr(k.conbin, k.conrelid),
    coalesce(regexp_replace(obj_description(k.oid, 'pg_constraint'), '^(@[^\n]*(\n|$))*', ''), 'is not allowed')
  from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
  where k.conrelid = check_rules.relation and k.contype = 'c'
  union all
  select a.attname, format('%I is not null', a.attname), 'must be given'
  from pg_attribute a
  where a.attrelid = check_rules.relation and a.attnum > 0 and not a.attisdropped and a.attnotnull
    -- Skips columns with a default: a column added by a later migration is not part of the input.
    and not a.atthasdef and a.attname !~ '(^id|_id|^created_at|^updated_at)$'
$function$;
comment on function check_rules(regclass) is 'The check and not-null constraints of a table, each with its column and message.';

CREATE OR REPLACE FUNCTION claim_ai_attachments(conversation_id text, ids uuid[])
 RETURNS SETOF ai_attachments
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid;
begin
  perform own_ai_conversation(claim_ai_attachments.conversation_id);
  foreach v_id in array claim_ai_attachments.ids loop
    update ai_attachments a set conversation_id = claim_ai_attachments.conversation_id
    where a.id = v_id and a.user_id = current_user_id()
      and (a.conversation_id is null or a.conversation_id = claim_ai_attachments.conversation_id);
    if not found then
      perform fail('OF400', 'There is no attachment of yours with the id ' || v_id || ' that is in no other conversation',
        '{"path": ["messages"]}');
    end if;
  end loop;
  return query select a.* from ai_attachments a where a.id = any (claim_ai_attachments.ids);
end;
$function$;
grant execute on function claim_ai_attachments(text,uuid[]) to office_api;
comment on function claim_ai_attachments(text,uuid[]) is 'Adds files of the caller to a conversation, which deletes them with it.';

CREATE OR REPLACE FUNCTION claim_idempotency_key(key_hash bytea, request_hash bytea)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_principal text := idempotency_principal();
  v_known idempotency_keys;
begin
  if v_principal is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  -- Held until the end of the transaction. Concurrent requests retry instead of waiting with a connection.
  if not pg_try_advisory_xact_lock(hashtextextended(
    concat_ws(' ', current_schema(), 'idempotency', v_principal, encode(claim_idempotency_key.key_hash, 'hex')), 0
  )) then
    return '{"state": "busy"}';
  end if;
  -- A separate statement, which sees what the previous lock holder committed.
  select * into v_known from idempotency_keys k
  where k.principal = v_principal and k.key_hash = claim_idempotency_key.key_hash and k.created_at > now() - interval '24 hours';
  if not found then
    return '{"state": "new"}';
  end if;
  if v_known.request_hash <> claim_idempotency_key.request_hash then
    perform fail('OF409', 'This Idempotency-Key was used for another request: use a new key for each new request',
      '{"code": "IDEMPOTENCY_CONFLICT", "header": "Idempotency-Key"}');
  elsif not v_known.permissions <@ current_permissions() then
    perform fail('OF403', 'This request was completed before; its response is not shown again, because you hold fewer permissions now');
  elsif v_known.answer is null then
    perform fail('OF409', 'This request was completed before; its response contained a secret that is shown only once. Look for the created object, or send a new Idempotency-Key to create another one',
      '{"header": "Idempotency-Key"}');
  end if;
  return json_build_object('state', 'done', 'answer', v_known.answer);
end;
$function$;
grant execute on function claim_idempotency_key(bytea,bytea) to office_api;

comment on function claim_idempotency_key(bytea,bytea) is '@behavior -*
The state of a key: `new` (held by this transaction), `busy` (held by another), or `done` with the stored response. Fails for a different request, and when the response may not be shown.';

CREATE OR REPLACE FUNCTION colleague_name(user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select user_name(u.id) from users u where u.id = colleague_name.user_id and is_login()
$function$;
grant execute on function colleague_name(uuid) to office_api;

comment on function colleague_name(uuid) is '@behavior -*
The display name of a user, also for logins without `users.read`; null for scoped tokens and without a user.';

CREATE OR REPLACE FUNCTION colleagues_department_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select u.department_id from users u
  where u.id = current_user_id() and (not is_scoped() or has_permission('departments.read'))
$function$;
grant execute on function colleagues_department_id() to office_api;
comment on function colleagues_department_id() is 'The caller''s department, when the caller may see its members.';

CREATE OR REPLACE FUNCTION column_message(relation regclass, attribute text, otherwise text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    (select c.message from check_rules(relation) as c where c.attribute = column_message.attribute and c.message <> 'must be given' limit 1),
    otherwise
  )
$function$;

CREATE OR REPLACE FUNCTION comment_tags(comment text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(
    jsonb_object(string_to_array(
      regexp_replace(substring(comment from '^@[^\n]*(?:\n@[^\n]*)*'), '^@(\w*)[ \t]*', e'\\1\n', 'gn'), e'\n')) - '',
    '{}'::jsonb)
$function$;
comment on function comment_tags(text) is 'The smart tags of a comment as {name: value}.';

CREATE OR REPLACE FUNCTION commented_objects()
 RETURNS TABLE(kind text, name text, relation oid, comment text)
 LANGUAGE sql
 STABLE
AS $function$
  select case when c.relkind in ('r', 'p', 'f') then 'table' when c.relkind in ('v', 'm') then 'view' when c.relkind in ('i', 'I') then 'index' else 'type' end,
    c.oid::regclass::text, c.oid, d.description
  from pg_class c join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
  where c.relnamespace = (select current_schema()::regnamespace)
  union all
  select case c.relkind when 'v' then 'column of a view' when 'm' then 'column of a view' when 'c' then 'field of a type' else 'column' end,
    format('%s.%I', c.oid::regclass, a.attname), null, d.description
  from pg_class c join pg_attribute a on a.attrelid = c.oid
    join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum
  where c.relnamespace = (select current_schema()::regnamespace) and a.attnum > 0
  union all
  select case k.contype when 'f' then 'foreign key' else 'constraint' end, concat(k.conname, ' on ' || nullif(k.conrelid, 0)::regclass), null,
    d.description
  from pg_constraint k join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid
  where k.connamespace = (select current_schema()::regnamespace)
  union all
  select 'function', p.oid::regprocedure::text, null, d.description
  from pg_proc p join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid
  where p.pronamespace = (select current_schema()::regnamespace)
  union all
  select 'type', t.oid::regtype::text, null, d.description
  from pg_type t join pg_description d on d.classoid = 'pg_type'::regclass and d.objoid = t.oid
  where t.typnamespace = (select current_schema()::regnamespace)
$function$;
comment on function commented_objects() is 'All objects whose comments can have tags, or are mistaken for such.';

CREATE OR REPLACE FUNCTION complete_export(job_id uuid, attempt integer, rows integer, file_size integer, notes text[], keep_days integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update export_jobs j
  set state = 'completed', exported_rows = complete_export.rows, file_size = complete_export.file_size,
    notes = complete_export.notes, file_key = export_file_key(j, j.attempt),
    finished_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(days => complete_export.keep_days)
  where j.id = complete_export.job_id and j.state = 'running' and j.attempt = complete_export.attempt;
  if not found then
    return false;
  end if;
  delete from export_job_products p where p.job_id = complete_export.job_id;
  delete from export_job_lists l where l.job_id = complete_export.job_id;
  return true;
end;
$function$;
grant execute on function complete_export(uuid,integer,integer,integer,text[],integer) to office_worker;
comment on function complete_export(uuid,integer,integer,integer,text[],integer) is 'Completes an export with its file; false when it was cancelled or deleted.';

CREATE OR REPLACE FUNCTION complete_login(provider text, issuer text, subject text, email text, email_verified boolean, name text, picture text, code_hash bytea, return_to text, challenge text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user users;
  v_linked uuid;
  v_refused text;
  v_name text := case when is_label(trim_to_null(complete_login.name), 120) then trim_to_null(complete_login.name) end;
begin
  -- Serializes concurrent logins of one person: the first links and activates the account.
  perform pg_advisory_xact_lock(
    hashtextextended(concat_ws(' ', current_schema() || '.identity', complete_login.issuer, complete_login.subject), 0)
  );
  select i.user_id into v_linked
  from user_identities i where i.issuer = complete_login.issuer and i.subject = complete_login.subject;

  if found then
    select * into v_user from users u where u.id = v_linked for update;
    v_refused := case when v_user.is_active is not true then 'inactive' end;
  elsif complete_login.email is null then
    v_refused := 'no_email';
  elsif complete_login.email_verified is not true then
    v_refused := 'unverified_email';
  else
    select * into v_user from users u
    where name_key(u.email) = name_key(complete_login.email) and same_email(u.email, complete_login.email)
    for update;
    v_refused := first_login_refusal(v_user);
  end if;

  if v_refused is not null then
    perform record_refused_login(v_refused, jsonb_build_object(
      'provider', complete_login.provider, 'issuer', complete_login.issuer, 'subject', complete_login.subject,
      'email', left(complete_login.email, 254), 'userId', v_user.id
    ));
    return v_refused;
  end if;

  perform act_as(v_user.id);
  if v_linked is null then
    insert into user_identities (user_id, issuer, subject, email)
    values (v_user.id, complete_login.issuer, complete_login.subject, complete_login.email);
  end if;
  begin
    perform activate_on_login(v_user.id, v_name, complete_login.picture);
  exception when check_violation then
    -- An invalid picture must not prevent the login.
    perform activate_on_login(v_user.id, v_name, null);
  end;
  update invitations i set state = 'accepted', accepted_at = now()
  where i.user_id = v_user.id and i.state = 'pending' and i.expires_at > now();
  insert into login_codes (code_hash, user_id, provider, return_to, challenge, expires_at)
  values (complete_login.code_hash, v_user.id, complete_login.provider, complete_login.return_to,
    complete_login.challenge, now() + interval '60 seconds');
  return null;
end;
$function$;
grant execute on function complete_login(text,text,text,text,boolean,text,text,bytea,text,text) to office_server;
comment on function complete_login(text,text,text,text,boolean,text,text,bytea,text,text) is 'Decides whether a person authenticated by a provider may log in: matched by issuer and subject, or at the first login by a verified e-mail address. The first login of an invited person activates the user and accepts the invitation.';

CREATE OR REPLACE FUNCTION conflicting_change(relation text, entity_type text, id uuid, version text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  v_table regclass := conflicting_change.relation::regclass;
  v_sees boolean;
  v_version text;
begin
  -- lint: allow function-body because the table is an argument
  execute format('select exists (select from %s where id = $1)', v_table) into v_sees using conflicting_change.id;
  -- The mutation itself answers that there is no such row.
  if not v_sees then
    return null;
  end if;
  v_version := locked_version(v_table, conflicting_change.id);
  if v_version = conflicting_change.version then
    return null;
  end if;
  return coalesce(last_change(conflicting_change.entity_type, conflicting_change.id::text), '{}');
end;
$function$;
grant execute on function conflicting_change(text,text,uuid,text) to office_api;
comment on function conflicting_change(text,text,uuid,text) is 'Locks a row that the caller sees; returns who changed it when its version is another one, and null otherwise.';

CREATE OR REPLACE FUNCTION count_attempt(step text, address text, account text, per_minute integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_wait integer;
begin
  with counted as (
    insert into attempt_counts as c (step, subject_kind, subject_hash, started_at, attempts)
    select count_attempt.step, s.kind, sha256(convert_to(s.subject, 'UTF8')), now(), 1
    from (values
      (1, 'address', attempt_address(count_attempt.address)), (2, 'account', name_key(count_attempt.account))
    ) as s(place, kind, subject)
    where s.subject is not null
    -- A fixed lock order prevents deadlocks.
    order by s.place
    on conflict on constraint attempt_counts_pkey do update set
      -- A clock that is set back must not block logins for long.
      started_at = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then c.started_at else now() end,
      attempts = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then least(c.attempts, 1000000) + 1 else 1 end
    returning c.started_at, c.attempts
  )
  select max(ceil(extract(epoch from c.started_at + interval '1 minute' - now()))) into v_wait
  from counted c where c.attempts > count_attempt.per_minute;

  -- Runs after counting, when this transaction waits for no more locks, so concurrent clean-ups cannot deadlock.
  delete from attempt_counts c where c.ctid = any (array(
    select old.ctid from attempt_counts old where old.started_at < now() - interval '2 minutes' limit 20 for update skip locked
  ));
  return greatest(v_wait, case when v_wait is null then 0 else 1 end);
end;
$function$;
grant execute on function count_attempt(text,text,text,integer) to office_server;
comment on function count_attempt(text,text,text,integer) is 'Counts a login attempt for its address and its account (an e-mail address, a provider''s subject, or the user of a code); either can be null. Returns the seconds to wait when a limit is reached, else 0.';

CREATE OR REPLACE FUNCTION count_audit_log(actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text, "from" timestamp with time zone, "to" timestamp with time zone, at_most integer)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_count integer;
begin
  perform require_entity_type(count_audit_log.entity_type);
  execute
    'select count(*) from (select from audit_log a where ' || audit_log_conditions($1, $2, $3, $4, $5, $6, $7)
    || ' limit $8) as counted'
    into v_count using $1, $2, $3, $4, $5, $6, $7, $8;
  return v_count;
end;
$function$;
grant execute on function count_audit_log(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone,integer) to office_api;

comment on function count_audit_log(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone,integer) is '@behavior -queryField -typeField
The number of audit rows that match all given filters, at most `at_most`.';

CREATE OR REPLACE FUNCTION count_for_erp_run(run_id uuid, counts jsonb, at_position text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update erp_sync_runs r set
    orders_done = r.orders_done + coalesce((counts ->> 'done')::integer, 0) + coalesce((counts ->> 'missing')::integer, 0),
    orders_created = r.orders_created + coalesce((counts ->> 'created')::integer, 0),
    orders_updated = r.orders_updated + coalesce((counts ->> 'updated')::integer, 0),
    orders_unchanged = r.orders_unchanged + coalesce((counts ->> 'unchanged')::integer, 0),
    orders_missing = r.orders_missing + coalesce((counts ->> 'missing')::integer, 0),
    customers_done = r.customers_done + coalesce((counts ->> 'customers')::integer, 0),
    failures = r.failures + coalesce((counts ->> 'failed')::integer, 0),
    position = coalesce(at_position, r.position)
  where r.id = count_for_erp_run.run_id and r.status = 'RUNNING';
  return found;
end;
$function$;

CREATE OR REPLACE FUNCTION create_absence(input absences)
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_absence absences := create_absence.input;
begin
  perform require_full_login();
  v_absence.user_id := current_user_id();
  v_absence.starts_half_day := coalesce(v_absence.starts_half_day, false);
  v_absence.ends_half_day := coalesce(v_absence.ends_half_day, false);
  perform check_absence(v_absence);
  insert into absences (user_id, type, starts_on, ends_on, starts_half_day, ends_half_day, note)
  values (v_absence.user_id, v_absence.type, v_absence.starts_on, v_absence.ends_on, v_absence.starts_half_day,
    v_absence.ends_half_day, trim_to_null(v_absence.note))
  returning * into v_absence;
  return v_absence;
end;
$function$;
grant execute on function create_absence(absences) to office_api;

comment on function create_absence(absences) is '@guard login
Requests an absence of the caller. If another absence overlaps, the error names it.';

CREATE OR REPLACE FUNCTION create_calendar_feed(token_hash bytea, name text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid;
begin
  perform require_full_login();
  perform from users u where u.id = current_user_id() for no key update;
  if 20 <= (select count(*) from calendar_feeds f where f.user_id = current_user_id() and f.revoked_at is null) then
    perform fail('OF409', 'You have 20 calendar feeds: revoke one first');
  end if;
  insert into calendar_feeds (user_id, token_hash, name)
  values (current_user_id(), create_calendar_feed.token_hash, coalesce(trim_to_null(create_calendar_feed.name), ''))
  returning id into v_id;
  return v_id;
end;
$function$;
grant execute on function create_calendar_feed(bytea,text) to office_api;
comment on function create_calendar_feed(bytea,text) is 'Creates a calendar feed of the caller; called by `createCalendarFeed`.';

CREATE OR REPLACE FUNCTION create_campaign(input campaigns, given text[])
 RETURNS campaigns
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_input campaigns := create_campaign.input;
  v_campaign campaigns;
begin
  perform require_permission('campaigns.create');
  if v_input.product_id is not null and not array['vintage', 'color'] <@ given then
    select
      case when 'vintage' = any (given) then v_input.vintage else p.vintage end,
      case when 'color' = any (given) then v_input.color else w.color end
    into v_input.vintage, v_input.color
    from products p left join wine_types w on w.id = p.wine_type_id
    where p.id = v_input.product_id;
  end if;
  insert into campaigns (product_id, title, vintage, color, note, price, author_user_id, medium, scheduled_at, status)
  values (v_input.product_id, coalesce(trim_to_null(v_input.title), ''), v_input.vintage, upper(v_input.color), trim_to_null(v_input.note),
    coalesce(trim_to_null(v_input.price), ''), v_input.author_user_id, v_input.medium, v_input.scheduled_at,
    coalesce(v_input.status, 'DRAFT'))
  returning * into v_campaign;
  return v_campaign;
end;
$function$;
grant execute on function create_campaign(campaigns,text[]) to office_api;

comment on function create_campaign(campaigns,text[]) is '@guard campaigns.create
Creates a campaign. With a product, an omitted `vintage` or `color` is copied from the product or its wine type; an explicit null stays null.';

CREATE OR REPLACE FUNCTION create_data_export_from_template(input data_export_input)
 RETURNS export_jobs
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_input data_export_input := create_data_export_from_template.input;
  v_limit integer;
  v_template export_templates;
  v_ids uuid[] := v_input.product_ids;
  v_count integer;
  v_all_known boolean;
  v_unknown uuid[];
  v_job export_jobs;
  v_field text := case when v_input.query is null then 'productIds' else 'query' end;
  v_path jsonb := jsonb_build_object('path', array['input', v_field]);
begin
  perform require_all_permissions('exports.create', 'products.read');
  v_limit := current_setting('office.export_max_products')::integer;
  v_template := require_template(v_input.template_id, 'products', coalesce(v_input.format, 'XLSX'));
  -- The common case: all ids are distinct and known, so nothing must be reordered.
  v_all_known := cardinality(v_ids) = (select count(*) from products p where p.id = any(v_ids));
  if v_all_known is not true then
    v_ids := array(
      select d.id from unnest(v_ids) with ordinality as d(id, place) group by d.id order by min(d.place)
    );
  end if;
  v_count := cardinality(v_ids);
  if v_count = 0 then
    perform fail('OF400', case v_field when 'query' then 'query: no product matches' else 'productIds must name at least one product' end, v_path);
  elsif v_template.kind = 'FORM' and v_count <> 1 then
    perform fail('OF400', format('%s: a form takes exactly one product, not %s', v_field, v_count), v_path);
  elsif v_count > v_limit then
    perform fail('OF400', format('%s: %s products are more than the %s that one export may have', v_field, v_count, v_limit), v_path);
  end if;
  if v_all_known is not true then
    v_unknown := array(
      select d.id from unnest(v_ids) with ordinality as d(id, place)
      where not exists (select from products p where p.id = d.id) order by d.place
    );
  end if;
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'productIds: there are no products ' || array_to_string(v_unknown[:10], ', ')
      || case when cardinality(v_unknown) > 10 then format(' and %s more', cardinality(v_unknown) - 10) else '' end, v_path);
  end if;

  insert into export_jobs (user_id, token_id, template_id, source, format, query, total_rows)
  values (current_user_id(), current_token_id(), v_template.id, v_template.name, lower(coalesce(v_input.format, 'XLSX')), v_input.query, v_count)
  returning * into v_job;
  insert into export_job_products (job_id, product_ids) values (v_job.id, v_ids);
  perform queue_export_start();
  return v_job;
end;
$function$;
grant execute on function create_data_export_from_template(data_export_input) to office_api;
comment on function create_data_export_from_template(data_export_input) is 'Creates an export of the given products and queues its start.';

CREATE OR REPLACE FUNCTION create_department(input departments)
 RETURNS departments
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_department departments;
begin
  perform require_permission('departments.update');
  insert into departments (name, description)
  values (coalesce(trim_to_null(create_department.input.name), ''), trim_to_null(create_department.input.description))
  returning * into v_department;
  return v_department;
end;
$function$;
grant execute on function create_department(departments) to office_api;

comment on function create_department(departments) is '@guard departments.update
Creates a department.';

CREATE OR REPLACE FUNCTION create_erp_mapping_rule(input erp_mapping_rules, recheck boolean DEFAULT false)
 RETURNS erp_mapping_rules
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_rule erp_mapping_rules;
begin
  perform require_permission('erpsync.run');
  insert into erp_mapping_rules (code, key, target, is_ignored, note)
  values (input.code, input.key, input.target, coalesce(input.is_ignored, false), input.note)
  returning * into v_rule;
  if create_erp_mapping_rule.recheck then
    perform queue_erp_run('RECHECK');
  end if;
  return v_rule;
end;
$function$;
grant execute on function create_erp_mapping_rule(erp_mapping_rules,boolean) to office_api;

comment on function create_erp_mapping_rule(erp_mapping_rules,boolean) is '@guard erpsync.run
@argument recheck Whether to import all orders with a mapping issue again. Queues the job of `recheckErpOrderImportIssues`.
Creates a mapping rule. The rule clears the issues with its code and key when their orders are next imported.';

CREATE OR REPLACE FUNCTION create_export_template(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_input jsonb := jsonb_strip_nulls(create_export_template.input);
  v_template export_templates;
begin
  perform require_permission('exporttemplates.update');
  if (v_input ? 'columns') = (v_input ? 'workbookId') then
    perform fail('OF400', 'A template has either columns or a workbookId', '{"path": ["input"]}');
  end if;
  insert into export_templates (owner_user_id, name, description, entity, kind)
  values (current_user_id(), coalesce(trim_to_null(v_input ->> 'name'), ''), trim_to_null(v_input ->> 'description'), v_input ->> 'entity',
    (v_input ->> 'kind')::export_template_kind)
  returning * into v_template;
  if v_input ? 'columns' then
    perform set_template_columns(v_template, v_input -> 'columns');
  else
    perform assign_workbook(v_template, (v_input ->> 'workbookId')::uuid);
  end if;
  return v_template.id;
end;
$function$;
grant execute on function create_export_template(jsonb) to office_api;
comment on function create_export_template(jsonb) is 'Creates a template; returns its id.';

CREATE OR REPLACE FUNCTION create_invitation(input new_invitation)
 RETURNS invitations
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_email text := normalize_name(create_invitation.input.email);
  v_user users;
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  perform require_active_inviter();
  perform from roles r where r.id = create_invitation.input.role_id for key share;
  if not found then
    perform fail('OF400', 'roleId: there is no role with this id', '{"path": ["input", "roleId"]}');
  end if;
  perform require_grantable(role_keys(array[create_invitation.input.role_id]));

  insert into users (email) values (coalesce(v_email, '')) on conflict (name_key(email)) do nothing;
  select * into v_user from users where name_key(email) = name_key(v_email) for update;
  perform require_not_joined(v_user, '{"path": ["input", "email"]}');
  -- Removes the role of an earlier invitation.
  perform require_revocable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = v_user.id and ur.role_id <> create_invitation.input.role_id
  )));
  update invitations set state = 'expired' where invitations.user_id = v_user.id and state = 'pending';
  delete from user_roles ur where ur.user_id = v_user.id and ur.role_id <> create_invitation.input.role_id;
  insert into user_roles (user_id, role_id) values (v_user.id, create_invitation.input.role_id) on conflict do nothing;
  insert into invitations (user_id, email, role_id, expires_at, invited_by_user_id)
  values (v_user.id, v_user.email, create_invitation.input.role_id, invitation_end(), current_user_id())
  returning * into v_invitation;
  perform queue_invitation_mail(v_invitation.id);
  return v_invitation;
end;
$function$;
grant execute on function create_invitation(new_invitation) to office_api;

comment on function create_invitation(new_invitation) is '@guard invitations.create
Invites a person by e-mail: creates an inactive user with the role, and a pending invitation. The invitation replaces an earlier one of the same person; the caller must then also hold the permissions of the earlier role.';

CREATE OR REPLACE FUNCTION create_my_api_token(token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  -- A token can only create tokens within its own scopes.
  perform require_login();
  return make_api_token(current_user_id(), token_hash, name, scoped, scopes, expires_at);
end;
$function$;
grant execute on function create_my_api_token(bytea,text,boolean,text[],timestamp with time zone) to office_api;
comment on function create_my_api_token(bytea,text,boolean,text[],timestamp with time zone) is 'Creates an API token that acts for the caller; returns its id.';

CREATE OR REPLACE FUNCTION create_resource_booking(input resource_bookings)
 RETURNS resource_bookings
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_booking resource_bookings := create_resource_booking.input;
  v_times tstzrange[];
begin
  perform require_full_login();
  perform check_booking_times(v_booking);
  v_times := booking_times(v_booking);
  perform check_booking(v_booking, v_times, '{}');
  v_booking.series_id := case when v_booking.repeat_weeks is not null then uuidv7() end;
  with booked as (
    insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at, attendees, note,
      repeat_weeks, repeat_until, series_id)
    select v_booking.resource_id, current_user_id(), user_name(current_user_id()), coalesce(trim_to_null(v_booking.title), ''),
      lower(t), upper(t), v_booking.attendees, trim_to_null(v_booking.note), v_booking.repeat_weeks, v_booking.repeat_until,
      v_booking.series_id
    from unnest(v_times) as t
    returning *
  )
  select b.* into v_booking from booked b order by b.starts_at limit 1;
  return v_booking;
end;
$function$;
grant execute on function create_resource_booking(resource_bookings) to office_api;

comment on function create_resource_booking(resource_bookings) is '@guard login
Books a resource for the caller. With `repeatWeeks` and `repeatUntil`, books a series at the same time of day in the office''s time zone and returns the first booking. If the resource is already booked at one of these times, nothing is booked and the error names the conflicting bookings.';

CREATE OR REPLACE FUNCTION create_role(input new_role)
 RETURNS roles
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_role roles;
begin
  perform require_permission('roles.create');
  insert into roles (name, description)
  values (coalesce(trim_to_null(create_role.input.name), ''), trim_to_null(create_role.input.description))
  returning * into v_role;
  perform set_role_permissions(v_role.id, create_role.input.permission_keys);
  return v_role;
end;
$function$;
grant execute on function create_role(new_role) to office_api;

comment on function create_role(new_role) is '@guard roles.create
Creates a role.';

CREATE OR REPLACE FUNCTION create_user_api_token(user_id uuid, token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('users.update');
  return make_api_token(user_id, token_hash, name, scoped, scopes, expires_at);
end;
$function$;
grant execute on function create_user_api_token(uuid,bytea,text,boolean,text[],timestamp with time zone) to office_api;
comment on function create_user_api_token(uuid,bytea,text,boolean,text[],timestamp with time zone) is 'Creates an API token that acts for another user; returns its id.';

CREATE OR REPLACE FUNCTION current_permissions()
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select coalesce(string_to_array(nullif(current_setting('office.permissions', true), ''), ','), '{}')
$function$;
grant execute on function current_permissions() to office_api, office_worker;
comment on function current_permissions() is 'The keys of the caller''s effective permissions.';

CREATE OR REPLACE FUNCTION current_token_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select nullif(current_setting('office.token_id', true), '')::uuid
$function$;
grant execute on function current_token_id() to office_api;
comment on function current_token_id() is 'The API token of the request; null for a session.';

CREATE OR REPLACE FUNCTION current_user_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select nullif(current_setting('office.user_id', true), '')::uuid
$function$;
grant execute on function current_user_id() to office_api, office_worker;
comment on function current_user_id() is 'The user of the transaction; null without a caller.';

CREATE OR REPLACE FUNCTION customer_notes_author_name(note customer_notes)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(note.author_user_id)
$function$;
grant execute on function customer_notes_author_name(customer_notes) to office_api;

comment on function customer_notes_author_name(customer_notes) is '@computed
@list 3
@title Author
The name of the author, also for callers without `users.read`; null for scoped tokens, and if the user was deleted.';

CREATE OR REPLACE FUNCTION deactivate_user(user_id uuid)
 RETURNS users
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user users;
begin
  perform require_permission('users.update');
  if deactivate_user.user_id = current_user_id() then
    perform fail('OF409', 'You cannot deactivate yourself');
  end if;
  v_user := changeable_user(deactivate_user.user_id);
  perform require_revocable(user_permissions(v_user.id));
  update users set is_active = false, invitations_closed_at = coalesce(users.invitations_closed_at, now())
  where users.id = v_user.id returning * into v_user;
  perform require_superadmin_left();
  -- Otherwise the user could log in again by a pending invitation.
  update invitations set state = 'expired' where invitations.user_id = v_user.id and state = 'pending';
  -- Like sessions and API tokens, they do not come back with a reactivation.
  update calendar_feeds f set revoked_at = now() where f.user_id = v_user.id and f.revoked_at is null;
  return v_user;
end;
$function$;
grant execute on function deactivate_user(uuid) to office_api;

comment on function deactivate_user(uuid) is '@guard users.update
@action bad if is_active
Deactivates a user and ends the user''s sessions, API tokens and calendar feeds, and pending invitations sent by the user. The caller must hold the permissions of the user. Only `activateUser` reactivates the user; an invitation cannot.';

CREATE OR REPLACE FUNCTION decide_absence(id uuid, status absence_status, note text)
 RETURNS absences
 LANGUAGE plpgsql
AS $function$
declare
  v_absence absences := absence_to_change(decide_absence.id, true);
begin
  if v_absence.status <> 'REQUESTED' then
    perform fail('OF409', format('The absence is %s already', lower(v_absence.status::text)), '{"path": ["id"]}');
  elsif char_length(trim_to_null(decide_absence.note)) > 5000 then
    -- The constraint would name the column, which is no argument.
    perform fail('OF400', 'note must be 5000 characters at most', '{"path": ["note"]}');
  end if;
  update absences a set
    status = decide_absence.status, decided_by_user_id = current_user_id(), decided_at = now(),
    decision_note = trim_to_null(decide_absence.note)
  where a.id = v_absence.id
  returning * into v_absence;
  return v_absence;
end;
$function$;

CREATE OR REPLACE FUNCTION declare_object(kind text, relation regclass, name text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select set_config(
    'office.declared',
    -- Appends without reading the list, which has hundreds of lines.
    concat(current_setting('office.declared', true), concat_ws(' ', declare_object.kind, declare_object.relation::oid, declare_object.name), e'\n'),
    true
  )
$function$;

CREATE OR REPLACE FUNCTION decline_absence(id uuid, note text DEFAULT NULL::text)
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  return decide_absence(decline_absence.id, 'DECLINED', decline_absence.note);
end;
$function$;
grant execute on function decline_absence(uuid,text) to office_api;

comment on function decline_absence(uuid,text) is '@guard login absences.update
@action bad
@argument note A note about the decision, for the person.
Declines the requested absence of a colleague.';

CREATE OR REPLACE FUNCTION default_notification_mail(kind notification_kind)
 RETURNS notification_mail
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when default_notification_mail.kind = 'NEW_LOGIN_ADDRESS' then 'AT_ONCE'
    when default_notification_mail.kind = 'EXPORT_COMPLETED' then 'OFF'
    else 'DAILY'
  end::notification_mail
$function$;

CREATE OR REPLACE FUNCTION delete_ai_attachment(id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  delete from ai_attachments a where a.id = delete_ai_attachment.id and a.user_id = current_user_id();
  if not found then
    perform fail('OF404', 'You have no attachment with this id');
  end if;
end;
$function$;
grant execute on function delete_ai_attachment(uuid) to office_api;
comment on function delete_ai_attachment(uuid) is 'Deletes a file of the caller.';

CREATE OR REPLACE FUNCTION delete_ai_conversation(id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_conversation ai_conversations := own_ai_conversation(delete_ai_conversation.id);
begin
  delete from ai_conversations c where c.id = v_conversation.id;
  return true;
end;
$function$;
grant execute on function delete_ai_conversation(text) to office_api;

comment on function delete_ai_conversation(text) is '@guard login ai.use
Deletes a conversation of the caller with its messages and attachments, and stops an answer in progress.';

CREATE OR REPLACE FUNCTION delete_all_campaigns()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  perform require_permission('campaigns.delete');
  delete from campaigns;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function delete_all_campaigns() to office_api;

comment on function delete_all_campaigns() is '@guard campaigns.delete
@action bad of campaigns
Deletes all campaigns. Returns their number.';

CREATE OR REPLACE FUNCTION delete_campaign(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('campaigns.delete');
  delete from campaigns c where c.id = delete_campaign.id;
  if not found then
    perform fail('OF404', 'There is no campaign with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$function$;
grant execute on function delete_campaign(uuid) to office_api;

comment on function delete_campaign(uuid) is '@guard campaigns.delete
Deletes a campaign.';

CREATE OR REPLACE FUNCTION delete_department(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('departments.update');
  -- Locks the department first, so that no user joins it during the deletion.
  perform from departments d where d.id = delete_department.id for update;
  if not found then
    perform fail('OF404', 'There is no department with this id', '{"path": ["id"]}');
  end if;
  update users u set department_id = null where u.department_id = delete_department.id;
  delete from departments d where d.id = delete_department.id;
  return true;
end;
$function$;
grant execute on function delete_department(uuid) to office_api;

comment on function delete_department(uuid) is '@guard departments.update
Deletes a department; its members then have no department.';

CREATE OR REPLACE FUNCTION delete_erp_cursors()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update erp_cursors set cursor = null, pass_run_id = null
$function$;
grant execute on function delete_erp_cursors() to office_worker;
comment on function delete_erp_cursors() is 'Makes the next import start over, which only takes longer.';

CREATE OR REPLACE FUNCTION delete_erp_failures(kind text, numbers text[])
 RETURNS void
 LANGUAGE sql
AS $function$
  delete from erp_import_failures f
  where f.record = any (select delete_erp_failures.kind || ' ' || n from unnest(delete_erp_failures.numbers) as n)
$function$;

CREATE OR REPLACE FUNCTION delete_export_job(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job export_jobs;
begin
  perform require_permission('exports.create');
  v_job := own_export(delete_export_job.id);
  delete from export_jobs j where j.id = delete_export_job.id;
  perform dequeue_export(v_job);
  return true;
end;
$function$;
grant execute on function delete_export_job(uuid) to office_api;

comment on function delete_export_job(uuid) is '@guard exports.create
Deletes an export of the caller with its file; stops a running export.';

CREATE OR REPLACE FUNCTION delete_export_template(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('exporttemplates.update');
  delete from export_templates t where t.id = delete_export_template.id;
  if not found then
    perform fail('OF404', 'There is no export template with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$function$;
grant execute on function delete_export_template(uuid) to office_api;

comment on function delete_export_template(uuid) is '@guard exporttemplates.update
Deletes a template. Completed exports stay; waiting exports that use the template fail.';

CREATE OR REPLACE FUNCTION delete_role(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_role roles;
begin
  perform require_permission('roles.delete');
  -- Locks users before the role, in the same order as changes of a user do.
  perform from users u
  where u.id in (
    select ur.user_id from user_roles ur join roles r on r.id = ur.role_id where r.id = delete_role.id and not r.is_system
  )
  order by u.id
  for no key update;
  v_role := changeable_role(delete_role.id);
  perform require_revocable(role_keys(array[v_role.id]));
  if exists (select from invitations i where i.role_id = v_role.id and i.state = 'pending' and i.expires_at > now()) then
    perform fail('OF409', 'A pending invitation names this role: revoke it first, or wait until it ends');
  end if;
  -- Deletes the assignments first, so that the audit log records each loss.
  delete from user_roles where role_id = v_role.id;
  delete from role_permissions where role_id = v_role.id;
  delete from roles where roles.id = v_role.id;
  return true;
end;
$function$;
grant execute on function delete_role(uuid) to office_api;

comment on function delete_role(uuid) is '@guard roles.delete
Deletes a role and removes it from its users. The caller must hold all of its permissions.';

CREATE OR REPLACE FUNCTION delete_search_changes(change_ids bigint[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  delete from row_changes c where c.reader = 'search' and c.id = any (delete_search_changes.change_ids)
$function$;
grant execute on function delete_search_changes(bigint[]) to office_worker;
comment on function delete_search_changes(bigint[]) is 'Deletes delivered changes from the outbox.';

CREATE OR REPLACE FUNCTION delete_search_index(collection text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  delete from search_indexes i where i.collection = delete_search_index.collection
$function$;
grant execute on function delete_search_index(text) to office_worker;

CREATE OR REPLACE FUNCTION delete_search_key(engine_id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  delete from search_keys k where k.engine_id = delete_search_key.engine_id
$function$;
grant execute on function delete_search_key(bigint) to office_worker;

CREATE OR REPLACE FUNCTION delete_search_leftover(kind text, name text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  delete from search_leftovers l where l.kind = delete_search_leftover.kind and l.name = delete_search_leftover.name
$function$;
grant execute on function delete_search_leftover(text,text) to office_worker;

CREATE OR REPLACE FUNCTION delete_search_watch(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  delete from search_watches w where w.id = delete_search_watch.id and w.user_id = current_user_id();
  if not found then
    perform fail('OF404', 'There is no search watch of yours with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$function$;
grant execute on function delete_search_watch(uuid) to office_api;

comment on function delete_search_watch(uuid) is '@guard login
Deletes a search watch of the caller.';

CREATE OR REPLACE FUNCTION deletions(entity_type text DEFAULT NULL::text, entity_id text DEFAULT NULL::text, "limit" integer DEFAULT 50)
 RETURNS SETOF deletion
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_types text[];
begin
  perform require_login();
  if deletions."limit" is null or deletions."limit" not between 1 and 200 then
    perform fail('OF400', 'limit must be from 1 to 200', '{"path": ["limit"]}');
  end if;
  select coalesce(array_agg(t.entity_type order by t.entity_type), '{}') into v_types from restorable_tables() t
  where t.is_listed and array_remove(t.permissions || t.reads, null) <@ current_permissions() and not (t.needs_login and is_scoped());
  if deletions.entity_type is not null and deletions.entity_type <> all (v_types) then
    perform fail('OF400', case when v_types = '{}' then 'entityType must be left out: you may restore nothing'
      else 'entityType must be one of ' || array_to_string(v_types, ', ') end, '{"path": ["entityType"]}');
  end if;
  return query
  with parents as materialized (select * from restorable_parents())
  select a.id, a.entity_type, a.entity_id,
    (select left(a.before ->> l.name, 200) from unnest(t.labels) with ordinality as l(name, place) where a.before ? l.name order by l.place limit 1),
    a.created_at, u.id, case when u.id is not null then user_name(u.id) end
  from audit_log a join restorable_tables() t on t.entity_type = a.entity_type left join users u on u.id = a.actor_user_id
  where a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
    and a.entity_type = any (case when deletions.entity_type is null then v_types else array[deletions.entity_type] end)
    and (deletions.entity_id is null or a.entity_id = deletions.entity_id)
    and (t.owner is null or a.before ->> t.owner = current_user_id()::text)
    and not exists (select from audit_erasures e where e.audit_log_id = a.id)
    and is_deleted_since(a.entity_type, a.entity_id, a.created_at)
    and not exists (
      select from parents p join audit_log d on d.operation = 'DELETE' and d.entity_type = p.parent_type and d.entity_id = a.before ->> p.reference
        and d.created_at = a.created_at and d.correlation_id is not distinct from a.correlation_id
      where p.entity_type = a.entity_type and is_deleted_since(d.entity_type, d.entity_id, d.created_at)
    )
  order by a.created_at desc, a.id desc
  limit deletions."limit";
end;
$function$;
grant execute on function deletions(text,text,integer) to office_api;

comment on function deletions(text,text,integer) is '@guard principal
@report Office 45
@icon clock
@title Deleted rows
@auditReads AuditLog
@argument entity_type Only rows of this type.
@argument entity_id Only the row with this id.
@argument limit The largest number of rows, 1 to 200.
The rows deleted in the last seven days that the caller may restore, newest first. Rows that exist again and rows with files are not included, nor rows that return with another one, such as the versions of a handbook page.';

CREATE OR REPLACE FUNCTION dequeue_export(job export_jobs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if dequeue_export.job.state in ('queued', 'running') and office_jobs.cancel(dequeue_export.job.queue_job_id) then
    perform queue_export_start();
  end if;
end;
$function$;
comment on function dequeue_export(export_jobs) is 'Removes an export''s job from the queue, unless a worker holds it.';

CREATE OR REPLACE FUNCTION describe_search()
 RETURNS void
 LANGUAGE sql
AS $function$
  with described as (
    select s.collection, c.relname as table_name, s.keys, s.own, o.condition, d.fields, s.title, coalesce(
        (select camel_case(m[1]) || ':' || coalesce(lower(m[2]), 'asc') from regexp_match(s.sort, '^(\w+)(?:\s+(asc|desc))?$', 'i') as m), ''
      ) as default_sort, d.engine, table_tags(s.relation) ? 'auditReads' as is_audited,
      format('select d.id, jsonb_strip_nulls(to_jsonb(d)) from (select t.id%s%s from %s t %s where t.id = any ($1) and %s) as d',
        d.columns, ', ' || search_owner(s.own) || ' as "visibleTo"', s.relation, d.sources, o.condition) as document_query
    from search_tables() s join pg_class c on c.oid = s.relation,
      lateral (select coalesce('t.' || quote_ident(s.shown_by), 'true')) as o(condition), lateral (
      select
        jsonb_agg(jsonb_build_object(
          'name', f.name, 'title', f.title, 'type', f.type, 'dataType', f.data_type, 'searchable', 'searchable' = any (f.words),
          'filterable', f.words && '{filter,facet}', 'sortable', 'sort' = any (f.words), 'facet', 'facet' = any (f.words)
        ) order by f.place) as fields,
        string_agg(concat_ws(' ', f.name, f.type, array_to_string(f.words, ','), f.code), e'\n' order by f.place) as engine,
        string_agg(format(', %s as %I', f.expression, f.name), '' order by f.place) as columns,
        string_agg(distinct f.source, ' ') as sources
      from (select distinct on (x.name) x.* from search_fields(s.relation) as x order by x.name, x.place) as f
    ) as d
  ),
  gone as (
    delete from search_catalogue c where c.collection not in (select d.collection from described d)
  )
  insert into search_catalogue as c (collection, table_name, keys, own, condition, title, definition, document_query, signature)
  select d.collection, d.table_name, d.keys, d.own, d.condition, d.title, jsonb_build_object(
      'type', d.collection, 'collection', search_alias(d.collection), 'title', d.title, 'own', d.own, 'defaultSort', d.default_sort,
      'isAudited', d.is_audited, 'fields', d.fields
    ), d.document_query, md5(concat_ws(e'\n', d.engine, d.document_query))
  from described d
  on conflict on constraint search_catalogue_pkey do update set
    table_name = excluded.table_name, keys = excluded.keys, own = excluded.own, condition = excluded.condition, title = excluded.title, definition = excluded.definition,
    document_query = excluded.document_query, signature = excluded.signature
  where c is distinct from excluded
$function$;
comment on function describe_search() is 'Stores the definitions of the collections. A change of the signature, which ignores titles, rebuilds a collection.';

CREATE OR REPLACE FUNCTION dev_login(email text, token_hash bytea, idle_hours integer, max_days integer)
 RETURNS TABLE(user_id uuid, permissions text[])
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid;
begin
  select u.id into v_id from users u where name_key(u.email) = name_key(dev_login.email) and u.is_active for share;
  if not found then
    -- Unknown and inactive users take the same time, so that timing does not reveal which users exist.
    v_id := (select u.id from users u where name_key(u.email) = name_key(dev_login.email));
    perform record_refused_login(case when v_id is null then 'unknown' else 'inactive' end,
      jsonb_build_object('step', 'devLogin', 'email', left(trim_to_null(dev_login.email), 254), 'userId', v_id));
    return;
  end if;
  perform act_as(v_id);
  perform open_session(v_id, token_hash, idle_hours, max_days);
  return query select v_id, user_permissions(v_id);
end;
$function$;
grant execute on function dev_login(text,bytea,integer,integer) to office_api;
comment on function dev_login(text,bytea,integer,integer) is 'Opens a session for an active user, or records the refusal and returns no row. Available outside production only.';

CREATE OR REPLACE FUNCTION did_you_mean(name text, names text[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce('; did you mean ' || nearest_name(did_you_mean.name, did_you_mean.names) || '?', '')
$function$;
comment on function did_you_mean(text,text[]) is 'The end of a message about a misspelt name; empty when no name is similar.';

CREATE OR REPLACE FUNCTION documentation_contents()
 RETURNS SETOF documentation_entry
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_full_login();
  return query
  with recursive pages as (
    -- A page whose parent the caller cannot read is listed at the top.
    select p.id, p.slug, p.title, p.is_published, above.id as parent_id,
      row_number() over (partition by above.id order by p.position, p.title, p.id) as place
    from documentation_pages p left join documentation_pages above on above.id = p.parent_id
  ),
  tree as (
    select p.*, array[p.place] as places from pages p where p.parent_id is null
    union all
    select p.*, t.places || p.place from tree t join pages p on p.parent_id = t.id
  )
  select array_to_string(t.places, '.'), t.id, t.slug, t.title, t.is_published from tree t order by t.places;
end;
$function$;
grant execute on function documentation_contents() to office_api;

comment on function documentation_contents() is '@guard login
@report Office 34
@icon book
@title Handbook contents
The readable handbook pages as a tree: each page is followed by those below it, in the order of `position`.';

CREATE OR REPLACE FUNCTION documentation_differences(documentation_page_id uuid, from_version integer, to_version integer DEFAULT NULL::integer)
 RETURNS SETOF documentation_difference
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_old documentation_versions;
  v_new documentation_versions;
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  select * into v_old from documentation_versions v
  where v.page_id = documentation_differences.documentation_page_id and v.number = documentation_differences.from_version;
  if not found then
    perform fail('OF404', 'The page has no version of this number', '{"path": ["fromVersion"]}');
  end if;
  select * into v_new from documentation_versions v
  where v.page_id = documentation_differences.documentation_page_id
    and v.number = coalesce(documentation_differences.to_version, v.number)
  order by v.number desc limit 1;
  if not found then
    perform fail('OF404', 'The page has no version of this number', '{"path": ["toVersion"]}');
  end if;
  return query select * from line_differences('title', array[v_old.title], array[v_new.title]);
  return query select * from line_differences('tags', v_old.tags, v_new.tags);
  return query select * from line_differences('body', string_to_array(v_old.body, E'\n'), string_to_array(v_new.body, E'\n'));
end;
$function$;
grant execute on function documentation_differences(uuid,integer,integer) to office_api;

comment on function documentation_differences(uuid,integer,integer) is '@guard login documentation.update
@report Office 40
@icon book
@title Differences of handbook versions
@argument documentation_page_id The page.
@argument from_version The number of a version.
@argument to_version The number of the version to compare it with; by default the latest.
The lines that differ between two versions of a handbook page. When more than 1000 lines of a field differ, all its lines are listed.';

CREATE OR REPLACE FUNCTION documentation_excerpt(body text, danish tsquery, english tsquery)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select ts_headline(coalesce(f.language, 'pg_catalog.simple'), coalesce(f.part, left(documentation_excerpt.body, 2000)),
    coalesce(f.query, ''), 'StartSel="", StopSel="", MaxWords=30, MinWords=10, MaxFragments=2, FragmentDelimiter=" … "')
  from (select) as one left join lateral (
    select l.language, p.part, case when t.words @@ l.query then l.query else l.any_word end as query
    from matching_parts(documentation_excerpt.body, danish || english) with ordinality as p(part, place),
      (values ('pg_catalog.danish'::regconfig, danish, any_word(danish)), ('pg_catalog.english', english, any_word(english)))
        as l(language, query, any_word),
      -- The offset keeps the planner from computing the words twice.
      lateral (select to_tsvector(l.language, p.part) as words offset 0) as t
    where t.words @@ l.any_word
    order by t.words @@ l.query desc, p.place limit 1
  ) as f on true
$function$;
grant execute on function documentation_excerpt(text,tsquery,tsquery) to office_api;
comment on function documentation_excerpt(text,tsquery,tsquery) is 'The text around the words of a search: a part with all of them if one is found; the beginning where the body has none.';

CREATE OR REPLACE FUNCTION documentation_links(markdown text)
 RETURNS TABLE(slug text)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select distinct coalesce(m[1], m[2])
  from without_code(documentation_links.markdown) as t(text),
    (values
      ('\]\(\s*', '(?:\s*\)|\s+["''(])'),
      ('^ {0,3}(?:> {0,4})*\[(?!\^)[^][\n]+\]:[ \t]*\n?[ \t]*', '(?:\s*$|\s+["''(])')
    ) as link(beginning, ending),
    regexp_matches(t.text,
      link.beginning || '(?:<(?:\./)?([A-Za-z0-9_-]+)(?:#[^<>\n]*)?>|(?:\./)?([A-Za-z0-9_-]+)(?:#[^()\s<>]*)?)' || link.ending,
      'gn') as m
$function$;
comment on function documentation_links(text) is 'The addresses of pages in links `[text](address "title")` and definitions `[label]: address` outside of code.';

CREATE OR REPLACE FUNCTION documentation_page_by_slug(slug text)
 RETURNS documentation_pages
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  -- As the policies of the table.
  return (
    select p from documentation_pages p
    where p.id = documentation_page_id(documentation_page_by_slug.slug)
      and (p.is_published or p.author_user_id = current_user_id() or has_permission('documentation.update'))
  );
end;
$function$;
grant execute on function documentation_page_by_slug(text) to office_api;

comment on function documentation_page_by_slug(text) is '@guard login
@nullable
@argument slug The current or an earlier address. The `slug` of the result is the current one.
The page with this address; null when it does not exist or the caller cannot read it.';

CREATE OR REPLACE FUNCTION documentation_page_id(slug text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    (select p.id from documentation_pages p where p.slug = documentation_page_id.slug),
    (select p.id from documentation_slugs s join documentation_pages p on p.id = s.page_id where s.slug = documentation_page_id.slug)
  )
$function$;
comment on function documentation_page_id(text) is 'The id of the page with this current or earlier address.';

CREATE OR REPLACE FUNCTION documentation_pages_author_name(page documentation_pages)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(page.author_user_id)
$function$;
grant execute on function documentation_pages_author_name(documentation_pages) to office_api;

comment on function documentation_pages_author_name(documentation_pages) is '@computed
@list 5
@title Author
The name of the author of the first version; null for a page of the product.';

CREATE OR REPLACE FUNCTION documentation_pages_updated_by_name(page documentation_pages)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(page.updated_by_user_id)
$function$;
grant execute on function documentation_pages_updated_by_name(documentation_pages) to office_api;

comment on function documentation_pages_updated_by_name(documentation_pages) is '@computed
@title Changed by
The name of the author of the latest version; null for a page of the product.';

CREATE OR REPLACE FUNCTION documentation_version(id uuid)
 RETURNS documentation_versions
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  return (select v from documentation_versions v where v.id = documentation_version.id);
end;
$function$;
grant execute on function documentation_version(uuid) to office_api;

comment on function documentation_version(uuid) is '@guard login documentation.update
@nullable
A version of a handbook page; null for an unknown id.';

CREATE OR REPLACE FUNCTION documentation_versions_author_name(version documentation_versions)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(version.author_user_id)
$function$;
grant execute on function documentation_versions_author_name(documentation_versions) to office_api;

comment on function documentation_versions_author_name(documentation_versions) is '@computed
@list 3
@title Author
The name of the author; null for a page of the product.';

CREATE OR REPLACE FUNCTION documentation_words(language regconfig, page documentation_pages)
 RETURNS tsvector
 LANGUAGE sql
 STABLE
AS $function$
  select setweight(to_tsvector(documentation_words.language, page.title || ' ' || array_to_string(page.tags, ' ')), 'A')
    || to_tsvector(documentation_words.language, page.body)
$function$;
comment on function documentation_words(regconfig,documentation_pages) is 'The words of a page in one language; those of its title and tags have more weight.';

CREATE OR REPLACE FUNCTION drop_old_audit_partitions(write_days integer, read_days integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_tree record;
  v_part record;
  v_dropped_before timestamptz;
begin
  -- A lower limit for retention prevents misuse to remove recent rows.
  if coalesce(drop_old_audit_partitions.write_days < 31 or drop_old_audit_partitions.read_days < 31, true) then
    raise exception 'Audit rows must be kept for at least 31 days';
  end if;
  for v_tree in
    select t.name, now() - make_interval(days => t.days) as kept_since, t.operations
    from (values
      ('audit_log_writes', write_days, array['CREATE', 'UPDATE', 'DELETE']), ('audit_log_reads', read_days, array['READ'])
    ) as t(name, days, operations)
  loop
    v_dropped_before := null;
    for v_part in
      select c.relname, to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' as ends_at
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = v_tree.name::regclass and c.relname ~ '_\d{4}_\d{2}$'
    loop
      if v_part.ends_at < v_tree.kept_since then
        execute format('drop table %I', v_part.relname);
        v_dropped_before := greatest(v_dropped_before, v_part.ends_at at time zone 'UTC');
        return next v_part.relname;
      end if;
    end loop;
    if exists (
      select from audit_log a
      where a.created_at < v_tree.kept_since and a.operation = any (v_tree.operations)
        and a.tableoid = (v_tree.name || '_default')::regclass
    ) then
      perform renew_default_audit_partition(v_tree.name::regclass, v_tree.kept_since);
      v_dropped_before := v_tree.kept_since;
      return next v_tree.name || '_default';
    end if;
    if v_dropped_before is not null then
      perform seal_audit_drop(replace(v_tree.name, 'audit_log_', ''), v_dropped_before);
    end if;
  end loop;
end;
$function$;
grant execute on function drop_old_audit_partitions(integer,integer) to office_worker;
comment on function drop_old_audit_partitions(integer,integer) is 'Drops audit rows after their retention, by whole months, and expired rows of the default partitions. Returns the affected partitions.';

CREATE OR REPLACE FUNCTION drop_tenant(tenant text, unused_for interval DEFAULT NULL::interval)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET lock_timeout TO '10s'
AS $function$
begin
  if not starts_with(drop_tenant.tenant, current_schema() || '_e2e_') then
    raise exception '% is not the tenant of a test run of %', drop_tenant.tenant, current_schema();
  end if;
  -- The lock of migrateTenant, so that a tenant is not created and dropped at the same time.
  perform pg_advisory_xact_lock(hashtextextended('migrate ' || drop_tenant.tenant, 0));
  if office_jobs.remove_tenant(drop_tenant.tenant) > 0 then
    -- Cancels long jobs; the caller retries.
    if to_regclass(format('%I.export_jobs', drop_tenant.tenant)) is not null then
      execute format('update %I.export_jobs set state = ''cancelled'' where state in (''queued'', ''running'')', drop_tenant.tenant);
    end if;
    if to_regclass(format('%I.erp_sync_runs', drop_tenant.tenant)) is not null then
      execute format(
        'update %I.erp_sync_runs set status = ''CANCELLED'', finished_at = clock_timestamp(), retry_at = null
         where status in (''QUEUED'', ''RUNNING'', ''RETRYING'')', drop_tenant.tenant
      );
    end if;
    return false;
  end if;
  if not office_jobs.unregister_tenant(drop_tenant.tenant, drop_tenant.unused_for) and drop_tenant.unused_for is not null then
    return false;
  end if;
  -- Moves the files of the tenant to this schema's ledger for deletion.
  if to_regclass(format('%I.stored_files', drop_tenant.tenant)) is not null then
    execute format('insert into stored_files (key) select key from %I.stored_files on conflict do nothing', drop_tenant.tenant);
    perform schedule_file_deletion(array(
      select f.key from stored_files f where starts_with(f.key, drop_tenant.tenant || '/') and f.delete_after is null));
  end if;
  -- Likewise for its data in the search engine.
  perform import_search(drop_tenant.tenant);
  execute format('drop schema if exists %I cascade', drop_tenant.tenant);
  return true;
end;
$function$;
grant execute on function drop_tenant(text,interval) to office_worker;
comment on function drop_tenant(text,interval) is 'Drops a test tenant with its waiting jobs. Returns false, without a change, while a job is running in it or when it was used within the given time.';

CREATE OR REPLACE FUNCTION drop_undeclared()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_declared text[] := string_to_array(nullif(current_setting('office.declared', true), ''), e'\n');
  v_drop text;
begin
  if v_declared is null then
    raise exception 'No policy or trigger was declared in this transaction; drop_undeclared() is the last step of a migration';
  end if;
  for v_drop in
    select format('drop policy %I on %s', p.polname, c.oid::regclass)
    from pg_policy p join pg_class c on c.oid = p.polrelid
      join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid
    where c.relnamespace = (select current_schema()::regnamespace)
      and is_ensured_policy(d.description)
      and concat_ws(' ', 'policy', c.oid, p.polname) <> all (v_declared)
    union all
    select format('drop trigger %I on %s', t.tgname, c.oid::regclass)
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
      join pg_description d on d.classoid = 'pg_trigger'::regclass and d.objoid = t.oid
    where c.relnamespace = (select current_schema()::regnamespace)
      and strpos(d.description, '%TABLE%') > 0 and t.tgname ~ '^_\d{3}_'
      and concat_ws(' ', 'trigger', c.oid, t.tgname) <> all (v_declared)
  loop
    execute v_drop;
  end loop;
end;
$function$;
comment on function drop_undeclared() is 'Drops policies and triggers that were not declared in this transaction.';

CREATE OR REPLACE FUNCTION drop_watch_notices(watch_id uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from search_watch_notices n where n.watch_id = drop_watch_notices.watch_id;
  update search_watches w set due_at = null where w.id = drop_watch_notices.watch_id;
end;
$function$;
comment on function drop_watch_notices(uuid) is 'Discards the pending events of a watch.';

CREATE OR REPLACE FUNCTION due_watches(row_limit integer)
 RETURNS jsonb
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select coalesce(jsonb_agg(watch_to_run(w) || jsonb_build_object(
    'rowIds', (select coalesce(jsonb_agg(distinct n.row_id), '[]') from search_watch_notices n where n.watch_id = w.id)
  ) order by w.user_id), '[]')
  from (
    select w.* from search_watches w join users u on u.id = w.user_id
    where w.due_at <= now() and u.is_active order by w.due_at limit due_watches.row_limit
  ) as w
$function$;
grant execute on function due_watches(integer) to office_worker;
comment on function due_watches(integer) is 'The watches with events to deliver, with the ids of the rows.';

CREATE OR REPLACE FUNCTION edit_distance(a text, b text)
 RETURNS integer
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
declare
  v_before integer[];
  v_last integer[] := array(select generate_series(0, length(b)));
  v_row integer[];
begin
  for i in 1 .. length(a) loop
    v_row := array[i];
    for j in 1 .. length(b) loop
      v_row[j + 1] := least(v_last[j + 1] + 1, v_row[j] + 1, v_last[j] + (substr(a, i, 1) <> substr(b, j, 1))::integer);
      if i > 1 and j > 1 and substr(a, i, 1) = substr(b, j - 1, 1) and substr(a, i - 1, 1) = substr(b, j, 1) then
        v_row[j + 1] := least(v_row[j + 1], v_before[j - 1] + 1);
      end if;
    end loop;
    v_before := v_last;
    v_last := v_row;
  end loop;
  return v_last[length(b) + 1];
end;
$function$;

CREATE OR REPLACE FUNCTION end_ai_answer(answer_id uuid, state text, parts jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_answer ai_answers;
begin
  perform lock_ai_conversation_of(end_ai_answer.answer_id);
  update ai_answers a set state = end_ai_answer.state, finished_at = clock_timestamp(), reserved = 0
  where a.id = end_ai_answer.answer_id and a.state = 'running'
  returning * into v_answer;
  if not found then
    return false;
  end if;
  update ai_messages m set parts = end_ai_answer.parts
  where m.conversation_id = v_answer.conversation_id and m.id = v_answer.message_id;
  if not found and jsonb_array_length(end_ai_answer.parts) > 0 then
    perform append_ai_message(v_answer.conversation_id, v_answer.user_id, v_answer.message_id, 'assistant', end_ai_answer.parts);
  end if;
  update ai_conversations c set updated_at = clock_timestamp() where c.id = v_answer.conversation_id;
  return true;
end;
$function$;
comment on function end_ai_answer(uuid,text,jsonb) is 'Ends an answer and stores its parts; false when it had ended before.';

CREATE OR REPLACE FUNCTION end_api_tokens(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(api_tokens_lock());
  -- Includes all tokens created with these, so that a stolen token leaves nothing behind.
  with recursive ended as (
    select unnest(end_api_tokens.ids) as id
    union
    select t.id from ended join api_tokens t on t.created_by_token_id = ended.id
  )
  update api_tokens t set revoked_at = now() from ended where t.id = ended.id and t.revoked_at is null;
end;
$function$;

CREATE OR REPLACE FUNCTION end_export(job_id uuid, state text, message text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update export_jobs j
  set state = end_export.state, error_message = end_export.message, finished_at = clock_timestamp()
  where j.id = end_export.job_id;
  delete from export_job_products p where p.job_id = end_export.job_id;
  delete from export_job_lists l where l.job_id = end_export.job_id;
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = end_export.job_id));
end;
$function$;
comment on function end_export(uuid,text,text) is 'Ends an export without a file.';

CREATE OR REPLACE FUNCTION end_list_exports()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_job export_jobs;
begin
  for v_job in
    select * from export_jobs j
    where j.entity <> 'products' and j.state in ('queued', 'running', 'completed') order by j.id for update
  loop
    if v_job.state = 'completed' then
      perform expire_export(v_job);
      update export_jobs j set error_message = 'The file was deleted, because personal data was erased: request the export again'
      where j.id = v_job.id;
    else
      perform end_export(v_job.id, 'failed', 'Personal data was erased meanwhile: request the export again');
    end if;
  end loop;
end;
$function$;
comment on function end_list_exports() is 'Ends exports of lists, whose files may hold personal data that is being erased.';

CREATE OR REPLACE FUNCTION end_lost_ai_answer(answer_id uuid, parts jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform lock_ai_conversation_of(end_lost_ai_answer.answer_id);
  -- The server may have resumed, or another caller may have ended the answer.
  perform from ai_answers a where a.id = end_lost_ai_answer.answer_id and ai_answer_is_lost(a) for update;
  if not found then
    return false;
  end if;
  perform charge_lost_ai_answer(end_lost_ai_answer.answer_id);
  return end_ai_answer(end_lost_ai_answer.answer_id, 'interrupted', end_lost_ai_answer.parts);
end;
$function$;
grant execute on function end_lost_ai_answer(uuid,jsonb) to office_worker;
comment on function end_lost_ai_answer(uuid,jsonb) is 'Ends a lost answer with its stored chunks; false when it is not lost or had ended before.';

CREATE OR REPLACE FUNCTION end_own_lost_ai_answer(answer_id uuid, parts jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return exists (
      select from ai_answers a where a.id = end_own_lost_ai_answer.answer_id and a.user_id = current_user_id()
    ) and end_lost_ai_answer(end_own_lost_ai_answer.answer_id, end_own_lost_ai_answer.parts);
end;
$function$;
grant execute on function end_own_lost_ai_answer(uuid,jsonb) to office_api;
comment on function end_own_lost_ai_answer(uuid,jsonb) is 'Ends a lost answer of the caller.';

CREATE OR REPLACE FUNCTION end_session()
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update sessions set ended_at = now()
  where id = nullif(current_setting('office.session_id', true), '')::uuid and ended_at is null;
  return true;
end;
$function$;
grant execute on function end_session() to office_api;
comment on function end_session() is 'Ends the caller''s session; an API token has none.';

CREATE OR REPLACE FUNCTION enqueue_job(task text, input jsonb, key text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, subject text DEFAULT NULL::text, max_attempts integer DEFAULT 25, queue text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id bigint := queue_job(task, input, key, run_at, max_attempts, queue);
begin
  if not is_own_action(task) then
    return v_id;
  end if;
  -- The new job replaces a waiting job of the same key, and starts over for all its users.
  update jobs j set
    state = 'QUEUED', attempts = 0, max_attempts = enqueue_job.max_attempts, error = null, next_attempt_at = enqueue_job.run_at
  where j.queue_job_id = v_id and j.finished_at is null;
  perform join_job(v_id, task, input, key, run_at, subject, max_attempts);
  return v_id;
end;
$function$;
comment on function enqueue_job(text,jsonb,text,timestamp with time zone,text,integer,text) is 'Adds a job of this tenant in the caller''s transaction; replaces a waiting job of the same key. Called by functions, never by a request role. Jobs of tasks in `job_kinds` are shown to their users with `subject`. Jobs of one `queue` run one after the other.';

CREATE OR REPLACE FUNCTION ensure_audit_partitions(months_ahead integer DEFAULT 2)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_tree text;
  v_month date;
  v_name text;
begin
  foreach v_tree in array array['audit_log_writes', 'audit_log_reads'] loop
    for v_month in
      select generate_series(
        date_trunc('month', now() at time zone 'UTC'),
        date_trunc('month', now() at time zone 'UTC') + make_interval(months => months_ahead), '1 month'
      )::date
    loop
      v_name := v_tree || to_char(v_month, '"_"YYYY"_"MM');
      if to_regclass(format('%I', v_name)) is null then
        begin
          execute format(
            'create table %I partition of %I for values from (%L) to (%L)', v_name, v_tree,
            v_month::timestamp at time zone 'UTC', (v_month + interval '1 month')::timestamp at time zone 'UTC'
          );
          execute format('alter table %I enable row level security', v_name);
          execute format('alter table %I force row level security', v_name);
        exception when check_violation then
          -- After a long pause the default partition holds rows of this month already; they stay there.
          raise warning 'audit rows of % stay in the default partition of %', to_char(v_month, 'YYYY-MM'), v_tree;
        end;
      end if;
    end loop;
  end loop;
  -- Partitions inherit row triggers but no statement triggers, so each needs its own trigger for `truncate`.
  perform ensure_trigger(t.relid, '_900_no_truncate',
    'before truncate on %TABLE% for each statement execute function tg__append_only()')
  from pg_partition_tree('audit_log') as t
  where t.relid <> 'audit_log'::regclass;
end;
$function$;
grant execute on function ensure_audit_partitions(integer) to office_worker;
comment on function ensure_audit_partitions(integer) is 'Creates the audit log''s partitions for this month and the next ones.';

CREATE OR REPLACE FUNCTION ensure_policy(relation regclass, name text, command text, role text, using_expression text, check_expression text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_wanted text := concat_ws(' | ', command, role, using_expression, check_expression);
  v_present text;
begin
  perform declare_object('policy', relation, name);
  select d.description into v_present
  from pg_policy p left join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid
  where p.polrelid = ensure_policy.relation and p.polname = ensure_policy.name;
  if found and v_present = v_wanted then
    return;
  end if;
  execute format('drop policy if exists %I on %s', name, relation);
  execute format('create policy %I on %s for %s to %I', name, relation, command, role)
    || coalesce(' using (' || using_expression || ')', '') || coalesce(' with check (' || check_expression || ')', '');
  execute format('comment on policy %I on %s is %L', name, relation, v_wanted);
end;
$function$;
comment on function ensure_policy(regclass,text,text,text,text,text) is 'Declares a row-level security policy; creates or replaces it when it differs.';

CREATE OR REPLACE FUNCTION ensure_trigger(relation regclass, name text, definition text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_present text;
begin
  perform declare_object('trigger', relation, name);
  select d.description into v_present
  from pg_trigger t left join pg_description d on d.classoid = 'pg_trigger'::regclass and d.objoid = t.oid
  where t.tgrelid = ensure_trigger.relation and t.tgname = ensure_trigger.name;
  if found and v_present = definition then
    return;
  end if;
  execute format('create or replace trigger %I ', name) || replace(definition, '%TABLE%', relation::text);
  execute format('comment on trigger %I on %s is %L', name, relation, definition);
end;
$function$;
comment on function ensure_trigger(regclass,text,text) is 'Declares a trigger; creates or replaces it when it differs. %TABLE% is replaced by the table name.';

CREATE OR REPLACE FUNCTION enter_absence(user_id uuid, input absences)
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_absence absences := enter_absence.input;
begin
  perform require_full_login();
  perform require_permission('absences.update');
  if enter_absence.user_id = current_user_id() then
    perform fail('OF403', 'Nobody decides on an absence of their own: request it', '{"path": ["userId"]}');
  elsif not exists (select from users u where u.id = enter_absence.user_id and u.is_active) then
    perform fail('OF404', 'There is no active user with this id', '{"path": ["userId"]}');
  end if;
  v_absence.user_id := enter_absence.user_id;
  v_absence.starts_half_day := coalesce(v_absence.starts_half_day, false);
  v_absence.ends_half_day := coalesce(v_absence.ends_half_day, false);
  perform check_absence(v_absence);
  insert into absences (user_id, type, starts_on, ends_on, starts_half_day, ends_half_day, note, status, decided_by_user_id, decided_at)
  values (v_absence.user_id, v_absence.type, v_absence.starts_on, v_absence.ends_on, v_absence.starts_half_day,
    v_absence.ends_half_day, trim_to_null(v_absence.note), 'APPROVED', current_user_id(), now())
  returning * into v_absence;
  return v_absence;
end;
$function$;
grant execute on function enter_absence(uuid,absences) to office_api;

comment on function enter_absence(uuid,absences) is '@guard login absences.update
@action
@argument user_id The user who is absent.
Creates an approved absence of another user.';

CREATE OR REPLACE FUNCTION enter_with_api_token(token_hash bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_who record := use_api_token(enter_with_api_token.token_hash);
  v_settings text[];
begin
  v_settings := array[
    set_config('office.user_id', coalesce(v_who.user_id::text, ''), true),
    set_config('office.session_id', '', true),
    set_config('office.token_id', coalesce(v_who.token_id::text, ''), true),
    set_config('office.permissions', coalesce(array_to_string(v_who.permissions, ','), ''), true),
    set_config('office.scoped', coalesce(v_who.scoped, false)::text, true)
  ];
end;
$function$;
grant execute on function enter_with_api_token(bytea) to office_server;
comment on function enter_with_api_token(bytea) is 'Sets the transaction''s identity to the owner of a live API token, with the token''s effective permissions.';

CREATE OR REPLACE FUNCTION enter_with_session(token_hash bytea, idle_hours integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user_id uuid;
  v_session_id uuid;
  v_used_at timestamptz;
  v_keys text;
  v_settings text[];
begin
  select s.user_id, s.id, s.last_used_at, k.permission_keys into v_user_id, v_session_id, v_used_at, v_keys
  from sessions s join user_keys k on k.user_id = s.user_id
  where s.token_hash = enter_with_session.token_hash
    and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now() and k.is_active;
  -- Writes at most once a minute per session and never waits for another request.
  if v_used_at < now() - interval '1 minute' then
    update sessions s
    set last_used_at = now(), idle_expires_at = now() + make_interval(hours => enter_with_session.idle_hours)
    where s.id = (select id from sessions where id = v_session_id for update skip locked);
  end if;
  v_settings := array[
    set_config('office.user_id', coalesce(v_user_id::text, ''), true),
    set_config('office.session_id', coalesce(v_session_id::text, ''), true),
    set_config('office.token_id', '', true),
    set_config('office.permissions', coalesce(v_keys, ''), true),
    set_config('office.scoped', 'false', true)
  ];
end;
$function$;
grant execute on function enter_with_session(bytea,integer) to office_server;
comment on function enter_with_session(bytea,integer) is 'Sets the transaction''s identity to the user of a live session, with effective permissions.';

CREATE OR REPLACE FUNCTION erase_audit_values(erasure_id uuid, entity_type text, entity_ids text[], names text[])
 RETURNS void
 LANGUAGE sql
AS $function$
  with changed as (
    update audit_log a set before = without_personal(a.before, names), after = without_personal(a.after, names)
    from (
      select o.id, o.operation, o.created_at, audit_row_hash(o) as hash
      from audit_log o
      where o.operation in ('CREATE', 'UPDATE', 'DELETE') and o.entity_type = erase_audit_values.entity_type
        and o.entity_id = any (entity_ids)
        and (o.before ?| names or o.after ?| names)
    ) as o
    where a.id = o.id and a.operation = o.operation and a.created_at = o.created_at
    returning a.id, o.hash as hash_before, audit_row_hash(a) as hash_after
  )
  insert into audit_erasures (erasure_id, audit_log_id, hash_before, hash_after)
  select erase_audit_values.erasure_id, c.id, c.hash_before, c.hash_after from changed c where c.hash_before <> c.hash_after
$function$;

CREATE OR REPLACE FUNCTION erase_personal_data(subject regclass, id uuid, entity_type text, instead jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_erasure uuid := uuidv7();
  v_part record;
  v_ids text[];
begin
  perform set_config('office.erasing', 'on', true);
  for v_part in
    select p.relation, p.reference, array_agg(p.name) as columns,
      array_agg(coalesce(comment_tags(col_description(p.relation, a.attnum)) ->> 'auditName', camel_case(p.name))) as names,
      a.audit[1] as entity, coalesce(a.audit[2], 'id') as key
    from personal_columns(subject) as p
      join lateral (
        select n.attnum, regexp_match(table_tags(p.relation) ->> 'audit', '^(?!off\y)(\w+)(?:\s+(?!except\y)(\w+))?') as audit
        from pg_attribute n where n.attrelid = p.relation and n.attname = p.name
      ) as a on true
    group by 1, 2, 5, 6
    -- The subject first: triggers copy its name into other tables.
    order by p.reference is not null, p.relation::text
  loop
    -- lint: allow function-body because the table is one with the tag @personal
    execute format(
      'update %1$s t set %2$s from jsonb_populate_record(null::%1$s, $1) as r where t.%3$I = $2', v_part.relation,
      (select string_agg(format('%1$I = r.%1$I', c), ', ') from unnest(v_part.columns) as c), coalesce(v_part.reference, 'id')
    ) using erased_values(v_part.relation, subject) || case when v_part.reference is null then instead else '{}' end, id;
    continue when v_part.entity is null;
    -- lint: allow function-body because the table is one with the tag @personal
    execute format(
      'select array(select t.%I::text from %s t where t.%I = $1)', v_part.key, v_part.relation, coalesce(v_part.reference, 'id')
    ) into v_ids using id;
    -- Also rows that belonged to the subject once: those that were deleted or handed over.
    if v_part.reference is not null then
      v_ids := v_ids || array(
        select distinct a.entity_id from audit_log a
        where a.entity_type = v_part.entity and a.operation in ('CREATE', 'UPDATE', 'DELETE')
          and erase_personal_data.id::text in (a.before ->> camel_case(v_part.reference), a.after ->> camel_case(v_part.reference)));
    end if;
    perform erase_audit_values(v_erasure, v_part.entity, v_ids, v_part.names);
    delete from search_watch_notices n where n.row_id::text = any (v_ids);
  end loop;
  perform set_config('office.erasing', '', true);
  perform end_list_exports();
  insert into audit_log (
    id, actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  values (
    v_erasure, current_user_id(), 'UPDATE', erase_personal_data.entity_type, erase_personal_data.id::text,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || jsonb_build_object('erasure', jsonb_build_object(
      'rows', (select count(*) from audit_erasures e where e.erasure_id = v_erasure), 'digest', erasure_digest(v_erasure)))
  );
end;
$function$;
comment on function erase_personal_data(regclass,uuid,text,jsonb) is 'Empties the personal columns of a row and of the rows that belong to it, and their values in the audit log; records that.';

CREATE OR REPLACE FUNCTION erased_values(relation regclass, subject regclass)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_object_agg(p.name, p.instead)
  from personal_columns(erased_values.subject) as p where p.relation = erased_values.relation
$function$;
comment on function erased_values(regclass,regclass) is 'The values of personal columns after an erasure: null, the value of the tag, or `Erased` where a text is required.';

CREATE OR REPLACE FUNCTION erasure_digest(erasure_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select encode(sha256(convert_to(coalesce(string_agg(
    concat_ws('|', e.audit_log_id, encode(e.hash_before, 'hex'), encode(e.hash_after, 'hex')), ',' order by e.audit_log_id
  ), ''), 'UTF8')), 'hex')
  from audit_erasures e where e.erasure_id = erasure_digest.erasure_id
$function$;
comment on function erasure_digest(uuid) is 'SHA-256 over the audit rows that an erasure changed.';

CREATE OR REPLACE FUNCTION erp_customer_rows(sent jsonb, rules jsonb)
 RETURNS erp_customer_row[]
 LANGUAGE sql
AS $function$
  select array_agg(row(s.place, r, c, w)::erp_customer_row order by s.number)
  from newest_by_number(erp_customer_rows.sent) as s
    cross join lateral (select s.record) as l(r)
    left join customers c on c.erp_customer_number = s.number
    cross join lateral jsonb_populate_record(c, jsonb_build_object(
      'id', coalesce(c.id, uuidv7()), 'erp_customer_number', s.number, 'name', coalesce(r ->> 'name', s.number),
      'email', r ->> 'email', 'phone', r ->> 'phone', 'website', r ->> 'website',
      'address_line1', r #>> '{address,line1}', 'address_line2', r #>> '{address,line2}',
      'postal_code', r #>> '{address,postalCode}', 'city', r #>> '{address,city}', 'region', r #>> '{address,region}',
      'country', r #>> '{address,country}', 'currency', mapped(rules, 'currency.unmapped', r ->> 'currencyCode'),
      'vat_number', r ->> 'vatNumber', 'payment_terms', r ->> 'paymentTermsCode',
      -- 0 in the ERP means no limit.
      'credit_limit', nullif(erp_decimal(r ->> 'creditLimit', 12, 2), 0),
      'balance_due', erp_decimal(r ->> 'balanceDue', 12, 2), 'is_blocked', r ->> 'blocked' <> 'NO' is true,
      'erp_revision', r ->> 'revision', 'source_updated_at', as_time(r ->> 'lastModified')
    ) || case when c.erased_at is null then '{}' else (select erased_values('customers', 'customers')) end) as w
$function$;

CREATE OR REPLACE FUNCTION erp_date(value text)
 RETURNS date
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select case when erp_date.value ~ '^\d{4}-\d\d-\d\d$' and pg_input_is_valid(erp_date.value, 'date') then erp_date.value::date end
$function$;

CREATE OR REPLACE FUNCTION erp_decimal(value text, digits integer, scale integer)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when erp_decimal.value ~ '^-?\d{1,20}(\.\d{1,20})?$' and abs(round(erp_decimal.value::numeric, scale)) < 10::numeric ^ digits
      then round(erp_decimal.value::numeric, scale)
  end
$function$;
comment on function erp_decimal(text,integer,integer) is 'Converts an ERP value to a decimal, rounded to the given scale; null when it is invalid or too large.';

CREATE OR REPLACE FUNCTION erp_line_rows(staged erp_order_row[], rules jsonb)
 RETURNS erp_line_row[]
 LANGUAGE sql
AS $function$
  select array_agg(row(r.place, l.item - 1, l.sent, o, w)::erp_line_row order by r.place, l.item)
  from unnest(erp_line_rows.staged) as r
    cross join lateral jsonb_array_elements(as_list(r.sent -> 'lines')) with ordinality as l(sent, item)
    left join order_lines o on o.order_id = (r.was).id and o.line_number = as_integer(l.sent ->> 'lineNumber')
    left join products p on p.erp_product_number = l.sent ->> 'itemNumber'
    cross join lateral (
      select erp_decimal(l.sent ->> 'vatPercent', 3, 2) as vat_percent, nullif(erp_decimal(l.sent ->> 'unitPrice', 10, 4), 0) as price
    ) as n
    cross join lateral jsonb_populate_record(o, jsonb_build_object(
      'id', coalesce(o.id, uuidv7()), 'order_id', (r.wanted).id, 'line_number', as_integer(l.sent ->> 'lineNumber'),
      'kind', mapped(rules, 'line_kind.unmapped', erp_product_group(l.sent)), 'erp_product_group', erp_product_group(l.sent),
      'product_id', p.id, 'erp_product_number', l.sent ->> 'itemNumber', 'description', l.sent ->> 'description',
      'quantity', nullif(erp_decimal(l.sent ->> 'quantity', 11, 3), 0), 'unit', l.sent ->> 'unit',
      'unit_price', case
        when r.sent -> 'pricesIncludeVat' = 'true' then round(n.price / (1 + coalesce(n.vat_percent, 0) / 100), 4)
        else n.price
      end,
      'discount_percent', erp_decimal(l.sent ->> 'discountPercent', 3, 2),
      'vat_code', mapped(rules, 'vat_code.unmapped', l.sent ->> 'vatCode'), 'erp_vat_code', l.sent ->> 'vatCode',
      'vat_percent', n.vat_percent, 'amount', erp_decimal(l.sent ->> 'amount', 12, 2),
      'warehouse', mapped(rules, 'warehouse.unmapped', l.sent ->> 'locationCode'), 'erp_warehouse', l.sent ->> 'locationCode'
    )) as w
$function$;

CREATE OR REPLACE FUNCTION erp_order_faults(staged erp_order_row[], lines erp_line_row[])
 RETURNS SETOF erp_fault
 LANGUAGE sql
 STABLE
AS $function$
  select (erp_order_faults.staged[f.place + 1]).place, camel_case(f.attribute), camel_case(f.attribute) || ' ' || f.message
  from failed_checks(array(select s.wanted from unnest(erp_order_faults.staged) with ordinality as s order by s.ordinality)) as f
  union all
  select r.place, a.path, a.path || ' must be a decimal below 1000000000000'
  from unnest(erp_order_faults.staged) as r,
    unnest(array['netAmount', 'discountAmount', 'vatAmount', 'totalAmount']) as a(path)
  where r.sent ->> a.path is not null and erp_decimal(r.sent ->> a.path, 12, 2) is null
  union all
  select r.place, 'status', 'status must be one of ' || array_to_string(enum_range(null::order_status), ', ')
  from unnest(erp_order_faults.staged) as r where (r.wanted).status is null
  union all
  select l.place, format('lines[%s].%s', l.item, camel_case(f.attribute)),
    format('lines[%s].%s %s', l.item, camel_case(f.attribute), f.message)
  from failed_checks(array(select s.wanted from unnest(erp_order_faults.lines) with ordinality as s order by s.ordinality)) as f,
    lateral (select (erp_order_faults.lines[f.place + 1]).place, (erp_order_faults.lines[f.place + 1]).item) as l
  union all
  select l.place, format('lines[%s].lineNumber', l.item), format('lines[%s].lineNumber is that of another line, too', l.item)
  from (
    select l.place, l.item, (l.wanted).line_number as number,
      min(l.item) over (partition by l.place, (l.wanted).line_number) as first
    from unnest(erp_order_faults.lines) as l
  ) as l
  where l.item > l.first and l.number is not null
$function$;

CREATE OR REPLACE FUNCTION erp_order_health()
 RETURNS erp_order_health
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('erpsync.read');
  return (
    (select count(*)::integer from orders o where o.has_import_mapping_issue and o.superseded_by_order_id is null),
    (select count(*)::integer from orders o where o.has_import_data_issue and o.superseded_by_order_id is null)
  );
end;
$function$;
grant execute on function erp_order_health() to office_api;

comment on function erp_order_health() is '@guard erpsync.read
The numbers of orders with open issues from their last import, without superseded orders.';

CREATE OR REPLACE FUNCTION erp_order_issues(staged erp_order_row[], lines erp_line_row[], rules jsonb, unknown_items text[])
 RETURNS erp_issue_row[]
 LANGUAGE sql
 STABLE
AS $function$
  with met (place, item, kind, code, key, message, value, path) as (
    select r.place, -1, 'MAPPING', c.code, c.key, format('No rule says what the %s "%s" means', c.what, c.key), c.key, c.path
    from unnest(erp_order_issues.staged) as r,
      lateral (values
        ('currency.unmapped', 'currency', 'currencyCode', r.sent ->> 'currencyCode'),
        ('payment_method.unmapped', 'payment method', 'paymentMethodCode', r.sent ->> 'paymentMethodCode'),
        ('shipping_method.unmapped', 'shipping method', 'shipmentMethodCode', r.sent ->> 'shipmentMethodCode')
      ) as c(code, what, path, key)
    where c.key is not null and not is_mapped(rules, c.code, c.key)
    union all
    select l.place, l.item, 'MAPPING', c.code, c.key, format('No rule says what the %s "%s" means', c.what, c.key), c.key,
      format('lines[%s].%s', l.item, c.path)
    from unnest(erp_order_issues.lines) as l,
      lateral (values
        ('line_kind.unmapped', 'product group', 'productGroup', erp_product_group(l.sent)),
        ('vat_code.unmapped', 'VAT code', 'vatCode', l.sent ->> 'vatCode'),
        ('warehouse.unmapped', 'warehouse', 'locationCode', l.sent ->> 'locationCode')
      ) as c(code, what, path, key)
    where c.key is not null and not is_mapped(rules, c.code, c.key)
    union all
    select r.place, -1, 'DATA', 'customer.missing', coalesce(r.sent ->> 'customerNumber', ''),
      coalesce('The ERP has no customer ' || (r.sent ->> 'customerNumber') || ' that can be read', 'The order names no customer'),
      r.sent ->> 'customerNumber', 'customerNumber'
    from unnest(erp_order_issues.staged) as r where (r.wanted).customer_id is null
    union all
    select r.place, -1, 'DATA', 'address.incomplete', array_to_string(a.missing, ', '),
      'The delivery address lacks ' || array_to_string(a.missing, ', '), null, 'deliveryAddress.' || a.missing[1]
    from unnest(erp_order_issues.staged) as r,
      lateral (
        select array(
          select p.part
          from (values (1, 'line1'), (2, 'postalCode'), (3, 'city'), (4, 'country')) as p(place, part)
          where r.sent -> 'deliveryAddress' ->> p.part is null
          order by p.place
        )
      ) as a(missing)
    -- Orders picked up by the customer need no address.
    where a.missing <> '{}' and (r.wanted).shipping_method is distinct from 'PICKUP'
    union all
    select l.place, l.item, 'DATA', c.code, c.key, c.message, l.sent ->> c.path, format('lines[%s].%s', l.item, c.path)
    from unnest(erp_order_issues.lines) as l,
      lateral (select l.sent ->> 'itemNumber') as i(number),
      lateral (values
        ('product.missing', coalesce(i.number, ''), 'itemNumber',
          coalesce('The ERP knows no item ' || i.number, 'The line names no item'),
          i.number is null or (l.wanted).product_id is null and i.number = any (erp_order_issues.unknown_items)),
        ('price.missing', coalesce(i.number, ''), 'unitPrice',
          coalesce('The line about item ' || i.number || ' has no price', 'The line has no price'), (l.wanted).unit_price is null),
        ('quantity.invalid', '', 'quantity', 'The line has no quantity that can be delivered', (l.wanted).quantity is null)
      ) as c(code, key, path, message, is_met)
    where c.is_met and l.sent ->> 'type' = 'ITEM' and coalesce((l.wanted).kind, 'PRODUCT') = 'PRODUCT'
  )
  select array_agg(row(
    g.place, g.kind, g.code, g.key, g.message, left(g.value, 2000), g.path, g.count
  )::erp_issue_row)
  from (
    select m.place, m.kind::order_import_issue_kind as kind, m.code, left(m.key, 300) as key, count(*)::integer as count,
      (array_agg(m.message order by m.item))[1] as message, (array_agg(m.value order by m.item))[1] as value,
      (array_agg(m.path order by m.item))[1] as path
    from met as m
    group by 1, 2, 3, 4
  ) as g
$function$;

CREATE OR REPLACE FUNCTION erp_order_rows(sent jsonb, rules jsonb, time_zone text)
 RETURNS erp_order_row[]
 LANGUAGE sql
AS $function$
  select array_agg(row(s.place, r, o, w)::erp_order_row order by s.number)
  from newest_by_number(erp_order_rows.sent) as s
    -- An order's warehouse is the one of most of its lines.
    cross join lateral (
      select s.record, (
        select i.line ->> 'locationCode'
        from jsonb_array_elements(as_list(s.record -> 'lines')) with ordinality as i(line, place)
        where i.line ->> 'locationCode' is not null
        group by 1 order by count(*) desc, min(i.place) limit 1
      )
      offset 0
    ) as l(r, location)
    left join orders o on o.erp_order_number = s.number
    left join customers c on c.erp_customer_number = r ->> 'customerNumber'
    cross join lateral jsonb_populate_record(o, jsonb_build_object(
      'id', coalesce(o.id, uuidv7()), 'erp_order_number', s.number, 'erp_id', r ->> 'id', 'customer_id', c.id,
      'erp_customer_number', r ->> 'customerNumber', 'customer_name', r ->> 'customerName',
      'customer_reference', r ->> 'customerReference', 'salesperson', r ->> 'salesperson',
      -- The ERP stores only the day. An order without a date gets the ERP's modification time.
      'placed_at', coalesce(
        erp_date(r ->> 'orderDate')::timestamp at time zone erp_order_rows.time_zone, o.placed_at, as_time(r ->> 'lastModified')
      ),
      'requested_delivery_date', erp_date(r ->> 'requestedDeliveryDate'),
      'status', case when r ->> 'status' = any (enum_range(null::order_status)::text[]) then r ->> 'status' end,
      'currency', mapped(rules, 'currency.unmapped', r ->> 'currencyCode'), 'erp_currency', r ->> 'currencyCode',
      'net_amount', coalesce(erp_decimal(r ->> 'netAmount', 12, 2), 0),
      'discount_amount', coalesce(erp_decimal(r ->> 'discountAmount', 12, 2), 0),
      'vat_amount', coalesce(erp_decimal(r ->> 'vatAmount', 12, 2), 0),
      'total_amount', coalesce(erp_decimal(r ->> 'totalAmount', 12, 2), 0),
      'payment_method', mapped(rules, 'payment_method.unmapped', r ->> 'paymentMethodCode'),
      'erp_payment_method', r ->> 'paymentMethodCode',
      'shipping_method', mapped(rules, 'shipping_method.unmapped', r ->> 'shipmentMethodCode'),
      'erp_shipping_method', r ->> 'shipmentMethodCode',
      'warehouse', mapped(rules, 'warehouse.unmapped', l.location), 'erp_warehouse', l.location,
      'email', r ->> 'email', 'phone', r ->> 'phone',
      'delivery_name', r #>> '{deliveryAddress,name}', 'delivery_address_line1', r #>> '{deliveryAddress,line1}',
      'delivery_address_line2', r #>> '{deliveryAddress,line2}', 'delivery_postal_code', r #>> '{deliveryAddress,postalCode}',
      'delivery_city', r #>> '{deliveryAddress,city}', 'delivery_region', r #>> '{deliveryAddress,region}',
      'delivery_country', r #>> '{deliveryAddress,country}',
      'erp_revision', r ->> 'revision', 'source_updated_at', as_time(r ->> 'lastModified')
    ) || case when c.erased_at is null and o.erased_at is null then '{}' else (select erased_values('orders', 'customers')) end) as w
$function$;

CREATE OR REPLACE FUNCTION erp_product_group(line jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select coalesce(line ->> 'productGroup', initcap(replace(line ->> 'type', '_', ' ')))
$function$;

CREATE OR REPLACE FUNCTION erp_rules()
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_object_agg(r.code, r.targets), '{}')
  from (select r.code, jsonb_object_agg(r.key, r.target) as targets from erp_mapping_rules r group by r.code) as r
$function$;

CREATE OR REPLACE FUNCTION erp_run_numbers(run_id uuid, at_most integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_run erp_sync_runs;
  v_after text;
begin
  select r.* into v_run from erp_sync_runs r where r.id = erp_run_numbers.run_id;
  v_after := coalesce(v_run.position, '');
  case v_run.kind
    when 'RECHECK' then
      return query select o.erp_order_number from orders o
        where o.has_import_mapping_issue and o.erp_order_number > v_after order by o.erp_order_number limit erp_run_numbers.at_most;
    when 'DATA_RECHECK' then
      return query select o.erp_order_number from orders o
        where o.has_import_data_issue and o.erp_order_number > v_after order by o.erp_order_number limit erp_run_numbers.at_most;
    else
      return query select v_run.erp_order_number where v_run.erp_order_number > v_after;
  end case;
end;
$function$;
grant execute on function erp_run_numbers(uuid,integer) to office_worker;
comment on function erp_run_numbers(uuid,integer) is 'The next order numbers of a run.';

CREATE OR REPLACE FUNCTION erp_run_wait_ms(run_id uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_wait_ms integer;
begin
  perform fail_lost_erp_runs();
  select greatest(1000, 1000 * extract(epoch from coalesce(o.retry_at - clock_timestamp(), '1 second')))::integer into v_wait_ms
  from erp_sync_runs r join erp_sync_runs o
    on o.kind = r.kind and o.erp_order_number is not distinct from r.erp_order_number and o.status in ('RUNNING', 'RETRYING')
  where r.id = erp_run_wait_ms.run_id and r.status = 'QUEUED';
  return v_wait_ms;
end;
$function$;
grant execute on function erp_run_wait_ms(uuid) to office_worker;
comment on function erp_run_wait_ms(uuid) is 'Milliseconds until a queued run may start after another one of its kind; null when it may start now.';

CREATE OR REPLACE FUNCTION exchange_login_code(code_hash bytea, return_to text, challenge text, token_hash bytea, idle_hours integer, max_days integer)
 RETURNS TABLE(user_id uuid, permissions text[])
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_code login_codes;
  v_active boolean;
  v_refused text;
begin
  -- Locks the user before the code, in the same order as a deactivation.
  select u.is_active into v_active
  from users u
  where u.id = (select c.user_id from login_codes c where c.code_hash = exchange_login_code.code_hash)
  for share;
  delete from login_codes c where c.code_hash = exchange_login_code.code_hash returning * into v_code;
  if not found or v_code.expires_at <= now() then
    return;
  end if;
  v_refused := case
    when not v_active then 'inactive'
    when v_code.return_to <> exchange_login_code.return_to then 'other_return_address'
    when v_code.challenge is distinct from exchange_login_code.challenge then 'wrong_verifier'
  end;
  if v_refused is not null then
    perform record_refused_login(v_refused, jsonb_build_object('provider', v_code.provider, 'userId', v_code.user_id));
    return;
  end if;
  perform act_as(v_code.user_id);
  perform open_session(v_code.user_id, token_hash, idle_hours, max_days);
  return query select v_code.user_id, user_permissions(v_code.user_id);
end;
$function$;
grant execute on function exchange_login_code(bytea,text,text,bytea,integer,integer) to office_api;
comment on function exchange_login_code(bytea,text,text,bytea,integer,integer) is 'Opens a session for a login code, once; no row for an unknown, used or expired code, or one for another address.';

CREATE OR REPLACE FUNCTION expire_ai_approvals()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_approval ai_approvals;
  v_count integer := 0;
begin
  for v_approval in
    update ai_approvals a set state = 'EXPIRED' where a.state = 'PENDING' and a.expires_at <= now()
    returning a.*
  loop
    perform record_ai_approval_end(v_approval, 'Nobody answered in time.');
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$function$;
grant execute on function expire_ai_approvals() to office_worker;
comment on function expire_ai_approvals() is 'Records expired proposals as such; returns their number. Readers see them as expired before that.';

CREATE OR REPLACE FUNCTION expire_conversation_ai_approvals(conversation_id text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_approval ai_approvals;
begin
  perform own_ai_conversation(expire_conversation_ai_approvals.conversation_id);
  -- Approved calls that did not start expire as well.
  for v_approval in
    update ai_approvals a set state = 'EXPIRED', answered_at = coalesce(a.answered_at, now())
    where a.conversation_id = expire_conversation_ai_approvals.conversation_id and a.state in ('PENDING', 'APPROVED')
    returning a.*
  loop
    perform record_ai_approval_end(v_approval, 'The conversation went on without it.');
    return next v_approval.id;
  end loop;
end;
$function$;
grant execute on function expire_conversation_ai_approvals(text) to office_api;
comment on function expire_conversation_ai_approvals(text) is 'Expires the open proposals of a conversation when it continues without them; returns their ids.';

CREATE OR REPLACE FUNCTION expire_export(job export_jobs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update export_jobs j set state = 'expired', file_key = null where j.id = job.id;
  perform schedule_file_deletion(array[job.file_key]);
end;
$function$;
comment on function expire_export(export_jobs) is 'Deletes the file of a completed export.';

CREATE OR REPLACE FUNCTION expire_invitations()
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with expired as (
    update invitations set state = 'expired' where id in (
      select i.id from invitations i where i.state = 'pending' and i.expires_at <= now() order by i.id for update
    )
    returning 1
  )
  select count(*)::integer from expired
$function$;
grant execute on function expire_invitations() to office_worker;
comment on function expire_invitations() is 'Marks invitations as expired; returns their number.';

CREATE OR REPLACE FUNCTION export_catalogue()
 RETURNS TABLE(field text, title text, kind export_field_kind, description text, source text, expression text, keys text)
 LANGUAGE sql
 STABLE
AS $function$
  with relations as (
    select k.oid, a.attname, a.attnum, k.confrelid::regclass as relation, t.tags ->> 'read' as keys,
      coalesce(comment_tags(d.comment) ->> 'fieldName', camel_case(regexp_replace(a.attname, '_id$', ''))) as name,
      title_of(comment_tags(col_description(a.attrelid, a.attnum)), regexp_replace(a.attname, '_id$', '')) as title
    from pg_constraint k
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1],
      lateral (select obj_description(k.oid, 'pg_constraint')) as d(comment),
      lateral (select table_tags(k.confrelid)) as t(tags)
    where k.contype = 'f' and k.conrelid = 'products'::regclass and cardinality(k.conkey) = 1
      and t.tags ? 'read' and not t.tags ? 'internal'
      and concat_ws(' ', comment_tags(d.comment) ->> 'forwardBehavior', comment_tags(d.comment) ->> 'behavior')
        ~ '\+singularRelation:resource:single'
  ),
  fields (place, field, title, kind, description, source, expression, keys) as (
    select array[1, c.place], camel_case(c.name), c.title, c.kind, c.description, null, format(c.reading, format('p.%I', c.name)),
      'products.read'
    from export_columns('products') as c
    union all
    select array[2, r.attnum, c.place], r.name || '.' || camel_case(c.name),
      case c.name when 'name' then r.title else r.title || ' ' || inside_sentence(c.title) end, c.kind,
      c.description,
      format('left join %s as %I on %2$I.%I = p.%I', r.relation, 'r_' || r.attname, f.attname, r.attname),
      format(c.reading, format('%I.%I', 'r_' || r.attname, c.name)), r.keys
    from relations r
      join pg_constraint k on k.oid = r.oid
      join pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1],
      lateral export_columns(r.relation) as c
    union all
    select array[3], camel_case(n.name), title_of(comment_tags(d.comment), n.name), r.kind,
      nullif(regexp_replace(d.comment, '^(@[^\n]*(\n|$))*', ''), ''), null, format(r.reading, format('%I(p)', f.proname)),
      'products.read'
    from pg_proc f,
      lateral (select obj_description(f.oid, 'pg_proc')) as d(comment),
      lateral (select regexp_replace(f.proname, '^products?_', '')) as n(name),
      lateral export_reading(f.prorettype, n.name) as r
    where f.pronamespace = current_schema()::regnamespace and f.pronargs = 1 and not f.proretset
      and f.proargtypes[0] = (select c.reltype from pg_class c where c.oid = 'products'::regclass)
      and (select t.typtype from pg_type t where t.oid = f.prorettype) in ('b', 'd', 'e')
      and comment_tags(d.comment) ? 'computed' and coalesce(comment_tags(d.comment) ->> 'export', '') <> 'off'
      and has_function_privilege('office_api', f.oid, 'execute')
    union all
    select array[4, o.place], o.field, o.title, o.kind::export_field_kind, o.description, s.source, o.expression, s.keys
    from (values
      ('ratings', 'reviewers.read', 'left join lateral (
        select round(avg(x.points), 2)::text as average, count(*)::text as count, string_agg(
          concat_ws(' || quote_literal(', ') || ', v.name, x.year) || ' || quote_literal(': ') || ' || trim_scale(x.points), e''\n''
          order by x.year desc nulls last, v.name) as "all"
        from product_ratings x left join reviewers v on v.id = x.reviewer_id where x.product_id = p.id
      ) as ratings on true'),
      ('latest', 'reviewers.read', 'left join lateral (
        select x.points::text, x.year::text, x.review, v.name as reviewer
        from (
          select r.* from product_ratings r where r.product_id = p.id
          order by r.year desc nulls last, r.created_at desc, r.id desc limit 1
        ) as x left join reviewers v on v.id = x.reviewer_id
      ) as latest on true'),
      ('image', 'products.read', 'left join lateral (
        select x.url, x.alt_text from product_images x where x.product_id = p.id order by x.position, x.id limit 1
      ) as image on true')
    ) as s(name, keys, source) join (values
      (1, 'ratings', 'ratings.average', 'Average rating', 'DECIMAL', 'The average of all ratings, to two places.', 'ratings.average'),
      (2, 'ratings', 'ratings.count', 'Ratings', 'INTEGER', 'How many ratings there are.', 'ratings.count'),
      (3, 'ratings', 'ratings.all', 'All ratings', 'TEXT', 'One line for each rating, the latest first.', 'ratings."all"'),
      (4, 'latest', 'ratings.latest.points', 'Latest rating', 'DECIMAL', 'The points of the latest rating.', 'latest.points'),
      (5, 'latest', 'ratings.latest.year', 'Latest rating: year', 'INTEGER', 'The year of the latest rating.', 'latest.year'),
      (6, 'latest', 'ratings.latest.reviewer', 'Latest rating: reviewer', 'TEXT', 'Who gave the latest rating.', 'latest.reviewer'),
      (7, 'latest', 'ratings.latest.review', 'Latest review', 'TEXT', 'The words of the latest rating.', 'latest.review'),
      (8, 'image', 'image.url', 'Picture address', 'URL', 'The address of the first picture.', 'image.url'),
      (9, 'image', 'image.altText', 'Picture in words', 'TEXT', 'What the first picture shows, in words.', 'image.alt_text'),
      (10, 'image', 'image', 'Picture', 'IMAGE', 'The first picture; forms only.', 'image.url')
    ) as o(place, source, field, title, kind, description, expression) on o.source = s.name
  )
  select distinct on (f.field) f.field, f.title, f.kind, f.description, f.source, f.expression, f.keys
  from fields f
  order by f.field, f.place
$function$;
comment on function export_catalogue() is 'All product fields of templates except prices, which `export_price` defines.';

CREATE OR REPLACE FUNCTION export_columns(relation regclass)
 RETURNS TABLE(name text, place integer, title text, kind export_field_kind, description text, reading text)
 LANGUAGE sql
 STABLE
AS $function$
  select a.attname, a.attnum, coalesce(nullif(c.tags ->> 'export', ''), title_of(c.tags, a.attname)), r.kind,
    nullif(regexp_replace(col_description(a.attrelid, a.attnum), '^(@[^\n]*(\n|$))*', ''), ''), r.reading
  from pg_attribute a,
    lateral (select comment_tags(col_description(a.attrelid, a.attnum))) as c(tags),
    lateral export_reading(a.atttypid, a.attname) as r
  where a.attrelid = export_columns.relation and a.attnum > 0 and not a.attisdropped
    and not c.tags ?| array['secret', 'internal'] and coalesce(c.tags ->> 'export', '') <> 'off'
$function$;

CREATE OR REPLACE FUNCTION export_fields()
 RETURNS SETOF export_field_view
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('exports.read');
  return query
    select f.field, f.title, f.kind, f.description from export_catalogue() as f
    union all
    -- Prices of each existing type and currency.
    select f.field, f.title, f.kind, f.description
    from (select distinct x.type, x.currency from product_prices x where has_permission('products.read')) as d,
      lateral export_price(format('prices.%s.%s', d.type, d.currency)) as f
    order by 1;
end;
$function$;
grant execute on function export_fields() to office_api;

comment on function export_fields() is '@guard exports.read
The product fields available in templates: the fields of the product and of its wine type, its first picture, its ratings, and its price for each existing type and currency.';

CREATE OR REPLACE FUNCTION export_file_columns(template export_templates, list export_job_lists, permissions text[], is_scoped boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  with fields as (
    select f.place, f.field, f.kind::text, f.title, not string_to_array(f.keys, ' ') && permissions as hidden
    from find_export_fields(template_fields(template)) as f
    where list.job_id is null
    union all
    select l.place, l.value ->> 'field', l.value ->> 'kind', l.value ->> 'title', exists (
      select from jsonb_array_elements_text(l.value -> 'tables') as t(name) where not shows_rows(t.name, permissions, is_scoped)
    )
    from jsonb_array_elements(list.columns) with ordinality as l(value, place)
  )
  select jsonb_agg(jsonb_build_object(
    'field', f.field, 'kind', f.kind, 'title', coalesce(c.title, f.title), 'width', c.width, 'numberFormat', c.number_format,
    'hidden', f.hidden
  ) order by f.place)
  from fields f
    left join export_template_columns c on c.template_id = template.id and c.position = f.place and template.workbook_id is null
$function$;
comment on function export_file_columns(export_templates,export_job_lists,text[],boolean) is 'The columns of a file: the fields of products or of a list, laid out by the template.';

CREATE OR REPLACE FUNCTION export_file_key(job export_jobs, attempt integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select format('%s/exports/%s/%s.%s', current_schema(), export_file_key.job.id, export_file_key.attempt, export_file_key.job.format)
$function$;
comment on function export_file_key(export_jobs,integer) is 'The object store key of an attempt''s file.';

CREATE OR REPLACE FUNCTION export_jobs_download_path(job export_jobs)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select format('/exports/%s/download', job.id) where export_jobs_status(job) = 'completed'
$function$;
grant execute on function export_jobs_download_path(export_jobs) to office_api;

comment on function export_jobs_download_path(export_jobs) is '@computed
@title File
@widget file
@list off
The download path of the file, relative to the address of the service; null without a file.';

CREATE OR REPLACE FUNCTION export_jobs_status(job export_jobs)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case when job.state = 'completed' and job.expires_at <= now() then 'expired' else job.state end
$function$;
grant execute on function export_jobs_status(export_jobs) to office_api;

comment on function export_jobs_status(export_jobs) is '@computed
@list 2
@notNull
One of `queued`, `running`, `completed`, `failed`, `cancelled`, `expired`.';

CREATE OR REPLACE FUNCTION export_price(field text)
 RETURNS TABLE(field text, title text, kind export_field_kind, description text, source text, expression text, keys text)
 LANGUAGE sql
 STABLE
AS $function$
  select export_price.field, words_of(m[1]) || ' price, ' || m[2], 'DECIMAL'::export_field_kind,
    format('The price of type `%s` in %s.', m[1], m[2]), null,
    format(
      '(select x.amount::text from product_prices x where x.product_id = p.id and x.type = %L and x.currency = %L)', m[1], m[2]
    ), 'products.read'
  from regexp_match(export_price.field, '^prices\.([a-z][a-z0-9_]{0,39})\.([A-Z]{3})$') as m
  where m is not null
$function$;
comment on function export_price(text) is 'The field `prices.<type>.<currency>`; no row for other names.';

CREATE OR REPLACE FUNCTION export_query(fields text[])
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select format(
    'select u.place, r.* from own_export_products($1) as u
cross join lateral (
  select %s
  from products p
  %s
  where p.id = u.product_id offset 0
) as r',
    string_agg(format('%s as %I', f.expression, 'c' || f.place), e',\n    ' order by f.place),
    (
      select coalesce(string_agg(d.source, e'\n  '), '')
      from (select distinct s.source from find_export_fields(export_query.fields) as s where s.source is not null) as d
    )
  )
  from find_export_fields(export_query.fields) as f
$function$;
comment on function export_query(text[]) is 'The statement that reads the named fields of an export''s products in their order.';

CREATE OR REPLACE FUNCTION export_reading(type oid, name text, OUT kind export_field_kind, OUT reading text)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select case
      when t.typcategory = 'B' then 'BOOLEAN'
      when b.oid in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) then 'INTEGER'
      when b.oid in ('numeric'::regtype, 'real'::regtype, 'double precision'::regtype) then 'DECIMAL'
      when b.oid = 'date'::regtype then 'DATE'
      when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype) then 'DATETIME'
      when b.oid in ('json'::regtype, 'jsonb'::regtype) then 'JSON'
      when t.typcategory = 'S' and export_reading.name ~ '(^|_)url$' then 'URL'
      else 'TEXT'
    end::export_field_kind,
    case
      when b.oid in ('boolean'::regtype, 'timestamptz'::regtype, 'text'::regtype) then '%s'
      when b.oid = 'timestamp'::regtype then '%s at time zone ''UTC'''
      when b.oid in ('json'::regtype, 'jsonb'::regtype) then 'to_jsonb(%s)::text'
      when t.typcategory = 'A' then 'array_to_string(%s, '', '')'
      else '(%s)::text'
    end
  from pg_type d
    -- Resolves a domain to its base type.
    join pg_type b on b.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
    join pg_type t on t.oid = b.oid
  where d.oid = export_reading.type
$function$;

CREATE OR REPLACE FUNCTION export_refusal(job export_jobs, permissions text[], required text[])
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when not exists (select from users u where u.id = job.user_id and u.is_active)
      then 'The user of this export is not active any more'
    when job.token_id is not null and not exists (
      select from api_tokens t where t.id = job.token_id and t.revoked_at is null and t.expires_at > now()
    ) then 'The API token that asked for this export was revoked or has expired'
    else (
      select 'The user of this export no longer holds the permission ' || k
      from unnest(export_refusal.required) as k where k <> all (export_refusal.permissions) limit 1
    )
  end
$function$;

CREATE OR REPLACE FUNCTION export_templates_owner_name(template export_templates)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select colleague_name(template.owner_user_id)
$function$;
grant execute on function export_templates_owner_name(export_templates) to office_api;

comment on function export_templates_owner_name(export_templates) is '@computed
@title Owner
@list 5
The name of the template''s owner: the user who created the template, or to whom it was handed over. Null for scoped tokens and without an owner.';

CREATE OR REPLACE FUNCTION fail(code text, message text, details jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = fail.code, message = fail.message, detail = fail.details::text;
end;
$function$;
grant execute on function fail(text,text,jsonb) to office_api, office_worker;
comment on function fail(text,text,jsonb) is 'Raises OF400 (input), OF401 (login), OF403 (permission), OF404 (missing) or OF409 (state).';

CREATE OR REPLACE FUNCTION fail_erp_run(run_id uuid, reason text, retry_ms bigint, erp_is_down boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update erp_sync_runs r set
    status = case when retry_ms is null then 'FAILED' else 'RETRYING' end::erp_sync_run_status, error = left(reason, 2000),
    finished_at = case when retry_ms is null then clock_timestamp() end,
    retry_at = clock_timestamp() + make_interval(secs => retry_ms / 1000.0)
  where r.id = fail_erp_run.run_id and r.status = 'RUNNING';
  if erp_is_down then
    update erp_cursors c set
      erp_is_up = false, erp_error = left(reason, 2000), erp_seen_at = clock_timestamp(), erp_down_at = coalesce(c.erp_down_at, clock_timestamp())
    where c.entity = 'orders';
  end if;
end;
$function$;
grant execute on function fail_erp_run(uuid,text,bigint,boolean) to office_worker;
comment on function fail_erp_run(uuid,text,bigint,boolean) is 'Records why a run stopped. It is retried after `retry_ms`, or failed when that is null.';

CREATE OR REPLACE FUNCTION fail_export(job_id uuid, attempt integer, message text, again boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform from export_jobs j
  where j.id = fail_export.job_id and j.state = 'running' and j.attempt = fail_export.attempt for update;
  if not found then
    return;
  end if;
  update export_jobs j set failures = j.failures + 1 where j.id = fail_export.job_id;
  if not fail_export.again then
    perform end_export(fail_export.job_id, 'failed', fail_export.message);
    return;
  end if;
  update export_jobs j set state = 'queued', exported_rows = 0, error_message = fail_export.message where j.id = fail_export.job_id;
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = fail_export.job_id));
end;
$function$;
grant execute on function fail_export(uuid,integer,text,boolean) to office_worker;
comment on function fail_export(uuid,integer,text,boolean) is 'Records a failed attempt and its reason, final or to be retried.';

CREATE OR REPLACE FUNCTION fail_lost_erp_runs()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update erp_sync_runs r set
    status = 'FAILED', finished_at = clock_timestamp(), retry_at = null,
    error = left('Given up: ' || coalesce(r.error, office_jobs.last_error(r.job_id), 'its job is gone'), 2000)
  where r.id in (
    select w.id from erp_sync_runs w
    where w.status in ('QUEUED', 'RUNNING', 'RETRYING') and w.job_id in (
      select office_jobs.lost(array(
        select l.job_id from erp_sync_runs l where l.status in ('QUEUED', 'RUNNING', 'RETRYING') and l.job_id is not null
      ))
    )
  ) and r.status in ('QUEUED', 'RUNNING', 'RETRYING');
end;
$function$;
comment on function fail_lost_erp_runs() is 'Fails runs whose job is lost.';

CREATE OR REPLACE FUNCTION fail_lost_jobs()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  update jobs j set state = 'FAILED', finished_at = clock_timestamp(), next_attempt_at = null,
    error = coalesce(j.error, 'The job failed for an unknown reason')
  from office_jobs.lost(array(
    select o.queue_job_id from jobs o where o.finished_at is null order by o.created_at limit 10000
  )) as l(id)
  where j.queue_job_id = l.id and j.finished_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function fail_lost_jobs() to office_worker;
comment on function fail_lost_jobs() is 'Fails jobs that are lost from the queue; returns their number.';

CREATE OR REPLACE FUNCTION fail_search_build(collection text, error text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into search_indexes as i (collection, error) values (fail_search_build.collection, left(fail_search_build.error, 500))
  on conflict on constraint search_indexes_pkey do update set error = excluded.error, building = null
$function$;
grant execute on function fail_search_build(text,text) to office_worker;
comment on function fail_search_build(text,text) is 'Records why the engine rejected the new version.';

CREATE OR REPLACE FUNCTION failed_checks(candidates customers[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('customers') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates order_lines[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('order_lines') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates orders[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('orders') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates product_images[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('product_images') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates product_prices[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('product_prices') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates product_ratings[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('product_ratings') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates products[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('products') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION failed_checks(candidates reviewers[])
 RETURNS TABLE(place integer, attribute text, code text, message text)
 LANGUAGE plpgsql
 STABLE
AS $function$begin return query execute check_query('reviewers') using failed_checks.candidates; end$function$;

CREATE OR REPLACE FUNCTION fields_where(definition jsonb, word text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array(
    select f ->> 'name' from jsonb_array_elements(definition -> 'fields') with ordinality as x(f, place)
    where (f ->> fields_where.word)::boolean order by place
  )
$function$;

CREATE OR REPLACE FUNCTION files_to_delete()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select f.key from stored_files f
  where f.delete_after <= now() and (f.removed_at is null or f.removed_at < now() - interval '15 minutes')
  order by f.delete_after limit 500
$function$;
grant execute on function files_to_delete() to office_worker;
comment on function files_to_delete() is 'A batch of files to delete now.';

CREATE OR REPLACE FUNCTION find_export_fields(fields text[])
 RETURNS TABLE(place integer, field text, title text, kind export_field_kind, source text, expression text, keys text)
 LANGUAGE sql
 STABLE
AS $function$
  select w.place::integer, w.field, f.title, f.kind, f.source, f.expression, f.keys
  from unnest(find_export_fields.fields) with ordinality as w(field, place)
    left join (
      select * from export_catalogue()
      union all
      select p.* from (select distinct unnest(find_export_fields.fields)) as d(field), lateral export_price(d.field) as p
    ) as f on f.field = w.field
  order by w.place
$function$;
comment on function find_export_fields(text[]) is 'The named fields in their order; an unknown field has no title.';

CREATE OR REPLACE FUNCTION finish_ai_answer(answer_id uuid, state text, parts jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return exists (
      select from ai_answers a where a.id = finish_ai_answer.answer_id and a.user_id = current_user_id()
    ) and end_ai_answer(finish_ai_answer.answer_id, finish_ai_answer.state, finish_ai_answer.parts);
end;
$function$;
grant execute on function finish_ai_answer(uuid,text,jsonb) to office_api;
comment on function finish_ai_answer(uuid,text,jsonb) is 'Ends an answer of the caller and stores its parts; false when it had ended before.';

CREATE OR REPLACE FUNCTION finish_ai_attachment(id uuid, file_name text, media_type text, file_size integer, file_sha256 text, stored_bytes bigint DEFAULT NULL::bigint)
 RETURNS ai_attachments
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_key text;
  v_attachment ai_attachments;
begin
  perform require_assistant();
  -- Checks the limit again under a lock, because several uploads may finish at the same time.
  perform from ai_usage u where u.user_id = current_user_id() order by u.day desc limit 1 for update;
  perform check_ai_storage(finish_ai_attachment.file_size, finish_ai_attachment.stored_bytes);
  update stored_files f set delete_after = null
  where f.attachment_id = finish_ai_attachment.id and f.removed_at is null and f.delete_after > now()
    and starts_with(f.key, format('%s/assistant/%s/', current_schema(), current_user_id()))
  returning f.key into v_key;
  if not found then
    perform fail('OF409', 'The upload took too long: send the file again');
  end if;
  insert into ai_attachments (id, user_id, file_name, media_type, file_size, file_sha256, file_key)
  values (finish_ai_attachment.id, current_user_id(), finish_ai_attachment.file_name, finish_ai_attachment.media_type,
    finish_ai_attachment.file_size, finish_ai_attachment.file_sha256, v_key)
  returning * into v_attachment;
  return v_attachment;
end;
$function$;
grant execute on function finish_ai_attachment(uuid,text,text,integer,text,bigint) to office_api;
comment on function finish_ai_attachment(uuid,text,text,integer,text,bigint) is 'Marks an upload as complete.';

CREATE OR REPLACE FUNCTION finish_erp_run(run_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_before erp_sync_runs;
  v_run erp_sync_runs;
begin
  select r.* into v_before from erp_sync_runs r
  where r.open_issue_groups is not null order by r.finished_at desc, r.id desc limit 1;
  -- The first run after an upgrade finds issues that earlier runs caused.
  if not found and not exists (select from erp_sync_runs r where r.status = 'SUCCEEDED') then
    v_before.open_issue_groups := 0;
    v_before.open_issue_orders := 0;
  end if;
  update erp_sync_runs r set
    status = 'SUCCEEDED', finished_at = clock_timestamp(), error = null, orders_total = r.orders_done,
    (open_issue_groups, open_issue_orders) = (
      select count(*), least(coalesce(sum(c.order_count), 0), 2147483647) from order_import_causes c where c.order_count > 0
    )
  where r.id = finish_erp_run.run_id and r.status = 'RUNNING'
  returning r.* into v_run;
  if found then
    perform notify_of_import_issues(v_before, v_run);
  end if;
  perform refresh_import_causes();
end;
$function$;
grant execute on function finish_erp_run(uuid) to office_worker;
comment on function finish_erp_run(uuid) is 'Ends a run successfully.';

CREATE OR REPLACE FUNCTION finish_search_build(collection text, building text)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with finished as (
    update search_indexes i set
      version = i.building, signature = i.building_signature, built_at = clock_timestamp(), building = null, building_signature = null,
      building_cursor = null, building_rows = 0, error = null
    where i.collection = finish_search_build.collection and i.building = finish_search_build.building
    returning 1
  )
  select exists (select from finished)
$function$;
grant execute on function finish_search_build(text,text) to office_worker;
comment on function finish_search_build(text,text) is 'Records that the new version is in use.';

CREATE OR REPLACE FUNCTION finish_workbook(id uuid, entity text, kind export_template_kind, file_name text, file_size integer, file_sha256 text, fields text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_key text;
begin
  perform require_permission('exporttemplates.update');
  update stored_files f set delete_after = null
  where f.workbook_id = finish_workbook.id and f.removed_at is null and f.delete_after > now()
  returning f.key into v_key;
  if not found then
    perform fail('OF409', 'The upload took too long: send the workbook again');
  end if;
  insert into export_workbooks (id, entity, kind, file_name, file_size, file_sha256, file_key, fields, uploaded_by_user_id)
  values (finish_workbook.id, finish_workbook.entity, finish_workbook.kind, finish_workbook.file_name,
    finish_workbook.file_size, finish_workbook.file_sha256, v_key, finish_workbook.fields, current_user_id());
end;
$function$;
grant execute on function finish_workbook(uuid,text,export_template_kind,text,integer,text,text[]) to office_api;
comment on function finish_workbook(uuid,text,export_template_kind,text,integer,text,text[]) is 'Marks the upload of a workbook as complete.';

CREATE OR REPLACE FUNCTION first_id_at(moment timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select (lpad(to_hex((extract(epoch from first_id_at.moment) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$function$;

CREATE OR REPLACE FUNCTION first_login_refusal(person users)
 RETURNS text
 LANGUAGE sql
AS $function$
  select case
    when person.id is null then 'unknown'
    when exists (select from user_identities i where i.user_id = person.id) then 'other_identity'
    when person.is_active then null
    -- An invitation stays pending when its user is changed directly in the database.
    when person.invitations_closed_at is not null then 'inactive'
    when exists (
      select from invitations i where i.user_id = person.id and i.state = 'pending' and i.expires_at > now()
    ) then null
    when exists (select from invitations i where i.user_id = person.id) then 'invitation_expired'
    else 'inactive'
  end
$function$;

CREATE OR REPLACE FUNCTION format_problem(template export_templates, format text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when upper(format_problem.format) = 'XLSX' then null
    when format_problem.template.kind = 'FORM' then format('a FORM can be exported as XLSX only, not %s', upper(format_problem.format))
    when format_problem.template.workbook_id is not null
      then format('a template that is an uploaded workbook can be exported as XLSX only, not %s', upper(format_problem.format))
  end
$function$;
comment on function format_problem(export_templates,text) is 'The reason why a template cannot be exported in a format; null when it can.';

CREATE OR REPLACE FUNCTION free_resources("from" timestamp with time zone, "to" timestamp with time zone, kind resource_kind DEFAULT NULL::resource_kind, capacity integer DEFAULT NULL::integer)
 RETURNS SETOF resources
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  if free_resources."to" <= free_resources."from" then
    perform fail('OF400', 'to must be after from', '{"path": ["to"]}');
  elsif free_resources.capacity < 1 then
    perform fail('OF400', 'capacity must be 1 at least', '{"path": ["capacity"]}');
  end if;
  return query
  select r.* from resources r
  where r.is_active and (free_resources.kind is null or r.kind = free_resources.kind)
    and (free_resources.capacity is null or r.capacity >= free_resources.capacity)
    and not exists (
      select from resource_bookings b
      where b.resource_id = r.id and b.status = 'BOOKED'
        and tstzrange(b.starts_at, b.ends_at) && tstzrange(free_resources."from", free_resources."to")
    )
  order by r.name, r.id;
end;
$function$;
grant execute on function free_resources(timestamp with time zone,timestamp with time zone,resource_kind,integer) to office_api;

comment on function free_resources(timestamp with time zone,timestamp with time zone,resource_kind,integer) is '@guard login
@report Office 10
@icon box
@argument from The start of the period.
@argument to The end of the period.
@argument kind Only resources of this kind.
@argument capacity Only resources with at least this capacity, in people.
The resources without a booking in the given period, by name.';

CREATE OR REPLACE FUNCTION given_values(input jsonb, given text[], required text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_null text := (select r from unnest(required) as r where r = any (given) and input -> r = 'null' limit 1);
begin
  if v_null is not null then
    perform fail('OF400', camel_case(v_null) || ' cannot be null', jsonb_build_object('path', array['input', camel_case(v_null)]));
  end if;
  return (select coalesce(jsonb_object_agg(i.key, i.value), '{}') from jsonb_each(input) as i where i.key = any (given));
end;
$function$;
comment on function given_values(jsonb,text[],text[]) is 'The values of an input that the caller gave, to be put over a row by `jsonb_populate_record`. Fails where a required one is null.';

CREATE OR REPLACE FUNCTION global_search_of()
 RETURNS SETOF jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  -- A key has one filter for all its collections, so collections with owner filters need their own key.
  return query select c from searchable_collections() as c where jsonb_typeof(c -> 'own') = 'null';
end;
$function$;
grant execute on function global_search_of() to office_api;
comment on function global_search_of() is 'The collections that the caller can search together.';

CREATE OR REPLACE FUNCTION hand_over(from_user_id uuid, to_user_id uuid)
 RETURNS handed_over
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_handed handed_over;
begin
  perform require_full_login();
  perform require_permission('users.update');
  if hand_over.from_user_id = hand_over.to_user_id then
    perform fail('OF400', 'toUserId must be another person', '{"path": ["toUserId"]}');
  elsif not exists (select from users u where u.id = hand_over.from_user_id) then
    perform fail('OF404', 'There is no user with this id', '{"path": ["fromUserId"]}');
  end if;
  -- As for a deactivation.
  perform require_revocable(user_permissions(hand_over.from_user_id));
  -- Both are locked, because either could create a search watch meanwhile. The order prevents deadlocks of opposite handovers.
  perform from users u where u.id in (hand_over.from_user_id, hand_over.to_user_id) order by u.id for no key update;
  if not exists (select from users u where u.id = hand_over.to_user_id and u.is_active) then
    perform fail('OF404', 'There is no active user with this id', '{"path": ["toUserId"]}');
  end if;
  perform require_handover_limit(hand_over.from_user_id, hand_over.to_user_id);
  update campaigns c set author_user_id = hand_over.to_user_id
  where c.author_user_id = hand_over.from_user_id and c.status not in ('COMPLETED', 'CANCELLED');
  get diagnostics v_handed.campaigns = row_count;
  update resource_bookings b set booked_by_user_id = hand_over.to_user_id, booked_by_name = user_name(hand_over.to_user_id)
  where b.booked_by_user_id = hand_over.from_user_id and b.status = 'BOOKED' and b.ends_at > now();
  get diagnostics v_handed.bookings = row_count;
  update export_templates t set owner_user_id = hand_over.to_user_id where t.owner_user_id = hand_over.from_user_id;
  get diagnostics v_handed.templates = row_count;
  -- The watches lose their baseline, because they read with the permissions of the new owner.
  perform drop_watch_notices(w.id) from search_watches w where w.user_id = hand_over.from_user_id;
  update search_watches w set user_id = hand_over.to_user_id, is_ready = false, ready_after = null, is_settled = false,
    baseline_ids = null, baseline_snapshot = null, is_paused = w.is_paused or p.problem is not null, problem = coalesce(p.problem, w.problem)
  from (
    select o.id, handed_watch_problem(o, hand_over.to_user_id) as problem from search_watches o where o.user_id = hand_over.from_user_id
  ) as p
  where w.id = p.id;
  get diagnostics v_handed.watches = row_count;
  return v_handed;
end;
$function$;
grant execute on function hand_over(uuid,uuid) to office_api;

comment on function hand_over(uuid,uuid) is '@guard login users.update
@action bad of users
@argument from_user_id The user who leaves.
@argument to_user_id The active user who takes over.
Transfers the open campaigns, future bookings, export templates and search watches of one user to another, for example before a deactivation. Nothing is transferred when the new owner would then have more than 50 search watches. A watch of a list that the new owner cannot read is paused; its `problem` names the permission.';

CREATE OR REPLACE FUNCTION handed_watch_problem(watch search_watches, to_user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select 'The handover paused it, because you lack the permission '
    || missing_to_read(watch.table_name, user_permissions(handed_watch_problem.to_user_id))
$function$;
comment on function handed_watch_problem(search_watches,uuid) is 'The reason why a user cannot read the list of a search watch; null when they can.';

CREATE OR REPLACE FUNCTION has_any_permission(VARIADIC keys text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select has_any_permission.keys && string_to_array(nullif(current_setting('office.permissions', true), ''), ',') is true
$function$;
grant execute on function has_any_permission(text[]) to office_api, office_worker;
comment on function has_any_permission(text[]) is 'Whether the caller holds at least one of the permissions; false without keys or without a caller.';

CREATE OR REPLACE FUNCTION has_permission(key text)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select has_permission.key = any (string_to_array(nullif(current_setting('office.permissions', true), ''), ',')) is true
$function$;
grant execute on function has_permission(text) to office_api, office_worker;
comment on function has_permission(text) is 'Whether the caller holds the permission; false without a caller.';

CREATE OR REPLACE FUNCTION held_role_ids()
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
AS $function$
  select array(select ur.role_id from user_roles ur where ur.user_id = current_user_id())
$function$;
grant execute on function held_role_ids() to office_api;
comment on function held_role_ids() is 'The caller''s roles.';

CREATE OR REPLACE FUNCTION holders_of(permission text)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
AS $function$
  select array(
    select k.user_id from user_keys k where holders_of.permission = any (string_to_array(k.permission_keys, ',')) and k.is_active
  )
$function$;
comment on function holders_of(text) is 'The active users who hold a permission.';

CREATE OR REPLACE FUNCTION holds_role(role_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE COST 1000
AS $function$
begin
  return holds_role.role_id = any (held_role_ids());
end;
$function$;
grant execute on function holds_role(uuid) to office_api;
comment on function holds_role(uuid) is 'Whether the caller has the role.';

CREATE OR REPLACE FUNCTION idempotency_principal()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    'token:' || nullif(current_setting('office.token_id', true), ''),
    'user:' || nullif(current_setting('office.user_id', true), '')
  )
$function$;

CREATE OR REPLACE FUNCTION import_cause_times(cause order_import_causes)
 RETURNS TABLE(first_seen_at timestamp with time zone, last_seen_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select min(i.first_seen_at), max(i.last_seen_at)
  from order_import_issues i
  where i.kind = cause.kind and i.code = cause.code and i.key = cause.key and i.resolved_at is null and not i.order_is_superseded
$function$;

CREATE OR REPLACE FUNCTION import_erp_order(erp_order_number text)
 RETURNS erp_sync_job_handle
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('erpsync.run');
  if trim_to_null(import_erp_order.erp_order_number) is null or char_length(trim_to_null(import_erp_order.erp_order_number)) > 50 then
    perform fail('OF400', 'erpOrderNumber must be 1 to 50 characters', '{"path": ["erpOrderNumber"]}');
  end if;
  return queue_erp_run('ORDER', trim_to_null(import_erp_order.erp_order_number));
end;
$function$;
grant execute on function import_erp_order(text) to office_api;

comment on function import_erp_order(text) is '@guard erpsync.run
@action of erpSyncRuns
@argument erp_order_number The order number of the ERP, compared byte for byte.
Queues the import of a single order by its number, even if the order is not imported yet. The run can overlap other imports. Returns the waiting run for the same number if there is one.';

CREATE OR REPLACE FUNCTION import_erp_orders()
 RETURNS erp_sync_job_handle
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('erpsync.run');
  return queue_erp_run('IMPORT');
end;
$function$;
grant execute on function import_erp_orders() to office_api;

comment on function import_erp_orders() is '@guard erpsync.run
@action of erpSyncRuns
Queues the import of ERP changes since the last import, without waiting for the schedule. Returns the waiting run if there is one; a run queued while another is running starts after it.';

CREATE OR REPLACE FUNCTION import_from_erp(answer jsonb, time_zone text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_at timestamptz := clock_timestamp();
  v_unknown_items text[] := array(select jsonb_array_elements_text(as_list(answer -> 'unknownItems')));
  v_invoiced text[] := array(select jsonb_array_elements_text(as_list(answer -> 'invoiced')));
  v_missing text[] := array(select jsonb_array_elements_text(as_list(answer -> 'missing')));
  v_counts jsonb;
  v_unreadable jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.erp_import', 0));
  -- Customers come first, because orders refer to them.
  v_counts := import_records('customer', answer -> 'customers', null, null, v_at);
  v_counts := add_counts(v_counts, import_records('order', answer -> 'orders', v_unknown_items, time_zone, v_at));
  if v_invoiced <> '{}' or v_missing <> '{}' then
    v_counts := add_counts(v_counts, jsonb_build_object(
      'missing', cardinality(v_invoiced || v_missing), 'updated', update_removed_orders(v_invoiced, v_missing, v_at)
    ));
  end if;
  select jsonb_agg(u.record || jsonb_build_object('kind', u.kind)) into v_unreadable
  from (
    select 'order', r from jsonb_array_elements(as_list(answer -> 'unreadableOrders')) as r
    union all
    select 'customer', r from jsonb_array_elements(as_list(answer -> 'unreadableCustomers')) as r
  ) as u(kind, record);
  if v_unreadable is not null then
    perform record_erp_failures(v_unreadable, v_at);
  end if;
  return add_counts(v_counts, jsonb_build_object(
    'done', jsonb_array_length(as_list(answer -> 'unreadableOrders')),
    'failed', jsonb_array_length(as_list(v_unreadable))
  ));
end;
$function$;
comment on function import_from_erp(jsonb,text) is 'Imports one response of the ERP and returns counts of the results.';

CREATE OR REPLACE FUNCTION import_issue_title(code text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select concat_ws(': ', coalesce(t.title, import_issue_title.code), nullif(import_issue_title.key, ''))
  from (select) as one
  left join (values
    ('line_kind.unmapped', 'Product group without a line kind'),
    ('payment_method.unmapped', 'Payment method without a mapping'),
    ('shipping_method.unmapped', 'Shipping method without a mapping'),
    ('vat_code.unmapped', 'VAT code without a mapping'),
    ('currency.unmapped', 'Currency without a mapping'),
    ('warehouse.unmapped', 'Warehouse without a mapping'),
    ('product.missing', 'Product missing'),
    ('customer.missing', 'Customer missing'),
    ('price.missing', 'Price missing'),
    ('address.incomplete', 'Address incomplete'),
    ('quantity.invalid', 'Quantity invalid')
  ) as t(code, title) on t.code = import_issue_title.code
$function$;
grant execute on function import_issue_title(text,text) to office_api;
comment on function import_issue_title(text,text) is 'The title of a cause of import issues.';

CREATE OR REPLACE FUNCTION import_numbers(run_id uuid, last_number text, answer jsonb, time_zone text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if not count_for_erp_run(run_id, import_from_erp(answer, time_zone), last_number) then
    perform fail('OF409', 'The run was cancelled');
  end if;
  perform record_erp_is_up('orders');
end;
$function$;
grant execute on function import_numbers(uuid,text,jsonb,text) to office_worker;
comment on function import_numbers(uuid,text,jsonb,text) is 'Imports orders requested by number and records the progress.';

CREATE OR REPLACE FUNCTION import_page(run_id uuid, entity text, before text, after text, reached timestamp with time zone, is_last boolean, answer jsonb, time_zone text)
 RETURNS TABLE(goes_on boolean, cursor text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  v_cursor text;
  v_pass_run_id uuid;
begin
  if not count_for_erp_run(run_id, import_from_erp(answer, time_zone)) then
    -- The run was cancelled: roll back, so that the page is imported again by the next run.
    perform fail('OF409', 'The run was cancelled');
  end if;
  update erp_cursors c set
    cursor = after, cursor_at = greatest(c.cursor_at, reached),
    caught_up_at = case when is_last then clock_timestamp() else c.caught_up_at end,
    pass_run_id = case when not is_last then coalesce(c.pass_run_id, import_page.run_id) end
  where c.entity = import_page.entity and c.cursor is not distinct from before
  returning old.pass_run_id into v_pass_run_id;
  select c.cursor into v_cursor from erp_cursors c where c.entity = import_page.entity;
  perform record_erp_is_up(import_page.entity);
  return query select v_cursor is distinct from after or not is_last or coalesce(v_pass_run_id <> import_page.run_id, false),
    v_cursor;
end;
$function$;
grant execute on function import_page(uuid,text,text,text,timestamp with time zone,boolean,jsonb,text) to office_worker;
comment on function import_page(uuid,text,text,text,timestamp with time zone,boolean,jsonb,text) is 'Imports a page of changes and moves the cursor.';

CREATE OR REPLACE FUNCTION import_records(kind text, sent jsonb, unknown_items text[], time_zone text, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer := jsonb_array_length(as_list(sent));
  v_half integer := v_count / 2;
  v_state text;
  v_message text;
begin
  if v_count = 0 then
    return '{}';
  end if;
  begin
    if kind = 'customer' then
      return write_erp_customers(sent, at);
    end if;
    return write_erp_orders(sent, unknown_items, time_zone, at);
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
    -- Only data errors concern a record; all other database errors stop the import.
    if v_state !~ '^(22|23|OF4)' then
      raise;
    end if;
  end;
  if v_count = 1 then
    perform record_erp_failures(jsonb_build_array(jsonb_build_object(
      'kind', kind, 'number', sent #>> '{0,number}', 'id', sent #>> '{0,id}', 'revision', sent #>> '{0,revision}',
      'message', case when v_state ~ '^OF' then v_message else format('The database refuses the record (%s)', v_state) end
    )), at);
    return jsonb_build_object(case kind when 'customer' then 'customers' else 'done' end, 1, 'failed', 1);
  end if;
  return add_counts(
    import_records(kind, (
      select jsonb_agg(r.record order by r.place) from jsonb_array_elements(sent) with ordinality as r(record, place)
      where r.place <= v_half
    ), unknown_items, time_zone, at),
    import_records(kind, (
      select jsonb_agg(r.record order by r.place) from jsonb_array_elements(sent) with ordinality as r(record, place)
      where r.place > v_half
    ), unknown_items, time_zone, at)
  );
end;
$function$;

CREATE OR REPLACE FUNCTION import_search(tenant text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if to_regclass(format('%I.search_keys', import_search.tenant)) is null then
    return;
  end if;
  execute format(
    'insert into search_leftovers (kind, name)
     select ''collection'', n from %1$I.search_indexes, unnest(array[version, building]) as n where n is not null
     union select ''alias'', collection || substring(%1$L from ''_e2e_.*$'') from %1$I.search_indexes
     union select ''key'', engine_id::text from %1$I.search_keys
     on conflict do nothing', import_search.tenant);
  if exists (select from search_leftovers) then
    perform queue_search_indexing(true);
  end if;
end;
$function$;
comment on function import_search(text) is 'Records a test run''s data in the search engine for removal.';

CREATE OR REPLACE FUNCTION indexed_searches()
 RETURNS TABLE(relation regclass, attribute text, serves text)
 LANGUAGE sql
 STABLE
AS $function$
  with keys as materialized (
    select i.indrelid, i.indexrelid, m.amname, k.place, pg_get_indexdef(i.indexrelid, k.place, true) as key, o.opcname,
      i.indcollation[k.place - 1] as collation
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam join pg_class r on r.oid = i.indrelid,
      generate_series(1, i.indnkeyatts) as k(place), lateral (select opcname from pg_opclass where oid = i.indclass[k.place - 1]) as o
    where r.relnamespace = (select current_schema()::regnamespace) and not r.relispartition and i.indisvalid
      -- A search for a value never matches null, so a partial index `where ... is not null` serves it.
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid, true) = pg_get_indexdef(i.indexrelid, k.place, true) || ' IS NOT NULL')
  ),
  -- The columns whose text is part of the indexed column `search_words`.
  in_words as materialized (
    select w.relation, w.attribute from word_columns() w
    where exists (
      select from keys k where k.indrelid = w.relation and k.key = 'search_words' and k.amname = 'gin' and k.opcname = 'gin_trgm_ops')
  ),
  columns as materialized (
    select a.attrelid, a.attname, a.attcollation, format('%I', a.attname) as name,
      array[format('search_text(%I)', a.attname), format('search_text(%I::text)', a.attname)] as searched,
      -- All keys that the cases below look for.
      array[format('%I', a.attname), format('search_text(%I)', a.attname), format('search_text(%I::text)', a.attname),
        format('search_texts(%I)', a.attname), format('search_texts(%I::text[])', a.attname)] as keys, e.typcategory = 'S' as is_text, t.typelem as element,
      t.typcategory = 'A' as is_list,
      string_to_array(comment_tags(d.description) ->> 'search', ' ') @> '{exact}' as is_exact,
      exists (select from in_words w where w.relation = a.attrelid and w.attribute = a.attname) as is_in_words
    from pg_attribute a join pg_class r on r.oid = a.attrelid join pg_type t on t.oid = a.atttypid
      left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
      lateral (select typcategory from pg_type where oid = case when t.typcategory = 'A' then t.typelem else t.oid end) as e
    where r.relnamespace = (select current_schema()::regnamespace) and r.relkind in ('r', 'p') and not r.relispartition
      and a.attnum > 0 and not a.attisdropped
  )
  select distinct c.attrelid::regclass, c.attname::text, s.serves
  from columns c join keys k on k.indrelid = c.attrelid and (c.is_in_words or k.key = any (c.keys)), lateral (
    select 'word' as serves
      where c.is_text and not c.is_list and k.amname = 'gin' and k.opcname = 'gin_trgm_ops'
        and k.key = any (c.searched)
    union all
    select 'word' where c.is_in_words
    union all
    select unnest(array['value', 'beginning']) where c.is_in_words and not coalesce(c.is_exact, false)
    union all
    select unnest(array['value', 'beginning'])
      where c.is_text and not c.is_list and not coalesce(c.is_exact, false)
        and k.key = any (c.searched)
        and (k.amname = 'gin' and k.opcname = 'gin_trgm_ops' or k.amname = 'btree' and k.place = 1 and k.opcname = 'text_pattern_ops')
    union all
    select 'value'
      where (c.is_exact or not c.is_text) and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
        and k.collation = case when k.opcname = 'text_pattern_ops' then k.collation else c.attcollation end
    union all
    select 'beginning'
      where c.is_exact and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
        and (k.opcname = 'text_pattern_ops' or k.collation = c.attcollation and k.collation = '"C"'::regcollation)
    union all
    select 'order'
      where not c.is_text and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
    union all
    select 'element'
      where c.is_list and k.amname = 'gin' and k.opcname = 'array_ops' and k.key = any (
        case when c.is_text and not coalesce(c.is_exact, false)
          then array[format('search_texts(%s)', c.name), format('search_texts(%s::text[])', c.name)]
          -- Arrays of these types are compared as arrays of a wider type.
          when c.element in ('smallint'::regtype, 'real'::regtype) then '{}' else array[c.name] end)
  ) as s
$function$;
comment on function indexed_searches() is 'The searches that an index serves; all others scan the table.';

CREATE OR REPLACE FUNCTION inside_sentence(title text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when title ~ '^[[:upper:]][[:upper:][:digit:]]' then title else lower(left(title, 1)) || substr(title, 2) end
$function$;
comment on function inside_sentence(text) is 'Lowercases the first letter of a title for use inside a sentence; abbreviations such as ID and ERP stay.';

CREATE OR REPLACE FUNCTION invitation_end()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select now() + make_interval(days => current_setting('office.invitation_days')::integer)
$function$;

CREATE OR REPLACE FUNCTION invitations_role(invitation invitations)
 RETURNS roles
 LANGUAGE sql
 STABLE
AS $function$
  select r.* from roles r where r.id = invitation.role_id
$function$;
grant execute on function invitations_role(invitations) to office_api;

comment on function invitations_role(invitations) is '@computed
The role that the user gets; null after it was deleted.';

CREATE OR REPLACE FUNCTION invitations_status(invitation invitations)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when invitation.state = 'pending' and invitation.expires_at <= now() then 'expired'
    else invitation.state
  end
$function$;
grant execute on function invitations_status(invitations) to office_api;

comment on function invitations_status(invitations) is '@computed
@list 2
@notNull
One of `pending`, `accepted`, `expired`.';

CREATE OR REPLACE FUNCTION is_checked_schema()
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select coalesce(
    split_part(obj_description(current_schema()::regnamespace, 'pg_namespace'), ' ', 2) = schema_fingerprint(),
    false
  )
$function$;
grant execute on function is_checked_schema() to office_server;
comment on function is_checked_schema() is 'Whether this schema is as the migrate command left it, whose check found no violation. The comment of the schema holds the stamp of the files and the fingerprint.';

CREATE OR REPLACE FUNCTION is_deleted_since(entity_type text, entity_id text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select not exists (
    select from audit_log c
    where c.operation = 'CREATE' and c.entity_type = is_deleted_since.entity_type and c.entity_id = is_deleted_since.entity_id
      and c.created_at > is_deleted_since.at
  )
$function$;
comment on function is_deleted_since(text,text,timestamp with time zone) is 'Whether a row that was deleted at that time has not been created again.';

CREATE OR REPLACE FUNCTION is_ensured_policy(comment text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(is_ensured_policy.comment ~ '^(all|select|insert|update|delete) \| office_\w+( \||$)', false)
$function$;
comment on function is_ensured_policy(text) is 'Whether the comment on a policy is that of `ensure_policy`.';

CREATE OR REPLACE FUNCTION is_erasing()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(current_setting('office.erasing', true), '') = 'on'
$function$;
comment on function is_erasing() is 'Whether `erase_personal_data` changes audit rows.';

CREATE OR REPLACE FUNCTION is_label(value text, max_length integer)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
begin
  return value = btrim(value, E' \t\r\n\u00a0\u3000')
    and char_length(value) between 1 and max_length
    and value !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]'
    -- Some letters and signs are invisible; a label needs at least one visible character.
    and value ~ '[^\s\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0]';
end;
$function$;
grant execute on function is_label(text,integer) to office_api;
comment on function is_label(text,integer) is 'Whether a text is a valid name: not blank, not too long, no spaces at its ends, no invisible or direction-changing characters.';

CREATE OR REPLACE FUNCTION is_locale(value text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  -- PostgreSQL has a collation for each locale of ICU, whose locales are those of the programs that format texts.
  select value ~ '^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$'
    and exists (select from pg_catalog.pg_collation c where c.collname = value || '-x-icu')
$function$;
grant execute on function is_locale(text) to office_api;
comment on function is_locale(text) is 'Whether a text is the name of a locale, such as da-DK.';

CREATE OR REPLACE FUNCTION is_login()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select current_user_id() is not null and not is_scoped()
$function$;
grant execute on function is_login() to office_api, office_worker;
comment on function is_login() is 'Whether the caller authenticated with a session or an unscoped API token.';

CREATE OR REPLACE FUNCTION is_mapped(rules jsonb, code text, key text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select coalesce(is_mapped.rules -> is_mapped.code ? normalize_name(is_mapped.key), false)
$function$;
comment on function is_mapped(jsonb,text,text) is 'Whether a rule exists for an ERP code, including rules to ignore it.';

CREATE OR REPLACE FUNCTION is_near_period(moment timestamp with time zone, starts_on date, ends_on date)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select is_near_period.moment >= is_near_period.starts_on::timestamp at time zone 'utc' - interval '1 day'
    and is_near_period.moment < is_near_period.ends_on::timestamp at time zone 'utc' + interval '2 days'
$function$;
grant execute on function is_near_period(timestamp with time zone,date,date) to office_api;

comment on function is_near_period(timestamp with time zone,date,date) is '@behavior -*
Whether a moment can be within a period of days in any time zone. The time zone of a person is looked up only then.';

CREATE OR REPLACE FUNCTION is_own_action(task text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select current_user_id() is not null and current_setting('office.source', true) = 'api'
    and exists (select from job_kinds() k where k.kind = is_own_action.task)
$function$;
comment on function is_own_action(text) is 'Whether jobs of this task are started by users and shown to them.';

CREATE OR REPLACE FUNCTION is_own_job(user_id uuid, api_token_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select is_own_job.user_id = current_user_id() and not is_scoped()
    and (current_token_id() is null or is_own_job.api_token_id = current_token_id()) is true
$function$;
grant execute on function is_own_job(uuid,uuid) to office_api;
comment on function is_own_job(uuid,uuid) is 'Whether the caller started a job.';

CREATE OR REPLACE FUNCTION is_queued(task text, key text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select office_jobs.is_queued(current_schema() || ':' || is_queued.task || ':' || is_queued.key)
$function$;
comment on function is_queued(text,text) is 'Whether a job of this task and key is waiting or running.';

CREATE OR REPLACE FUNCTION is_recorded_erasure(erasure_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from audit_log a
    where a.id = is_recorded_erasure.erasure_id and a.operation = 'UPDATE'
      and a.metadata #>> '{erasure,digest}' = erasure_digest(is_recorded_erasure.erasure_id))
$function$;
comment on function is_recorded_erasure(uuid) is 'Whether an audit row records exactly these changes of an erasure.';

CREATE OR REPLACE FUNCTION is_restoring()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(current_setting('office.restoring', true), '') = 'on'
$function$;
comment on function is_restoring() is 'Whether `restore` inserts the rows.';

CREATE OR REPLACE FUNCTION is_scoped()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select coalesce(current_setting('office.scoped', true), '') = 'true'
$function$;
grant execute on function is_scoped() to office_api, office_worker;
comment on function is_scoped() is 'Whether the caller authenticated with a scoped token, which passes only plain permission guards.';

CREATE OR REPLACE FUNCTION is_session()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(current_setting('office.session_id', true), '') <> '' and current_token_id() is null
$function$;
grant execute on function is_session() to office_api, office_worker;
comment on function is_session() is 'Whether the caller authenticated with a session, not with an API token.';

CREATE OR REPLACE FUNCTION is_time_zone(value text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  -- PostgreSQL also accepts zones that are made up of a name and an offset; none of them matches.
  if value !~ '^(UTC|[A-Z][A-Za-z_]+(/[A-Z][A-Za-z_-]+){1,2})$' then
    return false;
  end if;
  perform timestamptz 'epoch' at time zone value;
  return true;
exception when invalid_parameter_value then
  return false;
end;
$function$;
grant execute on function is_time_zone(text) to office_api;
comment on function is_time_zone(text) is 'Whether a text is the name of a time zone, such as Europe/Copenhagen.';

CREATE OR REPLACE FUNCTION is_unused(workbook export_workbooks)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select not exists (select from export_templates t where t.workbook_id = workbook.id) and not exists (
    select from audit_log a
    where a.entity_type = 'ExportTemplate' and a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
      and a.before ->> 'workbookId' = workbook.id::text
  )
$function$;
comment on function is_unused(export_workbooks) is 'Whether no template uses the workbook, not even one that can be restored.';

CREATE OR REPLACE FUNCTION is_user(id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select exists (select from users u where u.id = is_user.id) and is_login()
    and has_any_permission('absences.read', 'absences.update')
$function$;
grant execute on function is_user(uuid) to office_api;

comment on function is_user(uuid) is '@behavior -*
Whether this id is one of a user, for callers who see the absences of everybody; false for others.';

CREATE OR REPLACE FUNCTION is_watched(table_name text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from search_watches w where w.table_name = is_watched.table_name)
$function$;

CREATE OR REPLACE FUNCTION is_watched_as_related(table_name text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from search_watches w where w.related_tables @> array[is_watched_as_related.table_name])
$function$;
comment on function is_watched_as_related(text) is 'Whether a watch of another list searches the rows of this table through relations.';

CREATE OR REPLACE FUNCTION iso_text(moment timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select to_char(iso_text.moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$function$;

CREATE OR REPLACE FUNCTION job_kinds()
 RETURNS TABLE(kind text, title text, can_retry boolean, can_cancel boolean, permissions text[])
 LANGUAGE sql
 IMMUTABLE
AS $function$
  values
    -- Cancelled by `cancelErpSyncRun`; started again by the same mutation.
    ('import_erp_orders', 'Import of orders', false, false, array['erpsync.run']),
    ('reimport_orders', 'Import of orders by number', false, false, array['erpsync.run']),
    ('product_sync', 'Synchronisation of products', true, true, array['productsync.run']),
    -- Cancelled by `revokeInvitation`.
    ('send_invitation', 'Invitation by mail', true, false, array['invitations.create'])
$function$;
grant execute on function job_kinds() to office_api;
comment on function job_kinds() is 'The tasks whose jobs users see: title, whether a failed job can be retried and a waiting one cancelled, and the permissions for a retry.';

CREATE OR REPLACE FUNCTION jobs_can_cancel(job jobs)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select jobs_can_cancel.job.state = 'QUEUED'
    and exists (select from job_kinds() k where k.kind = jobs_can_cancel.job.kind and k.can_cancel)
$function$;
grant execute on function jobs_can_cancel(jobs) to office_api;

comment on function jobs_can_cancel(jobs) is '@computed
@notNull
Whether `cancelJob` accepts the job, for the user who started it.';

CREATE OR REPLACE FUNCTION jobs_can_retry(job jobs)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select jobs_can_retry.job.state in ('FAILED', 'CANCELLED')
    and exists (select from job_kinds() k where k.kind = jobs_can_retry.job.kind and k.can_retry)
$function$;
grant execute on function jobs_can_retry(jobs) to office_api;

comment on function jobs_can_retry(jobs) is '@computed
@notNull
Whether `retryJob` accepts the job, for the user who started it and still holds its permissions.';

CREATE OR REPLACE FUNCTION jobs_title(job jobs)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select k.title from job_kinds() k where k.kind = jobs_title.job.kind), jobs_title.job.kind)
$function$;
grant execute on function jobs_title(jobs) to office_api;

comment on function jobs_title(jobs) is '@computed
@list 1
@notNull
The title of the job''s kind.';

CREATE OR REPLACE FUNCTION join_job(queue_job_id bigint, task text, input jsonb, key text, run_at timestamp with time zone, subject text, max_attempts integer DEFAULT 25)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if not is_own_action(task) then
    return;
  end if;
  -- The lock prevents duplicate rows for concurrent requests.
  perform pg_advisory_xact_lock(hashtextextended(format('%s.join_job.%s.%s', current_schema(), queue_job_id, current_user_id()), 0));
  if not exists (
    select from jobs j
    where j.queue_job_id = join_job.queue_job_id and j.finished_at is null and j.user_id = current_user_id()
      and j.api_token_id is not distinct from current_token_id()
  ) then
    insert into jobs (
      kind, subject, max_attempts, user_id, api_token_id, correlation_id, next_attempt_at, queue_job_id, input, key
    )
    values (
      join_job.task, left(without_tokens(join_job.subject), 300), join_job.max_attempts, current_user_id(), current_token_id(),
      nullif(current_setting('office.correlation_id', true), ''), join_job.run_at, join_job.queue_job_id, join_job.input, join_job.key
    );
  end if;
end;
$function$;
comment on function join_job(bigint,text,jsonb,text,timestamp with time zone,text,integer) is 'Adds the caller to the users of a queued job.';

CREATE OR REPLACE FUNCTION keep_idempotent_answer(key_hash bytea, request_hash bytea, answer json)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if idempotency_principal() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  insert into idempotency_keys as k (principal, key_hash, request_hash, permissions, answer)
  values (
    idempotency_principal(), keep_idempotent_answer.key_hash, keep_idempotent_answer.request_hash, current_permissions(),
    keep_idempotent_answer.answer
  )
  -- Only an expired row that is not removed yet can conflict.
  on conflict on constraint idempotency_keys_pkey do update set
    request_hash = excluded.request_hash, permissions = excluded.permissions, answer = excluded.answer, created_at = excluded.created_at;
end;
$function$;
grant execute on function keep_idempotent_answer(bytea,bytea,json) to office_api;

comment on function keep_idempotent_answer(bytea,bytea,json) is '@behavior -*
Stores the response under the caller''s key in the same transaction; null when it contains a secret.';

CREATE OR REPLACE FUNCTION keep_keys_of_holders(role_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from roles r where r.id = any (keep_keys_of_holders.role_ids) order by r.id for no key update;
  perform keep_user_keys(array(
    select distinct ur.user_id from user_roles ur where ur.role_id = any (keep_keys_of_holders.role_ids)
  ));
end;
$function$;
comment on function keep_keys_of_holders(uuid[]) is 'Stores the keys of all users who hold one of the roles.';

CREATE OR REPLACE FUNCTION keep_user_keys(user_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from roles r
  where r.id in (select ur.role_id from user_roles ur where ur.user_id = any (keep_user_keys.user_ids))
  order by r.id for share;
  perform from user_keys k where k.user_id = any (keep_user_keys.user_ids) order by k.user_id for no key update;
  insert into user_keys (user_id, is_active, permission_keys)
  select u.id, u.is_active,
    array_to_string(role_keys(array(select ur.role_id from user_roles ur where ur.user_id = u.id)), ',')
  from users u where u.id = any (keep_user_keys.user_ids)
  order by u.id
  -- Not is_active, which only changes of users write.
  on conflict (user_id) do update set permission_keys = excluded.permission_keys
  where user_keys.permission_keys <> excluded.permission_keys;
end;
$function$;
comment on function keep_user_keys(uuid[]) is 'Stores the permission keys of users with each user.';

CREATE OR REPLACE FUNCTION keys_in(tag text)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select k from regexp_split_to_table(keys_in.tag, '[\s,]+') as k where k <> ''
$function$;

CREATE OR REPLACE FUNCTION known_search_keys()
 RETURNS SETOF search_keys
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select * from search_keys order by created_at
$function$;
grant execute on function known_search_keys() to office_worker;

CREATE OR REPLACE FUNCTION known_tags()
 RETURNS TABLE(kind text, tag text, value text, pattern text, repeats boolean, instead text)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  with patterns as (
    select '^$' as none, '\S' as some, '^[\w.]+([\s,]+[\w.]+)*$' as keys, '^\w+$' as name, '^\w+(,\w+)*$' as columns,
      -- PostGraphile ignores unknown behaviors, so only known ones are accepted.
      '[+-]singularRelation:resource:single' as forward, '[+-](singularRelation:resource:single|manyRelation:resource:(list|connection))' as backward
  )
  select k.kind, t.tag, t.value, t.pattern, t.repeats, t.instead
  from patterns p, lateral (values
    ('table view', 'read', '<permission>` or `@read login', p.keys, false, null),
    ('table', 'create', '<permission>` or `@create login', p.keys, false, null),
    ('table', 'update', '<permission>', p.keys, false, null),
    ('table', 'delete', '<permission>', p.keys, false, null),
    ('table', 'mutations', 'create update delete', '^(create|update|delete)(\s+(create|update|delete))*$', false, null),
    ('table view', 'login', '', p.none, false, null),
    ('table view', 'session', '', p.none, false, null),
    ('table', 'owner', '<user column> [<token column>]', '^\w+([\s,]+\w+)?$', false, null),
    ('table', 'audit', '<EntityType>` or `@audit off because <reason>',
      '^(off because \S.*|[A-Z]\w*(\s+(?!except\y)\w+)?(\s+except(\s+\w+)+)?)$', false, null),
    ('view', 'audit', 'off because <reason>', '^off because \S', false, null),
    ('table', 'watch', 'off because <reason>', '^off because \S', false, null),
    ('table view', 'auditReads', '', p.none, false, null),
    ('table view', 'connection', '', p.none, false, null),
    ('table view', 'filter', '<argument> <condition>', '^[a-z]\w*\s+\S', true, null),
    ('table view', 'defaultOrder', '<column> [desc], ...', p.some, false, null),
    ('table view', 'defaultQuery', '<query>', p.some, false, null),
    ('table view', 'root', 'off', '^off$', false, null),
    ('table view column view-column', 'internal', '', p.none, false, null),
    ('table', 'appendOnly', '', p.none, false, null),
    ('table view type', 'name', '<name>', p.name, false, null),
    ('table view column view-column attribute foreign-key function', 'deprecated', '<reason>', p.some, false, null),
    ('table', 'summary', '<column> ...', p.keys, false, null),
    ('table view', 'pages', 'off', '^off$', false, null),
    ('table view', 'title', '<title>', p.some, false, null),
    ('table view', 'titleOne', '<title of one row>', p.some, false, null),
    ('table view', 'group', '<heading> [<place>]', p.some, false, null),
    ('table view function', 'icon', '<name>',
      '^(alert|bell|book|bottle|box|building|calendar|cart|chart|chat|check|clock|coin|door|drop|eye|file|flag|folder|gear|glass|grapes|home|image|key|link|list|lock|mail|people|person|pin|star|sun|tag|truck)$', false, null),
    ('table view', 'label', '<column> [<column>]', '^\w+([\s,]+\w+)?$', false, null),
    ('column view-column attribute function', 'title', '<title>', p.some, false, null),
    ('column view-column attribute function', 'widget', '<widget>', '^(color|url|email|image|long|markdown|code|money|percent|row|file|list)$', false, null),
    ('column view-column attribute function', 'unit', '<unit>', p.some, false, null),
    ('column view-column attribute function', 'list', '<place>` or `@list off', '^(off|[1-9]\d?)$', false, null),
    ('column view-column function', 'section', '<heading>', p.some, false, null),
    ('column view-column attribute function', 'tone', '<VALUE> ok`, `warn`, `bad` or `info', '^\w+ (ok|warn|bad|info)$', true, null),
    ('table', 'searchCollection', '<name>', p.some, false, null),
    ('table', 'searchTitle', '<title>', p.some, false, null),
    ('table', 'searchSort', '<column> [desc]', p.some, false, null),
    ('table', 'searchOnly', '<column>', p.name, false, null),
    ('view', 'primaryKey', '<column>[,<column>]', p.columns, false, null),
    ('view', 'unique', '<column>[,<column>]', p.columns, true, null),
    ('view', 'foreignKey', '(<column>) references <table> (<column>)|@forwardBehavior +singularRelation:resource:single',
      '^\(\w+(, ?\w+)*\) references \w+ \(\w+(, ?\w+)*\)(\|@[^|]+)*$', true, null),
    ('column', 'secret', '', p.none, false, null),
    ('column', 'personal', '[<reference> [<value>]]', '^(\w+( \w+)?)?$', false, null),
    ('column', 'auditName', '<name>', p.name, false, null),
    ('column', 'mutations', 'create`, `@mutations update` or `@mutations off', '^(create|update|off)$', false, null),
    ('column', 'export', '<title>` or `@export off', p.some, false, null),
    ('function', 'export', 'off', '^off$', false, null),
    ('column view-column', 'search', '[word|exact]', '^((word|exact)(\s+(word|exact))*)?$', false, null),
    ('column foreign-key function', 'searchIndex', '<words>', '', false, null),
    ('view-column attribute foreign-key function', 'notNull', '', p.none, false, null),
    ('column view-column', 'behavior', '-attribute:orderBy', '^[+-]attribute:orderBy$', false, null),
    ('function', 'behavior', '-*', '^(\+proc:orderBy|-(\*|queryField|mutationField|typeField)(\s+-(queryField|mutationField|typeField))*)$', false, null),
    ('foreign-key', 'behavior', '+singularRelation:resource:single +manyRelation:resource:list', format('^(-\*|%1$s(\s+%1$s)*)$', p.backward), false, null),
    ('foreign-key', 'forwardBehavior', '+singularRelation:resource:single', format('^%s$', p.forward), false, null),
    ('foreign-key', 'backwardBehavior', '+manyRelation:resource:list', format('^%1$s(\s+%1$s)*$', p.backward), false, null),
    ('foreign-key', 'forwardFollows', 'parent` or `@forwardFollows own', '^(parent|own)$', false, null),
    ('foreign-key', 'forwardScopedRead', '<permission>', p.keys, false, null),
    ('foreign-key', 'fieldName', '<name>', p.name, false, null),
    ('foreign-key', 'foreignFieldName', '<name>', p.name, false, null),
    ('foreign-key', 'foreignSingleFieldName', '<name>', p.name, false, null),
    ('foreign-key', 'foreignConnectionFieldName', '<name>', p.name, false, null),
    ('function', 'guard', '<permission>', p.keys, false, null),
    ('function', 'action', '[bad] [of <list>] [with <argument>] [if <field>|unless <field>]', '^(bad)?(\s*\mof\s+\w+)?(\s*\mwith\s+\w+)?(\s*\m(if|unless)\s+\w+)?$', false, null),
    ('function', 'report', '<heading> [<place>]', p.some, false, null),
    ('function', 'auditReads', '<EntityType>` or `@auditReads unless own', '^([A-Z]\w*|own|unless own)$', false, null),
    ('function', 'follows', 'own', '^own$', false, null),
    ('function', 'reads', '<table> ...', p.keys, false, null),
    ('function', 'scopedRead', '<permission>', p.keys, false, null),
    ('function', 'computed', '', p.none, false, null),
    ('function', 'nullable', '', p.none, false, null),
    ('function', 'argument', '<name> <meaning>', '^\w+\s+\S', true, null),
    ('function', 'inputType', '<Name>', p.name, false, null),
    ('function', 'searchFrom', '<table>.<column> ...', p.some, false, null),
    ('view', 'create', '', null, false, 'a view is only read; put it on the table whose rows change'),
    ('view', 'update', '', null, false, 'a view is only read; put it on the table whose rows change'),
    ('view', 'delete', '', null, false, 'a view is only read; put it on the table whose rows change'),
    ('view', 'mutations', '', null, false, 'a view is only read; put it on the table whose rows change'),
    ('view', 'appendOnly', '', null, false, 'a view is only read; put it on the table whose rows change'),
    ('view', 'owner', '', null, false, 'the tables of a view say who sees which rows; put it on the table'),
    ('view', 'searchCollection', '', null, false, 'the search engine follows changes of tables only; put it on the table'),
    ('view', 'searchTitle', '', null, false, 'the search engine follows changes of tables only; put it on the table'),
    ('view', 'searchSort', '', null, false, 'the search engine follows changes of tables only; put it on the table'),
    ('view', 'searchIndex', '', null, false, 'the search engine follows changes of tables only; put it on the column of the table'),
    ('view-column', 'searchIndex', '', null, false, 'the search engine follows changes of tables only; put it on the column of the table'),
    ('view-column', 'export', '', null, false, 'exports read products; put it on the column of the table'),
    ('view-column', 'secret', '', null, false, 'leave the column out of the view'),
    ('view-column', 'auditName', '', null, false, 'a view is only read; put it on the column of the table'),
    ('view-column', 'mutations', '', null, false, 'a view is only read; put it on the column of the table'),
    ('table', 'primaryKey', '', null, false, 'write a primary key'),
    ('table', 'unique', '', null, false, 'write a unique constraint'),
    ('table', 'foreignKey', '', null, false, 'write a foreign key, and its tags in `comment on constraint`'),
    ('column', 'notNull', '', null, false, 'write `not null`'),
    ('table view column view-column function', 'omit', '', null, false, 'write `@internal`, or leave the grant of a function out')
  ) as t(kinds, tag, value, pattern, repeats, instead), lateral (
    select case w when 'view-column' then 'column of a view' when 'attribute' then 'field of a type' else replace(w, '-', ' ') end
    from string_to_table(t.kinds, ' ') as w
  ) as k(kind)
$function$;
comment on function known_tags() is 'The known tags with their kind of object and the form of their value.';

CREATE OR REPLACE FUNCTION last_change(entity_type text, entity_id text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select jsonb_build_object(
    'changedAt', a.created_at,
    'changedBy', case when u.id is not null then jsonb_build_object('id', u.id, 'name', u.name) end
  )
  from audit_log a left join users u on u.id = a.actor_user_id
  where a.entity_id = last_change.entity_id and a.entity_type = last_change.entity_type and a.operation in ('CREATE', 'UPDATE')
  order by a.created_at desc, a.id desc
  limit 1
$function$;
grant execute on function last_change(text,text) to office_api;
comment on function last_change(text,text) is 'When a row was last changed and by whom, by name alone.';

CREATE OR REPLACE FUNCTION line_differences(field text, old_lines text[], new_lines text[])
 RETURNS SETOF documentation_difference
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  v_old integer := cardinality(old_lines);
  v_new integer := cardinality(new_lines);
  v_reach integer[] := '{}';
  v_edits integer;
  v_above integer;
  v_x integer;
  v_k integer;
  v_found documentation_difference[];
begin
  <<search>>
  for d in 0 .. 1000 loop
    v_above := d * (d - 1) / 2;
    for i in 0 .. d loop
      v_k := 2 * i - d;
      v_x := case when d = 0 then 0
        when i = 0 or i < d and v_reach[v_above + i] < v_reach[v_above + i + 1] then v_reach[v_above + i + 1]
        else v_reach[v_above + i] + 1 end;
      while v_x < v_old and v_x - v_k < v_new and old_lines[v_x + 1] = new_lines[v_x - v_k + 1] loop
        v_x := v_x + 1;
      end loop;
      v_reach[v_above + d + i + 1] := v_x;
      if v_x >= v_old and v_x - v_k >= v_new then
        v_edits := d;
        exit search;
      end if;
    end loop;
  end loop;
  -- Texts that differ in more lines are shown in full, one after the other.
  if v_edits is null then
    return query
    select line_differences.field, 'REMOVED'::documentation_change, l.line::integer, l.text from unnest(old_lines) with ordinality as l(text, line)
    union all
    select line_differences.field, 'ADDED', l.line::integer, l.text from unnest(new_lines) with ordinality as l(text, line);
    return;
  end if;
  for d in reverse v_edits .. 1 loop
    v_above := d * (d - 1) / 2;
    if v_k = -d or v_k < d and v_reach[v_above + (v_k + d) / 2] < v_reach[v_above + (v_k + d) / 2 + 1] then
      v_x := v_reach[v_above + (v_k + d) / 2 + 1];
      v_k := v_k + 1;
      v_found[d] := row(line_differences.field, 'ADDED', v_x - v_k + 1, new_lines[v_x - v_k + 1]);
    else
      v_x := v_reach[v_above + (v_k + d) / 2];
      v_k := v_k - 1;
      v_found[d] := row(line_differences.field, 'REMOVED', v_x + 1, old_lines[v_x + 1]);
    end if;
  end loop;
  return query select f.* from unnest(v_found) as f;
end;
$function$;
grant execute on function line_differences(text,text[],text[]) to office_api;
comment on function line_differences(text,text[],text[]) is 'The lines to remove and to add, in the order of the texts; all lines of both when more than 1000 differ.';

CREATE OR REPLACE FUNCTION link_order_lines(at_most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  with waiting as (
    select l.id, p.id as product_id
    from order_lines l join products p on p.erp_product_number = l.erp_product_number
    where l.product_id is null and l.kind = 'PRODUCT' and l.erp_product_number is not null
    order by l.id limit link_order_lines.at_most
    for no key update of l skip locked
  )
  update order_lines l set product_id = w.product_id from waiting w where l.id = w.id;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function link_order_lines(integer) to office_worker;
comment on function link_order_lines(integer) is 'Links at most `at_most` lines to products that were added after them; returns their number.';

CREATE OR REPLACE FUNCTION list_export_fields(fields jsonb)
 RETURNS SETOF export_field_view
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select * from jsonb_populate_recordset(null::export_field_view, list_export_fields.fields)
$function$;
grant execute on function list_export_fields(jsonb) to office_api;

comment on function list_export_fields(jsonb) is '@behavior -queryField -typeField
Rows of fields that the server has read from its schema.';

CREATE OR REPLACE FUNCTION list_export_template(id uuid, entity text, format text)
 RETURNS TABLE(name text, kind export_template_kind, fields text[])
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('exports.create');
  return query
    select t.name, t.kind, template_fields(t)
    from require_template(list_export_template.id, list_export_template.entity, list_export_template.format) as t;
end;
$function$;
grant execute on function list_export_template(uuid,text,text) to office_api;
comment on function list_export_template(uuid,text,text) is 'The template of a new export of a list, with the fields that the server has to read.';

CREATE OR REPLACE FUNCTION live_sessions(user_id uuid)
 RETURNS SETOF session_view
 LANGUAGE sql
 STABLE
AS $function$
  select s.id, s.created_at, s.last_used_at, least(s.idle_expires_at, s.expires_at), s.ip_address, s.user_agent,
    s.id is not distinct from nullif(current_setting('office.session_id', true), '')::uuid
  from sessions s join users u on u.id = s.user_id
  where s.user_id = live_sessions.user_id
    and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now() and u.is_active
  order by s.created_at desc, s.id desc
$function$;

CREATE OR REPLACE FUNCTION load_watch_baselines()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_ids uuid[];
begin
  -- After a restore to another cluster, the snapshot refers to other transactions.
  update search_watches w set baseline_snapshot = null
  where pg_snapshot_xmax(w.baseline_snapshot::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot());
  v_ids := array(
    select w.id from search_watches w join users u on u.id = w.user_id
    where w.baseline_ids is not null and not w.is_paused and u.is_active for no key update of w
  );
  delete from search_watch_rows o where o.watch_id = any (v_ids);
  insert into search_watch_rows (watch_id, row_id)
  select w.id, i from search_watches w, unnest(w.baseline_ids) as i where w.id = any (v_ids);
  update search_watches w set is_ready = true, baseline_ids = null where w.id = any (v_ids);
end;
$function$;

CREATE OR REPLACE FUNCTION local_duration(starts_at timestamp with time zone, ends_at timestamp with time zone, time_zone text)
 RETURNS interval
 LANGUAGE sql
 STABLE
AS $function$
  select case when l.ends > l.starts then l.ends - l.starts else local_duration.ends_at - local_duration.starts_at end
  from (
    select local_duration.starts_at at time zone local_duration.time_zone as starts,
      local_duration.ends_at at time zone local_duration.time_zone as ends
  ) as l
$function$;

CREATE OR REPLACE FUNCTION local_range(starts timestamp without time zone, duration interval, time_zone text)
 RETURNS tstzrange
 LANGUAGE sql
 STABLE
AS $function$
  select tstzrange(s.starts_at, case when s.ends_at > s.starts_at then s.ends_at else s.starts_at + local_range.duration end)
  from (
    select local_range.starts at time zone local_range.time_zone as starts_at,
      (local_range.starts + local_range.duration) at time zone local_range.time_zone as ends_at
  ) as s
$function$;

CREATE OR REPLACE FUNCTION local_text(moment timestamp with time zone, time_zone text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select to_char(local_text.moment at time zone local_text.time_zone, 'YYYY-MM-DD HH24:MI')
$function$;
comment on function local_text(timestamp with time zone,text) is 'Formats a moment in a time zone.';

CREATE OR REPLACE FUNCTION locale_of(user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select u.locale from users u where u.id = locale_of.user_id), office_locale())
$function$;
comment on function locale_of(uuid) is 'The locale of a user, by default that of the office.';

CREATE OR REPLACE FUNCTION lock_ai_conversation_of(answer_id uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select from ai_conversations c
  where c.id = (select a.conversation_id from ai_answers a where a.id = lock_ai_conversation_of.answer_id)
  for update
$function$;

CREATE OR REPLACE FUNCTION locked_version(relation regclass, id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_changed_at text := case when exists (
    select from pg_attribute where attrelid = locked_version.relation and attname = 'updated_at' and not attisdropped
  ) then 'updated_at' else 'null' end;
  v_version text;
begin
  -- lint: allow function-body because the table is an argument
  execute format('select version_of(xmin::text, %s) from %s where id = $1 for no key update', v_changed_at, locked_version.relation)
    into v_version using locked_version.id;
  return v_version;
end;
$function$;
grant execute on function locked_version(regclass,uuid) to office_api;
comment on function locked_version(regclass,uuid) is 'Locks a row until the transaction ends and returns its version.';

CREATE OR REPLACE FUNCTION login_code_account(code_hash bytea)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select c.user_id::text from login_codes c where c.code_hash = login_code_account.code_hash
$function$;
grant execute on function login_code_account(bytea) to office_server;
comment on function login_code_account(bytea) is 'The user for whom attempts with a login code count; null for an unknown code.';

CREATE OR REPLACE FUNCTION logout_everywhere()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  perform require_session();
  update sessions s set ended_at = now()
  where s.user_id = current_user_id() and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now();
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function logout_everywhere() to office_api;

comment on function logout_everywhere() is '@guard session
@action bad of mySessions
Ends all sessions of the caller, including the current one, and returns their number. API tokens and calendar feeds stay valid.';

CREATE OR REPLACE FUNCTION lost_ai_answers()
 RETURNS TABLE(id uuid, message_id text, base jsonb, chunks jsonb)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select a.id, a.message_id,
    (select m.parts from ai_messages m where m.conversation_id = a.conversation_id and m.id = a.message_id),
    (select coalesce(jsonb_agg(e.chunk order by c.number, e.place), '[]')
     from ai_answer_chunks c, jsonb_array_elements(c.chunks) with ordinality as e(chunk, place) where c.answer_id = a.id)
  from ai_answers a
  where a.state = 'running' and ai_answer_is_lost(a)
  order by a.alive_at
  limit 20
$function$;
grant execute on function lost_ai_answers() to office_worker;
comment on function lost_ai_answers() is 'The oldest 20 answers without a recent heartbeat, with their chunks.';

CREATE OR REPLACE FUNCTION make_api_token(user_id uuid, token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
declare
  v_owner users;
  v_scopes text[] := array(select distinct k from unnest(make_api_token.scopes) as k order by k);
  v_missing text[];
  v_maker_ends timestamptz;
  v_expires_at timestamptz;
  v_id uuid;
begin
  if make_api_token.scoped and cardinality(v_scopes) = 0 then
    perform fail('OF400', 'scopes must name at least one permission: leave it out for a token without limits',
      '{"path": ["input", "scopes"]}');
  elsif is_scoped() and not make_api_token.scoped then
    perform fail('OF403', 'A scoped token cannot make a token without scopes: name its scopes',
      '{"path": ["input", "scopes"]}');
  end if;
  v_missing := array(select coalesce(k, 'null') from unnest(v_scopes) as k where not exists (
    select from permissions p where p.key = k));
  if cardinality(v_missing) > 0 then
    perform fail('OF400', 'scopes: there are no permissions ' || array_to_string(v_missing, ', '),
      '{"path": ["input", "scopes"]}');
  end if;

  -- The lock waits for a deactivation of the owner and for concurrent creation of tokens for the same owner.
  select * into v_owner from users u where u.id = make_api_token.user_id for no key update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  elsif not v_owner.is_active then
    perform fail('OF409', 'The user is not active', '{"path": ["userId"]}');
  elsif 100 <= (
    select count(*) from api_tokens t where t.user_id = v_owner.id and t.revoked_at is null and t.expires_at > now()
  ) then
    perform fail('OF409', 'The user has 100 API tokens: revoke one first');
  end if;

  -- Reveals which permissions the owner lacks only to callers who could grant them.
  if make_api_token.scoped then
    perform require_grantable(v_scopes);
  elsif v_owner.id <> current_user_id() then
    perform require_grantable(user_permissions(v_owner.id));
  end if;
  v_missing := array(select unnest(v_scopes) except select unnest(user_permissions(v_owner.id)) order by 1);
  if cardinality(v_missing) > 0 then
    perform fail('OF400', 'scopes: the token''s owner does not hold ' || array_to_string(v_missing, ', '),
      '{"path": ["input", "scopes"]}');
  end if;

  if current_token_id() is not null then
    perform pg_advisory_xact_lock_shared(api_tokens_lock());
    select t.expires_at into v_maker_ends
    from api_tokens t where t.id = current_token_id() and t.revoked_at is null and t.expires_at > now();
    if not found then
      perform fail('OF401', 'You are not logged in');
    end if;
  end if;
  v_expires_at := coalesce(make_api_token.expires_at, least(now() + interval '1 year', v_maker_ends));
  if v_expires_at <= now() then
    perform fail('OF400', 'expiresAt must lie in the future', '{"path": ["input", "expiresAt"]}');
  elsif v_expires_at > now() + interval '5 years' then
    perform fail('OF400', 'expiresAt must lie within five years', '{"path": ["input", "expiresAt"]}');
  elsif v_expires_at > v_maker_ends then
    perform fail('OF400', 'expiresAt must not be later than the end of the token that makes this one',
      '{"path": ["input", "expiresAt"]}');
  end if;

  insert into api_tokens (
    user_id, name, token_hash, is_scoped, scopes, expires_at, created_by_user_id, created_by_token_id
  )
  values (v_owner.id, coalesce(trim_to_null(make_api_token.name), ''), make_api_token.token_hash, make_api_token.scoped,
    v_scopes, v_expires_at, current_user_id(), current_token_id())
  returning id into v_id;
  return v_id;
end;
$function$;

CREATE OR REPLACE FUNCTION mapped(rules jsonb, code text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select mapped.rules -> mapped.code ->> normalize_name(mapped.key)
$function$;
comment on function mapped(jsonb,text,text) is 'The meaning of an ERP code by the mapping rules; null without a rule or for an ignored code.';

CREATE OR REPLACE FUNCTION mark_notification_read(id uuid)
 RETURNS notifications
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_notification notifications;
begin
  perform require_full_login();
  update notifications n set read_at = coalesce(n.read_at, now())
  where n.id = mark_notification_read.id and n.user_id = current_user_id()
  returning * into v_notification;
  if not found then
    perform fail('OF404', 'There is no notification of yours with this id', '{"path": ["id"]}');
  end if;
  return v_notification;
end;
$function$;
grant execute on function mark_notification_read(uuid) to office_api;

comment on function mark_notification_read(uuid) is '@guard login
@action unless read_at
Marks a notification as read.';

CREATE OR REPLACE FUNCTION mark_notifications_read(ids uuid[] DEFAULT NULL::uuid[], "all" boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_unknown uuid[];
  v_count integer;
begin
  perform require_full_login();
  if (mark_notifications_read.ids is null) = (mark_notifications_read."all" is not true) then
    perform fail('OF400', 'Give either ids or all: true', '{"path": ["ids"]}');
  elsif cardinality(mark_notifications_read.ids) > 1000 then
    perform fail('OF400', 'ids must be 1000 at most', '{"path": ["ids"]}');
  end if;
  v_unknown := array(
    select i from unnest(mark_notifications_read.ids) as i
    where not exists (select from notifications n where n.id = i and n.user_id = current_user_id())
  );
  if cardinality(v_unknown) > 0 then
    perform fail('OF404', 'There are no notifications of yours with the ids ' || array_to_string(v_unknown, ', ', 'null'), '{"path": ["ids"]}');
  end if;
  update notifications n set read_at = now()
  where n.user_id = current_user_id() and n.read_at is null
    and (mark_notifications_read.ids is null or n.id = any (mark_notifications_read.ids));
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function mark_notifications_read(uuid[],boolean) to office_api;

comment on function mark_notifications_read(uuid[],boolean) is '@guard login
@action of notifications with all
@argument ids The notifications to mark, 1000 at most.
@argument all Whether to mark all of the caller''s, instead of `ids`.
Marks notifications as read. Returns the number of those that were unread.';

CREATE OR REPLACE FUNCTION mark_superseded_orders(numbers text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform from orders o where o.erp_order_number = any (numbers) order by o.erp_order_number for no key update;
  update orders o set superseded_by_order_id = n.id
  from unnest(mark_superseded_orders.numbers) as w(number)
    join orders p on p.erp_order_number = w.number
    left join lateral (
      select s.id from orders s
      where s.customer_reference = p.erp_order_number and s.erp_customer_number = p.erp_customer_number
        and (s.placed_at, s.erp_order_number) > (p.placed_at, p.erp_order_number) and s.status <> 'CANCELLED'
      order by s.placed_at desc, s.erp_order_number desc limit 1
    ) as n on true
  where o.id = p.id and o.superseded_by_order_id is distinct from n.id;
end;
$function$;

CREATE OR REPLACE FUNCTION matching_parts(body text, query tsquery)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_beginning text;
  v_rest text;
  v_at integer;
begin
  for v_beginning in select * from word_beginnings(matching_parts.query) loop
    v_rest := matching_parts.body;
    for n in 1 .. 3 loop
      v_at := strpos(v_rest, substring(v_rest from v_beginning));
      exit when v_at is null;
      return next substr(v_rest, greatest(v_at - 300, 1), least(v_at, 301) + 1700);
      v_rest := regexp_replace(substr(v_rest, v_at + 1700), '^\S{1,100}', '');
    end loop;
  end loop;
end;
$function$;
grant execute on function matching_parts(text,tsquery) to office_api;
comment on function matching_parts(text,tsquery) is 'Parts of a text of at most 2001 characters that can contain a word of a search.';

CREATE OR REPLACE FUNCTION may_search(keys text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select bool_and(case k when 'login' then is_login() else has_permission(k) end) from unnest(may_search.keys) as k
$function$;
comment on function may_search(text[]) is 'Whether the caller holds all of the permissions; `login` is a session or an unscoped API token. False for none.';

CREATE OR REPLACE FUNCTION missing_row()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'A required row is missing or not visible' using errcode = 'OFR03';
end;
$function$;
grant execute on function missing_row() to office_api;
comment on function missing_row() is 'Fails a statement that did not find a required row.';

CREATE OR REPLACE FUNCTION missing_to_read(table_name text, permissions text[])
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select string_agg(k, ' and ')
  from regexp_split_to_table(table_tags(to_regclass(quote_ident(nullif(missing_to_read.table_name, '')))) ->> 'read', '[\s,]+') as k
  where k not in ('', 'login') and k <> all (missing_to_read.permissions)
$function$;
grant execute on function missing_to_read(text,text[]) to office_api;

comment on function missing_to_read(text,text[]) is '@behavior -*
The permissions that a reader of a table needs and does not hold, joined by "and"; null when none is missing.';

CREATE OR REPLACE FUNCTION my_sessions()
 RETURNS SETOF session_view
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  return query select * from live_sessions(current_user_id());
end;
$function$;
grant execute on function my_sessions() to office_api;

comment on function my_sessions() is '@guard login
@report People 10
@icon lock
The caller''s active sessions, newest first.';

CREATE OR REPLACE FUNCTION near_mapping_targets(code text, written text)
 RETURNS TABLE(target text, similarity real)
 LANGUAGE sql
 STABLE
AS $function$
  select n.target, max(extensions.similarity(search_text(n.name), search_text(near_mapping_targets.written)))
  from (
    select t.value, t.value from erp_mapping_targets t where t.code = near_mapping_targets.code
    union all
    select t.value, t.title from erp_mapping_targets t where t.code = near_mapping_targets.code
    union all
    select r.target, r.key from erp_mapping_rules r where r.code = near_mapping_targets.code and r.target is not null
  ) as n(target, name)
  group by n.target
  order by 2 desc, 1
$function$;
comment on function near_mapping_targets(text,text) is 'The targets of a code, most similar first.';

CREATE OR REPLACE FUNCTION nearest_name(name text, names text[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select k.known
  from unnest(nearest_name.names) as k(known), lateral edit_distance(lower(left(nearest_name.name, 63)), lower(k.known)) as d(distance)
  where length(nearest_name.name) <= 63
    and d.distance <= greatest(1, floor(0.4 * least(length(nearest_name.name), length(k.known))))
  order by d.distance, k.known
  limit 1
$function$;
comment on function nearest_name(text,text[]) is 'The name most similar to a misspelt one; null when none is similar.';

CREATE OR REPLACE FUNCTION nearest_tag(kind text, tag text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select nearest_name(nearest_tag.tag, array_agg(k.tag)) from known_tags() k where k.kind = nearest_tag.kind and k.instead is null
$function$;
comment on function nearest_tag(text,text) is 'The known tag most similar to a misspelt name; null when none is similar.';

CREATE OR REPLACE FUNCTION newest_by_number(sent jsonb)
 RETURNS TABLE(place integer, record jsonb, number text)
 LANGUAGE sql
 STABLE
AS $function$
  select distinct on (i.record ->> 'number') i.place::integer - 1, i.record, i.record ->> 'number'
  from jsonb_array_elements(as_list(newest_by_number.sent)) with ordinality as i(record, place)
  order by i.record ->> 'number', as_time(i.record ->> 'lastModified') desc nulls last, i.place desc
$function$;

CREATE OR REPLACE FUNCTION next_digest_at(user_id uuid, at timestamp with time zone DEFAULT now(), is_weekly boolean DEFAULT false)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select (
    d.day + interval '8 hours' + case when next_digest_at.is_weekly then make_interval(days => (8 - extract(isodow from d.day)::integer) % 7) else interval '0' end
  ) at time zone d.zone
  from (
    select z.zone, date_trunc('day', (next_digest_at.at at time zone z.zone) + interval '16 hours') as day
    from (select time_zone_of(next_digest_at.user_id)) as z(zone)
  ) as d
$function$;
comment on function next_digest_at(uuid,timestamp with time zone,boolean) is 'The next 08:00 in the user''s time zone, on a Monday with `is_weekly`.';

CREATE OR REPLACE FUNCTION next_search_leftovers()
 RETURNS SETOF search_leftovers
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select * from search_leftovers order by kind desc, name limit 100
$function$;
grant execute on function next_search_leftovers() to office_worker;
comment on function next_search_leftovers() is 'What to remove from the engine; collections come before their aliases.';

CREATE OR REPLACE FUNCTION next_waiting_export(per_user integer)
 RETURNS export_jobs
 LANGUAGE sql
AS $function$
  select j
  from (
    select distinct on (w.user_id) w.user_id, w.created_at, w.id from export_jobs w
    where w.state = 'queued' and w.queue_job_id is null
    order by w.user_id, w.created_at, w.id
  ) as first
    join export_jobs j on j.id = first.id
    left join (select s.user_id, count(*) as count from export_slots s group by s.user_id) as held on held.user_id = first.user_id,
    lateral (select max(o.started_at) as at from export_jobs o where o.user_id = first.user_id) as served
  where coalesce(held.count, 0) < next_waiting_export.per_user
  order by coalesce(held.count, 0), greatest(first.created_at, served.at), first.id
  limit 1
$function$;
comment on function next_waiting_export(integer) is 'The oldest waiting export of the user with the fewest running exports and, among those, the longest wait; null when none may start.';

CREATE OR REPLACE FUNCTION next_watch_changes(row_limit integer, is_first boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_changes jsonb;
  v_changed text[];
  v_related text[];
  v_count integer;
  v_is_marked boolean;
begin
  if next_watch_changes.is_first then
    update search_watches w set is_ready = false, ready_after = null, is_settled = false, baseline_ids = null, baseline_snapshot = null
    from users u
    where u.id = w.user_id and (w.is_ready or w.baseline_ids is not null) and (w.is_paused or not u.is_active);
    -- A call of `is_watched` would be one statement for each row.
    delete from row_changes c
    where c.reader = 'watches' and c.row_id is not null and not exists (select from search_watches w where w.table_name = c.table_name);
    delete from row_changes c where c.reader = 'watches' and c.row_id is null and not is_watched_as_related(c.table_name);
  end if;
  update search_watches w set ready_after = case when w.ready_after = '0' then pg_current_xact_id()::text else '0' end
  where not (w.is_ready and w.is_settled) and not w.is_paused
    and (w.ready_after is null or w.ready_after = '0' or w.ready_after::xid8 > pg_snapshot_xmax(pg_current_snapshot()));
  v_is_marked := found;
  with batch as materialized (
    select c.id, c.table_name, c.row_id, c.is_new, c.changed_in
    from row_changes c where c.reader = 'watches' order by c.id limit next_watch_changes.row_limit
  )
  select jsonb_agg(to_jsonb(c) order by c.id), array_agg(distinct c.table_name) filter (where c.row_id is not null),
    array_agg(distinct c.table_name) filter (where c.row_id is null), count(*)
  into v_changes, v_changed, v_related, v_count
  from (
    select b.* from batch b
    union
    -- Includes all pending changes of a row, so that a new row and its related rows are one event.
    select c.id, c.table_name, c.row_id, c.is_new, c.changed_in
    from row_changes c where c.reader = 'watches' and (c.table_name, c.row_id) in (select b.table_name, b.row_id from batch b)
  ) as c;
  perform load_watch_baselines();
  -- At most once in ten seconds for each watch: the evaluation of all rows costs more than that of changed ones.
  update search_watches w set related_due_at = greatest(now(), w.related_at + interval '10 seconds')
  where w.is_ready and w.related_due_at is null and w.related_tables && v_related;
  return jsonb_build_object(
    'changes', coalesce(v_changes, '[]'),
    'isMarked', v_is_marked,
    'hasMore', v_count >= next_watch_changes.row_limit
      and v_count < (select count(*) from (select from row_changes c where c.reader = 'watches' limit v_count + 1) as c),
    'watches', (
      with whole as materialized (
        select w.id, s.settles from search_watches w join users u on u.id = w.user_id, lateral (
          select not (w.is_ready and w.is_settled) and w.ready_after <> '0'
            and w.ready_after::xid8 < pg_snapshot_xmin(pg_current_snapshot()) as settles
        ) as s
        where u.is_active and not w.is_paused and (s.settles or w.is_ready and w.related_due_at <= now())
        order by w.id limit 50
      )
      select coalesce(jsonb_agg(watch_to_run(w) || jsonb_build_object('isWhole', h.id is not null, 'settles', coalesce(h.settles, false))
        order by w.user_id, w.table_name, w.id), '[]')
      from search_watches w join users u on u.id = w.user_id left join whole h on h.id = w.id
      where h.id is not null or u.is_active and not w.is_paused and w.is_ready and w.table_name = any (v_changed)
    )
  );
end;
$function$;
grant execute on function next_watch_changes(integer,boolean) to office_worker;
comment on function next_watch_changes(integer,boolean) is 'The next changed rows and the watches to evaluate, 50 of them for all rows at most.';

CREATE OR REPLACE FUNCTION nightly_moment(day date, time_zone text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select (day + time '02:30') at time zone time_zone
$function$;

CREATE OR REPLACE FUNCTION notification_kinds()
 RETURNS SETOF notification_kind
 LANGUAGE sql
 STABLE
AS $function$
  select k from unnest(enum_range(null::notification_kind)) as k where k <> 'WATCH_MATCHED'
$function$;
comment on function notification_kinds() is 'The kinds with a preference. A search watch has its own channels.';

CREATE OR REPLACE FUNCTION notify_of_failed_task(task text, queue_job_id bigint, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform notify_users(holders_of('settings.update'), 'JOB_FAILED', format('The task %s failed', task),
    concat_ws(E'\n', left(without_tokens(reason), 1000), format('Search the log of the workers for job %s.', queue_job_id)),
    -- The prefix separates it from failures of a job that the recipient started.
    subject_key => 'task:' || task);
end;
$function$;
grant execute on function notify_of_failed_task(text,bigint,text) to office_worker;
comment on function notify_of_failed_task(text,bigint,text) is 'Notifies holders of `settings.update` when a job that no user started fails permanently.';

CREATE OR REPLACE FUNCTION notify_of_import_issues(run_before erp_sync_runs, run_now erp_sync_runs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_groups integer := run_now.open_issue_groups - run_before.open_issue_groups;
  v_orders integer := run_now.open_issue_orders - run_before.open_issue_orders;
begin
  if v_groups > 0 or v_orders > 0 then
    perform notify_users(holders_of('erpsync.read'), 'IMPORT_ISSUES',
      case when v_groups > 0 then format('New groups of import issues: %s', v_groups)
        else format('More orders with import issues: %s', v_orders) end,
      format('Open groups after the last import: %s. Affected orders: %s.', run_now.open_issue_groups, run_now.open_issue_orders),
      'ErpSyncRun', run_now.id::text, '');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION notify_of_outage(permission text, kind notification_kind, title text, since timestamp with time zone, error text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select notify_users(z.user_ids, notify_of_outage.kind, notify_of_outage.title,
    concat_ws(E'\n', nullif(notify_of_outage.error, ''), format('Since %s', local_text(notify_of_outage.since, z.time_zone))),
    subject_key => iso_text(notify_of_outage.since))
  from (
    select time_zone_of(h.user_id) as time_zone, array_agg(h.user_id) as user_ids
    from unnest(holders_of(notify_of_outage.permission)) as h(user_id)
    group by 1
  ) as z
$function$;
comment on function notify_of_outage(text,notification_kind,text,timestamp with time zone,text) is 'Notifies the holders of a permission of the start of an outage, in their time zones. `iso_text` of the start is the subject key.';

CREATE OR REPLACE FUNCTION notify_of_systems()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_erp erp_cursors;
  v_search search_engine_state;
  v_since timestamptz;
begin
  select * into v_erp from erp_cursors c where c.entity = 'orders';
  if v_erp.erp_down_at < now() - interval '10 minutes' and not exists (
    select from notifications n where n.kind = 'ERP_DOWN' and n.subject_key = iso_text(v_erp.erp_down_at)
  ) then
    perform notify_of_outage('erpsync.read', 'ERP_DOWN', 'The ERP does not answer', v_erp.erp_down_at, v_erp.erp_error);
  end if;
  select * into v_search from search_engine_state;
  -- After an outage, the changes that waited during it get ten more minutes for their delivery.
  select least(v_search.down_at, min(greatest(c.created_at, v_search.up_at))) into v_since
  from row_changes c join search_catalogue s on s.table_name = c.table_name join search_indexes i on i.collection = s.collection
  where c.reader = 'search' and i.version is not null;
  if v_since < now() - interval '10 minutes' and not exists (
    -- When the engine works again, the oldest waiting row changes until the backlog is empty.
    select from notifications n where n.kind = 'SEARCH_DOWN' and (n.subject_key = iso_text(v_since) or n.created_at > v_since)
  ) then
    perform notify_of_outage('settings.update', 'SEARCH_DOWN', 'The search engine accepts no changes', v_since,
      concat_ws('; ', v_search.error, (select string_agg(distinct i.error, '; ') from search_indexes i)));
  end if;
end;
$function$;
comment on function notify_of_systems() is 'Notifies permission holders of systems that have been down for more than ten minutes, once per outage.';

CREATE OR REPLACE FUNCTION notify_of_tokens()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_token api_tokens;
begin
  for v_token in
    select * from api_tokens t
    where t.expires_at between now() and now() + interval '7 days' and t.revoked_at is null
      and t.expires_at - t.created_at > interval '7 days'
      and not exists (select from notifications n where n.kind = 'TOKEN_EXPIRING' and n.subject_key = t.id::text)
  loop
    perform notify_users(array[v_token.user_id], 'TOKEN_EXPIRING', format('Your API token “%s” expires soon', v_token.name),
      format('It expires at %s. Create a new one before.', local_text(v_token.expires_at, time_zone_of(v_token.user_id))),
      'ApiToken', v_token.id::text);
  end loop;
end;
$function$;
comment on function notify_of_tokens() is 'Notifies owners of API tokens that expire within seven days, once per token.';

CREATE OR REPLACE FUNCTION notify_users(user_ids uuid[], kind notification_kind, title text, body text DEFAULT NULL::text, entity text DEFAULT NULL::text, entity_id text DEFAULT NULL::text, subject_key text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select add_notifications(notify_users.user_ids, notify_users.kind, notify_users.title, notify_users.body, notify_users.entity,
    notify_users.entity_id, notify_users.subject_key)
$function$;
comment on function notify_users(uuid[],notification_kind,text,text,text,text,text) is 'Notifies active users. Notifications of one kind and `subject_key` (default: `entity_id`) within an hour are merged.';

CREATE OR REPLACE FUNCTION notify_watch_owners(checked jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_watch search_watches;
  v_last notifications;
  v_key text;
  v_lines text[];
  v_row_ids uuid[];
  v_number integer;
  v_total integer;
  v_count integer := 0;
begin
  for v_watch in
    select w.* from search_watches w join jsonb_object_keys(checked) as k(id) on w.id = k.id::uuid
    where w.due_at <= now() order by w.due_at for update of w skip locked
  loop
    with delivered as (
      delete from search_watch_notices n where n.watch_id = v_watch.id and checked -> v_watch.id::text ? n.row_id::text
      returning n.id, n.event, n.name, n.row_id
    )
    select count(*), array_agg(t.line order by t.id) filter (where t.place <= 10), array_agg(t.row_id) into v_number, v_lines, v_row_ids
    from (
      select t.id, t.row_id, row_number() over (order by t.id) as place,
        format('%s: %s', case t.event when 'CREATED' then 'New' when 'MATCHES' then 'Matches' when 'LEAVES' then 'No longer matches' else 'Changed' end, watched_row_text(t.name)) as line
      from delivered t where (checked -> v_watch.id::text ->> t.row_id::text)::boolean
    ) as t;
    update search_watches w set due_at = null
    where w.id = v_watch.id and not exists (select from search_watch_notices n where n.watch_id = w.id);
    continue when v_number = 0;
    perform record_watch_read(v_watch, v_number);
    -- Deliveries within an hour are merged into one notification, which lists the latest rows first.
    select n.* into v_last from notifications n
    where n.user_id = v_watch.user_id and n.kind = 'WATCH_MATCHED' and n.subject_key = v_watch.id::text
      and n.created_at > now() - interval '1 hour' for update;
    v_key := v_watch.id::text;
    -- A mail that is being sent may already hold the earlier text.
    if v_last.mail_id is not null and v_last.mailed_at is null then
      v_last := null;
      v_key := uuidv7()::text;
    end if;
    v_total := v_number + coalesce(v_last.occurrences, 0);
    v_row_ids := array(select distinct i from unnest(v_row_ids || v_last.row_ids) as i);
    v_lines := (v_lines || (string_to_array(v_last.body, E'\n'))[:least(v_last.occurrences, 10)])[:10];
    perform add_notifications(array[v_watch.user_id], 'WATCH_MATCHED',
      format('“%s”: %s', v_watch.name, case cardinality(v_row_ids) when 1 then '1 row' else cardinality(v_row_ids) || ' rows' end),
      array_to_string(v_lines, E'\n') || case when v_total > cardinality(v_lines) then format(E'\n%s more', v_total - cardinality(v_lines)) else '' end,
      'SearchWatch', v_watch.id::text, v_key, 'INBOX' = any (v_watch.channels),
      case when 'EMAIL' = any (v_watch.channels) then 'AT_ONCE' else 'OFF' end::notification_mail, v_number);
    update notifications n set row_ids = v_row_ids
    where n.user_id = v_watch.user_id and n.kind = 'WATCH_MATCHED' and n.subject_key = v_key and n.created_at > now() - interval '1 hour';
    -- Rows after the mail are in another one, an hour later.
    update notifications n set mail_at = n.mailed_at + interval '1 hour', mail_id = null, mailed_at = null
    where n.id = v_last.id and n.mailed_at is not null and 'EMAIL' = any (v_watch.channels);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$function$;
grant execute on function notify_watch_owners(jsonb) to office_worker;
comment on function notify_watch_owners(jsonb) is 'Notifies the owners of due watches; returns the number of watches.';

CREATE OR REPLACE FUNCTION office_locale()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select s.locale from office_settings s), 'en-GB')
$function$;
grant execute on function office_locale() to office_api;
comment on function office_locale() is 'The locale of the office.';

CREATE OR REPLACE FUNCTION office_time_zone()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select s.time_zone from office_settings s), 'UTC')
$function$;
grant execute on function office_time_zone() to office_api;
comment on function office_time_zone() is 'The time zone of the office.';

CREATE OR REPLACE FUNCTION open_ai_conversation(id text, title text)
 RETURNS ai_conversations
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_title text := ai_conversation_title(open_ai_conversation.title);
begin
  perform require_assistant();
  if open_ai_conversation.id is null or open_ai_conversation.id !~ '^[A-Za-z0-9_-]{8,64}$' then
    perform fail('OF400', 'id must be 8 to 64 letters, digits, hyphens or underscores', '{"path": ["id"]}');
  end if;
  insert into ai_conversations (id, user_id, title)
  values (open_ai_conversation.id, current_user_id(), case when is_label(v_title, 200) then v_title else 'New conversation' end)
  on conflict on constraint ai_conversations_pkey do nothing;
  return own_ai_conversation(open_ai_conversation.id);
end;
$function$;
grant execute on function open_ai_conversation(text,text) to office_api;
comment on function open_ai_conversation(text,text) is 'Returns the caller''s conversation with this id, locked; creates it when there is none.';

CREATE OR REPLACE FUNCTION open_invitation(id uuid)
 RETURNS invitations
 LANGUAGE plpgsql
AS $function$
declare
  v_user users;
  v_invitation invitations;
begin
  select u.* into v_user from users u join invitations i on i.user_id = u.id
  where i.id = open_invitation.id for update of u;
  if not found then
    perform fail('OF404', 'There is no invitation with this id', '{"path": ["id"]}');
  end if;
  select * into v_invitation from invitations i where i.id = open_invitation.id for update;
  if v_invitation.state = 'accepted' then
    perform fail('OF409', 'This invitation was accepted already');
  end if;
  perform require_not_joined(v_user, '{}');
  if exists (select from invitations i where i.user_id = v_user.id and i.id > v_invitation.id) then
    perform fail('OF409', 'There is a newer invitation for this person');
  end if;
  return v_invitation;
end;
$function$;

CREATE OR REPLACE FUNCTION open_session(user_id uuid, token_hash bytea, idle_hours integer, max_days integer)
 RETURNS uuid
 LANGUAGE sql
AS $function$
  insert into sessions (user_id, token_hash, ip_address, user_agent, idle_expires_at, expires_at)
  values (open_session.user_id, open_session.token_hash,
    nullif(current_setting('office.ip_address', true), ''), nullif(current_setting('office.user_agent', true), ''),
    now() + make_interval(hours => open_session.idle_hours), now() + make_interval(days => open_session.max_days))
  returning id
$function$;

CREATE OR REPLACE FUNCTION operations_lags()
 RETURNS TABLE(what text, seconds double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select 'erp_' || c.entity, extract(epoch from clock_timestamp() - c.caught_up_at)
  from erp_cursors c where c.caught_up_at is not null
  union all
  select 'search', coalesce(extract(epoch from clock_timestamp() - min(c.created_at)), 0)
  from row_changes c where c.reader = 'search'
  union all
  select 'audit_seal_' || s.tree, coalesce(extract(epoch from clock_timestamp() - s.oldest_unsealed), 0)
  from audit_seal_state() s
$function$;
grant execute on function operations_lags() to office_worker;
comment on function operations_lags() is 'Seconds since each follower was level with its source: the import with the ERP, the search engine with the tables, the seals with the audit log.';

CREATE OR REPLACE FUNCTION order_import_issue_groups(kind order_import_issue_kind, group_limit integer)
 RETURNS TABLE(code text, key text, title text, order_count integer, occurrences integer, first_seen_at timestamp with time zone, last_seen_at timestamp with time zone, sample_message text, sample_value text, sample_order_ids uuid[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET max_parallel_workers_per_gather TO '0'
AS $function$
#variable_conflict use_column
begin
  perform require_permission('erpsync.read');
  if group_limit is null or group_limit not between 1 and 200 then
    perform fail('OF400', 'limit must be from 1 to 200', '{"path": ["limit"]}');
  end if;
  -- Repeats `kind` in the order by clause, so that the planner uses the index under row-level security as well.
  return query
    with smallest as (
      select coalesce(min(c.order_count), 1) as order_count
      from (
        select c.order_count from order_import_causes c
        where c.kind = order_import_issue_groups.kind and c.order_count > 0
        order by c.kind, c.order_count desc limit group_limit
      ) as c
    ),
    groups as (
      -- Includes ties with the last group until their exact times are known.
      select c.code, c.key, c.order_count, c.occurrences, t.first_seen_at, t.last_seen_at
      from order_import_causes c, smallest, lateral (
        select c.first_seen_at, c.last_seen_at where c.is_exact
        union all
        select e.first_seen_at, e.last_seen_at from import_cause_times(c) as e where not c.is_exact
      ) as t(first_seen_at, last_seen_at)
      where c.kind = order_import_issue_groups.kind and c.order_count >= smallest.order_count
      order by c.order_count desc, t.last_seen_at desc, c.code, c.key
      limit group_limit
    )
    select g.code, g.key, import_issue_title(g.code, g.key), least(g.order_count, 2147483647)::integer,
      least(g.occurrences, 2147483647)::integer, g.first_seen_at, g.last_seen_at, s.message, s.value,
      array(
        select i.order_id from order_import_issues i
        where i.kind = order_import_issue_groups.kind and i.resolved_at is null and not i.order_is_superseded
          and i.code = g.code and i.key = g.key
        order by i.kind, i.code, i.key, i.order_placed_at desc, i.order_id
        limit 10
      )
    from groups g,
      lateral (
        select i.message, i.value from order_import_issues i
        where i.kind = order_import_issue_groups.kind and i.resolved_at is null and not i.order_is_superseded
          and i.code = g.code and i.key = g.key
        order by i.kind, i.code, i.key, i.order_placed_at desc, i.order_id
        limit 1
      ) as s
    order by g.order_count desc, g.last_seen_at desc, g.code, g.key;
end;
$function$;
grant execute on function order_import_issue_groups(order_import_issue_kind,integer) to office_api;
comment on function order_import_issue_groups(order_import_issue_kind,integer) is 'The causes of open import issues without superseded orders, most orders first, with up to ten of the latest orders.';

CREATE OR REPLACE FUNCTION orders_import_issues(placed_order orders)
 RETURNS SETOF order_import_issues
 LANGUAGE sql
 STABLE ROWS 3
AS $function$
  select i.* from order_import_issues i
  where i.order_id = orders_import_issues.placed_order.id and i.resolved_at is null
  order by i.kind, i.code, i.key
$function$;
grant execute on function orders_import_issues(orders) to office_api;

comment on function orders_import_issues(orders) is '@computed
The open issues of the order from its last import.';

CREATE OR REPLACE FUNCTION own_ai_conversation(id text)
 RETURNS ai_conversations
 LANGUAGE plpgsql
AS $function$
declare
  v_conversation ai_conversations;
begin
  perform require_assistant();
  select * into v_conversation from ai_conversations c
  where c.id = own_ai_conversation.id and c.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'You have no conversation with this id', '{"path": ["id"]}');
  end if;
  return v_conversation;
end;
$function$;

CREATE OR REPLACE FUNCTION own_check(columns text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select format('%I = (select current_user_id())', c[1])
    || case when c[2] is null then '' else format(' and ((select current_token_id()) is null or %I = (select current_token_id()))', c[2]) end
  from regexp_split_to_array(btrim(own_check.columns), '[\s,]+') as c
$function$;

CREATE OR REPLACE FUNCTION own_export(id uuid)
 RETURNS export_jobs
 LANGUAGE plpgsql
AS $function$
declare
  v_job export_jobs;
begin
  select * into v_job from export_jobs j
  where j.id = own_export.id and j.user_id = current_user_id() and (current_token_id() is null or j.token_id = current_token_id())
  for update;
  if not found then
    perform fail('OF404', 'There is no export with this id', '{"path": ["id"]}');
  end if;
  return v_job;
end;
$function$;

CREATE OR REPLACE FUNCTION own_export_products(job_id uuid)
 RETURNS TABLE(product_id uuid, place integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select u.product_id, u.place::integer
  from export_jobs j
    join export_job_products p on p.job_id = j.id,
    unnest(p.product_ids) with ordinality as u(product_id, place)
  where j.id = own_export_products.job_id
    and j.user_id = current_user_id() and j.token_id is not distinct from current_token_id()
$function$;
grant execute on function own_export_products(uuid) to office_api;
comment on function own_export_products(uuid) is 'The products of an export of the caller in progress, in their order.';

CREATE OR REPLACE FUNCTION own_job(id uuid)
 RETURNS jobs
 LANGUAGE plpgsql
AS $function$
declare
  v_job jobs;
begin
  perform require_full_login();
  select * into v_job from jobs j where j.id = own_job.id and is_own_job(j.user_id, j.api_token_id) for update;
  if not found then
    perform fail('OF404', 'There is no job of yours with this id', '{"path": ["id"]}');
  end if;
  return v_job;
end;
$function$;

CREATE OR REPLACE FUNCTION own_locale()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select u.locale from users u where u.id = current_user_id()), office_locale())
$function$;
grant execute on function own_locale() to office_api;

comment on function own_locale() is '@behavior -*
The locale of the caller.';

CREATE OR REPLACE FUNCTION own_time_zone()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select u.time_zone from users u where u.id = current_user_id()), office_time_zone())
$function$;
grant execute on function own_time_zone() to office_api;

comment on function own_time_zone() is '@behavior -*
The time zone of the caller.';

CREATE OR REPLACE FUNCTION owner_columns(tags jsonb)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(regexp_split_to_array(btrim(owner_columns.tags ->> 'owner'), '[\s,]+'), '{}')
$function$;
comment on function owner_columns(jsonb) is 'The columns of the tag @owner: that of the user, and that of the API token if there is one.';

CREATE OR REPLACE FUNCTION permission_check(keys text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case count(*) when 1 then '(select has_permission(' else '(select has_any_permission(' end
    || string_agg(quote_literal(k), ', ' order by place) || '))'
  from (
    select k, min(place) as place from regexp_split_to_table(btrim(permission_check.keys), '[\s,]+') with ordinality as t(k, place)
    group by k
  ) as keys
$function$;

CREATE OR REPLACE FUNCTION personal_columns(subject regclass)
 RETURNS TABLE(relation regclass, reference text, name text, instead text)
 LANGUAGE sql
 STABLE
AS $function$
  select a.attrelid::regclass, g.reference, a.attname::text, coalesce(g.instead, case when a.attnotnull then 'Erased' end)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped,
    lateral comment_tags(col_description(a.attrelid, a.attnum)) as t(tags),
    lateral (select nullif(split_part(t.tags ->> 'personal', ' ', 1), ''), nullif(split_part(t.tags ->> 'personal', ' ', 2), ''))
      as g(reference, instead)
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and t.tags ? 'personal'
    and (
      g.reference is null and c.oid = personal_columns.subject
      or exists (
        select from pg_constraint k join pg_attribute r on r.attrelid = k.conrelid and r.attnum = k.conkey[1]
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = personal_columns.subject and cardinality(k.conkey) = 1
          and r.attname = g.reference)
    )
$function$;
comment on function personal_columns(regclass) is 'The columns with personal data of the rows of a table, also those of other tables.';

CREATE OR REPLACE FUNCTION placeholder_fields(kind export_template_kind)
 RETURNS TABLE(field text, kind_of_field export_field_kind)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('exporttemplates.update');
  return query
    select f.field, f.kind from export_catalogue() as f
    where f.kind <> 'IMAGE' or placeholder_fields.kind = 'FORM';
end;
$function$;
grant execute on function placeholder_fields(export_template_kind) to office_api;
comment on function placeholder_fields(export_template_kind) is 'The fields of products that a workbook of this kind can show, without prices.';

CREATE OR REPLACE FUNCTION product_sync_call(run_id uuid)
 RETURNS SETOF product_sync_runs
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select r.* from product_sync_runs r where r.id = product_sync_call.run_id and r.delivered_at is null
$function$;
grant execute on function product_sync_call(uuid) to office_worker;
comment on function product_sync_call(uuid) is 'The payload for the workflow; no row when it was delivered.';

CREATE OR REPLACE FUNCTION products_list_price(product products)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select x.amount from product_prices x where x.product_id = product.id and x.type = 'retail' order by x.currency limit 1
$function$;

comment on function products_list_price(products) is '@searchIndex filter sort dataType money
@searchFrom product_prices.product_id
The retail price in the first of its currencies.';

CREATE OR REPLACE FUNCTION products_list_price_currency(product products)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select x.currency from product_prices x where x.product_id = product.id and x.type = 'retail' order by x.currency limit 1
$function$;

comment on function products_list_price_currency(products) is '@searchIndex facet
@searchFrom product_prices.product_id
The currency of the retail price.';

CREATE OR REPLACE FUNCTION propose_ai_change(conversation_id text, tool_call_id text, tool text, summary text, operation text, variables jsonb, minutes integer)
 RETURNS ai_approvals
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_approval ai_approvals;
begin
  perform own_ai_conversation(propose_ai_change.conversation_id);
  insert into ai_approvals (conversation_id, user_id, tool_call_id, tool, summary, operation, variables, expires_at)
  values (propose_ai_change.conversation_id, current_user_id(), propose_ai_change.tool_call_id, propose_ai_change.tool,
    propose_ai_change.summary, propose_ai_change.operation, propose_ai_change.variables,
    now() + make_interval(mins => propose_ai_change.minutes))
  returning * into v_approval;
  return v_approval;
end;
$function$;
grant execute on function propose_ai_change(text,text,text,text,text,jsonb,integer) to office_api;
comment on function propose_ai_change(text,text,text,text,text,jsonb,integer) is 'Stores a change that needs the caller''s approval.';

CREATE OR REPLACE FUNCTION protect_search()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform describe_search();
  perform ensure_trigger(s.relation, '_700_search_emptied',
    format('after truncate on %%TABLE%% for each statement execute function tg__search_emptied(%L)', s.collection))
  from search_tables() s;
  perform ensure_trigger(f.other, left('_700_search_' || concat_ws('_', f.collection, f.through, e.event), 63),
    format('after %s on %%TABLE%% referencing %s for each statement execute function tg__search_changed(%s)', e.event, e.tables,
      (select string_agg(quote_literal(a), ', ' order by place) from unnest(f.arguments) with ordinality as x(a, place))))
  from (
      select s.collection, x.other, x.through, x.direction, array[c.relname, x.direction, x.through]
        || case x.direction when 'to' then max(x.key) || array_agg(x.target order by x.target) end as arguments
      from search_tables() s join pg_class c on c.oid = s.relation, lateral search_fields(s.relation) as x
      where x.other is not null
      group by s.collection, c.relname, x.other, x.direction, x.through
    ) as f
    join (values
      ('insert', 'new table as new_rows'), ('update', 'old table as old_rows new table as new_rows'),
      ('delete', 'old table as old_rows')
    ) as e(event, tables) on f.direction = 'from' or e.event = 'update';
end;
$function$;
comment on function protect_search() is 'Applies the search tags; called at the end of a migration.';

CREATE OR REPLACE FUNCTION protect_table(relation regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_tags jsonb := table_tags(relation);
  -- The start of the names of its policies. Names are cut to 63 characters.
  v_name text := (select left(relname, 50) from pg_class where oid = protect_table.relation);
  v_readers text;
  v_login text;
  v_audit text[];
  v_search text := case when v_tags ? 'searchCollection' then 'search' else '' end;
  v_columns text;
  v_class record;
begin
  select relrowsecurity, relforcerowsecurity into v_class from pg_class where oid = relation;
  if not (v_class.relrowsecurity and v_class.relforcerowsecurity) then
    -- A table with such a policy is not new, so row-level security was switched off by hand.
    if exists (select from pg_policy where polrelid = relation and polname in (v_name || '_owner', v_name || '_owner_read')) then
      raise warning 'table %: row-level security was off and is enabled again; use `ensure_policy` to show more rows', relation;
    end if;
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s force row level security', relation);
  end if;

  -- Also revokes column privileges. Other sessions see the old privileges until this transaction commits.
  execute format('revoke all privileges on %s from office_api, office_worker cascade', relation);

  -- The owner role runs migrations and security definer functions. On an append-only table it may only insert.
  if v_tags ? 'appendOnly' then
    perform ensure_policy(relation, v_name || '_owner_read', 'select', 'office_owner', 'true');
    perform ensure_policy(relation, v_name || '_owner_add', 'insert', 'office_owner', null, 'true');
    perform ensure_trigger(relation, '_900_append_only',
      'before update or delete on %TABLE% for each row execute function tg__append_only()');
    perform ensure_trigger(relation, '_900_no_truncate',
      'before truncate on %TABLE% for each statement execute function tg__append_only()');
  else
    perform ensure_policy(relation, v_name || '_owner', 'all', 'office_owner', 'true', 'true');
  end if;

  v_login := nullif(concat_ws(' and ', case when v_tags ? 'session' then '(select is_session())' end,
    case when v_tags ? 'login' or v_tags ->> 'read' = 'login' then '(select is_login())' end), '');
  -- A permission to change rows also shows them, because a mutation returns its row.
  v_readers := concat_ws(' ', v_tags ->> 'read', v_tags ->> 'create', v_tags ->> 'update', v_tags ->> 'delete');
  if v_tags ? 'read' then
    perform ensure_policy(relation, v_name || '_read', 'select', 'office_api',
      concat_ws(' and ', case when v_tags ->> 'read' <> 'login' then permission_check(v_readers) end, v_login,
        case when exists (
          select from unnest(owner_columns(v_tags)) as c(name)
          where not exists (
            select from pg_attribute a where a.attrelid = relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped)
        ) then 'false' else own_check(v_tags ->> 'owner') end));
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_columns
    from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
    where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
      and not comment_tags(d.description) ? 'secret';
    -- `xmin` is part of a row's version.
    execute format('grant select (%s, xmin) on %s to office_api', v_columns, relation);
  end if;
  if v_tags ->> 'mutations' ~ '\ycreate\y' then
    perform ensure_policy(relation, v_name || '_create', 'insert', 'office_api', null,
      permission_check(v_tags ->> 'create') || coalesce(' and ' || v_login, ''));
    v_columns := writable_columns(relation, 'create');
    if v_columns is not null then
      execute format('grant insert (%s) on %s to office_api', v_columns, relation);
    end if;
  end if;
  if v_tags ? 'owner' and v_tags ->> 'mutations' ~ '\ycreate\y' then
    perform ensure_trigger(relation, '_060_owner', format(
      'before insert on %%TABLE%% for each row execute function tg__owner(%s)',
      (select string_agg(quote_literal(c), ', ' order by place) from unnest(owner_columns(v_tags)) with ordinality as t(c, place))));
  end if;
  if v_tags ->> 'mutations' ~ '\yupdate\y' then
    perform ensure_policy(relation, v_name || '_update', 'update', 'office_api',
      permission_check(v_tags ->> 'update') || coalesce(' and ' || v_login, ''),
      permission_check(v_tags ->> 'update') || coalesce(' and ' || v_login, ''));
    v_columns := writable_columns(relation, 'update');
    if v_columns is not null then
      execute format('grant update (%s) on %s to office_api', v_columns, relation);
    end if;
  end if;
  if v_tags ->> 'mutations' ~ '\ydelete\y' then
    perform ensure_policy(relation, v_name || '_delete', 'delete', 'office_api',
      permission_check(v_tags ->> 'delete') || coalesce(' and ' || v_login, ''));
    execute format('grant delete on %s to office_api', relation);
  end if;

  if exists (select from pg_attribute where attrelid = relation and attname = 'updated_at' and not attisdropped) then
    perform ensure_trigger(relation, '_100_timestamps',
      format('before update on %%TABLE%% for each row execute function tg__timestamps(%s)', (
        select quote_literal(attname) from pg_attribute
        where attrelid = relation and attname = 'search_words' and attgenerated = 's' and not attisdropped)));
  end if;

  -- Unique names are stored in the form of `normalize_name`.
  select string_agg(quote_literal(a.attname), ', ' order by a.attnum) into v_columns
  from pg_attribute a
  where a.attrelid = relation and exists (
    select from pg_index i
    where i.indrelid = relation and i.indisunique and pg_get_indexdef(i.indexrelid, 1, true) = format('name_key(%I)', a.attname)
  );
  if v_columns is not null then
    perform ensure_trigger(relation, '_050_normalize_names',
      format('before insert or update on %%TABLE%% for each row execute function tg__normalize_names(%s)', v_columns));
  end if;

  -- `<EntityType> [id column] [except column ...]`; secrets and `search_words` are always excluded, and columns use
  -- their API names.
  v_audit := regexp_match(v_tags ->> 'audit', '^(\w+)(?:\s+(?!except\y)(\w+))?(?:\s+except\s+(.+))?$');
  if v_tags ->> 'audit' !~ '^off\y' and v_audit is not null then
    select string_agg(', ' || quote_literal(c), '') into v_columns
    from (
      select regexp_split_to_table(btrim(v_audit[3]), '\s+')
      union
      select n.name
      from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
        lateral comment_tags(d.description) as t(tags),
        lateral (
          select a.attname where t.tags ? 'secret' or a.attname = 'search_words' and a.attgenerated = 's'
          union all select a.attname || '=' || (t.tags ->> 'auditName') where t.tags ? 'auditName'
        ) as n(name)
      where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
    ) as a(c);
    perform ensure_trigger(relation, '_800_audit_' || lower(event), format(
      'after %s on %%TABLE%% referencing %s for each statement execute function tg__audit(%L, %L, %L%s)',
      event, tables, v_audit[1], coalesce(v_audit[2], 'id'), v_search, coalesce(v_columns, '')
    ))
    from (values
      ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
      ('DELETE', 'old table as old_rows')
    ) as e(event, tables);
  elsif v_tags ? 'read' and (not v_tags ? 'watch' or v_tags ? 'searchCollection') then
    perform ensure_trigger(relation, '_800_changes_' || lower(event),
      format('after %s on %%TABLE%% referencing %s for each statement execute function tg__row_changes(%L)', event, tables, v_search))
    from (values
      ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
      ('DELETE', 'old table as old_rows')
    ) as e(event, tables);
  end if;
end;
$function$;
comment on function protect_table(regclass) is 'Applies the tags of a table. Malformed tags grant nothing; `tag_violations` reports them.';

CREATE OR REPLACE FUNCTION protect_views()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_view regclass;
begin
  for v_view in
    select c.oid from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v'
  loop
    execute format('revoke all privileges on %s from office_api, office_worker cascade', v_view);
    if table_tags(v_view) ? 'read' then
      execute format('grant select on %s to office_api', v_view);
    end if;
  end loop;
end;
$function$;
comment on function protect_views() is 'Applies the tag @read to all views, including those created in `logic`.';

CREATE OR REPLACE FUNCTION queue_changes(with_search boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  -- The lookups use the index, which skips deleted rows that are not vacuumed yet.
  if with_search and (select c.id from row_changes c where c.reader = 'search' order by c.id limit 1) is not null
    and not is_queued('index_search', 'changes')
  then
    perform queue_search_indexing();
  end if;
  if ((select c.id from row_changes c where c.reader = 'watches' order by c.id limit 1) is not null
    or exists (select from search_watches w where w.related_due_at <= now() and w.is_ready and not w.is_paused))
    and not is_queued('run_watches', 'changes')
  then
    perform queue_watches('changes');
  end if;
end;
$function$;
grant execute on function queue_changes(boolean) to office_worker;
comment on function queue_changes(boolean) is 'Queues the evaluation of search watches when rows have changed, and with a search engine the delivery of its changes.';

CREATE OR REPLACE FUNCTION queue_erp_run(kind erp_sync_run_kind, erp_order_number text DEFAULT NULL::text)
 RETURNS erp_sync_job_handle
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  v_run erp_sync_runs;
  v_new boolean;
  v_count integer;
  v_task text;
  v_subject text;
  v_input jsonb;
begin
  perform fail_lost_erp_runs();
  loop
    insert into erp_sync_runs (kind, requested_by_user_id, erp_order_number)
    values (queue_erp_run.kind, current_user_id(), queue_erp_run.erp_order_number)
    on conflict (kind, erp_order_number) where status = 'QUEUED' do nothing
    returning * into v_run;
    v_new := found;
    exit when v_new;
    select r.* into v_run from erp_sync_runs r
    where r.kind = queue_erp_run.kind and r.status = 'QUEUED' and r.erp_order_number is not distinct from queue_erp_run.erp_order_number
    for share;
    exit when found;
  end loop;
  v_count := case queue_erp_run.kind
    when 'RECHECK' then (select count(*) from orders o where o.has_import_mapping_issue)
    when 'DATA_RECHECK' then (select count(*) from orders o where o.has_import_data_issue)
    when 'ORDER' then 1
  end;
  v_task := case v_run.kind when 'IMPORT' then 'import_erp_orders' else 'reimport_orders' end;
  v_subject := case v_run.kind
    when 'IMPORT' then 'What changed in the ERP'
    when 'RECHECK' then 'Orders with a mapping gap'
    when 'DATA_RECHECK' then 'Orders with a data issue'
    else 'Order ' || v_run.erp_order_number
  end;
  v_input := jsonb_build_object('runId', v_run.id);
  if v_new then
    update erp_sync_runs r set
      orders_total = v_count,
      -- Runs of a kind share a queue. Runs of single orders have none; `erp_run_wait_ms` separates them.
      job_id = enqueue_job(v_task, v_input, r.id::text, subject => v_subject,
        queue => case when r.erp_order_number is null then 'erp_' || lower(r.kind::text) end)
    where r.id = v_run.id;
  else
    perform join_job(v_run.job_id, v_task, v_input, v_run.id::text, null, v_subject);
  end if;
  if current_user_id() is not null then
    perform record_change(case when v_new then 'CREATE' else 'UPDATE' end, 'ErpSyncRun', v_run.id::text, null,
      case when v_new then jsonb_strip_nulls(jsonb_build_object(
        'kind', v_run.kind, 'status', v_run.status, 'erpOrderNumber', v_run.erp_order_number)) end,
      case when not v_new then jsonb_build_object('kind', v_run.kind, 'reused', true) end);
  end if;
  return (v_run.id, v_run.status, v_run.queued_at, not v_new, v_count);
end;
$function$;
comment on function queue_erp_run(erp_sync_run_kind,text) is 'Queues a run, unless the same run is waiting already.';

CREATE OR REPLACE FUNCTION queue_export_start()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select enqueue_job('start_exports', '{}')
$function$;
grant execute on function queue_export_start() to office_worker;
comment on function queue_export_start() is 'Queues `start_exports`; called by every transaction that adds an export or frees a slot. Without a job key, so that it takes no lock.';

CREATE OR REPLACE FUNCTION queue_invitation_mail(invitation_id uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select enqueue_job('send_invitation', jsonb_build_object('invitationId', i.id), i.id::text,
    subject => 'Invitation of ' || i.email, max_attempts => 12)
  from invitations i where i.id = queue_invitation_mail.invitation_id
$function$;

CREATE OR REPLACE FUNCTION queue_job(task text, input jsonb, key text, run_at timestamp with time zone, max_attempts integer, queue text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select office_jobs.add(
    queue_job.task,
    jsonb_build_object(
      'tenant', current_schema(), 'input', queue_job.input,
      'correlationId', nullif(current_setting('office.correlation_id', true), '')
    ) || case
      when coalesce(current_setting('office.traceparent', true), '') = '' then '{}'
      else jsonb_build_object('traceparent', current_setting('office.traceparent', true))
    end,
    current_schema() || ':' || queue_job.task || ':' || queue_job.key,
    queue_job.run_at,
    queue_job.max_attempts,
    current_schema() || ':' || queue_job.queue
  )
$function$;

CREATE OR REPLACE FUNCTION queue_notification_mails()
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_user_id uuid;
  v_mail_id uuid;
  v_count integer := 0;
begin
  -- Notifications that were read before a later mail, and those of inactive users, are not mailed. Mails at once are sent
  -- anyway: somebody who uses a stolen login must not be able to stop the warning about it.
  update notifications n set mail_at = null
  from users u
  where n.mail_at <= now() and n.mail_id is null and u.id = n.user_id
    and (not u.is_active or n.read_at > n.created_at and n.mail_at > n.created_at);
  for v_user_id in select distinct n.user_id from notifications n where n.mail_at <= now() and n.mail_id is null loop
    v_mail_id := uuidv7();
    update notifications n set mail_id = v_mail_id where n.user_id = v_user_id and n.mail_at <= now() and n.mail_id is null;
    perform enqueue_job('send_notifications', jsonb_build_object('mailId', v_mail_id), v_mail_id::text);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$function$;
comment on function queue_notification_mails() is 'Queues one mail per user with due notifications; returns the number of mails.';

CREATE OR REPLACE FUNCTION queue_search_indexing(looks_around boolean DEFAULT false)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select queue_job('index_search', jsonb_build_object('check', looks_around),
    case when looks_around then 'check' else 'changes' end, null, null, 'search')
$function$;
grant execute on function queue_search_indexing(boolean) to office_worker;
comment on function queue_search_indexing(boolean) is 'Queues the delivery of changes to the search engine; with `looks_around` also a comparison of the engine with the tables.';

CREATE OR REPLACE FUNCTION queue_watches(key text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select queue_job('run_watches', '{}', queue_watches.key, null, 5, 'watches')
$function$;
comment on function queue_watches(text) is 'Queues the evaluation of search watches, one job at a time.';

CREATE OR REPLACE FUNCTION read_calendar_feed(token_hash bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_feed calendar_feeds;
begin
  select f.* into v_feed from calendar_feeds f join users u on u.id = f.user_id
  where f.token_hash = read_calendar_feed.token_hash and f.revoked_at is null and u.is_active;
  if not found then
    return null;
  end if;
  -- At most once a minute, and never waiting for another request.
  update calendar_feeds f set last_used_at = now()
  where f.id = (select o.id from calendar_feeds o where o.id = v_feed.id for update skip locked)
    and (v_feed.last_used_at is null or v_feed.last_used_at < now() - interval '1 minute');
  return jsonb_build_object(
    'name', user_name(v_feed.user_id),
    'events', (select coalesce(jsonb_agg(to_jsonb(e)), '[]') from (
      select * from calendar_events(v_feed.user_id) as c order by coalesce(c.starts_at, c.starts_on), c.id limit 5000) as e)
  );
end;
$function$;
grant execute on function read_calendar_feed(bytea) to office_server;
comment on function read_calendar_feed(bytea) is 'The calendar for a secret; null for an unknown or revoked secret and for an inactive owner.';

CREATE OR REPLACE FUNCTION recheck_erp_order_import_issues()
 RETURNS erp_sync_job_handle
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('erpsync.run');
  return queue_erp_run('RECHECK');
end;
$function$;
grant execute on function recheck_erp_order_import_issues() to office_api;

comment on function recheck_erp_order_import_issues() is '@guard erpsync.run
@action of erpSyncRuns
Queues the re-import of all orders with a mapping issue, like the nightly run. Returns the waiting run if there is one; a run queued while another is running starts after it.';

CREATE OR REPLACE FUNCTION reconcile_exports()
 RETURNS TABLE(expired integer, given_up integer, unused_workbooks integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job export_jobs;
begin
  reconcile_exports.expired := 0;
  reconcile_exports.given_up := 0;
  for v_job in
    select * from export_jobs j where j.state = 'completed' and j.expires_at <= now() for update skip locked
  loop
    perform expire_export(v_job);
    reconcile_exports.expired := reconcile_exports.expired + 1;
  end loop;
  for v_job in
    select * from export_jobs j
    where j.state in ('queued', 'running') and j.queue_job_id in (
      select * from office_jobs.lost(array(select o.queue_job_id from export_jobs o where o.state in ('queued', 'running')))
    ) for update skip locked
  loop
    perform end_export(v_job.id, 'failed',
      coalesce(v_job.error_message || '; ', '') || 'Its worker process ended repeatedly');
    reconcile_exports.given_up := reconcile_exports.given_up + 1;
  end loop;
  delete from export_workbooks w
  where w.created_at < now() - interval '1 day' and is_unused(w);
  get diagnostics reconcile_exports.unused_workbooks = row_count;
  return next;
end;
$function$;
grant execute on function reconcile_exports() to office_worker;
comment on function reconcile_exports() is 'Handles expired files, lost exports and unused workbooks; returns their numbers.';

CREATE OR REPLACE FUNCTION record_ai_approval_end(approval ai_approvals, why text)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  values (
    record_ai_approval_end.approval.user_id, 'UPDATE', 'AiToolCall', record_ai_approval_end.approval.conversation_id,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || jsonb_build_object(
      'tool', record_ai_approval_end.approval.tool, 'toolCallId', record_ai_approval_end.approval.tool_call_id,
      'approvalId', record_ai_approval_end.approval.id, 'outcome', lower(record_ai_approval_end.approval.state::text),
      'message', record_ai_approval_end.why)
  )
$function$;

CREATE OR REPLACE FUNCTION record_ai_tool_call(conversation_id text, tool text, is_write boolean, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  perform record_change(
    case when record_ai_tool_call.is_write then 'UPDATE' else 'READ' end, 'AiToolCall', record_ai_tool_call.conversation_id, null, null,
    record_ai_tool_call.details || jsonb_build_object('tool', record_ai_tool_call.tool));
end;
$function$;
grant execute on function record_ai_tool_call(text,text,boolean,jsonb) to office_api;
comment on function record_ai_tool_call(text,text,boolean,jsonb) is 'Records a tool call of the assistant for the caller in the audit log.';

CREATE OR REPLACE FUNCTION record_ai_usage(answer_id uuid, input_tokens bigint, output_tokens bigint, cost numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_cost numeric;
begin
  perform require_assistant();
  update ai_answers a set
    input_tokens = a.input_tokens + record_ai_usage.input_tokens,
    output_tokens = a.output_tokens + record_ai_usage.output_tokens, cost = a.cost + record_ai_usage.cost, reserved = 0
  where a.id = record_ai_usage.answer_id and a.user_id = current_user_id();
  insert into ai_usage (user_id, day, input_tokens, output_tokens, cost)
  values (current_user_id(), (now() at time zone 'UTC')::date, record_ai_usage.input_tokens, record_ai_usage.output_tokens,
    record_ai_usage.cost)
  on conflict on constraint ai_usage_pkey do update set
    input_tokens = ai_usage.input_tokens + excluded.input_tokens,
    output_tokens = ai_usage.output_tokens + excluded.output_tokens, cost = ai_usage.cost + excluded.cost
  returning ai_usage.cost into v_cost;
  return v_cost;
end;
$function$;
grant execute on function record_ai_usage(uuid,bigint,bigint,numeric) to office_api;
comment on function record_ai_usage(uuid,bigint,bigint,numeric) is 'Adds the usage of a model call; returns the caller''s spending of today.';

CREATE OR REPLACE FUNCTION record_change(operation text, entity_type text, entity_id text, before jsonb, after jsonb, metadata jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata
  )
  values (
    current_user_id(), record_change.operation, record_change.entity_type, record_change.entity_id,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''), record_change.before, record_change.after,
    audit_metadata() || coalesce(without_tokens(record_change.metadata::text)::jsonb, '{}')
  )
$function$;
comment on function record_change(text,text,text,jsonb,jsonb,jsonb) is 'Records an event that no table trigger records, such as a refused login, a tool call or a started run.';

CREATE OR REPLACE FUNCTION record_erp_failures(failures jsonb, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into erp_import_failures as f (record, erp_order_number, message, path, revision, first_seen_at, last_seen_at)
  select distinct on (n.record) n.record, n."orderNumber", left(n.message, 2000), left(n.path, 300), n.revision, at, at
  from (
    select left(r.kind || ' ' || coalesce(r.number, r.id, md5(concat_ws(' ', r.revision, r.path, r.message))), 200) as record,
      case r.kind when 'order' then left(r.number, 200) end as "orderNumber", r.*
    from jsonb_to_recordset(as_list(record_erp_failures.failures))
      as r(kind text, number text, id text, revision text, path text, message text)
  ) as n
  order by n.record
  on conflict (record) do update set
    message = excluded.message, path = excluded.path, revision = excluded.revision, last_seen_at = excluded.last_seen_at
  where (f.message, f.path, f.revision) is distinct from (excluded.message, excluded.path, excluded.revision)
$function$;
comment on function record_erp_failures(jsonb,timestamp with time zone) is 'Records invalid records; the same failure of the same version is recorded once.';

CREATE OR REPLACE FUNCTION record_erp_is_up(entity text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update erp_cursors c set erp_is_up = true, erp_error = null, erp_seen_at = clock_timestamp()
  where c.entity = record_erp_is_up.entity;
  -- The outage is recorded at `orders`, for both entities.
  update erp_cursors c set erp_down_at = null where c.entity = 'orders' and c.erp_down_at is not null
$function$;

CREATE OR REPLACE FUNCTION record_export_progress(job_id uuid, attempt integer, rows integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update export_jobs j set exported_rows = record_export_progress.rows
  where j.id = record_export_progress.job_id and j.state = 'running' and j.attempt = record_export_progress.attempt;
  return found;
end;
$function$;
grant execute on function record_export_progress(uuid,integer,integer) to office_worker;
comment on function record_export_progress(uuid,integer,integer) is 'Records the number of written rows; false when the export was cancelled or deleted.';

CREATE OR REPLACE FUNCTION record_file_removed(key text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  delete from stored_files f where f.key = record_file_removed.key and f.removed_at is not null;
  update stored_files f set removed_at = now() where f.key = record_file_removed.key and f.removed_at is null;
end;
$function$;
grant execute on function record_file_removed(text) to office_worker;
comment on function record_file_removed(text) is 'Records a deletion; removes the file from the ledger after the second one.';

CREATE OR REPLACE FUNCTION record_history(entity_type text, entity_id text, operations text[], before_time timestamp with time zone, before_id uuid, size integer)
 RETURNS TABLE(id uuid, created_at timestamp with time zone, operation text, correlation_id text, source text, token_name text, user_id uuid, user_name text, before jsonb, after jsonb, also_changed integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select a.id, a.created_at, a.operation, a.correlation_id, a.metadata ->> 'source', t.name, u.id, u.name, a.before, a.after,
    case when a.correlation_id is null or a.operation = 'READ' then 0 else (
      select count(*)::integer from (
        select from audit_log o
        where o.correlation_id = a.correlation_id and o.operation in ('CREATE', 'UPDATE', 'DELETE') and o.id <> a.id
        limit 1000
      ) as others
    ) end
  from audit_log a
    left join users u on u.id = a.actor_user_id
    left join api_tokens t on t.id = (a.metadata ->> 'tokenId')::uuid
  where a.entity_id = record_history.entity_id and a.entity_type = record_history.entity_type
    and a.operation = any (record_history.operations)
    -- One condition with and without a cursor, so that the index finds its place under a generic plan too.
    and (a.created_at, a.id) < (
      coalesce(record_history.before_time, 'infinity'),
      coalesce(record_history.before_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by a.created_at desc, a.id desc
  limit record_history.size
$function$;
grant execute on function record_history(text,text,text[],timestamp with time zone,uuid,integer) to office_api;

comment on function record_history(text,text,text[],timestamp with time zone,uuid,integer) is '@behavior -queryField -typeField
A page of the audit log about one row, newest first, with names in place of addresses.';

CREATE OR REPLACE FUNCTION record_invitation_mail(invitation_id uuid, mail_number integer, error text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update invitations i set
    mailed_at = case when record_invitation_mail.error is null then now() end, mail_error = record_invitation_mail.error
  where i.id = record_invitation_mail.invitation_id
    -- Ignores the outcome of an earlier mail.
    and i.mail_number = record_invitation_mail.mail_number;
  return found;
end;
$function$;
grant execute on function record_invitation_mail(uuid,integer,text) to office_worker;
comment on function record_invitation_mail(uuid,integer,text) is 'Records the outcome of a mail by its number: sent, or the error. False when a newer mail replaced it.';

CREATE OR REPLACE FUNCTION record_job(queue_job_id bigint, state text, attempts integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, error text DEFAULT NULL::text, next_attempt_at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  update jobs j set
    state = record_job.state::job_state,
    attempts = coalesce(record_job.attempts, j.attempts),
    max_attempts = coalesce(record_job.max_attempts, j.max_attempts),
    error = case when record_job.state <> 'SUCCEEDED' then coalesce(left(without_tokens(record_job.error), 1000), j.error) end,
    next_attempt_at = record_job.next_attempt_at,
    started_at = case when record_job.state = 'RUNNING' then coalesce(j.started_at, clock_timestamp()) else j.started_at end,
    finished_at = case when record_job.state not in ('QUEUED', 'RUNNING') then clock_timestamp() end
  where j.queue_job_id = record_job.queue_job_id and j.finished_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function record_job(bigint,text,integer,integer,text,timestamp with time zone) to office_worker;
comment on function record_job(bigint,text,integer,integer,text,timestamp with time zone) is 'Updates the state of a job for its users; returns the number of rows that were not in a final state.';

CREATE OR REPLACE FUNCTION record_job_change(job jobs, was job_state)
 RETURNS void
 LANGUAGE sql
AS $function$
  select record_change('UPDATE', 'Job', job.id::text, jsonb_build_object('state', was), jsonb_build_object('state', job.state),
    jsonb_build_object('kind', job.kind))
$function$;

CREATE OR REPLACE FUNCTION record_notification_mail(mail_id uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update notifications n set mailed_at = now() where n.mail_id = record_notification_mail.mail_id
$function$;
grant execute on function record_notification_mail(uuid) to office_worker;
comment on function record_notification_mail(uuid) is 'Records that a mail was sent.';

CREATE OR REPLACE FUNCTION record_product_sync_delivery(run_id uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update product_sync_runs r set delivered_at = clock_timestamp() where r.id = record_product_sync_delivery.run_id
$function$;
grant execute on function record_product_sync_delivery(uuid) to office_worker;
comment on function record_product_sync_delivery(uuid) is 'Records that the workflow accepted a run.';

CREATE OR REPLACE FUNCTION record_read(entity_type text, entity_id text, metadata jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  select record_reads(array[record_read.entity_type], array[record_read.entity_id], array[record_read.metadata])
$function$;
grant execute on function record_read(text,text,jsonb) to office_api;
comment on function record_read(text,text,jsonb) is 'Records that an operation read an audited entity.';

CREATE OR REPLACE FUNCTION record_reads(entity_types text[], entity_ids text[], metadata jsonb[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  -- The pattern is a cheap test for values that may contain a token.
  select current_user_id(), 'READ', r.entity_type, r.entity_id, nullif(current_setting('office.correlation_id', true), ''),
    nullif(current_setting('office.ip_address', true), ''), nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || case
      when r.metadata::text like any (array['%bos\_%', '%boa\_%', '%bol\_%', '%boc\_%']) then without_tokens(r.metadata::text)::jsonb
      else r.metadata
    end
  from unnest(record_reads.entity_types, record_reads.entity_ids, record_reads.metadata) as r(entity_type, entity_id, metadata)
  where r.entity_type is not null and current_user_id() is not null
$function$;
grant execute on function record_reads(text[],text[],jsonb[]) to office_api;
comment on function record_reads(text[],text[],jsonb[]) is 'Records reads of audited entities; the arrays have one item for each entity.';

CREATE OR REPLACE FUNCTION record_refused_login(reason text, details jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  select record_change('CREATE', 'Session', null, null, null,
    jsonb_build_object('refused', record_refused_login.reason) || jsonb_strip_nulls(details))
$function$;

CREATE OR REPLACE FUNCTION record_search_documents(collection text, ids uuid[], failures jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  delete from search_failures f
  where f.collection = record_search_documents.collection and f.document_id = any (record_search_documents.ids);
  insert into search_failures (collection, document_id, message)
  select record_search_documents.collection, (f ->> 'id')::uuid, left(f ->> 'message', 500) from jsonb_array_elements(failures) as f
  on conflict do nothing;
end;
$function$;
grant execute on function record_search_documents(text,uuid[],jsonb) to office_worker;
comment on function record_search_documents(text,uuid[],jsonb) is 'Records which documents the engine rejected; it accepted the others.';

CREATE OR REPLACE FUNCTION record_search_is_down(error text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update search_engine_state s set down_at = clock_timestamp(), error = left(record_search_is_down.error, 500) where s.down_at is null
$function$;
grant execute on function record_search_is_down(text) to office_worker;
comment on function record_search_is_down(text) is 'Records the start of an outage of the search engine.';

CREATE OR REPLACE FUNCTION record_search_is_up()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update search_engine_state s set down_at = null, error = null, up_at = clock_timestamp() where s.down_at is not null
$function$;
grant execute on function record_search_is_up() to office_worker;
comment on function record_search_is_up() is 'Records the end of an outage of the search engine.';

CREATE OR REPLACE FUNCTION record_search_key(mark text, generation integer, collections text[], engine_id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into search_keys as k (mark, generation, collections, engine_id)
  values (record_search_key.mark, record_search_key.generation, record_search_key.collections, record_search_key.engine_id)
  on conflict on constraint search_keys_pkey do update set
    engine_id = excluded.engine_id,
    -- A server with the former administration key may still issue keys of that generation; a rotation is final.
    retired_at = case when excluded.generation = (select coalesce(max(s.generation), 0) from search_generations s) then null else k.retired_at end
$function$;
grant execute on function record_search_key(text,integer,text[],bigint) to office_server, office_worker;
comment on function record_search_key(text,integer,text[],bigint) is 'Records that the engine has a key.';

CREATE OR REPLACE FUNCTION record_unknown_search_key(mark text, generation integer, collections text[], engine_id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into search_keys (mark, generation, collections, engine_id, retired_at)
  values (
    record_unknown_search_key.mark, record_unknown_search_key.generation, record_unknown_search_key.collections, record_unknown_search_key.engine_id,
    clock_timestamp() + interval '16 minutes'
  )
  on conflict do nothing
$function$;
grant execute on function record_unknown_search_key(text,integer,text[],bigint) to office_worker;
comment on function record_unknown_search_key(text,integer,text[],bigint) is 'Records an unknown key of the engine; it is removed when all keys derived from it have expired.';

CREATE OR REPLACE FUNCTION record_watch_read(watch search_watches, row_count integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_tags jsonb := table_tags(to_regclass(quote_ident(watch.table_name)));
begin
  if v_tags ? 'auditReads' then
    perform act_as(watch.user_id);
    perform record_read(substring(v_tags ->> 'audit' from '^\w+'), null,
      jsonb_build_object('field', 'searchWatch', 'watchId', watch.id, 'rows', record_watch_read.row_count));
    perform set_config('office.user_id', '', true);
  end if;
end;
$function$;
comment on function record_watch_read(search_watches,integer) is 'Records that a watch showed rows of an audited table to its owner.';

CREATE OR REPLACE FUNCTION record_watch_results(changes jsonb, results jsonb, seen jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_changed jsonb;
  v_current jsonb;
  v_ids uuid[];
  v_whole_ids uuid[];
  v_has_snapshots boolean;
  v_count integer;
begin
  -- A concurrent job may have recorded these changes and removed them.
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.record_watch_results', 0));
  if exists (
    select from jsonb_array_elements(changes) as x
    where not exists (select from row_changes c where c.reader = 'watches' and c.id = (x ->> 'id')::bigint)
  ) then
    return 0;
  end if;

  update search_watches w set is_paused = true, is_ready = false, is_settled = false, baseline_snapshot = null, problem = left(r ->> 'problem', 1000)
  from jsonb_array_elements(results) as r
  where w.id = (r ->> 'id')::uuid and r ? 'problem' and watch_version(w) = r ->> 'version';
  -- The baseline of an earlier search, or of the time before a pause.
  delete from search_watch_rows o
  using search_watches w, jsonb_array_elements(results) as r
  where w.id = (r ->> 'id')::uuid and o.watch_id = w.id and not w.is_ready;

  v_has_snapshots := exists (
    select from jsonb_array_elements(results) as r join search_watches w on w.id = (r ->> 'id')::uuid where w.baseline_snapshot is not null
  );
  select coalesce(jsonb_object_agg(c.table_name || '.' || c.row_id,
      jsonb_build_object('isNew', c.is_new, 'place', c.place, 'parts', c.parts)), '{}'),
    array_agg(distinct c.row_id)
  into v_changed, v_ids
  from (
    select c.table_name, c.row_id, bool_or(c.is_new) as is_new, min(c.id) as place,
      case when v_has_snapshots then jsonb_agg(jsonb_build_array(c.changed_in, c.is_new)) end as parts
    from jsonb_populate_recordset(null::row_changes, changes) as c where c.row_id is not null group by 1, 2
  ) as c;
  -- Skips watches that changed since `next_watch_changes`.
  select coalesce(jsonb_object_agg(c.id, to_jsonb(c)), '{}'), array_agg(c.id) filter (where c.is_whole and c.is_ready)
  into v_current, v_whole_ids
  from (
    select w.id, w.is_ready, (r ->> 'isWhole')::boolean as is_whole, (r ->> 'settles')::boolean as settles, w.baseline_snapshot, w.events, w.table_name, w.user_id || '.' || w.table_name as seen_key
    from jsonb_array_elements(results) as r join search_watches w on w.id = (r ->> 'id')::uuid
    where not r ? 'problem' and not w.is_paused and w.is_ready = (r ->> 'isReady')::boolean
      and watch_version(w) = r ->> 'version'
    for no key update of w
  ) as c;

  with matching as materialized (
    select (r ->> 'id')::uuid as watch_id, (m ->> 0)::uuid as row_id, m ->> 1 as name, (w.watch ->> 'is_ready')::boolean as is_ready
    from jsonb_array_elements(results) as r, lateral (select v_current -> (r ->> 'id')) as w(watch), jsonb_array_elements(r -> 'matches') as m
    where w.watch is not null
  ),
  first_rows as (
    insert into search_watch_rows (watch_id, row_id) select m.watch_id, m.row_id from matching m where not m.is_ready
    on conflict do nothing
  ),
  known as materialized (
    select o.watch_id, o.row_id from search_watch_rows o where o.row_id = any (v_ids)
    union
    select o.watch_id, o.row_id from search_watch_rows o where o.watch_id = any (v_whole_ids)
  ),
  compared as materialized (
    select p.*, w.watch, h.change ->> 'place' as place, h.change -> 'isNew' = 'true' as is_new,
      seen #>> array[w.watch ->> 'seen_key', p.row_id::text] as seen_name
    from (
      select watch_id, row_id, m.name, m.row_id is not null as matches, k.row_id is not null as matched
      from (select m.* from matching m where m.is_ready) as m full join known k using (watch_id, row_id)
    ) as p,
      lateral (select v_current -> p.watch_id::text) as w(watch),
      lateral (select v_changed -> ((w.watch ->> 'table_name') || '.' || p.row_id)) as b(change),
      -- Changes that the baseline holds are skipped.
      lateral (
        select case when w.watch ->> 'baseline_snapshot' is null then b.change else (
          select b.change || jsonb_build_object('isNew', bool_or((e ->> 1)::boolean))
          from jsonb_array_elements(b.change -> 'parts') as e
          where not pg_visible_in_snapshot((e ->> 0)::xid8, (w.watch ->> 'baseline_snapshot')::pg_snapshot)
          having count(*) > 0
        ) end
      ) as h(change)
    where (w.watch ->> 'is_ready')::boolean and (
      h.change is not null
      -- By a related row, or of a transaction that ran while the watch was saved. Changes since the evaluation are in the outbox.
      or (w.watch ->> 'is_whole')::boolean and p.matches <> p.matched and not exists (
        select from row_changes c
        where c.reader = 'watches' and c.table_name = w.watch ->> 'table_name' and c.row_id = p.row_id and v_changed -> (c.table_name || '.' || c.row_id) is null
      )
    )
  ),
  added as (
    insert into search_watch_rows (watch_id, row_id) select p.watch_id, p.row_id from compared p where p.matches and not p.matched
  ),
  removed as (
    delete from search_watch_rows o using compared p where o.watch_id = p.watch_id and o.row_id = p.row_id and not p.matches
  ),
  new_events as (
    insert into search_watch_notices (watch_id, event, row_id, name)
    select p.watch_id, e.event::search_watch_event, p.row_id, left(coalesce(p.name, p.seen_name, p.row_id::text), 200)
    from compared p, lateral (
      select case
        -- Of a row without a queued change that was written while the watch was saved, it is not known whether it is new.
        when p.matches and not p.matched and coalesce(p.is_new, (p.watch ->> 'settles')::boolean and not p.watch -> 'events' ? 'MATCHES') and p.watch -> 'events' ? 'CREATED' then 'CREATED'
        when p.matches and not p.matched then 'MATCHES'
        when p.matches and p.is_new is not null then 'CHANGED'
        -- Invisible and deleted rows cause no event.
        when p.seen_name is not null then 'LEAVES'
      end as event
    ) as e
    where p.watch -> 'events' ? e.event
    order by p.place::bigint
    returning watch_id
  )
  update search_watches w set
    match_count = w.match_count + n.number, last_match_at = now(),
    due_at = coalesce(w.due_at, case w.delivery when 'AT_ONCE' then now() else next_digest_at(w.user_id, now(), w.delivery = 'WEEKLY') end)
  from (select n.watch_id, count(*)::integer as number from new_events n group by 1) as n
  where w.id = n.watch_id;
  get diagnostics v_count = row_count;
  update search_watches w set related_due_at = null, related_at = case when (c.value ->> 'settles')::boolean then w.related_at else now() end
  from jsonb_each(v_current) as c where w.id = c.key::uuid and (c.value ->> 'is_whole')::boolean;
  update search_watches w set is_ready = true, is_settled = true, baseline_snapshot = null
  from jsonb_each(v_current) as c where w.id = c.key::uuid and (c.value ->> 'settles')::boolean;
  delete from row_changes c
  where c.reader = 'watches' and c.id in (select (x ->> 'id')::bigint from jsonb_array_elements(changes) as x);
  return v_count;
end;
$function$;
grant execute on function record_watch_results(jsonb,jsonb,jsonb) to office_worker;
comment on function record_watch_results(jsonb,jsonb,jsonb) is 'Compares the matching rows with the baseline, records events and removes the changes from the outbox. Returns the number of watches with events.';

CREATE OR REPLACE FUNCTION recorded_entity_types()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE ROWS 50
AS $function$
  with recursive types as (
    (select a.entity_type from audit_log a order by a.entity_type limit 1)
    union all
    select (select a.entity_type from audit_log a where a.entity_type > t.entity_type order by a.entity_type limit 1)
    from types t where t.entity_type is not null
  )
  select t.entity_type from types t where t.entity_type is not null limit 500
$function$;
grant execute on function recorded_entity_types() to office_api;

comment on function recorded_entity_types() is '@behavior -queryField -typeField
The entity types of existing audit rows, including those of older releases.';

CREATE OR REPLACE FUNCTION refresh_import_causes()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_cause order_import_causes;
begin
  for v_cause in select * from order_import_causes c where not c.is_exact order by c.kind, c.code, c.key for no key update loop
    update order_import_causes c set first_seen_at = t.first_seen_at, last_seen_at = t.last_seen_at, is_exact = true
    from import_cause_times(v_cause) as t
    where c.kind = v_cause.kind and c.code = v_cause.code and c.key = v_cause.key and t.first_seen_at is not null;
  end loop;
end;
$function$;
comment on function refresh_import_causes() is 'Recomputes the times of causes that are not exact.';

CREATE OR REPLACE FUNCTION refuse_unknown_field(field text, path jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_near text := (
    select c.field from export_catalogue() as c
    order by extensions.similarity(lower(c.field), lower(refuse_unknown_field.field)) desc, c.field limit 1
  );
begin
  perform fail('OF400', format('`%s` is no field of a product that can be exported (did you mean `%s`?): `exportFields` lists them',
    left(refuse_unknown_field.field, 100), v_near), jsonb_build_object('path', refuse_unknown_field.path));
end;
$function$;

CREATE OR REPLACE FUNCTION remove_ai_messages_after(conversation_id text, id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform own_ai_conversation(remove_ai_messages_after.conversation_id);
  delete from ai_messages m
  where m.conversation_id = remove_ai_messages_after.conversation_id and m.position > (
    select k.position from ai_messages k
    where k.conversation_id = remove_ai_messages_after.conversation_id and k.id = remove_ai_messages_after.id
  );
  return exists (
    select from ai_messages k
    where k.conversation_id = remove_ai_messages_after.conversation_id and k.id = remove_ai_messages_after.id);
end;
$function$;
grant execute on function remove_ai_messages_after(text,text) to office_api;
comment on function remove_ai_messages_after(text,text) is 'Removes all messages after the given one; false when there is no such message.';

CREATE OR REPLACE FUNCTION remove_expired_logins()
 RETURNS void
 LANGUAGE sql
AS $function$
  delete from login_attempts where state_hash in (
    select a.state_hash from login_attempts a where a.expires_at < now() limit 100 for update skip locked
  );
  delete from login_codes where code_hash in (
    select c.code_hash from login_codes c where c.expires_at < now() limit 100 for update skip locked
  );
$function$;

CREATE OR REPLACE FUNCTION remove_old_ai_answers()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  delete from ai_answers a where a.finished_at < now() - interval '1 hour';
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function remove_old_ai_answers() to office_worker;
comment on function remove_old_ai_answers() is 'Removes answers that ended more than an hour ago; their messages stay. Returns the number removed.';

CREATE OR REPLACE FUNCTION remove_old_idempotency_keys()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_removed integer;
begin
  delete from idempotency_keys where created_at <= now() - interval '24 hours';
  get diagnostics v_removed = row_count;
  return v_removed;
end;
$function$;
grant execute on function remove_old_idempotency_keys() to office_worker;
comment on function remove_old_idempotency_keys() is 'Removes keys older than a day; returns their number.';

CREATE OR REPLACE FUNCTION remove_old_jobs(days integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  delete from jobs j where j.finished_at < now() - make_interval(days => remove_old_jobs.days);
  get diagnostics v_count = row_count;
  delete from product_sync_runs r
  where r.created_at < now() - make_interval(days => remove_old_jobs.days)
    and not exists (select from jobs j where j.kind = 'product_sync' and j.input ->> 'runId' = r.id::text);
  return v_count;
end;
$function$;
grant execute on function remove_old_jobs(integer) to office_worker;
comment on function remove_old_jobs(integer) is 'Removes jobs that ended at least the given number of days ago; returns their number.';

CREATE OR REPLACE FUNCTION remove_old_sessions()
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with removed as (
    delete from sessions where least(ended_at, expires_at, idle_expires_at) < now() - interval '90 days' returning 1
  ),
  removed_tokens as (
    delete from api_tokens where least(revoked_at, expires_at) < now() - interval '90 days' returning 1
  )
  select ((select count(*) from removed) + (select count(*) from removed_tokens))::integer
$function$;
grant execute on function remove_old_sessions() to office_worker;
comment on function remove_old_sessions() is 'Removes sessions and API tokens that ended more than 90 days ago; the audit log keeps its records.';

CREATE OR REPLACE FUNCTION remove_unused_ai_attachments()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  delete from ai_attachments a where a.conversation_id is null and a.created_at < now() - interval '1 day';
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function remove_unused_ai_attachments() to office_worker;
comment on function remove_unused_ai_attachments() is 'Deletes uploads that were not sent within a day; returns their number.';

CREATE OR REPLACE FUNCTION rename_ai_conversation(id text, title text)
 RETURNS ai_conversations
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_conversation ai_conversations := own_ai_conversation(rename_ai_conversation.id);
begin
  begin
    update ai_conversations c set title = coalesce(trim_to_null(rename_ai_conversation.title), '')
    where c.id = v_conversation.id
    returning * into v_conversation;
  exception when check_violation then
    perform fail('OF400', 'title ' || column_message('ai_conversations', 'title', 'is not allowed'), '{"path": ["title"]}');
  end;
  -- The title can contain personal content, so the audit log stores only that it changed.
  perform record_change('UPDATE', 'AiConversation', v_conversation.id, null, null, '{"changed": "title"}');
  return v_conversation;
end;
$function$;
grant execute on function rename_ai_conversation(text,text) to office_api;

comment on function rename_ai_conversation(text,text) is '@guard login ai.use
@argument title The new title.
Renames a conversation of the caller.';

CREATE OR REPLACE FUNCTION renew_default_audit_partition(tree regclass, kept_since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_name text := (select relname from pg_class where oid = renew_default_audit_partition.tree) || '_default';
begin
  execute format('alter table %s detach partition %I', tree, v_name);
  execute format('alter table %I rename to %I', v_name, v_name || '_old');
  execute format('alter table %I disable row level security', v_name || '_old');
  execute format('create table %I partition of %s default', v_name, tree);
  execute format('alter table %I enable row level security', v_name);
  execute format('alter table %I force row level security', v_name);
  perform ensure_trigger(v_name::regclass, '_900_no_truncate',
    'before truncate on %TABLE% for each statement execute function tg__append_only()');
  execute format('insert into audit_log select * from %I where created_at >= $1', v_name || '_old') using kept_since;
  execute format('drop table %I', v_name || '_old');
end;
$function$;

CREATE OR REPLACE FUNCTION replace_in_notifications(name text, instead text)
 RETURNS void
 LANGUAGE sql
AS $function$
  update notifications n set title = regexp_replace(n.title, p.pattern, instead, 'g'), body = regexp_replace(n.body, p.pattern, instead, 'g')
  from (select '(?<!\w)' || regexp_replace(replace_in_notifications.name, '([^\w\s])', '\\\1', 'g') || '(?!\w)' as pattern) as p
  where n.title ~ p.pattern or n.body ~ p.pattern
$function$;
comment on function replace_in_notifications(text,text) is 'Replaces the name of an erased person in the notifications of colleagues.';

CREATE OR REPLACE FUNCTION request_search_build(collection text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if not exists (select from search_catalogue s where s.collection = request_search_build.collection) then
    return false;
  end if;
  update search_indexes i set signature = null, building = null, error = null where i.collection = request_search_build.collection;
  perform queue_search_indexing(true);
  return true;
end;
$function$;
grant execute on function request_search_build(text) to office_worker;
comment on function request_search_build(text) is 'Rebuilds a collection while the current version serves; false for an unknown name.';

CREATE OR REPLACE FUNCTION request_search_documents(collection text, ids uuid[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select add_row_changes('{search}', s.table_name, request_search_documents.ids, false)
  from search_catalogue s where s.collection = request_search_documents.collection
$function$;
grant execute on function request_search_documents(text,uuid[]) to office_worker;
comment on function request_search_documents(text,uuid[]) is 'Queues rows for delivery again.';

CREATE OR REPLACE FUNCTION require_active_inviter()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from users u where u.id = current_user_id() and u.is_active for share;
  if not found then
    perform fail('OF401', 'You are not logged in');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION require_all_permissions(VARIADIC keys text[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_key text;
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  foreach v_key in array require_all_permissions.keys loop
    if not has_permission(v_key) then
      perform fail('OF403', 'Missing required permission: ' || v_key, jsonb_build_object('requiredPermission', v_key));
    end if;
  end loop;
end;
$function$;
grant execute on function require_all_permissions(text[]) to office_api, office_worker;
comment on function require_all_permissions(text[]) is 'Fails unless the caller holds all of the permissions; names the first missing one.';

CREATE OR REPLACE FUNCTION require_assistant()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_full_login();
  perform require_permission('ai.use');
end;
$function$;
comment on function require_assistant() is 'Fails unless the caller has `ai.use` and a full login.';

CREATE OR REPLACE FUNCTION require_entity_type(entity_type text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_known text[];
  v_near text;
begin
  if require_entity_type.entity_type is null or require_entity_type.entity_type = any (audit_entity_types()) then
    return;
  end if;
  v_known := array(select unnest(audit_entity_types()) union select recorded_entity_types() order by 1);
  if require_entity_type.entity_type = any (v_known) then
    return;
  end if;
  select k.name into v_near
  from unnest(v_known) as k(name), lateral (
    select extensions.similarity(lower(k.name), lower(left(require_entity_type.entity_type, 100)))
  ) as s(similarity)
  where s.similarity >= 0.2
  order by s.similarity desc, k.name limit 1;
  perform fail('OF400', format('entityType: there is no `%s`%s; it must be one of %s', left(require_entity_type.entity_type, 100),
    ' (did you mean `' || v_near || '`?)', array_to_string(v_known, ', ')), '{"path": ["input", "entityType"]}');
end;
$function$;
grant execute on function require_entity_type(text) to office_api;

comment on function require_entity_type(text) is '@behavior -queryField -typeField
Fails for an entity type that is neither recorded nor present in the log.';

CREATE OR REPLACE FUNCTION require_full_login()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_login();
  if is_scoped() then
    perform fail('OF403', 'This needs a full login: a scoped token is not enough');
  end if;
end;
$function$;
grant execute on function require_full_login() to office_api;
comment on function require_full_login() is 'Fails unless the caller has a session or an unscoped token; the check of the guard `login`.';

CREATE OR REPLACE FUNCTION require_grantable(keys text[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_missing text[] := array(
    select distinct k from unnest(require_grantable.keys) as k where k <> all (current_permissions()) order by k
  );
begin
  if cardinality(v_missing) > 0 then
    perform fail('OF403', 'You cannot grant what you do not hold: ' || array_to_string(v_missing, ', '),
      jsonb_build_object('permissionKeys', to_jsonb(v_missing)));
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION require_handover_limit(from_user_id uuid, to_user_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_given bigint;
  v_own bigint;
  v_excess bigint;
begin
  select count(*) filter (where w.user_id = require_handover_limit.from_user_id),
    count(*) filter (where w.user_id = require_handover_limit.to_user_id)
  into v_given, v_own
  from search_watches w where w.user_id in (require_handover_limit.from_user_id, require_handover_limit.to_user_id);
  v_excess := v_given + v_own - search_watch_limit();
  if v_given > 0 and v_excess > 0 then
    perform fail('OF409', format(
      '%s has %s search watches and %s has %s, and a person can have %s: one of them must delete %s first, or choose another person',
      user_name(require_handover_limit.from_user_id), v_given, user_name(require_handover_limit.to_user_id), v_own, search_watch_limit(), v_excess),
      '{"path": ["toUserId"]}');
  end if;
end;
$function$;
comment on function require_handover_limit(uuid,uuid) is 'Rejects a handover after which the new owner would have too many search watches. The caller has locked both users.';

CREATE OR REPLACE FUNCTION require_login()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
end;
$function$;
grant execute on function require_login() to office_api;
comment on function require_login() is 'Fails without a caller; the check of the guard `principal`.';

CREATE OR REPLACE FUNCTION require_not_joined(person users, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if person.is_active then
    perform fail('OF409', 'An active user has this e-mail address already', details);
  elsif person.invitations_closed_at is not null then
    perform fail('OF409', 'A deactivated user has this e-mail address: activate that user instead', details);
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION require_permission(key text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_all_permissions(require_permission.key);
end;
$function$;
grant execute on function require_permission(text) to office_api, office_worker;
comment on function require_permission(text) is 'Fails unless the caller holds the permission.';

CREATE OR REPLACE FUNCTION require_revocable(keys text[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_missing text[] := array(
    select distinct k from unnest(require_revocable.keys) as k where k <> all (current_permissions()) order by k
  );
begin
  if cardinality(v_missing) > 0 then
    perform fail('OF403', 'You cannot take away what you do not hold: ' || array_to_string(v_missing, ', '),
      jsonb_build_object('permissionKeys', to_jsonb(v_missing)));
  end if;
end;
$function$;
comment on function require_revocable(text[]) is 'Fails when the caller would remove permissions that they do not hold.';

CREATE OR REPLACE FUNCTION require_session()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_login();
  if not is_session() then
    perform fail('OF403', 'This needs a session: log in; an API token is not enough, with or without scopes');
  end if;
end;
$function$;
comment on function require_session() is 'Fails unless the caller has a session; the check of the guard `session`.';

CREATE OR REPLACE FUNCTION require_superadmin_left()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.superadmins', 0));
  if not exists (
    select from users u join user_roles ur on ur.user_id = u.id join roles r on r.id = ur.role_id
    where u.is_active and r.is_system and r.name = 'Superadmin'
  ) then
    perform fail('OF409', 'The last active Superadmin must stay');
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION require_template(id uuid, entity text, format text)
 RETURNS export_templates
 LANGUAGE plpgsql
AS $function$
declare
  v_template export_templates;
  v_path jsonb := '{"path": ["input", "templateId"]}';
  v_problem text;
begin
  select * into v_template from export_templates t where t.id = require_template.id for key share;
  if not found then
    perform fail('OF400', format('templateId: there is no export template %s', require_template.id), v_path);
  elsif v_template.entity <> require_template.entity then
    perform fail('OF400', format('templateId: this template shows %s; use createListExport with the entity %1$s', v_template.entity), v_path);
  end if;
  v_problem := format_problem(v_template, require_template.format);
  if v_problem is not null then
    perform fail('OF400', 'format: ' || v_problem, '{"path": ["input", "format"]}');
  end if;
  return v_template;
end;
$function$;
comment on function require_template(uuid,text,text) is 'The template of a new export, locked; fails when it shows another list or cannot be exported in the format.';

CREATE OR REPLACE FUNCTION require_watch_limit()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_count bigint;
begin
  perform from users u where u.id = current_user_id() for no key update;
  select count(*) into v_count from search_watches w where w.user_id = current_user_id();
  if v_count >= search_watch_limit() then
    perform fail('OF409', format('You have %s search watches: delete one first', v_count));
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION resend_invitation(id uuid)
 RETURNS invitations
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  perform require_active_inviter();
  v_invitation := open_invitation(resend_invitation.id);
  if v_invitation.revoked_at is not null then
    perform fail('OF409', 'This invitation was revoked: invite the person again');
  end if;
  perform from roles r where r.id = v_invitation.role_id for key share;
  if not found then
    perform fail('OF409', 'The role of this invitation was deleted: invite the person again with another role');
  end if;
  -- Activation also enables roles that the user received since the invitation.
  perform require_grantable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = v_invitation.user_id union select v_invitation.role_id
  )));
  insert into user_roles (user_id, role_id) values (v_invitation.user_id, v_invitation.role_id) on conflict do nothing;
  update invitations i set
    state = 'pending', expires_at = invitation_end(), invited_by_user_id = current_user_id(),
    mail_number = i.mail_number + 1, mail_attempts = 0, mail_error = null, mailed_at = null
  where i.id = v_invitation.id
  returning * into v_invitation;
  perform queue_invitation_mail(v_invitation.id);
  return v_invitation;
end;
$function$;
grant execute on function resend_invitation(uuid) to office_api;

comment on function resend_invitation(uuid) is '@guard invitations.create
@action
Mails a pending or expired invitation again and restarts its validity. The caller must hold the permissions of its role and becomes the inviter.';

CREATE OR REPLACE FUNCTION reserve_ai_cost(answer_id uuid, least_cost numeric, wanted numeric, daily numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_today date := (now() at time zone 'UTC')::date;
  v_granted numeric;
begin
  perform require_assistant();
  -- Locks the answer before the usage row, as everywhere; answers of one user wait for each other.
  perform from ai_answers a where a.id = reserve_ai_cost.answer_id for update;
  insert into ai_usage (user_id, day) values (current_user_id(), v_today)
  on conflict on constraint ai_usage_pkey do update set cost = ai_usage.cost;
  v_granted := least(reserve_ai_cost.wanted, reserve_ai_cost.daily
    - (select u.cost from ai_usage u where u.user_id = current_user_id() and u.day = v_today)
    - (select coalesce(sum(a.reserved), 0) from ai_answers a
       where a.user_id = current_user_id() and a.state = 'running' and a.id <> reserve_ai_cost.answer_id));
  if v_granted < reserve_ai_cost.least_cost then
    v_granted := null;
  end if;
  update ai_answers a set reserved = coalesce(v_granted, 0)
  where a.id = reserve_ai_cost.answer_id and a.user_id = current_user_id();
  return v_granted;
end;
$function$;
grant execute on function reserve_ai_cost(uuid,numeric,numeric,numeric) to office_api;
comment on function reserve_ai_cost(uuid,numeric,numeric,numeric) is 'Reserves the wanted cost, or the rest of the caller''s daily budget; null when less than the minimum is left.';

CREATE OR REPLACE FUNCTION restorable_parents()
 RETURNS TABLE(entity_type text, reference text, parent_type text)
 LANGUAGE sql
 STABLE
AS $function$
  select t.entity_type, coalesce(c.tags ->> 'auditName', camel_case(a.attname)), substring(p.tags ->> 'audit' from '^(?!off\y)\w+')
  from restorable_tables() t
    join pg_constraint k on k.conrelid = t.relation and k.contype = 'f' and k.confdeltype = 'c' and cardinality(k.conkey) = 1
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
    cross join lateral comment_tags(col_description(a.attrelid, a.attnum)) as c(tags)
    cross join lateral table_tags(k.confrelid) as p(tags)
$function$;
comment on function restorable_parents() is 'The references by which rows are deleted, and restored, with the row that they refer to.';

CREATE OR REPLACE FUNCTION restorable_table(entity_type text)
 RETURNS TABLE(relation regclass, permissions text[], needs_login boolean, owner text)
 LANGUAGE sql
 STABLE
AS $function$
  select t.relation, t.permissions, t.needs_login, t.owner from restorable_tables() t where t.entity_type = restorable_table.entity_type
$function$;

CREATE OR REPLACE FUNCTION restorable_tables()
 RETURNS TABLE(entity_type text, relation regclass, permissions text[], reads text, needs_login boolean, is_listed boolean, owner text, labels text[])
 LANGUAGE sql
 STABLE
AS $function$
  select substring(t.tags ->> 'audit' from '^(\w+)'), c.oid::regclass,
    array_remove(regexp_split_to_array(btrim(t.tags ->> 'create'), '[\s,]+'), 'login'),
    nullif(t.tags ->> 'read', 'login'), t.tags ?| array['login', 'session'] or 'login' in (t.tags ->> 'read', t.tags ->> 'create'),
    not t.tags ? 'internal', case when t.tags ->> 'create' = 'login' then camel_case(substring(t.tags ->> 'owner' from '^\w+')) end,
    array_remove(array[camel_case(substring(t.tags ->> 'label' from '^\w+')), 'name', 'title', 'email', 'number', 'key'], null)
  from pg_class c, lateral table_tags(c.oid) as t(tags)
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and t.tags ? 'create'
    and t.tags ->> 'audit' !~ '^off\y'
    and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'file_key' and not a.attisdropped)
$function$;

CREATE OR REPLACE FUNCTION restore(audit_log_id uuid, together boolean DEFAULT true)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_audit audit_log;
  v_rows jsonb;
  v_all jsonb;
  v_left jsonb;
  v_type text;
  v_count integer := 0;
  v_message text;
begin
  perform require_login();
  select * into v_audit from audit_log a
  where a.id = restore.audit_log_id and a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
    and not exists (select from audit_erasures e where e.audit_log_id = a.id);
  if v_audit.id is not null and (v_audit.actor_user_id = current_user_id() or has_permission('audit.read'))
    and not exists (select from restorable_table(v_audit.entity_type)) then
    perform fail('OF409', format('The %s cannot be restored: its values or files are not kept', v_audit.entity_type), '{"path": ["auditLogId"]}');
  elsif v_audit.id is null or not exists (
    select from restorable_table(v_audit.entity_type) t
    where t.permissions <@ current_permissions() and not (t.needs_login and is_scoped())
      and (t.owner is null or v_audit.before ->> t.owner = current_user_id()::text)
  ) then
    perform fail('OF404', 'There is no deletion of the last seven days with this id that you may undo', '{"path": ["auditLogId"]}');
  end if;
  -- A concurrent call for rows of the same deletion then finds them restored.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws('.', current_schema(), 'restore', v_audit.created_at) collate "C", 0));
  -- One transaction has one time. The correlation id separates transactions of the same time.
  select jsonb_object_agg(d.entity_type, d.rows) into v_rows
  from (
    select a.entity_type, jsonb_agg(a.before order by a.id) as rows
    from audit_log a join restorable_tables() t on t.entity_type = a.entity_type
    where (t.owner is null or a.before ->> t.owner = current_user_id()::text) and a.operation = 'DELETE' and case when restore.together
      then a.created_at = v_audit.created_at and a.correlation_id is not distinct from v_audit.correlation_id
      else a.id = v_audit.id and a.created_at = v_audit.created_at end
      and not exists (select from audit_erasures e where e.audit_log_id = a.id)
    group by 1
  ) as d;
  v_all := v_rows;
  perform set_config('office.restoring', 'on', true);
  -- A type whose rows refer to rows of another type is retried after the others.
  loop
    v_left := '{}';
    v_message := null;
    -- The requested row comes last, because its reason is the one to tell: other rows may refer to it.
    for v_type in select k.key from jsonb_object_keys(v_rows) as k(key) order by k.key = v_audit.entity_type loop
      begin
        v_count := v_count + restore_rows(v_type, v_rows -> v_type);
      exception
        when foreign_key_violation then
          v_message := format('The %s cannot be restored: a row that it refers to was deleted', v_type);
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
        when unique_violation or exclusion_violation then
          v_message := format('The %s cannot be restored: another row has the same unique value', v_type);
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
        when not_null_violation or check_violation or sqlstate 'OF400' or sqlstate 'OF409' then
          v_message := format('The %s cannot be restored: it violates a current rule of the table', v_type);
          v_left := v_left || jsonb_build_object(v_type, v_rows -> v_type);
      end;
    end loop;
    exit when v_left = '{}';
    if v_left = v_rows then
      perform fail('OF409', v_message, '{"path": ["auditLogId"]}');
    end if;
    v_rows := v_left;
  end loop;
  perform restore_references(v_audit, t.entity_type, array(select r ->> 'id' from jsonb_array_elements(v_all -> t.entity_type) as r))
  from jsonb_object_keys(v_all) as t(entity_type);
  perform set_config('office.restoring', '', true);
  if v_count = 0 then
    perform fail('OF409', format('The %s exists already', v_audit.entity_type), '{"path": ["auditLogId"]}');
  end if;
  return v_count;
end;
$function$;
grant execute on function restore(uuid,boolean) to office_api;

comment on function restore(uuid,boolean) is '@guard principal
@argument audit_log_id A deletion of the last seven days, as `auditLogs` and `recordHistory` list it.
@argument together Whether to restore all rows that the same transaction deleted, such as the ratings of a reviewer or the campaigns of `deleteAllCampaigns`; true by default.
Restores deleted rows with their ids, and returns the number of restored rows. The caller needs the permissions to create such rows. Existing rows are skipped; if another row cannot be restored, none is.';

CREATE OR REPLACE FUNCTION restore_documentation_version(id uuid)
 RETURNS documentation_versions
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_version documentation_versions;
  v_number integer;
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  select * into v_version from documentation_versions v where v.id = restore_documentation_version.id;
  if not found then
    perform fail('OF404', 'There is no version with this id', '{"path": ["id"]}');
  end if;
  update documentation_pages p set title = v_version.title, body = v_version.body, tags = v_version.tags
  where p.id = v_version.page_id returning p.version into v_number;
  select * into v_version from documentation_versions v where v.page_id = v_version.page_id and v.number = v_number;
  return v_version;
end;
$function$;
grant execute on function restore_documentation_version(uuid) to office_api;

comment on function restore_documentation_version(uuid) is '@guard login documentation.update
@action
Restores the title, body and tags of a version as a new version, and returns the new version.';

CREATE OR REPLACE FUNCTION restore_references(deleted audit_log, entity_type text, ids text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_reference record;
begin
  for v_reference in
    select k.conrelid::regclass as relation, a.attname, coalesce(c.tags ->> 'auditName', camel_case(a.attname)) as name,
      substring(t.tags ->> 'audit' from '^(?!off\y)\w+') as entity_type
    from restorable_table(restore_references.entity_type) as r
      join pg_constraint k on k.confrelid = r.relation and k.contype = 'f' and k.confdeltype = 'n' and cardinality(k.conkey) = 1
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
      cross join lateral table_tags(k.conrelid) as t(tags)
      cross join lateral comment_tags(col_description(a.attrelid, a.attnum)) as c(tags)
    where not t.tags ->> 'audit' ~ '^off\y'
  loop
    -- lint: allow function-body because the table is one that refers to the restored rows
    execute format(
      'update %1$s t set %2$I = (a.before ->> $1)::uuid from audit_log a
       where a.created_at = $2 and a.correlation_id is not distinct from $3 and a.operation = ''UPDATE'' and a.entity_type = $4
         and a.entity_id = t.id::text and a.before ->> $1 = any ($5) and a.after ->> $1 is null and t.%2$I is null',
      v_reference.relation, v_reference.attname)
    using v_reference.name, deleted.created_at, deleted.correlation_id, v_reference.entity_type, restore_references.ids;
  end loop;
end;
$function$;

CREATE OR REPLACE FUNCTION restore_rows(entity_type text, rows jsonb)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_table record;
  v_left_out text[];
  v_columns text;
  v_names jsonb;
  v_key text;
  v_deleted_key text;
  v_count integer;
begin
  select * into v_table from restorable_table(restore_rows.entity_type);
  if v_table.needs_login then
    perform require_full_login();
  end if;
  if v_table.permissions <> '{}' then
    perform require_all_permissions(variadic v_table.permissions);
  end if;
  v_left_out := regexp_split_to_array(substring(table_tags(v_table.relation) ->> 'audit' from '\yexcept\s+(.+)$'), '\s+');
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    jsonb_object_agg(a.attname, coalesce(t.tags ->> 'auditName', camel_case(a.attname)))
  into v_columns, v_names
  from pg_attribute a, lateral comment_tags(col_description(a.attrelid, a.attnum)) as t(tags)
  where a.attrelid = v_table.relation and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and not t.tags ? 'secret'
    and a.attname <> all (coalesce(v_left_out, '{}'))
    -- The audit log leaves out nulls: a column may be missing in some of the rows.
    and exists (
      select from jsonb_array_elements(restore_rows.rows) as r(deleted)
      where r.deleted ? coalesce(t.tags ->> 'auditName', camel_case(a.attname)));
  select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum), string_agg('r.' || quote_ident(a.attname), ', ' order by a.attnum)
  into v_key, v_deleted_key
  from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey::smallint[])
  where i.indrelid = v_table.relation and i.indisprimary;
  -- lint: allow function-body because the table is that of the audit rows
  execute format(
    'insert into %1$s (%2$s) select %2$s from jsonb_populate_recordset(null::%1$s, (
       select jsonb_agg((select jsonb_object_agg(n.key, r.value -> n.value) from jsonb_each_text($2) as n where r.value ? n.value))
       from jsonb_array_elements($1) as r)) as r
     where not exists (select from %1$s t where (%3$s) = (%4$s))',
    v_table.relation, v_columns, v_key, v_deleted_key) using restore_rows.rows, v_names;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;

CREATE OR REPLACE FUNCTION retire_search_keys_but(mark text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  update search_keys k set retired_at = clock_timestamp() + interval '16 minutes'
  where k.mark <> retire_search_keys_but.mark and k.retired_at is null
$function$;
grant execute on function retire_search_keys_but(text) to office_worker;
comment on function retire_search_keys_but(text) is 'Retires keys computed from another administration key, once all keys derived from them have expired.';

CREATE OR REPLACE FUNCTION retry_job(id uuid)
 RETURNS jobs
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job jobs := own_job(retry_job.id);
  v_was job_state := v_job.state;
  v_permissions text[];
begin
  select k.permissions into v_permissions from job_kinds() k where k.kind = v_job.kind and k.can_retry;
  if not found then
    perform fail('OF409', 'Jobs of this kind cannot be retried');
  elsif v_was not in ('FAILED', 'CANCELLED') then
    perform fail('OF409', format('Only a failed or cancelled job can be retried: this one is %s', v_was),
      jsonb_build_object('state', v_was));
  end if;
  -- The caller may have lost a permission since the job was started.
  perform require_all_permissions(variadic v_permissions);
  perform office_jobs.remove_dead(v_job.queue_job_id);
  update jobs j set
    state = 'QUEUED', attempts = 0, error = null, next_attempt_at = null, started_at = null, finished_at = null,
    correlation_id = nullif(current_setting('office.correlation_id', true), ''),
    queue_job_id = queue_job(j.kind, j.input, j.key, null, j.max_attempts)
  where j.id = v_job.id
  returning * into v_job;
  perform record_job_change(v_job, v_was);
  return v_job;
end;
$function$;
grant execute on function retry_job(uuid) to office_api;

comment on function retry_job(uuid) is '@guard login
@action if can_retry
Queues a failed or cancelled job of the caller again, with all its attempts. The caller needs the permission that starts such a job; `canRetry` states whether the job can be retried.';

CREATE OR REPLACE FUNCTION retry_search_failures(row_limit integer)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  insert into row_changes (reader, table_name, row_id)
  select 'search', s.table_name, f.document_id from search_failures f join search_catalogue s on s.collection = f.collection
  where not exists (
    select from row_changes c where c.reader = 'search' and c.table_name = s.table_name and c.row_id = f.document_id
  )
  order by f.failed_at limit retry_search_failures.row_limit
$function$;
grant execute on function retry_search_failures(integer) to office_worker;
comment on function retry_search_failures(integer) is 'Queues rejected documents again, the longest untried first.';

CREATE OR REPLACE FUNCTION revoke_api_token(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user_id uuid := (select t.user_id from api_tokens t where t.id = revoke_api_token.id);
  v_is_own boolean := coalesce(v_user_id = current_user_id(), false) and not is_scoped();
begin
  perform require_login();
  if not v_is_own then
    perform require_permission('users.update');
  end if;
  if v_user_id is null then
    perform fail('OF404', 'There is no API token with this id', '{"path": ["id"]}');
  elsif not v_is_own then
    -- Tokens created with this one never have more permissions than it.
    perform require_revocable(token_permissions(revoke_api_token.id));
  end if;
  perform end_api_tokens(array[revoke_api_token.id]);
  return true;
end;
$function$;
grant execute on function revoke_api_token(uuid) to office_api;

comment on function revoke_api_token(uuid) is '@guard principal
Revokes an API token and all tokens created with it; repeating the call changes nothing. Users may revoke their own tokens, but not with a scoped token. Revoking other tokens needs `users.update` and the permissions of the token.';

CREATE OR REPLACE FUNCTION revoke_calendar_feed(id uuid)
 RETURNS calendar_feeds
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_feed calendar_feeds;
begin
  perform require_full_login();
  update calendar_feeds f set revoked_at = coalesce(f.revoked_at, now())
  where f.id = revoke_calendar_feed.id and f.user_id = current_user_id()
  returning * into v_feed;
  if not found then
    perform fail('OF404', 'There is no calendar feed of yours with this id', '{"path": ["id"]}');
  end if;
  return v_feed;
end;
$function$;
grant execute on function revoke_calendar_feed(uuid) to office_api;

comment on function revoke_calendar_feed(uuid) is '@guard login
@action bad unless revoked_at
Revokes a calendar feed. Its address then returns 404.';

CREATE OR REPLACE FUNCTION revoke_current_api_token()
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_login();
  if current_token_id() is null then
    perform fail('OF403', 'This needs an API token: a session ends by `logout`, another token by `revokeApiToken`');
  end if;
  perform end_api_tokens(array[current_token_id()]);
  return true;
end;
$function$;
grant execute on function revoke_current_api_token() to office_api;

comment on function revoke_current_api_token() is '@guard principal
Revokes the API token of the request and all tokens created with it. Every token may revoke itself, for example after a leak; a session may not use this mutation. Later requests with the token, including a repeat of this one, fail with `UNAUTHENTICATED`.';

CREATE OR REPLACE FUNCTION revoke_invitation(id uuid)
 RETURNS invitations
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  v_invitation := open_invitation(revoke_invitation.id);
  if v_invitation.revoked_at is null then
    -- The inviter may always revoke their own invitation, but not with a scoped token.
    if is_scoped() or v_invitation.invited_by_user_id is distinct from current_user_id() then
      perform require_revocable(role_keys(array[v_invitation.role_id]));
    end if;
    delete from user_roles ur where ur.user_id = v_invitation.user_id and ur.role_id = v_invitation.role_id;
    update invitations i set state = 'expired', revoked_at = now()
    where i.id = v_invitation.id
    returning * into v_invitation;
  end if;
  return v_invitation;
end;
$function$;
grant execute on function revoke_invitation(uuid) to office_api;

comment on function revoke_invitation(uuid) is '@guard invitations.create
@action bad
Revokes an invitation: its status becomes `expired`, and the user stays inactive and loses the role. The caller must hold all permissions of the role or be the inviter. Repeating the call changes nothing.';

CREATE OR REPLACE FUNCTION revoke_session(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user_id uuid := (select s.user_id from sessions s where s.id = revoke_session.id);
  v_is_own boolean := coalesce(v_user_id = current_user_id(), false) and not is_scoped();
begin
  perform require_login();
  if not v_is_own then
    perform require_permission('users.update');
  end if;
  if v_user_id is null then
    perform fail('OF404', 'There is no session with this id', '{"path": ["id"]}');
  elsif not v_is_own then
    perform require_revocable(user_permissions(v_user_id));
  end if;
  update sessions s set ended_at = now() where s.id = revoke_session.id and s.ended_at is null;
  return true;
end;
$function$;
grant execute on function revoke_session(uuid) to office_api;

comment on function revoke_session(uuid) is '@guard principal
@action bad of mySessions
Ends a session; repeating the call changes nothing. Users may end their own sessions, but not with a scoped token. Ending other sessions needs `users.update` and the permissions of the session''s user.';

CREATE OR REPLACE FUNCTION role_keys(role_ids uuid[])
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(array_agg(distinct p.key order by p.key), '{}')
  from role_permissions rp join permissions p on p.id = rp.permission_id
  where rp.role_id = any (role_keys.role_ids)
$function$;

CREATE OR REPLACE FUNCTION roles_permissions(role roles)
 RETURNS SETOF permissions
 LANGUAGE sql
 STABLE ROWS 20
AS $function$
  select p.* from role_permissions rp join permissions p on p.id = rp.permission_id
  where rp.role_id = roles_permissions.role.id
  order by p.key
$function$;
grant execute on function roles_permissions(roles) to office_api;

comment on function roles_permissions(roles) is '@computed
@follows own
@reads role_permissions
The permissions that the role holds, by key.';

CREATE OR REPLACE FUNCTION rotate_search_keys(at_once boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_generation integer;
begin
  insert into search_generations (generation) select coalesce(max(s.generation), 0) + 1 from search_generations s
  returning generation into v_generation;
  -- Keys derived from these expire within a quarter of an hour.
  update search_keys k set retired_at = clock_timestamp() + case when at_once then interval '0' else interval '16 minutes' end
  where k.generation < v_generation;
  perform queue_search_indexing(true);
  return v_generation;
end;
$function$;
grant execute on function rotate_search_keys(boolean) to office_worker;
comment on function rotate_search_keys(boolean) is 'Starts a new key generation; old keys end when all keys derived from them have expired, or at once.';

CREATE OR REPLACE FUNCTION rows_not_matching(watch_id uuid, matching uuid[])
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select o.row_id from search_watch_rows o where o.watch_id = rows_not_matching.watch_id and o.row_id <> all (matching)
$function$;
grant execute on function rows_not_matching(uuid,uuid[]) to office_worker;
comment on function rows_not_matching(uuid,uuid[]) is 'The rows that matched at the last evaluation of a watch and are not among these.';

CREATE OR REPLACE FUNCTION run_erp_schedule(import_minutes integer, time_zone text, at timestamp with time zone DEFAULT now())
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_day date := (at at time zone time_zone)::date;
  v_next timestamptz;
  v_done_on date;
begin
  perform fail_lost_erp_runs();
  select s.next_at into v_next from erp_schedule s where s.what = 'import' for update;
  if at >= coalesce(v_next, at) then
    if not exists (select from erp_sync_runs r where r.kind = 'IMPORT' and r.status in ('QUEUED', 'RUNNING', 'RETRYING')) then
      perform queue_erp_run('IMPORT');
    end if;
    update erp_schedule s set
      next_at = date_bin(make_interval(mins => import_minutes), at, timestamptz '2000-01-01Z') + make_interval(mins => import_minutes)
    where s.what = 'import';
  end if;

  if at < nightly_moment(v_day, time_zone) then
    v_day := v_day - 1;
  end if;
  select s.next_at, s.done_on into v_next, v_done_on from erp_schedule s where s.what = 'recheck' for update;
  if v_done_on < v_day then
    perform queue_erp_run('RECHECK'), queue_erp_run('DATA_RECHECK');
    delete from erp_sync_runs r where r.queued_at < at - interval '90 days' and r.finished_at is not null;
  end if;
  -- A new database has no missed night.
  if v_done_on is distinct from greatest(v_done_on, v_day) or v_next is distinct from nightly_moment(v_day + 1, time_zone) then
    update erp_schedule s set done_on = greatest(v_done_on, v_day), next_at = nightly_moment(v_day + 1, time_zone)
    where s.what = 'recheck';
  end if;
end;
$function$;
grant execute on function run_erp_schedule(integer,text,timestamp with time zone) to office_worker;
comment on function run_erp_schedule(integer,text,timestamp with time zone) is 'Queues due runs: the regular import, and the nightly rechecks at 02:30 local time, also after a missed night. Fails lost runs.';

CREATE OR REPLACE FUNCTION running_ai_answer(conversation_id text)
 RETURNS TABLE(id uuid, message_id text, is_lost boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return query
    select a.id, a.message_id, ai_answer_is_lost(a) from ai_answers a
    where a.conversation_id = running_ai_answer.conversation_id and a.user_id = current_user_id() and a.state = 'running';
end;
$function$;
grant execute on function running_ai_answer(text) to office_api;
comment on function running_ai_answer(text) is 'The answer in progress of a conversation of the caller, and whether its server is lost.';

CREATE OR REPLACE FUNCTION same_email(one text, other text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select lower(same_email.one collate "C") = lower(same_email.other collate "C")
$function$;

CREATE OR REPLACE FUNCTION sample_orders(order_ids uuid[])
 RETURNS SETOF orders
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 10
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_columns text[] := array['id'] || regexp_split_to_array(btrim(table_tags('orders') ->> 'summary'), '\s+');
begin
  perform require_permission('erpsync.read');
  if has_permission('orders.read') then
    return query
      select o.* from unnest(sample_orders.order_ids) with ordinality as s(id, place) join orders o on o.id = s.id
      order by s.place;
  else
    return query
      select shown.*
      from unnest(sample_orders.order_ids) with ordinality as s(id, place) join orders o on o.id = s.id,
        lateral (
          select jsonb_object_agg(c.key, c.value) as summary from jsonb_each(to_jsonb(o)) as c where c.key = any (v_columns)
        ) as c,
        jsonb_populate_record(null::orders, c.summary) as shown
      where o.has_import_mapping_issue or o.has_import_data_issue
      order by s.place;
  end if;
end;
$function$;
grant execute on function sample_orders(uuid[]) to office_api;
comment on function sample_orders(uuid[]) is 'The orders of import issues. Without `orders.read`, all columns except the table''s `@summary` are null.';

CREATE OR REPLACE FUNCTION save_search_watch(id uuid, input jsonb, baseline_ids uuid[] DEFAULT NULL::uuid[], baseline_snapshot text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_watch search_watches;
  v_old search_watches;
  v_is_restarted boolean;
  v_baseline_ids uuid[];
  v_baseline_snapshot text;
begin
  perform require_full_login();
  if cardinality(save_search_watch.baseline_ids) > 10000 then
    perform fail('OF400', 'query matches more than 10000 rows: narrow it', '{"path": ["input", "query"]}');
  end if;
  if save_search_watch.id is null then
    perform require_watch_limit();
    insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement,
      ids_at, related_tables, events, delivery, channels, is_paused, baseline_ids, baseline_snapshot)
    select current_user_id(), coalesce(trim_to_null(n.name), ''), n.entity, n.query, n.table_name, n.statement, n.statement_values, n.seen_statement,
      n.ids_at, n.related_tables,
      array(select distinct unnest(coalesce(n.events, '{CREATED,MATCHES}')) order by 1), coalesce(n.delivery, 'AT_ONCE'),
      array(select distinct unnest(coalesce(n.channels, '{INBOX}')) order by 1), coalesce(n.is_paused, false),
      save_search_watch.baseline_ids, save_search_watch.baseline_snapshot
    from jsonb_populate_record(null::search_watches, save_search_watch.input) as n
    returning * into v_watch;
    perform queue_watches('saved');
    return v_watch.id;
  end if;
  select * into v_old from search_watches w where w.id = save_search_watch.id and w.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'There is no search watch of yours with this id', '{"path": ["id"]}');
  end if;
  v_watch := jsonb_populate_record(v_old, given_values(save_search_watch.input, array(select jsonb_object_keys(save_search_watch.input)),
    array['name', 'query', 'events', 'delivery', 'channels', 'is_paused']));
  v_is_restarted := v_watch.is_paused or v_watch.query <> v_old.query or v_old.is_paused
    or v_old.baseline_ids is null and not v_old.is_ready;
  if not v_watch.is_paused then
    v_baseline_ids := save_search_watch.baseline_ids;
    v_baseline_snapshot := save_search_watch.baseline_snapshot;
  end if;
  update search_watches w set
    name = coalesce(trim_to_null(v_watch.name), ''), query = v_watch.query, table_name = v_watch.table_name, statement = v_watch.statement,
    statement_values = v_watch.statement_values, seen_statement = v_watch.seen_statement, ids_at = v_watch.ids_at,
    related_tables = v_watch.related_tables,
    events = array(select distinct unnest(v_watch.events) order by 1), delivery = v_watch.delivery,
    channels = array(select distinct unnest(v_watch.channels) order by 1), is_paused = v_watch.is_paused,
    problem = case when v_watch.query <> v_old.query or not v_watch.is_paused then null else v_old.problem end,
    is_ready = w.is_ready and not v_is_restarted, ready_after = case when v_is_restarted then null else w.ready_after end,
    is_settled = w.is_settled and not v_is_restarted,
    baseline_ids = case when v_is_restarted then v_baseline_ids else w.baseline_ids end,
    baseline_snapshot = case when v_is_restarted then v_baseline_snapshot else w.baseline_snapshot end
  where w.id = v_old.id;
  if v_watch.is_paused or v_watch.query <> v_old.query then
    perform drop_watch_notices(v_old.id);
  end if;
  perform queue_watches('saved');
  return v_old.id;
end;
$function$;
grant execute on function save_search_watch(uuid,jsonb,uuid[],text) to office_api;
comment on function save_search_watch(uuid,jsonb,uuid[],text) is 'Creates or changes a watch of the caller. The server compiles the search before the call.';

CREATE OR REPLACE FUNCTION schedule_file_deletion(keys text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update stored_files f set delete_after = now() where f.key = any (schedule_file_deletion.keys) and f.delete_after is null;
  if found then
    perform enqueue_job('remove_files', '{}', 'files to delete');
  end if;
end;
$function$;
comment on function schedule_file_deletion(text[]) is 'Marks files for deletion from the object store and queues the job.';

CREATE OR REPLACE FUNCTION schedule_notifications(keep_days integer)
 RETURNS TABLE(removed integer, mails integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform add_notification_preferences();
  perform notify_of_tokens();
  perform notify_of_systems();
  delete from notifications n where n.id in (
    select o.id from notifications o where o.created_at < now() - make_interval(days => schedule_notifications.keep_days)
    order by o.created_at limit 10000
  );
  get diagnostics schedule_notifications.removed = row_count;
  schedule_notifications.mails := queue_notification_mails();
  return next;
end;
$function$;
grant execute on function schedule_notifications(integer) to office_worker;
comment on function schedule_notifications(integer) is 'Creates the notifications that depend on time, removes old ones and queues mails.';

CREATE OR REPLACE FUNCTION schema_fingerprint()
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with recursive relations as (
    select c.oid, c.xmin from pg_class c where c.relnamespace = (select current_schema()::regnamespace)
  ),
  functions as (
    select p.oid, p.xmin from pg_proc p where p.pronamespace = (select current_schema()::regnamespace)
  ),
  types as (
    select t.oid, t.xmin from pg_type t where t.typnamespace = (select current_schema()::regnamespace)
  ),
  constraints as (
    select k.oid, k.xmin from pg_constraint k where k.connamespace = (select current_schema()::regnamespace)
  ),
  own_roles(oid) as (select unnest(array['office_api', 'office_server', 'office_worker']::regrole[])::oid),
  -- Privileges that the roles of requests and workers inherit.
  memberships as (
    select m.roleid, m.member, m.xmin from pg_auth_members m join own_roles o on o.oid = m.member
    union
    select m.roleid, m.member, m.xmin from pg_auth_members m join memberships p on p.roleid = m.member
  ),
  -- A row of the catalogue has another xmin after each change.
  versions(kind, id, part, version) as (
    select 'relation', oid, 0, xmin from relations
    union all select 'function', oid, 0, xmin from functions
    union all select 'type', oid, 0, xmin from types
    union all select 'constraint', oid, 0, xmin from constraints
    union all select 'schema', n.oid, 0, n.xmin from pg_namespace n where n.nspname = current_schema()
    union all select 'column', a.attrelid, a.attnum, a.xmin from pg_attribute a join relations r on r.oid = a.attrelid
    union all select 'default', d.oid, 0, d.xmin from pg_attrdef d join relations r on r.oid = d.adrelid
    union all select 'index', i.indexrelid, 0, i.xmin from pg_index i join relations r on r.oid = i.indrelid
    union all select 'trigger', t.oid, 0, t.xmin from pg_trigger t join relations r on r.oid = t.tgrelid
    union all select 'policy', p.oid, 0, p.xmin from pg_policy p join relations r on r.oid = p.polrelid
    union all select 'rule', w.oid, 0, w.xmin from pg_rewrite w join relations r on r.oid = w.ev_class
    union all select 'parent', i.inhrelid, i.inhseqno, i.xmin from pg_inherits i join relations r on r.oid = i.inhrelid
    union all select 'value', e.oid, 0, e.xmin from pg_enum e join types t on t.oid = e.enumtypid
    union all
    select 'comment ' || d.classoid, d.objoid, d.objsubid, d.xmin from pg_description d
    where d.objoid in (select oid from relations union all select oid from functions union all select oid from types union all select oid from constraints)
    union all select 'member of ' || m.roleid, m.member, 0, m.xmin from memberships m
    union all
    select concat_ws(' ', 'role', r.rolsuper, r.rolinherit, r.rolbypassrls, r.rolcreaterole), r.oid, 0, null from pg_roles r
    where r.oid in (select o.oid from own_roles o union all select m.roleid from memberships m)
    -- Functions of extensions are made again by each preparation of the database: only who may execute them counts.
    union all
    select 'granted ' || p.proacl::text, p.oid, 0, null from pg_proc p
    where p.pronamespace = to_regnamespace('extensions') and p.proacl is not null
    -- Tags name permissions.
    union all select 'permission ' || p.key, null, 0, p.xmin from permissions p
  )
  select concat_ws('.', count(*), bit_xor(hashtextextended(concat_ws(' ', kind, id, part, version), 0)))
  from versions
$function$;
comment on function schema_fingerprint() is 'Changes with every change of a table, function, policy, grant, comment or permission of this schema.';

CREATE OR REPLACE FUNCTION schema_violations()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with tables as (
    select c.oid, c.oid::regclass::text as name, c.relkind, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
      d.description as comment, comment_tags(d.description) as tags, c.relowner
    from pg_class c left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f')
  ),
  -- Materialized, because later joins would search all tables again.
  columns as materialized (
    select t.oid, t.name as table_name, t.relkind, t.relispartition, t.tags as table_tags, a.attnum, a.attname, a.atttypid, a.attcollation,
      d.description as comment, comment_tags(d.description) as tags
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = t.oid and d.objsubid = a.attnum
  ),
  secrets as materialized (select * from columns where tags ? 'secret'),
  functions as (
    select p.oid, p.oid::regprocedure::text as name, p.proname, p.pronargs, p.prosecdef, p.proconfig, p.proacl, p.proowner,
      comment_tags(d.description) as tags, d.description as comment, p.prorettype
    from pg_proc p left join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass
    where p.pronamespace = (select current_schema()::regnamespace)
  ),
  -- Privileges of roles other than the owner.
  acls as (
    select 'table ' || t.name as what, 'table' as kind, t.oid, t.name, t.relispartition, t.relowner as owner, c.relacl as acl
    from tables t join pg_class c on c.oid = t.oid
    union all
    select 'column ' || t.name || '.' || a.attname, 'column', t.oid, t.name, t.relispartition, t.relowner, a.attacl
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    union all
    select 'sequence ' || c.oid::regclass, 'sequence', c.oid, null, null, c.relowner, c.relacl
    from pg_class c where c.relnamespace = (select current_schema()::regnamespace) and c.relkind = 'S'
    union all
    select 'function ' || name, 'function', oid, null, null, proowner, proacl from functions
    union all
    select 'schema ' || nspname, 'schema', oid, null, null, nspowner, nspacl from pg_namespace where nspname = current_schema()
  ),
  rights as (
    select a.what, a.kind, a.oid, a.name, a.relispartition, g.grantee, case g.grantee when 0 then 'PUBLIC' else g.grantee::regrole::text end as holder,
      g.privilege_type, g.is_grantable
    from acls a, lateral aclexplode(a.acl) as g where g.grantee not in (a.owner, 'office_owner'::regrole)
  ),
  -- Policies that call a function with one result for all rows.
  calls as materialized (
    select distinct p.oid, p.polrelid, f.oid as function
    from pg_policy p join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_proc'::regclass
      join pg_proc f on f.oid = d.refobjid
    where p.polrelid in (select oid from tables) and f.pronamespace = (select current_schema()::regnamespace)
      and (f.pronargs = 0 or f.proname in ('has_permission', 'has_any_permission'))
  ),
  known_keys as (select key from permissions),
  indexed as materialized (select * from indexed_searches()),
  served as materialized (
    select * from indexed
    union all
    select o.view, o.attribute, i.serves from view_origins() o join indexed i on i.relation = o.relation and i.attribute = o.source
  )
  select 'table ' || name || ': row-level security must be enabled and forced' from tables
    where relkind in ('r', 'p') and not (relrowsecurity and relforcerowsecurity)
  union all
  select * from tag_violations()
  union all
  select * from view_violations()
  union all
  -- The API, the audit log and the search spell a name of these characters in the same way, and no other name.
  select n.kind || n.name || ': a name has a-z, 0-9 and single underscores between them, a letter first; name it `' || n.plain || '`'
      || case when n.kind = 'column ' then ' and show it as `@title ' || n.spelt || '`' else '' end
    from (
      select case when c.relkind in ('v', 'm') then 'view ' when c.relkind = 'c' then 'type ' else 'table ' end, c.oid::regclass::text, c.relname
        from pg_class c where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
      union all
      select 'column ', c.oid::regclass || '.' || quote_ident(a.attname), a.attname
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
    ) as o(kind, name, own_name),
    lateral btrim(regexp_replace(regexp_replace(o.own_name, '([[:lower:][:digit:]])([[:upper:]])', '\1_\2', 'g'), '[_\s]+', ' ', 'g')) as t(words),
    lateral (select o.kind, o.name, trim(both '_' from regexp_replace(extensions.search_text(t.words), '[^a-z0-9]+', '_', 'g')),
      upper(left(t.words, 1)) || lower(substr(t.words, 2))) as n(kind, name, plain, spelt)
    where o.own_name !~ '^[a-z][a-z0-9]*(_[a-z0-9]+)*$'
  union all
  select 'table ' || name || ': has no description; add `comment on table ' || name || ' is ''...''`' from tables
    where not relispartition and relkind in ('r', 'p') and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'table ' || name || ': declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)' from tables
    where not relispartition and relkind in ('r', 'p') and not tags ? 'read' and not tags ? 'internal'
  union all
  select 'table ' || name || ': does not declare auditing; add the tag `@audit <EntityType>` or `@audit off because <reason>`' from tables
    where not relispartition and relkind in ('r', 'p') and not tags ? 'audit'
  union all
  select 'table ' || t.name || ': the tag @' || tag || ' names the unknown permission ' || key
      || did_you_mean(key, (select array_agg(k.key) from known_keys k))
    from tables t, unnest(array['read', 'create', 'update', 'delete']) as tag,
      regexp_split_to_table(btrim(t.tags ->> tag), '[\s,]+') as key
    where t.tags ->> tag ~ '\S' and key not in (select k.key from known_keys k) and not (tag in ('read', 'create') and t.tags ->> tag = 'login')
  union all
  select 'table ' || t.name || ': the tag @summary names the unknown column ' || column_name
      || did_you_mean(column_name, (select array_agg(c.attname::text) from columns c where c.oid = t.oid))
    from tables t, regexp_split_to_table(btrim(t.tags ->> 'summary'), '[\s,]+') as column_name
    where t.tags ? 'summary' and column_name not in (select c.attname from columns c where c.oid = t.oid)
  union all
  select 'table ' || t.name || ': the tag @mutations offers ' || verb || ' but @' || verb || ' names no permission'
    from tables t, regexp_split_to_table(btrim(t.tags ->> 'mutations'), '[\s,]+') as verb
    where t.relkind in ('r', 'p') and verb in ('create', 'update', 'delete') and not t.tags ? verb
  union all
  select 'table ' || t.name || ': the tag @mutations offers ' || verb || ' and may write none of its columns; add a column that ' || verb
      || ' may write, or remove `' || verb || '` from the tag'
    from tables t, unnest(array['create', 'update']) as verb
    where t.relkind in ('r', 'p') and t.tags ->> 'mutations' ~ ('\y' || verb || '\y') and writable_columns(t.oid, verb) is null
  union all
  select 'table ' || name || ': has the tag @create login, which takes @owner and no `@mutations create`; create rows by a function that writes the owner' from tables
    where tags ->> 'create' = 'login' and (not tags ? 'owner' or tags ->> 'mutations' ~ '\ycreate\y')
  union all
  select 'column ' || table_name || '.' || attname || ': has no description; add `comment on column`' from columns
    where not relispartition and not table_tags ? 'internal'
      and attname not in ('id', 'created_at', 'updated_at') and attname !~ '_id$' and comment is null
  union all
  select 'column ' || table_name || '.' || attname || case when relkind = 'v'
      then ': looks like a secret and can be read; leave it out of the view, or give it another name'
      when tags ? 'secret' then ': has the tag @secret and can be read; remove the grant'
      else ': looks like a secret and can be read; add the tag @secret or another name' end
    from columns
    where (tags ? 'secret' or attname ~ '(secret|password|token|hash|private)' and attname !~ '_id$')
      and has_column_privilege('office_api', oid, attnum, 'select')
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || ', which no request role may' from rights
    where kind in ('table', 'column') and grantee <> 0
      and (privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN') or holder ~ '^office_server(_[ab])?$')
  union all
  select what || ': PUBLIC holds ' || privilege_type from rights where kind in ('table', 'column', 'schema') and grantee = 0
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || '; a key of uuidv7() or an identity column needs no such right'
    from rights where kind = 'sequence'
  union all
  select what || ': ' || holder || ' may create objects in it; revoke CREATE' from rights
    where kind = 'schema' and grantee <> 0 and privilege_type = 'CREATE'
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || ' with grant option; grant it without' from rights
    where is_grantable
  union all
  select distinct 'partition ' || name || ': can be reached directly by ' || holder
    from rights where kind in ('table', 'column') and relispartition and grantee <> 0
  union all
  select 'table ' || t.name || ': office_api may ' || upper(v.verb) || ', which its tags do not declare; declare it or revoke the grant'
    from tables t, (values ('select', 'read'), ('insert', 'create'), ('update', 'update'), ('delete', 'delete')) as v(verb, tag)
    where not t.relispartition
      and (has_table_privilege('office_api', t.oid, v.verb) or v.verb <> 'delete' and has_any_column_privilege('office_api', t.oid, v.verb))
      and not case v.verb when 'select' then t.tags ? 'read' else coalesce(t.tags ->> 'mutations', '') ~ ('\y' || v.tag || '\y') end
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': is for PUBLIC' from tables t join pg_policy p on p.polrelid = t.oid
    where 0 = any (p.polroles)
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': lets everyone write (`true`)'
    from tables t join pg_policy p on p.polrelid = t.oid
    where p.polroles <> array['office_owner'::regrole::oid] and p.polcmd <> 'r'
      and ('true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)))
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': lets everyone read (`true`)'
    from tables t join pg_policy p on p.polrelid = t.oid
    where p.polroles <> array['office_owner'::regrole::oid] and p.polcmd = 'r' and pg_get_expr(p.polqual, p.polrelid) = 'true'
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': a writing policy needs a check of the new row'
    from tables t join pg_policy p on p.polrelid = t.oid where p.polcmd in ('a', 'w', '*') and p.polwithcheck is null
  union all
  -- A call that reads no column of the row has one result for all rows.
  select 'policy ' || p.polname || ' on ' || t.name || ': calls ' || f.proname || ' for each row; write `(select ' || f.proname || '(...))`'
    from calls c join tables t on t.oid = c.polrelid join pg_policy p on p.oid = c.oid join pg_proc f on f.oid = c.function,
      lateral concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) as e
    where regexp_count(e, '\m' || f.proname || '\(') > regexp_count(e, '\( ?SELECT \(*' || f.proname || '\(')
  union all
  select distinct 'table ' || r.name || ': ' || r.holder || ' may ' || r.privilege_type || ' but no policy says which rows'
    from rights r
    where r.kind in ('table', 'column') and r.grantee <> 0 and r.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      and r.oid not in (select v.oid from tables v where v.relkind = 'v')
      and not exists (
        select from pg_policy p where p.polrelid = r.oid and r.grantee = any (p.polroles)
          and p.polcmd::text in ('*', case r.privilege_type when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' else 'd' end))
  union all
  select 'table ' || t.name || ': belongs to ' || t.relowner::regrole || ', not to office_owner'
    from tables t where t.relowner <> 'office_owner'::regrole
  union all
  select 'foreign key ' || k.conname || ' on ' || t.name || ': its columns have no index'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
    where not t.relispartition and not exists (
      select from pg_index i
      where i.indrelid = t.oid and i.indisvalid and i.indnkeyatts >= cardinality(k.conkey)
        and (i.indkey::smallint[])[0 : cardinality(k.conkey) - 1] @> k.conkey
        -- The foreign key check never looks for null.
        and (i.indpred is null or pg_get_expr(i.indpred, t.oid) in (
          select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = t.oid and a.attnum = any (k.conkey))))
  union all
  -- Each search that a tag offers needs an index.
  select 'column ' || a.table_name || '.' || a.attname || ': has the tag @search' || coalesce(' ' || n.word, '') || ' and no index for it; '
    || case when a.relkind = 'v' then 'show the column of a table as it is, which has one, or take the tag out'
    else 'add `' || case n.serves
      when 'word' then format('create index on %s using gin (%s extensions.gin_trgm_ops)', a.table_name,
        case when a.oid in (select relation from word_columns()) then 'search_words' else format('search_text(%I)', a.attname) end)
      when 'element' then format('create index on %s using gin (%s)', a.table_name,
        case when is_text and not words @> '{exact}' then format('search_texts(%I)', a.attname) else quote_ident(a.attname) end)
      else format('create index on %s (%I%s)', a.table_name, a.attname,
        case a.attcollation when '"C"'::regcollation then '' else ' text_pattern_ops' end) end || '`' end
    from columns a join pg_type y on y.oid = a.atttypid,
      lateral (select string_to_array(a.tags ->> 'search', ' ')) as w(words),
      lateral (select y.typcategory = 'A', exists (select from pg_type e where e.oid = y.typelem and e.typcategory = 'S')) as l(is_list, is_text),
      lateral (
        select 'element' as serves, null as word where is_list
        union all select 'word', 'word' where words @> '{word}' and not is_list
        union all select 'beginning', 'exact' where words @> '{exact}' and not is_list
      ) as n
    where not a.relispartition and words is not null
      and not exists (select from served i where i.relation = a.oid and i.attribute = a.attname and i.serves = n.serves)
  union all
  -- Searching words must give the same result with and without `search_words`.
  select 'column ' || a.table_name || '.search_words: must be `generated always as (words_text(' || coalesce(w.words, '') || ')) stored`, of all columns with the tag @search word, and have the tag @internal; '
      || format('write `alter table %s alter column search_words set expression as (words_text(%s))`', a.table_name, w.words)
    from columns a, lateral (
      select string_agg(quote_ident(c.attname), ', ' order by c.attnum) as words, array_agg(c.attname order by c.attname) as names
      from columns c where c.oid = a.oid and string_to_array(c.tags ->> 'search', ' ') @> '{word}'
    ) as w
    where a.attname = 'search_words' and not a.relispartition
      and (not a.tags ? 'internal'
        or w.names is distinct from (select array_agg(s.attribute order by s.attribute) from word_columns() s where s.relation = a.oid))
  union all
  -- The order of a connection needs an index over all its columns, ascending or descending.
  select 'table ' || t.name || ': no index has its @defaultOrder; add `create index on ' || t.name || ' (' || o.columns || ')`'
    from tables t, lateral (
      select array_agg(attnum order by place) as attnums, array_agg(descends order by place) as directions,
        string_agg(quote_ident(attname) || case when descends then ' desc' else '' end, ', ' order by place) as columns,
        count(*) filter (where place < 1000) as named
      from (
        select a.attnum, a.attname, p.place, p.part[2] ~* '^desc$' is true as descends
        from string_to_table(t.tags ->> 'defaultOrder', ',') with ordinality as l(text, place),
          lateral (select regexp_match(btrim(l.text), '^(\w+)(?:\s+(asc|desc))?$', 'i'), l.place) as p(part, place)
          join pg_attribute a on a.attrelid = t.oid and a.attname = p.part[1]
        union all
        select k.attnum, a.attname, 1000 + k.place, t.tags ->> 'defaultOrder' ~* '^\s*\w+\s+desc\y'
        from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k(attnum, place)
          join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
        where i.indrelid = t.oid and i.indisprimary and not t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y')
          -- Unique columns need no primary key as tie-breaker.
          and not exists (
            select from pg_index u
            where u.indrelid = t.oid and u.indisunique and u.indpred is null and u.indexprs is null and not exists (
              select from pg_attribute n where n.attrelid = t.oid and n.attnum = any (u.indkey)
                and not (n.attnotnull and t.tags ->> 'defaultOrder' ~ ('\y' || n.attname || '\y'))))
      ) as c
    ) as o
    where t.relkind in ('r', 'p') and t.tags ? 'connection' and o.named = regexp_count(t.tags ->> 'defaultOrder', ',') + 1 and not exists (
      select from pg_index i join pg_class c on c.oid = i.indexrelid, lateral (
        select least(case when i.indisunique then i.indnkeyatts end, cardinality(o.attnums)) as size) as n, lateral (
        select array_agg(option & 1 = 1 order by place) from unnest(i.indoption::smallint[]) with ordinality as u(option, place)
        where place <= n.size) as d(directions)
      where i.indrelid = t.oid and i.indisvalid and i.indpred is null and c.relam = (select oid from pg_am where amname = 'btree')
        and (i.indkey::smallint[])[0 : n.size - 1] = o.attnums[1 : n.size]
        and (directions = o.directions[1 : n.size]
          or directions = (select array_agg(not v order by place) from unnest(o.directions[1 : n.size]) with ordinality as u(v, place))))
  union all
  select 'table ' || t.name || ': declares @audit but its ' || e.event || ' trigger is missing or off'
    from tables t, unnest(array['insert', 'update', 'delete']) as e(event)
    where t.relkind in ('r', 'p') and not t.relispartition and t.tags ->> 'audit' ~ '^[A-Z]' and not exists (
      select from pg_trigger g
      where g.tgrelid = t.oid and g.tgname = '_800_audit_' || e.event and g.tgenabled in ('O', 'A'))
  union all
  select 'table ' || t.name || ': declares @appendOnly but its trigger ' || g.name || ' is missing or off'
    from tables t, unnest(array['_900_append_only', '_900_no_truncate']) as g(name)
    where t.tags ? 'appendOnly' and not exists (
      select from pg_trigger p where p.tgrelid = t.oid and p.tgname = g.name and p.tgenabled in ('O', 'A'))
  union all
  select 'function ' || name || ': belongs to ' || proowner::regrole || ', not to office_owner' from functions
    where proowner <> 'office_owner'::regrole
  union all
  select 'function ' || name || ': a security definer function must pin its search_path' from functions
    where prosecdef and not exists (select from unnest(proconfig) c where c like 'search_path=%')
  union all
  select 'function ' || name || ': searches other schemas before this one; write `set search_path from current`' from functions
    where exists (
      select from unnest(proconfig) c
      where c like 'search_path=%' and c !~ ('^search_path="?' || current_schema() || '"?, ?extensions, ?pg_temp$'))
  union all
  select 'function ' || name || ': may be executed by PUBLIC; revoke it' from functions
    where proacl is null or exists (select from aclexplode(proacl) g where g.grantee = 0)
  union all
  select 'function ' || name || ': is executable by the request role and has no description' from functions
    where prorettype <> 'trigger'::regtype and has_function_privilege('office_api', oid, 'execute')
      and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'function ' || f.name || ': takes whole rows of ' || t.name || ', and no caller may read their column ' || a.attname
    || ' (@secret); keep the secret in a separate table'
    from functions f join pg_proc p on p.oid = f.oid join pg_class c on c.reltype = p.proargtypes[0] join tables t on t.oid = c.oid
      join secrets a on a.oid = t.oid
    where f.tags ? 'computed'
  union all
  select 'function ' || f.name || ': the tag @guard names the unknown permission ' || key
      || did_you_mean(key, (select array_agg(k.key) from known_keys k))
    from functions f, regexp_split_to_table(btrim(f.tags ->> 'guard'), '[\s,]+') as key
    where f.tags ->> 'guard' ~ '\S' and key not in ('public', 'principal', 'login', 'session') and key not in (select k.key from known_keys k)
  union all
  select 'function ' || name || ': has a @guard but the request role may not execute it' from functions
    where tags ? 'guard' and not has_function_privilege('office_api', oid, 'execute')
  union all
  select * from search_rule_violations()
  union all
  select 'constraint ' || k.conname || ' on ' || t.name || ': has no message for API callers; add `comment on constraint`'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'c'
    where not t.relispartition and not t.tags ? 'internal'
      and not exists (select from pg_description d where d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid)
      and k.conname not in ('invitations_state_check', 'permissions_key_check', 'campaign_colors_color_check')
  union all
  select format('constraint %I on domain %s: has no message for API callers; add `comment on constraint %1$I on domain %2$s`', k.conname, k.contypid::regtype)
    from pg_constraint k
    where k.contype = 'c' and k.contypid <> 0 and k.connamespace = (select current_schema()::regnamespace)
      and not exists (select from pg_description d where d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid)
$function$;
grant execute on function schema_violations() to office_server;
comment on function schema_violations() is 'Violations of the schema''s rules, each with its fix; no rows when there are none.';

CREATE OR REPLACE FUNCTION schema_warnings()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  with tables as materialized (
    select c.oid, comment_tags(d.description) as tags
    from pg_class c left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
  )
  select format('column %s.%I: lists are ordered by it; write `text collate display_order` for what people read, `text collate "C"` for codes',
    t.oid::regclass, a.attname)
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where not t.tags ? 'internal'
    and a.atttypid = 'text'::regtype and a.attcollation = 'default'::regcollation and a.attgenerated = ''
    and (a.attname in ('name', 'title', 'email') or strpos(t.tags ->> 'defaultOrder', a.attname) > 0 and t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y'))
  union all
  select format('index %s: is unique by lower(); write `name_key(...)`, which also heeds spaces and composition', i.indexrelid::regclass)
  from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = (select current_schema()::regnamespace) and i.indisunique
    and (i.indexprs is not null or i.indpred is not null) and pg_get_indexdef(i.indexrelid) ~ '\mlower\('
  union all
  -- A policy written to hide rows shows more of them instead.
  select format('policy %I on %s: is permissive, so it %s; to narrow access, write `as restrictive`, to widen it, `ensure_policy` in a file of `logic`',
    p.polname, t.oid::regclass, case p.polcmd when 'r' then 'shows rows beside those of @read' else 'allows rows beside those of the tags' end)
  from tables t join pg_policy p on p.polrelid = t.oid
    left join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid and d.objsubid = 0
  where p.polpermissive and 'office_api'::regrole = any (p.polroles) and not is_ensured_policy(d.description)
$function$;
comment on function schema_warnings() is 'Columns and indexes that sort or match names by the database''s default rules, and policies that widen access unnoticed, each with its fix.';

CREATE OR REPLACE FUNCTION seal_audit_drop(tree text, dropped_before timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.seal_audit_log', 0));
  perform add_audit_seal(seal_audit_drop.tree, 'DROP', null, '{}', ''::bytea, seal_audit_drop.dropped_before);
end;
$function$;
comment on function seal_audit_drop(text,timestamp with time zone) is 'Records in a chain that retention removed the rows before a moment.';

CREATE OR REPLACE FUNCTION seal_audit_log(slack interval DEFAULT '00:00:30'::interval, at_most integer DEFAULT 2000)
 RETURNS TABLE(tree text, sealed integer, head text, is_full boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_mark audit_seal_marks;
  v_now timestamptz;
  v_bound uuid;
  v_from uuid;
  v_ids uuid[];
  v_hashes bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.seal_audit_log', 0));
  foreach tree in array array['writes', 'reads'] loop
    select * into v_mark from audit_seal_marks m where m.tree = seal_audit_log.tree;
    sealed := 0;
    is_full := false;
    if found then
      continue when v_mark.next_transaction::xid8 > pg_snapshot_xmin(pg_current_snapshot())
        and v_mark.next_transaction::xid8 <= pg_snapshot_xmax(pg_current_snapshot());
      v_bound := first_id_at(v_mark.marked_at - slack);
      v_from := coalesce(
        (select s.to_id from audit_seals s where s.tree = seal_audit_log.tree order by s.position desc limit 1),
        '00000000-0000-0000-0000-000000000000'
      );
      select coalesce(array_agg(r.id order by r.id), '{}'), coalesce(string_agg(r.hash, ''::bytea order by r.id), ''::bytea)
        into v_ids, v_hashes
      from (
        select a.id, audit_row_hash(a) as hash from audit_log a
        where a.operation = any (audit_tree_operations(seal_audit_log.tree)) and a.id > v_from and a.id <= v_bound
        order by a.id limit at_most
      ) as r;
      sealed := cardinality(v_ids);
      is_full := sealed = at_most;
      if sealed > 0 then
        head := encode((add_audit_seal(
          seal_audit_log.tree, 'SEAL', case when is_full then v_ids[at_most] else v_bound end, v_ids, v_hashes, null
        )).digest, 'hex');
        return next;
      end if;
    end if;
    continue when is_full;
    -- Reads the clock before the transaction id, in a separate statement, so that no earlier writer is missed.
    v_now := clock_timestamp();
    insert into audit_seal_marks (tree, marked_at, next_transaction)
    values (seal_audit_log.tree, v_now, pg_snapshot_xmax(pg_current_snapshot())::text)
    on conflict on constraint audit_seal_marks_pkey do update
      set marked_at = excluded.marked_at, next_transaction = excluded.next_transaction;
  end loop;
end;
$function$;
grant execute on function seal_audit_log(interval,integer) to office_worker;
comment on function seal_audit_log(interval,integer) is 'Seals one batch of complete rows for each chain; `is_full` when more rows may be left. Never blocks writers.';

CREATE OR REPLACE FUNCTION search_alias(collection text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select search_alias.collection || coalesce(substring(current_schema() from '_e2e_.*$'), '')
$function$;
comment on function search_alias(text) is 'The engine''s name of a collection: its own name, with the run''s name in a test run. The server adds the deployment''s prefix.';

CREATE OR REPLACE FUNCTION search_audit_log(actor_user_id uuid, entity_type text, entity_id text, operation text, correlation_id text, "from" timestamp with time zone, "to" timestamp with time zone, "limit" integer, "offset" integer)
 RETURNS SETOF audit_log
 LANGUAGE plpgsql
 STABLE ROWS 50
AS $function$
declare
  v_row audit_log;
  v_moments text[];
begin
  perform require_entity_type(search_audit_log.entity_type);
  for v_row in execute
    'select a.* from audit_log a where ' || audit_log_conditions($1, $2, $3, $4, $5, $6, $7)
    || ' order by a.created_at desc, a.id desc limit $8 offset $9'
    using $1, $2, $3, $4, $5, $6, $7, $8, $9
  loop
    v_moments := audit_moments(v_row.entity_type);
    v_row.before := audit_values(v_row.before, v_moments);
    v_row.after := audit_values(v_row.after, v_moments);
    return next v_row;
  end loop;
end;
$function$;
grant execute on function search_audit_log(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone,integer,integer) to office_api;

comment on function search_audit_log(uuid,text,text,text,text,timestamp with time zone,timestamp with time zone,integer,integer) is '@behavior -queryField -typeField
The audit rows that match all given filters, newest first.';

CREATE OR REPLACE FUNCTION search_changes(row_limit integer)
 RETURNS TABLE(collection text, document_id uuid, change_ids bigint[], document jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_batch record;
begin
  delete from row_changes c
  where c.reader = 'search' and c.table_name not in (select s.table_name from search_catalogue s);
  for v_batch in
    select s.collection, array_agg(c.row_id) as ids, jsonb_object_agg(c.row_id, c.change_ids) as changes
    from (
      select b.table_name, b.row_id, jsonb_agg(b.id) as change_ids
      from (select c.* from row_changes c where c.reader = 'search' order by c.id limit search_changes.row_limit) as b
      group by 1, 2
    ) as c join search_catalogue s on s.table_name = c.table_name
    group by 1 order by 1
  loop
    return query
      select v_batch.collection, i.id, array(select jsonb_array_elements_text(v_batch.changes -> i.id::text)::bigint), d.document
      from unnest(v_batch.ids) as i(id) left join search_documents(v_batch.collection, v_batch.ids) as d on d.id = i.id;
  end loop;
end;
$function$;
grant execute on function search_changes(integer) to office_worker;
comment on function search_changes(integer) is 'The next changes for the search engine: current documents or deletions.';

CREATE OR REPLACE FUNCTION search_collections()
 RETURNS SETOF search_collection_view
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  return query
    select search_name(c ->> 'type'), c ->> 'title', fields_where(c, 'searchable'), fields_where(c, 'filterable'), fields_where(c, 'sortable'),
      fields_where(c, 'facet'), c ->> 'defaultSort', array[10, 25, 50, 100]
    from searchable_collections() as c;
end;
$function$;
grant execute on function search_collections() to office_api;

comment on function search_collections() is '@guard login
The collections of the search engine that the caller''s permissions give access to.';

CREATE OR REPLACE FUNCTION search_config_of(type text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_keys text[];
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  select s.keys into v_keys from search_catalogue s where s.collection = search_config_of.type;
  if not found then
    perform fail('OF400', coalesce(
      'type must be one of ' || (select string_agg(s.collection, ', ' order by s.collection) from search_catalogue s where may_search(s.keys)),
      'type: there is nothing of this name to be searched'), '{"path": ["type"]}');
  end if;
  if v_keys = '{login}' then
    perform require_full_login();
  else
    perform require_all_permissions(variadic v_keys);
  end if;
  return (select s.definition from search_catalogue s where s.collection = search_config_of.type);
end;
$function$;
grant execute on function search_config_of(text) to office_api;
comment on function search_config_of(text) is 'The definition of a collection that the caller may search.';

CREATE OR REPLACE FUNCTION search_documentation(text text, first integer DEFAULT 20)
 RETURNS SETOF documentation_match
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_danish tsquery := websearch_to_tsquery('pg_catalog.danish', left(search_documentation.text, 1000));
  v_english tsquery := websearch_to_tsquery('pg_catalog.english', left(search_documentation.text, 1000));
begin
  perform require_full_login();
  if search_documentation.first not between 1 and 50 then
    perform fail('OF400', 'first must be 1 to 50', '{"path": ["first"]}');
  elsif char_length(search_documentation.text) > 1000 then
    perform fail('OF400', 'text must be 1000 characters at most', '{"path": ["text"]}');
  end if;
  return query
  select p.id, p.slug, p.title, documentation_excerpt(p.body, v_danish, v_english)
  from (
    select d.* from documentation_pages d
    where d.search_vector @@ (v_danish || v_english)
    order by ts_rank(d.search_vector, v_danish || v_english) desc, d.title, d.id
    limit search_documentation.first
  ) as p;
end;
$function$;
grant execute on function search_documentation(text,integer) to office_api;

comment on function search_documentation(text,integer) is '@guard login
@report Office 35
@icon book
@title Search the handbook
@argument text Words in Danish or English; "a phrase" in quotes, `-word` for pages without it, `or` between alternatives.
@argument first The number of pages, 50 at most.
The readable handbook pages with these words in the title, tags or body, best match first.';

CREATE OR REPLACE FUNCTION search_documents(collection text, ids uuid[])
 RETURNS TABLE(id uuid, document jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  return query execute (select s.document_query from search_catalogue s where s.collection = search_documents.collection)
    using search_documents.ids;
end;
$function$;
grant execute on function search_documents(text,uuid[]) to office_worker;
comment on function search_documents(text,uuid[]) is 'The documents of rows by id; none for rows that are deleted or no documents.';

CREATE OR REPLACE FUNCTION search_fields(relation regclass)
 RETURNS TABLE(place integer[], name text, title text, type text, data_type text, words text[], expression text, source text, other regclass, direction text, through text, key text, target text, code text)
 LANGUAGE sql
 STABLE
AS $function$
  with tagged as (
    select array[1, a.attnum] as place, camel_case(a.attname) as name, title_of(c.tags, a.attname) as title, a.atttypid as type,
      c.tags ->> 'searchIndex' as tag,
      format('t.%I', a.attname) as expression, null as source, null::regclass as other, null as direction, null as through,
      null as key, null as target, null as code
    from pg_attribute a join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
      lateral comment_tags(d.description) as c(tags)
    where a.attrelid = search_fields.relation and a.attnum > 0 and not a.attisdropped
    union all
    select array[2, f.attnum, e.place], n.name || upper(left(camel_case(r.attname), 1)) || substr(camel_case(r.attname), 2),
      case r.attname when 'name' then n.title
        else n.title || ' ' || inside_sentence(title_of(comment_tags(col_description(r.attrelid, r.attnum)), r.attname)) end, r.atttypid,
      e.part[2], format('%I.%I', 'r_' || f.attname, r.attname),
      format('left join %s as %I on %2$I.%I = t.%I', k.confrelid::regclass, 'r_' || f.attname, g.attname, f.attname),
      k.confrelid::regclass, 'to', f.attname, g.attname, r.attname, null
    from pg_constraint k
      join pg_attribute f on f.attrelid = k.conrelid and f.attnum = k.conkey[1]
      join pg_attribute g on g.attrelid = k.confrelid and g.attnum = k.confkey[1],
      lateral (select comment_tags(obj_description(k.oid, 'pg_constraint'))) as c(tags),
      lateral (select coalesce(c.tags ->> 'fieldName', camel_case(regexp_replace(f.attname, '_id$', ''))),
        title_of(comment_tags(col_description(f.attrelid, f.attnum)), regexp_replace(f.attname, '_id$', ''))) as n(name, title),
      lateral (
        select regexp_match(btrim(l.text), '^(\w+)\s*(.*)$'), l.place::integer
        from string_to_table(c.tags ->> 'searchIndex', ',') with ordinality as l(text, place)
      ) as e(part, place)
      join pg_attribute r on r.attname = e.part[1] and r.attnum > 0 and not r.attisdropped
    where k.contype = 'f' and k.conrelid = search_fields.relation and cardinality(k.conkey) = 1 and r.attrelid = k.confrelid
    union all
    select array[3, o.place::integer], camel_case(n.name), title_of(c.tags, n.name), p.prorettype, c.tags ->> 'searchIndex',
      format('%I(t)', p.proname), null, to_regclass(o.part[1]), case when o.part is not null then 'from' end, o.part[2],
      null, null, md5(p.prosrc)
    from pg_proc p,
      lateral (select comment_tags(obj_description(p.oid, 'pg_proc'))) as c(tags),
      lateral (select regexp_replace(p.proname, '^' || (select relname from pg_class where oid = search_fields.relation) || '_', '')) as n(name),
      lateral (
        select regexp_match(l.text, '^(\w+)\.(\w+)$'), l.place
        from regexp_split_to_table(coalesce(btrim(c.tags ->> 'searchFrom'), ''), '\s+') with ordinality as l(text, place)
      ) as o(part, place)
    where p.pronamespace = (select current_schema()::regnamespace) and p.pronargs = 1 and not p.proretset
      and p.proargtypes[0] = (select c.reltype from pg_class c where c.oid = search_fields.relation)
  )
  select f.place, f.name, coalesce(w.title, f.title), r.engine, coalesce(w.data_type, r.data_type), w.words,
    format(r.reading, f.expression), f.source, f.other, f.direction, f.through, f.key, f.target, f.code
  from tagged f, lateral search_words(f.tag) as w, lateral search_reading(f.type) as r
  where f.tag is not null
$function$;
comment on function search_fields(regclass) is 'The document fields of a table in the order of their weight; a field that reads several other tables has a row for each.';

CREATE OR REPLACE FUNCTION search_ids(collection text, after uuid, row_limit integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_catalogue search_catalogue;
begin
  select * into v_catalogue from search_catalogue s where s.collection = search_ids.collection;
  return query execute format('select t.id from %I t where ($1 is null or t.id > $1) and %s order by t.id limit $2',
    v_catalogue.table_name, v_catalogue.condition) using search_ids.after, search_ids.row_limit;
end;
$function$;
grant execute on function search_ids(text,uuid,integer) to office_worker;
comment on function search_ids(text,uuid,integer) is 'A page of the ids of a collection''s documents, in order.';

CREATE OR REPLACE FUNCTION search_name(collection text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(current_setting('office.search_prefix', true), '') || search_alias(search_name.collection)
$function$;
comment on function search_name(text) is 'The collection''s name for front ends.';

CREATE OR REPLACE FUNCTION search_owner(own text[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select case when cardinality(own) > 1 then format('concat(t.%I, ''/'', t.%I)', own[1], own[2]) else format('t.%I::text', own[1]) end
$function$;

CREATE OR REPLACE FUNCTION search_parent_key(collections text[], mark text)
 RETURNS TABLE(generation integer, is_known boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select g.generation, exists (
    select from search_keys k
    where k.mark = search_parent_key.mark and k.generation = g.generation and k.collections = search_parent_key.collections and k.retired_at is null
  )
  from (select coalesce(max(s.generation), 0) from search_generations s) as g(generation)
$function$;
grant execute on function search_parent_key(text[],text) to office_server, office_worker;
comment on function search_parent_key(text[],text) is 'The current key generation, and whether the engine has the key of these collections.';

CREATE OR REPLACE FUNCTION search_reading(type oid)
 RETURNS TABLE(engine text, data_type text, reading text)
 LANGUAGE sql
 STABLE
AS $function$
  select k.engine || case when y.typcategory = 'A' then '[]' else '' end,
    case when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype) then 'timestamp' when b.oid = 'date'::regtype then 'date'
      else k.engine end || case when y.typcategory = 'A' then '[]' else '' end,
    case
      when y.typcategory = 'A' then case k.engine when 'string' then '(%s)::text[]' else '%s' end
      when b.oid = 'timestamptz'::regtype then 'case when isfinite(%1$s) then floor(extract(epoch from %1$s))::bigint end'
      when b.oid = 'timestamp'::regtype then 'case when isfinite(%1$s) then floor(extract(epoch from %1$s at time zone ''UTC''))::bigint end'
      when b.oid = 'date'::regtype then 'case when isfinite(%1$s) then extract(epoch from %1$s)::bigint end'
      when k.engine = 'float' then '(%s)::double precision'
      when k.engine = 'string' then '(%s)::text'
      else '%s'
    end
  from pg_type d
    -- Resolves a domain to its base type and a list to its element type.
    join pg_type y on y.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
    join pg_type b on b.oid = case when y.typcategory = 'A' then y.typelem else y.oid end,
    lateral (select case
      when b.oid = 'boolean'::regtype then 'bool'
      when b.oid in ('smallint'::regtype, 'integer'::regtype) then 'int32'
      when b.oid = 'bigint'::regtype then 'int64'
      when b.oid in ('numeric'::regtype, 'real'::regtype, 'double precision'::regtype) then 'float'
      when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) and y.typcategory <> 'A' then 'int64'
      when b.typcategory in ('S', 'E') or b.oid = 'uuid'::regtype then 'string'
    end) as k(engine)
  where d.oid = search_reading.type and k.engine is not null
$function$;

CREATE OR REPLACE FUNCTION search_row_count(collection text)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_catalogue search_catalogue;
  v_count bigint;
begin
  select * into v_catalogue from search_catalogue s where s.collection = search_row_count.collection;
  execute format('select count(*) from %I t where %s', v_catalogue.table_name, v_catalogue.condition) into v_count;
  return v_count;
end;
$function$;
grant execute on function search_row_count(text) to office_worker;
comment on function search_row_count(text) is 'The number of documents that a collection should have.';

CREATE OR REPLACE FUNCTION search_rule_violations()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with collections as (
    select s.*, c.relname, 'table ' || s.relation || ': ' as what from search_tables() s join pg_class c on c.oid = s.relation
  ),
  fields as materialized (
    select c.what as table_what, c.relation, f.* from collections c, lateral search_fields(c.relation) as f
  ),
  described_functions as materialized (
    select p.oid, p.proargtypes, p.pronargs, p.prorettype, comment_tags(d.description) as tags
    from pg_proc p join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid
    where p.pronamespace = (select current_schema()::regnamespace)
  ),
  -- All uses of @searchIndex; the tag of a foreign key yields one row for each column.
  tagged as (
    select 'column ' || c.oid::regclass || '.' || a.attname || ': ' as what, c.oid as relation, a.atttypid as type, t.tags ->> 'searchIndex' as tag,
      t.tags ?| array['secret', 'internal'] as hidden, null::oid as other, true as is_there, false as follows
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum,
      lateral (select comment_tags(d.description)) as t(tags)
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition and t.tags ? 'searchIndex'
    union all
    select 'foreign key ' || k.conname || ' on ' || k.conrelid::regclass || ', ' || coalesce(e.part[1], 'nothing') || ': ', k.conrelid, r.atttypid,
      e.part[2], coalesce(comment_tags(col_description(k.confrelid, r.attnum)) ?| array['secret', 'internal'], false), k.confrelid,
      r.attnum is not null, coalesce(t.tags ->> 'forwardFollows', '') = 'parent'
    from pg_constraint k join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid
      cross join lateral (select comment_tags(d.description)) as t(tags)
      cross join lateral (select regexp_match(btrim(l), '^(\w+)\s*(.*)$') from string_to_table(t.tags ->> 'searchIndex', ',') as l) as e(part)
      left join pg_attribute r on r.attrelid = k.confrelid and r.attname = e.part[1] and r.attnum > 0 and not r.attisdropped
    where k.connamespace = (select current_schema()::regnamespace) and t.tags ? 'searchIndex'
    union all
    select 'function ' || p.oid::regprocedure || ': ', c.oid, p.prorettype, t.tags ->> 'searchIndex', false, null, true, false
    from described_functions p left join pg_class c on c.reltype = p.proargtypes[0] and p.pronargs = 1
      cross join lateral (select p.tags) as t(tags)
    where t.tags ? 'searchIndex'
  ),
  said as (
    select t.*, w.words, w.data_type, r.engine
    from tagged t cross join lateral search_words(t.tag) as w left join lateral search_reading(t.type) as r on true
  )
  select what || 'the tag @searchCollection is "' || collection || '"; a name has 1 to 40 of a-z, 0-9 and _, a letter first' from collections
    where collection !~ '^[a-z][a-z0-9_]{0,39}$'
  union all
  select min(what) || 'another table has the tag @searchCollection ' || collection || ' as well' from collections group by collection having count(*) > 1
  union all
  select what || 'has the tag @searchCollection and needs @read, which says who may search it' from collections where keys is null
  union all
  select what || 'has the tag @searchCollection and needs a primary key `id uuid`' from collections c where not exists (
    select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = c.relation and i.indisprimary and i.indnkeyatts = 1 and a.attname = 'id' and a.atttypid = 'uuid'::regtype)
  union all
  select what || 'has the tag @searchCollection and no field; add the tag @searchIndex to a column' from collections c
    where not exists (select from fields f where f.relation = c.relation)
  union all
  select c.what || 'the tag @searchSort is "' || c.sort || '"; it names one column that has `sort` in its @searchIndex, and may end in `desc`'
    from collections c where c.sort is not null and not exists (
      select from fields f
      where f.relation = c.relation and f.name = camel_case((regexp_match(c.sort, '^(\w+)(?:\s+(?:asc|desc))?$', 'i'))[1]) and 'sort' = any (f.words))
  union all
  select c.what || 'the tag @searchOnly is "' || c.shown_by || '"; it names a column of type boolean' from collections c
    where not exists (
      select from pg_attribute a
      where a.attrelid = c.relation and a.attname = c.shown_by and a.atttypid = 'boolean'::regtype and not a.attisdropped)
      and c.shown_by is not null
  union all
  select f.table_what || 'two fields of the collection are called ' || f.name from fields f
    group by f.table_what, f.name having count(distinct f.place[1:2]) > 1
  union all
  select f.table_what || 'no field of the collection can be called ' || f.name from fields f
    where f.name in ('id', 'visibleTo') or octet_length(f.name) > 63
  union all
  select what || 'has the tag @searchIndex, but what it belongs to has no @searchCollection' from said s
    where not exists (select from collections c where c.relation = s.relation)
  union all
  select what || 'has the tag @searchIndex, and there is no such column' from said where not is_there
  union all
  select what || 'has the tag @searchIndex, and nobody may read it' from said where hidden
  union all
  select what || 'the search engine cannot hold a ' || format_type(type, null) from said where is_there and engine is null
  union all
  select what || 'the tag @searchIndex has the word "' || w || '"; it can have searchable, filter, facet, sort, dataType and title'
    from said, unnest(words) as w where w not in ('searchable', 'filter', 'facet', 'sort')
  union all
  select what || 'words can be searched in text only; take `searchable` out of @searchIndex' from said
    where 'searchable' = any (words) and engine not in ('string', 'string[]')
  union all
  select what || 'a list has no order; take `sort` out of @searchIndex' from said where 'sort' = any (words) and engine like '%[]'
  union all
  select what || 'the dataType is "' || data_type || '"; it can be hexColor, email, url, phone, money or percent' from said
    where data_type not in ('hexColor', 'email', 'url', 'phone', 'money', 'percent')
  union all
  -- Searching must not show rows that the caller cannot read.
  select s.what || 'shows rows of ' || s.other::regclass || ' to those who may search, and these need not hold ' || key
    from said s join collections c on c.relation = s.relation,
      regexp_split_to_table(coalesce(nullif(btrim(table_tags(s.other) ->> 'read'), ''), 'any permission'), '[\s,]+') as key
    where s.other is not null and s.is_there and not s.follows and key <> all (c.keys)
  union all
  select 'function ' || p.oid::regprocedure || ': the tag @searchFrom names ' || l || '; write <table>.<column>, a column that refers to its row'
    from described_functions p left join pg_class c on c.reltype = p.proargtypes[0],
      regexp_split_to_table(btrim(p.tags ->> 'searchFrom'), '\s+') as l
    where not exists (
      select from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
      where k.contype = 'f' and k.confrelid = c.oid and cardinality(k.conkey) = 1
        and k.conrelid = to_regclass((regexp_match(l, '^(\w+)\.\w+$'))[1]) and a.attname = split_part(l, '.', 2))
  union all
  select 'function ' || p.oid::regprocedure || ': shows rows of ' || split_part(l, '.', 1) || ' to those who may search, and these need not hold ' || key
    from described_functions p join pg_class c on c.reltype = p.proargtypes[0] join collections s on s.relation = c.oid,
      regexp_split_to_table(btrim(p.tags ->> 'searchFrom'), '\s+') as l,
      regexp_split_to_table(coalesce(table_tags(to_regclass((regexp_match(l, '^(\w+)\.\w+$'))[1])) ->> 'read', 'any permission'), '[\s,]+') as key
    where key <> all (s.keys)
$function$;
comment on function search_rule_violations() is 'Violations of the rules for search tags.';

CREATE OR REPLACE FUNCTION search_state()
 RETURNS TABLE(type text, collection text, definition jsonb, wanted text, version text, signature text, building text, building_signature text, building_cursor uuid, error text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select coalesce(s.collection, i.collection), search_alias(coalesce(s.collection, i.collection)), s.definition, s.signature, i.version,
    i.signature, i.building, i.building_signature, i.building_cursor, i.error
  from search_catalogue s full join search_indexes i on i.collection = s.collection
  order by 1
$function$;
grant execute on function search_state() to office_worker;
comment on function search_state() is 'Declared and built collections; one without a definition is to be removed.';

CREATE OR REPLACE FUNCTION search_status()
 RETURNS SETOF search_status_view
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_full_login();
  return query
    select s.collection, search_name(s.collection), i.version is not null, i.building is not null, coalesce(i.building_rows, 0), i.built_at,
      coalesce(o.waiting, 0)::integer, (select count(*)::integer from search_failures f where f.collection = s.collection), i.error, o.since
    from search_catalogue s left join search_indexes i on i.collection = s.collection left join (
      select c.table_name, count(*) as waiting, min(c.created_at) as since from row_changes c where c.reader = 'search' group by 1
    ) as o on o.table_name = s.table_name
    where may_search(s.keys)
    order by 1;
end;
$function$;
grant execute on function search_status() to office_api;

comment on function search_status() is '@guard login
The index state of each collection that the caller may search.';

CREATE OR REPLACE FUNCTION search_tables()
 RETURNS TABLE(collection text, relation regclass, title text, keys text[], sort text, shown_by text, own text[])
 LANGUAGE sql
 STABLE
AS $function$
  select btrim(t.tags ->> 'searchCollection'), c.oid::regclass,
    coalesce(nullif(btrim(t.tags ->> 'searchTitle'), ''), words_of(btrim(t.tags ->> 'searchCollection'))),
    regexp_split_to_array(btrim(t.tags ->> 'read'), '[\s,]+'), nullif(btrim(t.tags ->> 'searchSort'), ''),
    btrim(t.tags ->> 'searchOnly'),
    case when not t.tags ? 'searchOnly' then regexp_split_to_array(nullif(btrim(t.tags ->> 'owner'), ''), '[\s,]+') end
  from pg_class c join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0,
    lateral (select comment_tags(d.description)) as t(tags)
  where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
    and t.tags ? 'searchCollection'
$function$;
comment on function search_tables() is 'The tables indexed in the search engine, with the permissions to read them.';

CREATE OR REPLACE FUNCTION search_watch_limit()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select 50
$function$;
comment on function search_watch_limit() is 'The number of search watches that a user can have.';

CREATE OR REPLACE FUNCTION search_watches_problem(watch search_watches)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(watch.problem,
    'The watch finds nothing, because you lack the permission ' || missing_to_read(watch.table_name, current_permissions()))
$function$;
grant execute on function search_watches_problem(search_watches) to office_api;

comment on function search_watches_problem(search_watches) is '@computed
@list 9
Why the service paused the watch, or why it finds nothing; null without a problem.';

CREATE OR REPLACE FUNCTION search_words(tag text)
 RETURNS TABLE(words text[], data_type text, title text)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array_remove(regexp_split_to_array(btrim(case when d.data_type is null then m[1] else regexp_replace(m[1], '\ydataType\s+\w+', '') end), '\s+'), ''),
    d.data_type, nullif(btrim(m[2]), '')
  from (
    -- Most tags have neither of the two, and their patterns are slow.
    select case when strpos(search_words.tag, 'title') = 0 then array[search_words.tag, null]
      else regexp_match(search_words.tag, '^(.*?)(?:\ytitle\s+(.*))?$') end
  ) as t(m), lateral (
    select case when strpos(m[1], 'dataType') > 0 then (regexp_match(m[1], '\ydataType\s+(\w+)'))[1] end
  ) as d(data_type)
$function$;

CREATE OR REPLACE FUNCTION searchable_collections()
 RETURNS SETOF jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select s.definition || jsonb_build_object(
    'enabled', exists (select from search_indexes i where i.collection = s.collection and i.version is not null))
  from search_catalogue s
  where may_search(s.keys) and s.keys <> '{login}'
  order by s.title, s.collection
$function$;
comment on function searchable_collections() is 'The collections that the caller''s permissions open; not those for every login.';

CREATE OR REPLACE FUNCTION set_ai_message_parts(conversation_id text, id text, parts jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform own_ai_conversation(set_ai_message_parts.conversation_id);
  update ai_messages m set parts = set_ai_message_parts.parts
  where m.conversation_id = set_ai_message_parts.conversation_id and m.id = set_ai_message_parts.id;
end;
$function$;
grant execute on function set_ai_message_parts(text,text,jsonb) to office_api;
comment on function set_ai_message_parts(text,text,jsonb) is 'Replaces the parts of a message.';

CREATE OR REPLACE FUNCTION set_role_permissions(role_id uuid, keys text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_unknown text[] := array(
    select distinct coalesce(k, 'null') from unnest(set_role_permissions.keys) as k
    where not exists (select from permissions p where p.key = k) order by 1
  );
  v_held text[] := role_keys(array[set_role_permissions.role_id]);
begin
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'permissionKeys: there are no permissions ' || array_to_string(v_unknown, ', '),
      '{"path": ["input", "permissionKeys"]}');
  end if;
  perform require_grantable(array(select unnest(set_role_permissions.keys) except select unnest(v_held)));
  perform require_revocable(array(select unnest(v_held) except select unnest(set_role_permissions.keys)));
  delete from role_permissions rp using permissions p
  where rp.role_id = set_role_permissions.role_id and p.id = rp.permission_id and p.key <> all (set_role_permissions.keys);
  insert into role_permissions (role_id, permission_id)
  select set_role_permissions.role_id, p.id from permissions p where p.key = any (set_role_permissions.keys)
  on conflict do nothing;
end;
$function$;

CREATE OR REPLACE FUNCTION set_template_columns(template export_templates, columns jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_path text[] := array['input', 'columns'];
  v_count integer := jsonb_array_length(set_template_columns.columns);
  v_fields text[] := array(
    select c.value ->> 'field' from jsonb_array_elements(set_template_columns.columns) with ordinality as c(value, place)
    where template.entity = 'products' order by c.place
  );
  v_column record;
begin
  if v_count = 0 or v_count > 200 then
    perform fail('OF400', 'columns must be 1 to 200', jsonb_build_object('path', v_path));
  end if;
  delete from export_template_columns c where c.template_id = template.id;
  for v_column in
    select c.place::integer - 1 as place, c.value ->> 'field' as field, d.default_title, f.kind,
      coalesce(trim_to_null(c.value ->> 'title'), d.default_title) as title,
      (c.value ->> 'width')::numeric as width, trim_to_null(c.value ->> 'numberFormat') as number_format
    from jsonb_array_elements(set_template_columns.columns) with ordinality as c(value, place)
      left join find_export_fields(v_fields) as f on f.place = c.place,
      lateral (select coalesce(f.title, c.value ->> 'defaultTitle')) as d(default_title)
    order by c.place
  loop
    if v_column.default_title is null then
      perform refuse_unknown_field(v_column.field, to_jsonb(v_path) || jsonb_build_array(v_column.place, 'field'));
    elsif v_column.kind = 'IMAGE' and template.kind = 'TABLE' then
      perform fail('OF400', format('`%s` is a picture, which only a form can show; a table can show `%1$s.url`', v_column.field),
        jsonb_build_object('path', to_jsonb(v_path) || jsonb_build_array(v_column.place, 'field')));
    end if;
    -- Checks the table's constraints and names the invalid column.
    perform fail('OF400', f.name || ' ' || column_message('export_template_columns', f.attribute, 'is not allowed'),
      jsonb_build_object('path', to_jsonb(v_path) || jsonb_build_array(v_column.place, f.name)))
    from (values
      ('title', 'title', is_label(v_column.title, 200)), ('width', 'width', v_column.width between 1 and 255),
      ('number_format', 'numberFormat', is_label(v_column.number_format, 200))
    ) as f(attribute, name, holds)
    where not f.holds;
    insert into export_template_columns (template_id, position, field, title, width, number_format)
    values (template.id, v_column.place + 1, v_column.field, v_column.title, v_column.width, v_column.number_format);
  end loop;
end;
$function$;

CREATE OR REPLACE FUNCTION set_user_roles(user_id uuid, role_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_unknown uuid[] := array(
    select k from unnest(set_user_roles.role_ids) as k where not exists (select from roles r where r.id = k)
  );
begin
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'roleIds: there are no roles ' || array_to_string(v_unknown, ', '),
      '{"path": ["input", "roleIds"]}');
  end if;
  perform require_grantable(role_keys(array(
    select unnest(set_user_roles.role_ids)
    except select ur.role_id from user_roles ur where ur.user_id = set_user_roles.user_id
  )));
  perform require_revocable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = set_user_roles.user_id
    except select unnest(set_user_roles.role_ids)
  )));
  delete from user_roles ur
  where ur.user_id = set_user_roles.user_id and ur.role_id <> all (set_user_roles.role_ids);
  insert into user_roles (user_id, role_id)
  select set_user_roles.user_id, k from (select distinct unnest(set_user_roles.role_ids)) as d(k)
  on conflict do nothing;
end;
$function$;

CREATE OR REPLACE FUNCTION shows_rows(table_name text, permissions text[], is_scoped boolean)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select not t.tags ? 'session' and not (is_scoped and (t.tags ? 'login' or t.tags ->> 'read' = 'login'))
    and (t.tags ->> 'read' = 'login' or regexp_split_to_array(
      concat_ws(' ', t.tags ->> 'read', t.tags ->> 'create', t.tags ->> 'update', t.tags ->> 'delete'), '[\s,]+') && permissions)
  from (select table_tags(to_regclass(shows_rows.table_name))) as t(tags)
$function$;

CREATE OR REPLACE FUNCTION slug_of(title text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select rtrim(left(ltrim(regexp_replace(search_text(slug_of.title), '[^a-z0-9]+', '-', 'g'), '-'), 100), '-')
$function$;

CREATE OR REPLACE FUNCTION stale_test_tenants(unused_for interval)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  -- A schema without a record, left by a crash during its creation, counts as used now.
  perform office_jobs.touch_tenant(n.nspname, null)
  from pg_namespace n
  where starts_with(n.nspname, current_schema() || '_e2e_')
    -- An interval of -infinity returns all recorded tenants.
    and not exists (
      select from office_jobs.stale_tenants('-infinity'::interval) as known(tenant) where known.tenant = n.nspname
    );
  return query
    select s.tenant from office_jobs.stale_tenants(stale_test_tenants.unused_for) as s(tenant)
    where starts_with(s.tenant, current_schema() || '_e2e_');
end;
$function$;
grant execute on function stale_test_tenants(interval) to office_worker;
comment on function stale_test_tenants(interval) is 'The test tenants of this schema that were not used for the given time.';

CREATE OR REPLACE FUNCTION start_due_campaigns()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  with due as (
    select c.id from campaigns c
    where c.status = 'SCHEDULED' and c.scheduled_at <= now()
    for update skip locked
  )
  update campaigns c set status = 'ACTIVE' from due where c.id = due.id;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
grant execute on function start_due_campaigns() to office_worker;
comment on function start_due_campaigns() is 'Starts scheduled campaigns that are due; returns their number.';

CREATE OR REPLACE FUNCTION start_exports(at_once integer, per_user integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_per_user integer := least(start_exports.per_user, greatest(start_exports.at_once - 1, 1));
  v_free integer;
  v_job export_jobs;
  v_queue_job_id bigint;
  v_count integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.start_exports', 0));
  delete from export_slots s
  where s.queue_job_id in (select * from office_jobs.lost(array(select o.queue_job_id from export_slots o)));
  v_free := start_exports.at_once - (select count(*) from export_slots);
  while v_free > 0 loop
    v_job := next_waiting_export(v_per_user);
    exit when v_job.id is null;
    -- Waits for a concurrent cancellation.
    perform from export_jobs j where j.id = v_job.id and j.state = 'queued' and j.queue_job_id is null for update;
    continue when not found;
    v_queue_job_id := enqueue_job('run_export', jsonb_build_object('jobId', v_job.id), v_job.id::text);
    update export_jobs j set queue_job_id = v_queue_job_id where j.id = v_job.id;
    insert into export_slots (queue_job_id, user_id) values (v_queue_job_id, v_job.user_id);
    v_free := v_free - 1;
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$function$;
grant execute on function start_exports(integer,integer) to office_worker;
comment on function start_exports(integer,integer) is 'Queues waiting exports while slots are free; returns their number. One user never gets all slots, unless there is only one.';

CREATE OR REPLACE FUNCTION start_list_export(job jsonb, list jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_job export_jobs := jsonb_populate_record(null::export_jobs, start_list_export.job);
begin
  perform require_permission('exports.create');
  insert into export_jobs (user_id, token_id, template_id, source, entity, format, query, total_rows)
  values (current_user_id(), current_token_id(), v_job.template_id, v_job.source, v_job.entity, v_job.format, v_job.query, v_job.total_rows)
  returning * into v_job;
  insert into export_job_lists (job_id, table_name, tables, is_by_template, statement, statement_values, columns)
  select v_job.id, l.table_name, l.tables, v_job.template_id is not null, l.statement, l.statement_values, l.columns
  from jsonb_populate_record(null::export_job_lists, start_list_export.list) as l;
  perform record_reads(
    array_agg(r.entity_type), array_agg(null::text),
    array_agg(jsonb_build_object('field', 'createListExport', 'arguments', jsonb_build_object('entity', v_job.entity, 'query', v_job.query),
      'rows', v_job.total_rows))
  )
  from (
    select distinct case t.name when 'audit_log' then 'AuditLog' else substring(g.tags ->> 'audit' from '^(\w+)') end as entity_type
    from jsonb_array_elements_text(start_list_export.list -> 'tables') as t(name), lateral table_tags(t.name::regclass) as g(tags)
    where g.tags ? 'auditReads' or t.name = 'audit_log'
  ) as r
  having count(*) > 0;
  perform queue_export_start();
  return v_job.id;
end;
$function$;
grant execute on function start_list_export(jsonb,jsonb) to office_api;

comment on function start_list_export(jsonb,jsonb) is '@behavior -*
Creates an export of a list and queues its start.';

CREATE OR REPLACE FUNCTION stop_ai_answer(conversation_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_id uuid;
begin
  perform own_ai_conversation(stop_ai_answer.conversation_id);
  update ai_answers a set stop_requested_at = coalesce(a.stop_requested_at, clock_timestamp())
  where a.conversation_id = stop_ai_answer.conversation_id and a.state = 'running'
  returning a.id into v_id;
  return v_id;
end;
$function$;
grant execute on function stop_ai_answer(text) to office_api;
comment on function stop_ai_answer(text) is 'Requests the server of an answer to stop it; null when no answer is in progress.';

CREATE OR REPLACE FUNCTION suggest_mapping_rules(codes text[], keys text[])
 RETURNS TABLE(code text, key text, target text, similarity real)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('erpsync.read');
  return query
    select g.code, g.key, n.target, n.similarity
    from unnest(suggest_mapping_rules.codes, suggest_mapping_rules.keys) with ordinality as g(code, key, place)
      left join lateral (
        -- Suggestions below this similarity are wrong more often than right.
        select n.target, n.similarity from near_mapping_targets(g.code, g.key) as n where n.similarity >= 0.5 limit 1
      ) as n on true
    order by g.place;
end;
$function$;
grant execute on function suggest_mapping_rules(text[],text[]) to office_api;
comment on function suggest_mapping_rules(text[],text[]) is 'For each cause the rule that would resolve it, with the most similar target when it is similar enough.';

CREATE OR REPLACE FUNCTION sync_image_errors(staged sync_image[])
 RETURNS SETOF sync_error
 LANGUAGE sql
 STABLE
AS $function$
  with sent as (
    select s.*, s.place::integer - 1 as at
    from unnest(sync_image_errors.staged) with ordinality as s(row_no, item_no, sent, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('images', 'items', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'INVALID', '["position"]'::jsonb, 'position must be a whole number'
    where (s.wanted).position is null
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('images', 'items', s.item_no), 'images: this address is in the list twice'
  from (
    select s.row_no, s.item_no, row_number() over (partition by s.row_no, (s.wanted).url order by s.item_no) as nth
    from sent as s where (s.wanted).url is not null
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('images', 'items', s.item_no, camel_case(c.attribute)),
    camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_image_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where c.attribute <> 'position'
$function$;

CREATE OR REPLACE FUNCTION sync_images(staged sync_row[])
 RETURNS sync_image[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.was, s.wanted)::sync_image)
  from (
    select r.row_no, i.place - 1, i.sent, o, w
    from unnest(sync_images.staged) as r
      cross join lateral (select r.sent #>> '{images,mode}' = 'REPLACE' is true) as m(replace)
      cross join lateral (
        select i.sent, i.place, trim_to_null(i.sent ->> 'url') as url
        from jsonb_array_elements(as_list(r.sent #> '{images,items}')) with ordinality as i(sent, place)
      ) as i
      left join product_images o on o.product_id = (r.was).id and o.url = i.url
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'url', i.url,
        'alt_text', case when m.replace or i.sent ? 'altText' then trim_to_null(i.sent ->> 'altText') else o.alt_text end,
        'position', case
          when i.sent -> 'position' <> 'null' then as_integer(i.sent ->> 'position')
          when m.replace then i.place - 1
          when o.id is not null then o.position
          else i.place - 1 + (select coalesce(max(position) + 1, 0) from product_images where product_id = (r.was).id)
        end
      )) as w
    union all
    select r.row_no, null, null, o, null
    from unnest(sync_images.staged) as r join product_images o on o.product_id = (r.was).id
    where r.sent -> 'images' = 'null' or (
      r.sent #>> '{images,mode}' = 'REPLACE'
      and not exists (
        select from jsonb_array_elements(as_list(r.sent #> '{images,items}')) as i(sent) where trim_to_null(i.sent ->> 'url') = o.url
      )
    )
  ) as s(row_no, item_no, sent, was, wanted)
$function$;

CREATE OR REPLACE FUNCTION sync_price_errors(staged sync_price[])
 RETURNS SETOF sync_error
 LANGUAGE sql
 STABLE
AS $function$
  with sent as (
    select s.*, s.place::integer - 1 as at from unnest(sync_price_errors.staged) with ordinality as s(row_no, item_no, sent, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('prices', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'REQUIRED', '["amount"]'::jsonb, 'amount must be given; null removes the price'
    where not s.sent ? 'amount'
    union all
    select 'INVALID', '["amount"]', 'amount ' || column_message('product_prices', 'amount', 'must be a decimal')
      || ', with two places at most'
    where s.sent ->> 'amount' is not null and (s.wanted).amount is null
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('prices', s.item_no),
    format('prices: %s in %s is in this list twice', s.type, s.currency)
  from (
    select s.row_no, s.item_no, s.sent ->> 'type' as type, s.sent ->> 'currency' as currency,
      row_number() over (partition by s.row_no, s.sent ->> 'type', s.sent ->> 'currency' order by s.item_no) as nth
    from sent as s
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('prices', s.item_no, camel_case(c.attribute)), camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_price_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where (s.wanted).product_id is not null and not (c.attribute = 'amount' and c.code = 'REQUIRED')
$function$;

CREATE OR REPLACE FUNCTION sync_prices(staged sync_row[])
 RETURNS sync_price[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.was, s.wanted)::sync_price)
  from (
    select r.row_no, i.place - 1, i.sent, o, w
    from unnest(sync_prices.staged) as r
      cross join lateral jsonb_array_elements(as_list(r.sent -> 'prices')) with ordinality as i(sent, place)
      left join product_prices o
        on o.product_id = (r.was).id and o.type = i.sent ->> 'type' and o.currency = i.sent ->> 'currency'
      left join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'type', i.sent ->> 'type', 'currency', i.sent ->> 'currency',
        'amount', as_decimal(i.sent ->> 'amount', 9)
      )) as w on i.sent -> 'amount' <> 'null'
    union all
    select r.row_no, null, null, o, null
    from unnest(sync_prices.staged) as r join product_prices o on o.product_id = (r.was).id
    where r.sent -> 'prices' = 'null'
  ) as s(row_no, item_no, sent, was, wanted)
$function$;

CREATE OR REPLACE FUNCTION sync_products(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_sent jsonb := sync_products.input -> 'products';
  v_dry_run boolean := coalesce((sync_products.input ->> 'dryRun')::boolean, false);
  v_rows sync_row[];
  v_prices sync_price[];
  v_images sync_image[];
  v_ratings sync_rating[];
  v_errors sync_error[];
  v_statuses text[];
  v_writes integer[] := '{}';
  v_new integer;
  v_result jsonb;
begin
  perform require_all_permissions('products.create', 'products.update');
  if jsonb_array_length(as_list(v_sent)) not between 1 and 1000 then
    perform fail('OF400', 'products: give 1 to 1000 products in a call', '{"path": ["input", "products"]}');
  end if;
  if exists (
    select from jsonb_array_elements(v_sent) as s(sent) where s.sent ? 'ratings' and s.sent -> 'ratings' <> '[]'
  ) then
    perform require_all_permissions('reviewers.read', 'reviewers.create');
  end if;

  if not v_dry_run then
    -- Calls that share a product run one after the other, by locks on 32 groups of numbers in a fixed order. Other
    -- writers wait for the rows.
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.sync_products.' || g.number_group, 0))
    from (
      select distinct abs(hashtext(s.sent ->> 'erpProductNumber') % 32) as number_group
      from jsonb_array_elements(v_sent) as s(sent) where s.sent ->> 'erpProductNumber' is not null
      order by 1
    ) as g;
    perform from products p
    where p.erp_product_number in (select s.sent ->> 'erpProductNumber' from jsonb_array_elements(v_sent) as s(sent))
    order by p.erp_product_number
    for no key update;
    -- Locks the rows that the call refers to by name, so that they are not renamed or deleted meanwhile.
    perform from wine_types t
    where name_key(t.name) in (select name_key(s.sent #>> '{fields,wineType}') from jsonb_array_elements(v_sent) as s(sent))
    order by t.id
    for share;
    perform from reviewers v
    where name_key(v.name) in (
      select name_key(i.item ->> 'reviewerName')
      from jsonb_array_elements(v_sent) as s(sent), jsonb_array_elements(as_list(s.sent -> 'ratings')) as i(item)
    )
    order by v.id
    for share;
  end if;

  v_rows := sync_rows(v_sent);
  v_prices := sync_prices(v_rows);
  v_images := sync_images(v_rows);
  v_ratings := sync_ratings(v_rows);
  v_errors := array(
    select e from (
      select * from sync_row_errors(v_rows) union all select * from sync_price_errors(v_prices)
      union all select * from sync_image_errors(v_images) union all select * from sync_rating_errors(v_ratings)
    ) as e
  );
  v_statuses := array(
    select case
      when e.row_no is not null then 'FAILED'
      when (r.wanted).source_updated_at < (r.was).source_updated_at then 'STALE'
      when (r.was).id is null then 'CREATED'
      when r.wanted is distinct from r.was or c.row_no is not null then 'UPDATED'
      else 'UNCHANGED'
    end
    from unnest(v_rows) as r
      left join (select distinct row_no from unnest(v_errors)) as e on e.row_no = r.row_no
      left join (
        select row_no from unnest(v_prices) where wanted is distinct from was
        union select row_no from unnest(v_images) where wanted is distinct from was
        union select row_no from unnest(v_ratings) where wanted is distinct from was
      ) as c on c.row_no = r.row_no
    order by r.row_no
  );
  if sync_products.input ->> 'errorPolicy' = 'REJECT_ALL' and 'FAILED' = any (v_statuses) then
    v_errors := v_errors || array(
      select row(s.place - 1, 'REJECTED_WITH_OTHERS', '[]', 'Nothing was written because another row of the call failed')::sync_error
      from unnest(v_statuses) with ordinality as s(status, place) where s.status in ('CREATED', 'UPDATED')
    );
    v_statuses := array(
      select case when s.status in ('CREATED', 'UPDATED') then 'FAILED' else s.status end
      from unnest(v_statuses) with ordinality as s(status, place) order by s.place
    );
  end if;

  if not v_dry_run then
    v_writes := array(
      select s.place::integer - 1 from unnest(v_statuses) with ordinality as s(status, place)
      where s.status in ('CREATED', 'UPDATED')
    );
  end if;
  if cardinality(v_writes) > 0 then
    insert into products (
      id, erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region,
      description, alcohol_percent, bottle_size_ml, stock_quantity, is_active, source_updated_at
    )
    select n.id, n.erp_product_number, n.name, n.vintage, n.wine_type_id, n.producer, n.grape_variety, n.country, n.province,
      n.region, n.description, n.alcohol_percent, n.bottle_size_ml, n.stock_quantity, n.is_active, n.source_updated_at
    from unnest(v_rows) as r
      join unnest(v_writes) as w(row_no) using (row_no)
      cross join lateral (select (r.wanted).*) as n
    where (r.was).id is null
    order by n.erp_product_number
    on conflict (erp_product_number) do nothing;
    get diagnostics v_new = row_count;
    if v_new <> (select count(*) from unnest(v_statuses) as s(status) where s.status = 'CREATED') then
      -- Another transaction created one of the products; a retry finds it.
      raise exception 'A product was created at the same time' using errcode = 'serialization_failure';
    end if;

    update products p set
      name = n.name, vintage = n.vintage, wine_type_id = n.wine_type_id, producer = n.producer,
      grape_variety = n.grape_variety, country = n.country, province = n.province, region = n.region,
      description = n.description, alcohol_percent = n.alcohol_percent, bottle_size_ml = n.bottle_size_ml,
      stock_quantity = n.stock_quantity, is_active = n.is_active, source_updated_at = n.source_updated_at
    from unnest(v_rows) as r
      join unnest(v_writes) as w(row_no) using (row_no)
      cross join lateral (select (r.wanted).*) as n
    where p.id = (r.was).id and r.wanted is distinct from r.was;

    if v_prices is not null then
      perform write_sync_prices(v_prices, v_writes);
    end if;
    if v_images is not null then
      perform write_sync_images(v_images, v_writes);
    end if;
    if v_ratings is not null then
      perform write_sync_ratings(v_ratings, v_writes);
    end if;
  end if;

  with outcomes as (
    select r.row_no, p.id, v_statuses[r.row_no + 1] as status, r.sent ->> 'erpProductNumber' as number, e.errors
    from unnest(v_rows) as r
      left join products p on p.erp_product_number = r.sent ->> 'erpProductNumber'
      left join (
        select row_no, jsonb_agg(
          jsonb_build_object('code', code, 'path', jsonb_build_array('input', 'products', row_no) || path, 'message', message)
          order by path, code
        ) as errors
        from unnest(v_errors) group by row_no
      ) as e on e.row_no = r.row_no
  )
  select jsonb_build_object(
    'results', jsonb_agg(jsonb_build_object(
      'erpProductNumber', o.number, 'status', o.status, 'productId', o.id, 'errors', coalesce(o.errors, '[]')
    ) order by o.row_no),
    'productIds', coalesce(jsonb_agg(o.id order by o.row_no) filter (where o.id is not null and o.status <> 'FAILED'), '[]'),
    'counts', jsonb_build_object(
      'created', count(*) filter (where o.status = 'CREATED'), 'updated', count(*) filter (where o.status = 'UPDATED'),
      'unchanged', count(*) filter (where o.status = 'UNCHANGED'), 'stale', count(*) filter (where o.status = 'STALE'),
      'failed', count(*) filter (where o.status = 'FAILED')
    ),
    'dryRun', v_dry_run
  ) into v_result
  from outcomes as o;
  return v_result;
end;
$function$;
grant execute on function sync_products(jsonb) to office_api;

comment on function sync_products(jsonb) is '@behavior -*
Creates and updates up to 1000 products, matched by `erpProductNumber` byte for byte, with prices, images and ratings. Fields left out stay unchanged and null clears them; STALE and UNCHANGED rows write nothing.';

CREATE OR REPLACE FUNCTION sync_rating_errors(staged sync_rating[])
 RETURNS SETOF sync_error
 LANGUAGE sql
 STABLE
AS $function$
  with sent as (
    select s.*, s.place::integer - 1 as at
    from unnest(sync_rating_errors.staged) with ordinality as s(row_no, item_no, sent, reviewer, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('ratings', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'INVALID', '["year"]'::jsonb, 'year ' || column_message('product_ratings', 'year', 'must be a whole number')
    where s.sent ->> 'year' is not null and (s.wanted).year is null
    union all
    select case when s.sent ->> 'points' is null then 'REQUIRED' else 'INVALID' end, '["points"]',
      'points ' || column_message('product_ratings', 'points', 'must be a decimal') || ', with two places at most'
    where (s.wanted).points is null
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('ratings', s.item_no),
    'ratings: this reviewer has a rating of the same year in this list already'
  from (
    select s.row_no, s.item_no,
      row_number() over (partition by s.row_no, name_key(s.reviewer), (s.wanted).year order by s.item_no) as nth
    from sent as s where s.reviewer is not null
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('ratings', s.item_no, 'reviewerName'), 'reviewerName ' || c.message
  from failed_checks(array(
    select v
    from unnest(sync_rating_errors.staged) with ordinality as s(row_no, item_no, sent, reviewer, was, wanted, place)
      cross join lateral jsonb_populate_record(null::reviewers, jsonb_build_object('name', s.reviewer)) as v
    order by s.place
  )) as c
    join sent as s on s.at = c.place
  union all
  select s.row_no, c.code, jsonb_build_array('ratings', s.item_no, camel_case(c.attribute)), camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_rating_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where not (c.attribute = 'points' and c.code = 'REQUIRED')
$function$;

CREATE OR REPLACE FUNCTION sync_ratings(staged sync_row[])
 RETURNS sync_rating[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.reviewer, s.was, s.wanted)::sync_rating)
  from (
    select r.row_no, i.place - 1, i.sent, i.reviewer, o, w
    from unnest(sync_ratings.staged) as r
      cross join lateral (
        select i.sent, i.place, normalize_name(i.sent ->> 'reviewerName') as reviewer, as_integer(i.sent ->> 'year') as year
        from jsonb_array_elements(as_list(r.sent -> 'ratings')) with ordinality as i(sent, place)
      ) as i
      left join reviewers v on name_key(v.name) = name_key(i.reviewer)
      left join product_ratings o
        on o.product_id = (r.was).id and o.reviewer_id = v.id and o.year is not distinct from i.year
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'reviewer_id', v.id, 'year', i.year,
        'points', as_decimal(i.sent ->> 'points', 3),
        'review', case when i.sent ? 'review' then trim_to_null(i.sent ->> 'review') else o.review end
      )) as w
    union all
    select r.row_no, null, null, null, o, null
    from unnest(sync_ratings.staged) as r join product_ratings o on o.product_id = (r.was).id
    where r.sent -> 'ratings' = 'null'
  ) as s(row_no, item_no, sent, reviewer, was, wanted)
$function$;

CREATE OR REPLACE FUNCTION sync_row_errors(staged sync_row[])
 RETURNS SETOF sync_error
 LANGUAGE sql
 STABLE
AS $function$
  select r.row_no, 'DUPLICATE', '["erpProductNumber"]'::jsonb,
    format('erpProductNumber: row %s of this call has the same number', r.first + 1)
  from (
    select r.row_no, min(r.row_no) over (partition by r.sent ->> 'erpProductNumber') as first
    from unnest(sync_row_errors.staged) as r
    where r.sent ->> 'erpProductNumber' is not null
  ) as r
  where r.row_no > r.first
  union all
  select r.row_no, 'INVALID', '["sourceUpdatedAt"]', 'sourceUpdatedAt must be a time with its zone, such as 2026-01-31T12:34:56Z'
  from unnest(sync_row_errors.staged) as r
  where r.sent ->> 'sourceUpdatedAt' is not null and as_time(r.sent ->> 'sourceUpdatedAt') is null
  union all
  select r.row_no, 'INVALID', jsonb_build_array(s.section),
    case s.section
      when 'fields' then 'fields must be an object, and cannot be null: leave it out to keep all fields, or give null for each field to clear'
      else s.section || ' has the wrong shape'
    end
  from unnest(sync_row_errors.staged) as r,
    (values ('fields', 'object'), ('prices', 'array'), ('images', 'object'), ('ratings', 'array')) as s(section, shape)
  where r.sent ? s.section and jsonb_typeof(r.sent -> s.section) <> s.shape
    and (s.section = 'fields' or r.sent -> s.section <> 'null')
  union all
  select r.row_no, 'INVALID', jsonb_build_array('fields', f.key),
    f.key || ' ' || column_message('products', f.attribute, 'must be a whole number')
  from unnest(sync_row_errors.staged) as r,
    lateral (values
      ('vintage', 'vintage', (r.wanted).vintage is null),
      ('bottleSizeMl', 'bottle_size_ml', (r.wanted).bottle_size_ml is null),
      ('stockQuantity', 'stock_quantity', (r.wanted).stock_quantity is null),
      ('alcoholPercent', 'alcohol_percent', (r.wanted).alcohol_percent is null)
    ) as f(key, attribute, unreadable)
  where f.unreadable and r.sent -> 'fields' ->> f.key is not null
  union all
  select u.row_no, 'UNKNOWN_WINE_TYPE', '["fields", "wineType"]',
    format('wineType: there is no wine type "%s"%s', left(u.name, 80), '; the nearest are ' || n.names)
  from (
    select r.row_no, trim_to_null(r.sent #>> '{fields,wineType}') as name
    from unnest(sync_row_errors.staged) as r where (r.wanted).wine_type_id is null
  ) as u
    left join lateral (
      select string_agg(t.name, ', ' order by t.place) as names
      from (
        select name, row_number() over (order by similarity(name, u.name) desc, name) as place from wine_types
      ) as t
      where t.place <= 3
    ) as n on true
  where u.name is not null
  union all
  select r.row_no, 'REQUIRED', '["fields", "isActive"]', 'isActive must be given'
  from unnest(sync_row_errors.staged) as r where (r.wanted).is_active is null
  union all
  select c.place, c.code,
    case c.attribute when 'erp_product_number' then '["erpProductNumber"]' else jsonb_build_array('fields', camel_case(c.attribute)) end,
    camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select r.wanted from unnest(sync_row_errors.staged) as r order by r.row_no)) as c
$function$;

CREATE OR REPLACE FUNCTION sync_rows(input jsonb)
 RETURNS sync_row[]
 LANGUAGE sql
AS $function$
  select array_agg(row(r.place - 1, r.sent, p, w)::sync_row order by r.place)
  from jsonb_array_elements(sync_rows.input) with ordinality as r(sent, place)
    cross join lateral (
      select case when jsonb_typeof(r.sent -> 'fields') = 'object' then r.sent -> 'fields' else '{}' end
    ) as g(given)
    cross join lateral jsonb_to_record(g.given) as f(
      name text, vintage text, "wineType" text, producer text, "grapeVariety" text, country text, province text,
      region text, description text, "alcoholPercent" text, "bottleSizeMl" text, "stockQuantity" text, "isActive" jsonb
    )
    left join products p on p.erp_product_number = r.sent ->> 'erpProductNumber'
    left join wine_types t on name_key(t.name) = name_key(f."wineType")
    cross join lateral jsonb_populate_record(p, jsonb_build_object(
      'id', coalesce(p.id, uuidv7()),
      'erp_product_number', r.sent ->> 'erpProductNumber',
      'source_updated_at', coalesce(as_time(r.sent ->> 'sourceUpdatedAt'), p.source_updated_at),
      'name', case when given ? 'name' then normalize_name(f.name) else p.name end,
      'vintage', case when given ? 'vintage' then as_integer(f.vintage) else p.vintage end,
      'wine_type_id', case when given ? 'wineType' then t.id else p.wine_type_id end,
      'producer', case when given ? 'producer' then normalize_name(f.producer) else p.producer end,
      'grape_variety', case when given ? 'grapeVariety' then normalize_name(f."grapeVariety") else p.grape_variety end,
      'country', case when given ? 'country' then normalize_name(f.country) else p.country end,
      'province', case when given ? 'province' then normalize_name(f.province) else p.province end,
      'region', case when given ? 'region' then normalize_name(f.region) else p.region end,
      'description', case when given ? 'description' then trim_to_null(f.description) else p.description end,
      'alcohol_percent',
        case when given ? 'alcoholPercent' then as_decimal(f."alcoholPercent", 2) else p.alcohol_percent end,
      'bottle_size_ml', case when given ? 'bottleSizeMl' then as_integer(f."bottleSizeMl") else p.bottle_size_ml end,
      'stock_quantity', case when given ? 'stockQuantity' then as_integer(f."stockQuantity") else p.stock_quantity end,
      'is_active', case
        when not given ? 'isActive' then coalesce(p.is_active, true)
        when jsonb_typeof(f."isActive") = 'boolean' then f."isActive"::boolean
      end
    )) as w
$function$;

CREATE OR REPLACE FUNCTION sync_status()
 RETURNS sync_status
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_orders erp_cursors;
  v_seen erp_cursors;
  v_last erp_sync_runs;
begin
  perform require_permission('erpsync.read');
  select c.* into v_orders from erp_cursors c where c.entity = 'orders';
  select c.* into v_seen from erp_cursors c order by c.erp_seen_at desc nulls last limit 1;
  select r.* into v_last from erp_sync_runs r where r.started_at is not null order by r.queued_at desc limit 1;
  return row(
    v_last, v_orders.caught_up_at, v_orders.cursor, v_orders.cursor_at,
    extract(epoch from clock_timestamp() - v_orders.caught_up_at)::integer,
    (
      select count(*)::integer from erp_sync_runs r
      where r.status = 'FAILED' and r.queued_at > coalesce(
        (select max(s.queued_at) from erp_sync_runs s where s.status = 'SUCCEEDED'), '-infinity'
      )
    ),
    (select count(*)::integer from erp_import_failures),
    (select s.next_at from erp_schedule s where s.what = 'import'),
    (select s.next_at from erp_schedule s where s.what = 'recheck'),
    v_seen.erp_is_up, v_seen.erp_error, v_seen.erp_seen_at
  )::sync_status;
end;
$function$;
grant execute on function sync_status() to office_api;

comment on function sync_status() is '@guard erpsync.read
The state of the order import from the ERP.';

CREATE OR REPLACE FUNCTION table_tags(relation regclass)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select comment_tags(obj_description(table_tags.relation, 'pg_class'))
$function$;
comment on function table_tags(regclass) is 'The smart tags of a table as {name: value}.';

CREATE OR REPLACE FUNCTION tag_value_hint(tag text, value text, form text, pattern text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when with_blanks <> tag_value_hint.value and with_blanks ~ tag_value_hint.pattern
      then '; separate the values by blanks: `@' || tag_value_hint.tag || ' ' || with_blanks || '`'
    when nearest is not null then '; did you mean `@' || tag_value_hint.tag || ' ' || nearest || '`?'
    when tag_value_hint.form ~ '^<' and names is not null then '; write one of ' || array_to_string(names, ', ')
    else '; write `@' || tag_value_hint.tag || rtrim(' ' || tag_value_hint.form) || '`' end
  from regexp_replace(btrim(tag_value_hint.value, ', '), '\s*,\s*', ' ', 'g') as b(with_blanks),
    string_to_array((regexp_match(tag_value_hint.pattern, '^\^\(([\w|]+)\)[$]$'))[1], '|') as l(names),
    nearest_name(tag_value_hint.value, names) as n(nearest)
$function$;
comment on function tag_value_hint(text,text,text,text) is 'The end of a message about a malformed value of a tag: what to write.';

CREATE OR REPLACE FUNCTION tag_violations()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with lines as materialized (
    select o.kind, o.name, o.relation, l.line, coalesce(l.place <= h.size, false) as is_head, t.tag,
      btrim(ltrim(substr(l.line, length(t.tag) + 2), e' \t')) as value
    from commented_objects() o,
      lateral cardinality(string_to_array(substring(o.comment from '^@[^\n]*(?:\n@[^\n]*)*'), e'\n')) as h(size),
      string_to_table(o.comment, e'\n') with ordinality as l(line, place),
      lateral substring(l.line from '^@([a-zA-Z]\w*)(?:[ \t]|$)') as t(tag)
    where strpos(o.comment, '@') > 0 and strpos(l.line, '@') > 0
  ),
  -- A foreign key in a view's tag has its own tags after `|`.
  tags as materialized (
    select 'comment of ' || kind || ' ' || name as what, kind, relation, false as is_of_view, tag, value
    from lines where is_head and tag is not null
    union all
    select 'comment of view ' || name || ', ' || split_part(line, '|', 1), 'foreign key', null, true, (regexp_match(inner_tag, '^@?(\w+)'))[1],
      btrim(regexp_replace(inner_tag, '^@?\w+', ''))
    from lines, string_to_table(line, '|') with ordinality as p(inner_tag, place)
    where is_head and kind = 'view' and tag = 'foreignKey' and p.place > 1 and inner_tag ~ '^@?\w'
  ),
  own_columns as materialized (
    select format('%s.%I', c.oid::regclass, a.attname) as name, a.attrelid, a.atttypid, a.attnotnull
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = (select current_schema()::regnamespace)
  ),
  -- Sorted by tag, because PostgreSQL keeps few compiled patterns.
  checked as materialized (
    select t.*, k.kind as known_kind, k.value as form, k.pattern, t.value ~ k.pattern as is_valid, k.instead,
      count(*) over (partition by t.tag, t.what) > 1 and not k.repeats as is_twice,
      row_number() over (partition by t.tag, t.what) as place
    from tags t left join known_tags() k
      on k.tag = t.tag and k.kind = case when t.is_of_view and t.tag = 'searchIndex' then 'view' else t.kind end
  )
  select 'comment of ' || kind || ' ' || name || ': the line "' || left(btrim(line, e'\r'), 60) || '" '
      || case when line ~ '\r$' then 'ends in a carriage return; save the file with line feeds alone'
        else 'is no tag; write tags as lines `@name value` before all other text' end
    from lines where line ~ '^\s*@' and (tag is null or not is_head or line ~ '\r$')
  union all
  select what || ': unknown tag @' || case when length(tag) > 40 then left(tag, 40) || '…' else tag end || coalesce(
      '; did you mean @' || nearest_tag(kind, tag) || '?',
      (select '; @' || checked.tag || ' is for ' || string_agg('a ' || k.kind, ' or ' order by k.kind) from known_tags() k
        where k.tag = checked.tag and k.instead is null having count(*) > 0),
      (select '; a ' || min(k.kind) || ' can have ' || string_agg('@' || k.tag, ', ' order by k.tag) from known_tags() k
        where k.kind = checked.kind and k.instead is null having count(*) > 0),
      '; a comment like this has no tags')
    from checked where known_kind is null
  union all
  select what || ': the tag @' || tag || ' is not for a ' || known_kind || '; ' || instead from checked where instead is not null and place = 1
  union all
  select what || ': the tag @' || tag || ' is used ' || count(*) || ' times; write it once' from checked where is_twice group by what, tag
  union all
  select what || ': the tag @' || tag || case when form = '' then ' takes no value, and has "' || left(value, 60) || '"'
      when value = '' then ' has no value' else ' is "' || left(value, 60) || '"' end || tag_value_hint(tag, value, form, pattern)
    from checked where instead is null and not is_valid
  union all
  -- With several keys, a policy would accept any of them and a root field would require all of them.
  select what || ': the tag @' || tag || ' names several permissions, and a table takes one; write `@' || tag || ' ' || (regexp_match(value, '^[\w.]+'))[1] || '`'
      || case tag when 'read' then ', and show its rows to holders of another by `ensure_policy` in a file of `logic`' else '' end
    from checked where kind = 'table' and tag in ('read', 'create', 'update', 'delete') and is_valid and value ~ '[\s,]'
  union all
  select t.what || ': the tag @' || t.tag || ' names the column ' || c.name || ', which does not exist'
      || did_you_mean(c.name, (select array_agg(a.attname::text) from pg_attribute a
        where a.attrelid = t.relation and a.attnum > 0 and not a.attisdropped))
    from checked t, lateral (
      select regexp_split_to_table(t.value, '[\s,]+') where t.tag in ('owner', 'label', 'primaryKey', 'unique')
      union all
      select n from regexp_match(t.value, '^\w+(?:\s+(?!except\y)(\w+))?(?:\s+except\s+(.+))?$') as m,
        lateral (select m[1] union all select regexp_split_to_table(m[2], '\s+')) as l(n)
      where t.tag = 'audit' and t.value !~ '^off\y' and n is not null
    ) as c(name)
    where t.relation is not null and t.instead is null and t.is_valid and not exists (
      select from pg_attribute a where a.attrelid = t.relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped)
      and not (t.tag = 'label' and exists (
        select from pg_proc f join pg_class r on r.oid = t.relation
        where f.pronamespace = r.relnamespace and f.proname = r.relname || '_' || c.name and f.proargtypes[0] = r.reltype
          and comment_tags(obj_description(f.oid, 'pg_proc')) ? 'computed'))
  union all
  select t.what || ': the tag @label names the column ' || c.name || ', which the API hides'
    from checked t, regexp_split_to_table(t.value, '[\s,]+') as c(name)
    where t.tag = 'label' and t.is_valid and (
      select comment_tags(d.description) ?| array['internal', 'secret']
      from pg_attribute a join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
      where a.attrelid = t.relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped)
  union all
  -- The description of a misspelt argument would be lost.
  select t.what || ': the tag @argument names ' || n.name || ', which is no parameter of the function' || coalesce(
      '; did you mean ' || nearest_name(n.name, p.names) || '?', '; its parameters are ' || array_to_string(p.names, ', '), '')
    from checked t
      join pg_proc f on f.oid = to_regprocedure(substr(t.what, length('comment of function ') + 1))
      cross join lateral substring(t.value from '^\w+') as n(name)
      cross join lateral (
        select array_agg(a.name order by a.place) as names
        from unnest(f.proargnames) with ordinality as a(name, place)
        where a.name <> '' and coalesce(f.proargmodes[a.place], 'i') in ('i', 'b', 'v')
      ) as p
    where t.tag = 'argument' and t.known_kind = 'function' and n.name <> all (coalesce(p.names, '{}'))
  union all
  select t.what || ': the tag @' || t.tag || ' names the unknown permission ' || k.key
      || did_you_mean(k.key, (select array_agg(p.key) from permissions p))
    from checked t, regexp_split_to_table(t.value, '[\s,]+') as k(key)
    where t.tag in ('scopedRead', 'forwardScopedRead') and t.is_valid and k.key not in (select p.key from permissions p)
  union all
  -- The console looks the value of a row up among these tags.
  select t.what || ': the tag @tone names ' || v.value || ', and ' || case when e.names is null then 'the column is no enumeration'
      else 'the values are ' || e.names end
    from checked t
      join own_columns a on a.name = substr(t.what, length('comment of ' || t.known_kind || ' ') + 1)
      cross join lateral split_part(t.value, ' ', 1) as v(value)
      cross join lateral (
        select string_agg(upper(enumlabel), ', ' order by enumsortorder) as names, bool_or(upper(enumlabel) = v.value) as is_known
        from pg_enum where enumtypid = a.atttypid) as e
    where t.tag = 'tone' and t.is_valid and e.is_known is not true
  union all
  -- Only the data of users and customers is erased.
  select t.what || ': the tag @personal ' || case when t.value = '' then 'names no reference; write `@personal <column>` with the column that references users or customers'
      else 'names ' || g.reference || ', which references neither users nor customers' end
    from checked t
      join own_columns a on a.name = substr(t.what, length('comment of ' || t.known_kind || ' ') + 1)
      cross join lateral (select array_agg(c.oid) as ids from pg_class c
        where c.relnamespace = (select current_schema()::regnamespace) and c.relname in ('users', 'customers')) as subjects
      cross join lateral split_part(t.value, ' ', 1) as g(reference)
    where t.tag = 'personal' and t.is_valid and case when t.value = '' then a.attrelid <> all (subjects.ids)
      else not exists (
        select from pg_constraint k join pg_attribute r on r.attrelid = k.conrelid and r.attnum = k.conkey[1]
        where k.conrelid = a.attrelid and k.contype = 'f' and cardinality(k.conkey) = 1 and r.attname = g.reference
          and k.confrelid = any (subjects.ids)) end
  union all
  -- A required enumeration takes the value that the tag names.
  select t.what || ': the tag @personal is for a text or a column that can be empty; this one is required and ' || format_type(a.atttypid, null)
      || case when e.labels is not null then ': write `@personal <column> <value>` with one of ' || e.labels else '' end
    from checked t join own_columns a on a.name = substr(t.what, length('comment of ' || t.known_kind || ' ') + 1)
      cross join lateral nullif(split_part(t.value, ' ', 2), '') as g(instead)
      cross join lateral (
        select string_agg(enumlabel, ', ' order by enumsortorder) as labels, bool_or(enumlabel = g.instead) as is_known
        from pg_enum where enumtypid = a.atttypid) as e
    where t.tag = 'personal' and t.is_valid and e.is_known is not true
      and (g.instead is not null or a.attnotnull and a.atttypid <> 'text'::regtype)
  order by 1
$function$;
comment on function tag_violations() is 'Unknown, misplaced, malformed or duplicate tags.';

CREATE OR REPLACE FUNCTION take_login_attempt(state_hash bytea, browser_hash bytea, provider text)
 RETURNS TABLE(nonce text, pkce_verifier text, return_to text, challenge text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  delete from login_attempts a
  where a.state_hash = take_login_attempt.state_hash and a.browser_hash = take_login_attempt.browser_hash
    and a.provider = take_login_attempt.provider and a.expires_at > now()
  returning a.nonce, a.pkce_verifier, a.return_to, a.challenge
$function$;
grant execute on function take_login_attempt(bytea,bytea,text) to office_server;
comment on function take_login_attempt(bytea,bytea,text) is 'Returns and removes a stored login attempt; no row for an unknown, used or expired one, or one of another browser or provider.';

CREATE OR REPLACE FUNCTION template_fields(template export_templates)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    (select w.fields from export_workbooks w where w.id = template.workbook_id),
    array(select c.field from export_template_columns c where c.template_id = template.id order by c.position)
  )
$function$;
comment on function template_fields(export_templates) is 'The fields that a template shows, in the order of its columns.';

CREATE OR REPLACE FUNCTION template_refusal(job export_jobs, template export_templates, list export_job_lists)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_changed text := 'The template was changed before the export ran: ';
begin
  if list.job_id is not null and not list.is_by_template then
    return null;
  elsif template.id is null then
    return 'The template was deleted before the export ran';
  elsif format_problem(template, job.format) is not null then
    return v_changed || format_problem(template, job.format);
  elsif list.job_id is null then
    return (
      select 'The template shows what products do not have any more: ' || string_agg(f.field, ', ')
      from find_export_fields(template_fields(template)) as f where f.title is null
    );
  elsif template_fields(template) <> array(
    select c.value ->> 'field' from jsonb_array_elements(list.columns) with ordinality as c(value, place) order by c.place
  ) then
    return v_changed || 'request the export again';
  end if;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION tg__append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and is_erasing() then
    return new;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'OF403';
end;
$function$;
comment on function tg__append_only() is 'Rejects updates and deletes, except for the erasure of personal data.';

CREATE OR REPLACE FUNCTION tg__audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_entity text := tg_argv[0];
  v_key text := tg_argv[1];
  v_readers change_reader[] := change_readers(tg_table_name, tg_argv[2] = 'search');
  v_left_out text[] := tg_argv[3:];
  v_names jsonb := '{}';
  v_is_related boolean := is_watched_as_related(tg_table_name);
  v_before jsonb[];
  v_after jsonb[];
begin
  if strpos(array_to_string(v_left_out, ' '), '=') > 0 then
    select jsonb_object_agg(split_part(a, '=', 1), split_part(a, '=', 2)) into v_names
    from unnest(v_left_out) as a where strpos(a, '=') > 0;
  end if;

  if tg_op = 'INSERT' then
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, array(select n.id from new_rows n), true);
    end if;
    if v_is_related and exists (select from new_rows) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, after, metadata
    )
    select current_user_id(), 'CREATE', v_entity, j.row ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.values, audit_metadata()
    from (select to_jsonb(n) from new_rows as n) as j(row),
      lateral (
        select jsonb_object_agg(coalesce(v_names ->> e.key, camel_case(e.key)), e.value)
        from jsonb_each(jsonb_strip_nulls(j.row)) as e where e.key <> all (v_left_out)
      ) as v(values);
  elsif tg_op = 'DELETE' then
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, array(select o.id from old_rows o), false);
    end if;
    if v_is_related and exists (select from old_rows) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, metadata
    )
    select current_user_id(), 'DELETE', v_entity, j.row ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.values, audit_metadata()
    from (select to_jsonb(o) from old_rows as o) as j(row),
      lateral (
        select jsonb_object_agg(coalesce(v_names ->> e.key, camel_case(e.key)), e.value)
        from jsonb_each(jsonb_strip_nulls(j.row)) as e where e.key <> all (v_left_out)
      ) as v(values);
  else
    -- Both transition tables list a statement's rows in the same order. A join by key would be planned for the first
    -- statement's row count and could become quadratic.
    v_before := array(select to_jsonb(t) from old_rows as t);
    v_after := array(select to_jsonb(t) from new_rows as t);
    if v_readers <> '{}' then
      perform add_row_changes(v_readers, tg_table_name, changed_ids(v_before, v_after), false);
    end if;
    if v_is_related and exists (select from unnest(v_before, v_after) as u(before, after) where u.before <> u.after) then
      perform add_related_change(tg_table_name);
    end if;
    insert into audit_log (
      actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata
    )
    select current_user_id(), 'UPDATE', v_entity, u.before ->> v_key,
      nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
      nullif(current_setting('office.user_agent', true), ''), v.before, v.after, audit_metadata()
    from unnest(v_before, v_after) as u(before, after),
      lateral (
        select jsonb_object_agg(n.name, u.before -> a.key), jsonb_object_agg(n.name, a.value)
        from jsonb_each(u.after) as a, lateral (select coalesce(v_names ->> a.key, camel_case(a.key))) as n(name)
        where a.key <> all (v_left_out) and a.key <> 'updated_at' and a.value <> u.before -> a.key
      ) as v(before, after)
    where v.before is not null;
  end if;
  return null;
end;
$function$;
comment on function tg__audit() is 'Statement trigger: inserts one audit row for each changed row, without secrets, and adds the changed rows to the outbox.';

CREATE OR REPLACE FUNCTION tg__normalize_names()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v_row jsonb := to_jsonb(new);
  v_normalized jsonb;
begin
  select jsonb_object_agg(c.name, coalesce(normalize_name(v_row ->> c.name), '')) into v_normalized
  from unnest(tg_argv) as c(name) where v_row ->> c.name <> coalesce(normalize_name(v_row ->> c.name), '');
  return case when v_normalized is null then new else jsonb_populate_record(new, v_normalized) end;
end;
$function$;
comment on function tg__normalize_names() is 'Stores the named columns in the form of `normalize_name`; blank values are left to the table''s checks.';

CREATE OR REPLACE FUNCTION tg__owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_row jsonb := to_jsonb(new);
begin
  if is_restoring() then
    return new;
  end if;
  return jsonb_populate_record(new, (
    select coalesce(jsonb_object_agg(o.name, o.id), '{}')
    from (values (tg_argv[0], current_user_id()), (tg_argv[1], current_token_id())) as o(name, id)
    where v_row ->> o.name is null and o.name is not null and o.id is not null));
end;
$function$;
comment on function tg__owner() is 'Makes the caller the owner of a new row.';

CREATE OR REPLACE FUNCTION tg__row_changes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_readers change_reader[] := change_readers(tg_table_name, tg_argv[0] = 'search');
  v_is_related boolean := is_watched_as_related(tg_table_name);
  v_before jsonb[];
  v_after jsonb[];
begin
  if v_readers = '{}' and not v_is_related then
    return null;
  end if;
  if tg_op <> 'INSERT' then
    v_before := array(select to_jsonb(o) from old_rows as o);
  end if;
  if tg_op <> 'DELETE' then
    v_after := array(select to_jsonb(n) from new_rows as n);
  end if;
  if v_readers <> '{}' then
    perform add_row_changes(v_readers, tg_table_name, changed_ids(v_before, v_after), tg_op = 'INSERT');
  end if;
  if v_is_related and exists (select from unnest(v_before, v_after) as u(before, after) where u.before is distinct from u.after) then
    perform add_related_change(tg_table_name);
  end if;
  return null;
end;
$function$;
comment on function tg__row_changes() is 'Statement trigger: adds the changed rows of a table without an audit trail to the outbox. `tg__audit` does so for the others.';

CREATE OR REPLACE FUNCTION tg__search_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_table text := tg_argv[0];
  v_column text := tg_argv[2];
  v_ids uuid[];
begin
  execute format('select array(select x.id from (%s) as x(id) where x.id is not null)', case
    when tg_argv[1] = 'to' then format(
      'select t.id from %I t where t.%I in (
         select (u.n ->> %L)::uuid
         from unnest(array(select to_jsonb(o) from old_rows o), array(select to_jsonb(n) from new_rows n)) as u(o, n)
         where exists (select from unnest($1) as c where u.o -> c is distinct from u.n -> c))',
      v_table, v_column, tg_argv[3])
    when tg_op = 'INSERT' then format('select %I from new_rows', v_column)
    when tg_op = 'DELETE' then format('select %I from old_rows', v_column)
    else format('select %1$I from new_rows union select %1$I from old_rows', v_column)
  end) into v_ids using tg_argv[4:];
  perform add_row_changes(change_readers(v_table, true), v_table, v_ids, false);
  return null;
end;
$function$;
comment on function tg__search_changed() is 'Statement trigger: adds the rows whose documents show the changed rows to the outbox.';

CREATE OR REPLACE FUNCTION tg__search_emptied()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update search_indexes i set signature = null, building = null where i.collection = tg_argv[0];
  perform queue_search_indexing(true);
  return null;
end;
$function$;
comment on function tg__search_emptied() is 'Rebuilds a collection after `truncate`, which fires no row events.';

CREATE OR REPLACE FUNCTION tg__timestamps()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_nargs > 0 then
    -- lint: allow function-body because only tables with search_words give the argument
    old.search_words := null;
  end if;
  if new *<> old then
    new.updated_at := greatest(now(), old.updated_at);
  end if;
  return new;
end;
$function$;
comment on function tg__timestamps() is 'Sets `updated_at`, unless the update changes nothing.';

CREATE OR REPLACE FUNCTION tg_absences__away()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  delete from away_periods w where w.id = new.id;
  -- An erasure changes the absences of the person, which removes the copies.
  if new.status = 'APPROVED' and not exists (select from users u where u.id = new.user_id and u.erased_at is not null) then
    insert into away_periods (id, user_id, name, starts_on, ends_on, starts_half_day, ends_half_day)
    values (new.id, new.user_id, user_name(new.user_id), new.starts_on, new.ends_on, new.starts_half_day, new.ends_half_day);
  end if;
  return null;
end;
$function$;
comment on function tg_absences__away() is 'Copies approved absences, without their reason, to the list for all colleagues.';

CREATE OR REPLACE FUNCTION tg_absences__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_by text := user_name(current_user_id());
  v_period text := lower(new.type::text) || case
    when new.starts_on = new.ends_on then
      format(' on %s', new.starts_on) || case when new.starts_half_day then ' from noon' when new.ends_half_day then ' until noon' else '' end
    else format(' from %s%s to %s%s', new.starts_on, case when new.starts_half_day then ' at noon' end,
      new.ends_on, case when new.ends_half_day then ' at noon' end)
    end;
begin
  if new.status = 'REQUESTED' then
    -- A notification of the last hour is merged with this one. Earlier ones show the period before the change.
    delete from notifications n
    where n.kind = 'ABSENCE_REQUESTED' and n.subject_key = new.id::text and n.created_at <= now() - interval '1 hour';
    perform notify_users(array_remove(holders_of('absences.update'), new.user_id), 'ABSENCE_REQUESTED',
      format('%s asks for an absence: %s', user_name(new.user_id), v_period), new.note, 'Absence', new.id::text);
  elsif new.user_id is distinct from current_user_id() then
    perform notify_users(array[new.user_id], 'ABSENCE_DECIDED',
      format(case when tg_op = 'INSERT' then '%s entered an absence of yours: %s' else '%s has ' || lower(new.status::text) || ' your absence: %s' end,
        v_by, v_period),
      -- A cancelled absence keeps the note of its approval.
      case when new.status <> 'CANCELLED' then new.decision_note end, 'Absence', new.id::text);
  end if;
  return null;
end;
$function$;
comment on function tg_absences__notify() is 'Notifies approvers of a request and of its changes, and the absent user of changes by others.';

CREATE OR REPLACE FUNCTION tg_ai_attachments__schedule_file_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform schedule_file_deletion(array[old.file_key]);
  return null;
end;
$function$;
comment on function tg_ai_attachments__schedule_file_deletion() is 'Schedules the deletion of an attachment''s file with its row.';

CREATE OR REPLACE FUNCTION tg_campaigns__check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('DRAFT', 'SCHEDULED'), ('SCHEDULED', 'DRAFT'), ('SCHEDULED', 'ACTIVE'), ('ACTIVE', 'PAUSED'), ('PAUSED', 'ACTIVE'),
    ('ACTIVE', 'COMPLETED'), ('PAUSED', 'COMPLETED'),
    ('DRAFT', 'CANCELLED'), ('SCHEDULED', 'CANCELLED'), ('ACTIVE', 'CANCELLED'), ('PAUSED', 'CANCELLED')
  ) then
    perform fail('OF409', format('A campaign cannot go from %s to %s', old.status, new.status),
      jsonb_build_object('path', array['input', 'status'], 'from', old.status, 'to', new.status));
  end if;
  if old.status in ('COMPLETED', 'CANCELLED')
    and (new.product_id, new.vintage, new.color, new.price, new.author_user_id, new.medium, new.scheduled_at)
      is distinct from (old.product_id, old.vintage, old.color, old.price, old.author_user_id, old.medium, old.scheduled_at)
    -- Deleting a product detaches its campaigns, including ended ones.
    and not (new.product_id is null and old.product_id is not null
      and not exists (select from products p where p.id = old.product_id))
  then
    perform fail('OF409', format('The campaign is %s: only its title and note can still be changed', old.status),
      jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end;
$function$;
comment on function tg_campaigns__check() is 'Checks the status transitions of campaigns.';

CREATE OR REPLACE FUNCTION tg_campaigns__queue_start()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform enqueue_job('start_campaigns', '{}', extract(epoch from new.scheduled_at)::text, new.scheduled_at);
  return null;
end;
$function$;
comment on function tg_campaigns__queue_start() is 'Queues a job for the start of a scheduled campaign.';

CREATE OR REPLACE FUNCTION tg_campaigns__remember_color()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_is_remembered boolean;
begin
  -- Every update names the column, so compare the values: an unchanged colour is not used again.
  if tg_op = 'INSERT' or new.color is distinct from old.color then
    -- Writes at most once a second for the most recent colour.
    select c.updated_at > clock_timestamp() - interval '1 second'
      and not exists (select from campaign_colors n where n.updated_at > c.updated_at)
    into v_is_remembered
    from campaign_colors c where c.color = new.color;
    if v_is_remembered is null then
      insert into campaign_colors (color) values (new.color) on conflict do nothing;
    elsif not v_is_remembered then
      -- Skips a locked row: its holder uses the colour now, and waiting would serialize all callers.
      update campaign_colors c set updated_at = clock_timestamp()
      where c.color = (select k.color from campaign_colors k where k.color = new.color for no key update skip locked);
    end if;
  end if;
  return null;
end;
$function$;
comment on function tg_campaigns__remember_color() is 'Stores the colours that campaigns use.';

CREATE OR REPLACE FUNCTION tg_customer_notes__author()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if not is_restoring() then
    new.author_user_id := current_user_id();
  end if;
  return new;
end;
$function$;
comment on function tg_customer_notes__author() is 'Sets the author of a note.';

CREATE OR REPLACE FUNCTION tg_documentation_pages__check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if current_user_id() is not null and (case tg_op when 'UPDATE' then old.is_built_in else new.is_built_in end) then
    perform fail('OF409', 'This page belongs to the product and cannot be changed', '{"path": ["id"]}');
  end if;
  if new.slug = '' then
    new.slug := coalesce(nullif(slug_of(new.title), ''), 'page-' || new.id);
  end if;
  if tg_op = 'INSERT' then
    -- Requests cannot set these columns.
    if not is_restoring() then
      new.author_user_id := coalesce(new.author_user_id, current_user_id());
      new.updated_by_user_id := coalesce(new.updated_by_user_id, new.author_user_id);
    end if;
  -- Versions hold the content. The place of a page in the tree, its address and its publication stay when one is restored.
  elsif (new.title, new.body, new.tags) is distinct from (old.title, old.body, old.tags) then
    new.version := old.version + 1;
    new.updated_by_user_id := current_user_id();
  end if;
  new.search_vector := documentation_words('pg_catalog.danish', new) || documentation_words('pg_catalog.english', new);
  if new.parent_id is not null and (tg_op = 'INSERT' or new.parent_id is distinct from old.parent_id) then
    perform check_documentation_parent(new.id, new.parent_id);
  end if;
  -- Pages of the product are inserted together and link to each other.
  if not new.is_built_in and not is_restoring() and (tg_op = 'INSERT' or new.body <> old.body) and octet_length(new.body) <= 200000 then
    perform check_documentation_links(new.body, new.slug);
  end if;
  return new;
end;
$function$;
comment on function tg_documentation_pages__check() is 'Sets the address, author, version and search words of a page; checks its parent and links.';

CREATE OR REPLACE FUNCTION tg_documentation_pages__check_delete()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.is_built_in and current_user_id() is not null then
    perform fail('OF409', 'This page belongs to the product and cannot be deleted', '{"path": ["id"]}');
  end if;
  return old;
end;
$function$;
comment on function tg_documentation_pages__check_delete() is 'Rejects the deletion of pages of the product.';

CREATE OR REPLACE FUNCTION tg_documentation_pages__keep()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  -- A restored page has its versions restored as well.
  if tg_op = 'INSERT' and not is_restoring() or tg_op = 'UPDATE' and new.version <> old.version then
    insert into documentation_versions (page_id, number, title, body, tags, author_user_id)
    values (new.id, new.version, new.title, new.body, new.tags, new.updated_by_user_id);
  end if;
  delete from documentation_slugs s where s.slug = new.slug;
  if tg_op = 'UPDATE' and new.slug <> old.slug then
    insert into documentation_slugs (slug, page_id) values (old.slug, new.id)
    on conflict on constraint documentation_slugs_pkey do update set page_id = excluded.page_id;
  end if;
  return null;
end;
$function$;
comment on function tg_documentation_pages__keep() is 'Stores the version and the earlier address of a page.';

CREATE OR REPLACE FUNCTION tg_erp_mapping_rules__check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_near text;
begin
  new.key := normalize_name(new.key);
  new.target := normalize_name(new.target);
  new.note := trim_to_null(new.note);
  if (new.target is null) <> new.is_ignored then
    perform fail('OF400', 'target is required, or must be omitted when isIgnored is true', '{"path": ["input", "target"]}');
  end if;
  if new.target is not null
    and not exists (select from erp_mapping_targets t where t.code = new.code and t.value = new.target)
    -- An unknown code is rejected by the table's constraint.
    and exists (select from erp_mapping_targets t where t.code = new.code)
  then
    select string_agg(n.target, ', ') into v_near
    from (select n.target from near_mapping_targets(new.code, new.target) as n limit 5) as n;
    perform fail('OF400', format('target: there is no %s "%s"; there are %s', split_part(new.code, '.', 1), left(new.target, 50), v_near),
      '{"path": ["input", "target"]}');
  end if;
  return new;
end;
$function$;
comment on function tg_erp_mapping_rules__check() is 'Checks that a rule names a known target.';

CREATE OR REPLACE FUNCTION tg_erp_mapping_targets__check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  new.value := normalize_name(new.value);
  new.title := normalize_name(new.title);
  if new.code = 'line_kind.unmapped' and new.value <> all (enum_range(null::order_line_kind)::text[]) then
    perform fail('OF400', 'value must be one of ' || array_to_string(enum_range(null::order_line_kind), ', '),
      '{"path": ["input", "value"]}');
  end if;
  return new;
end;
$function$;
comment on function tg_erp_mapping_targets__check() is 'Checks that targets for line kinds are line kinds.';

CREATE OR REPLACE FUNCTION tg_export_jobs__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform notify_users(array[new.user_id],
    case new.state when 'completed' then 'EXPORT_COMPLETED' else 'EXPORT_FAILED' end::notification_kind,
    format('Your export “%s” %s', new.source, case new.state when 'completed' then 'is ready' else 'failed' end),
    case new.state when 'completed' then format('%s rows as %s', new.exported_rows, new.format) else new.error_message end,
    'ExportJob', new.id::text);
  return null;
end;
$function$;
comment on function tg_export_jobs__notify() is 'Notifies a user when their export ends, but not of the exports of API tokens, whose program waits for them.';

CREATE OR REPLACE FUNCTION tg_export_jobs__schedule_file_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = old.id));
  return null;
end;
$function$;
comment on function tg_export_jobs__schedule_file_deletion() is 'Schedules the deletion of an export''s files with its row.';

CREATE OR REPLACE FUNCTION tg_export_workbooks__schedule_file_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform schedule_file_deletion(array[old.file_key]);
  return null;
end;
$function$;
comment on function tg_export_workbooks__schedule_file_deletion() is 'Schedules the deletion of a workbook''s file with its row.';

CREATE OR REPLACE FUNCTION tg_invitations__end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.expires_at := least(new.expires_at, now());
  return new;
end;
$function$;
comment on function tg_invitations__end() is 'Sets the expiry of an invitation that ends early.';

CREATE OR REPLACE FUNCTION tg_invitations__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform notify_users(array_remove(array[new.invited_by_user_id], current_user_id()), 'INVITATION_ACCEPTED', format('%s accepted your invitation', new.email), null,
    'Invitation', new.id::text);
  return null;
end;
$function$;
comment on function tg_invitations__notify() is 'Notifies the inviter when an invitation is accepted, unless the inviter activated the user.';

CREATE OR REPLACE FUNCTION tg_jobs__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if new.kind = 'send_invitation' then
    perform notify_users(array[new.user_id], 'INVITATION_UNDELIVERABLE', format('%s could not be delivered', new.subject),
      new.error, 'Job', new.id::text);
  else
    perform notify_users(array[new.user_id], 'JOB_FAILED', format('%s failed', jobs_title(new)), concat_ws(': ', new.subject, new.error),
      'Job', new.id::text, new.kind);
  end if;
  return null;
end;
$function$;
comment on function tg_jobs__notify() is 'Notifies a user when a job that they started fails permanently.';

CREATE OR REPLACE FUNCTION tg_order_import_issues__copy_order()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  select o.placed_at, o.superseded_by_order_id is not null into new.order_placed_at, new.order_is_superseded
  from orders o where o.id = new.order_id for no key update;
  if not found then
    -- The foreign key rejects the row with a better message than a not-null violation.
    new.order_placed_at := now();
    new.order_is_superseded := false;
  end if;
  return new;
end;
$function$;
comment on function tg_order_import_issues__copy_order() is 'Copies the order''s date and whether it is superseded to its issues.';

CREATE OR REPLACE FUNCTION tg_order_import_issues__count_causes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_changes import_cause_change[];
begin
  if tg_op = 'INSERT' then
    v_changes := array(
      select row(n.kind, n.code, n.key, count(*), sum(n.occurrences), min(n.first_seen_at), max(n.last_seen_at), null, null)
        ::import_cause_change
      from new_rows n where n.resolved_at is null and not n.order_is_superseded
      group by n.kind, n.code, n.key
    );
  elsif tg_op = 'DELETE' then
    v_changes := array(
      select row(o.kind, o.code, o.key, -count(*), -sum(o.occurrences), null, null, min(o.first_seen_at), max(o.last_seen_at))
        ::import_cause_change
      from old_rows o where o.resolved_at is null and not o.order_is_superseded
      group by o.kind, o.code, o.key
    );
  else
    v_changes := array(
      select row(
        c.kind, c.code, c.key, sum(c.sign), sum(c.sign * c.occurrences),
        min(c.first_seen_at) filter (where c.sign = 1), max(c.last_seen_at) filter (where c.sign = 1),
        min(c.first_seen_at) filter (where c.sign = -1), max(c.last_seen_at) filter (where c.sign = -1)
      )::import_cause_change
      from (
        select 1, n.kind, n.code, n.key, n.occurrences, n.first_seen_at, n.last_seen_at
        from new_rows n where n.resolved_at is null and not n.order_is_superseded
        union all
        select -1, o.kind, o.code, o.key, o.occurrences, o.first_seen_at, o.last_seen_at
        from old_rows o where o.resolved_at is null and not o.order_is_superseded
      ) as c(sign, kind, code, key, occurrences, first_seen_at, last_seen_at)
      group by c.kind, c.code, c.key
    );
  end if;
  if v_changes = '{}' then
    return null;
  end if;
  insert into order_import_causes (kind, code, key, order_count, occurrences, first_seen_at, last_seen_at)
  select c.kind, c.code, c.key, 0, 0, 'infinity', '-infinity' from unnest(v_changes) as c order by c.kind, c.code, c.key
  on conflict (kind, code, key) do nothing;
  perform from order_import_causes g join unnest(v_changes) as c using (kind, code, key)
  order by g.kind, g.code, g.key for no key update of g;
  update order_import_causes g set
    order_count = g.order_count + c.orders,
    occurrences = g.occurrences + c.occurrences,
    first_seen_at = case when g.order_count + c.orders = 0 then 'infinity' else least(g.first_seen_at, c.first_added) end,
    last_seen_at = case when g.order_count + c.orders = 0 then '-infinity' else greatest(g.last_seen_at, c.last_added) end,
    is_exact = g.order_count + c.orders = 0 or g.is_exact
      and (c.first_removed <= g.first_seen_at and coalesce(c.first_added > c.first_removed, true)) is not true
      and (c.last_removed >= g.last_seen_at and coalesce(c.last_added < c.last_removed, true)) is not true
  from unnest(v_changes) as c
  where g.kind = c.kind and g.code = c.code and g.key = c.key;
  return null;
end;
$function$;
comment on function tg_order_import_issues__count_causes() is 'Updates the counts of the causes of open issues.';

CREATE OR REPLACE FUNCTION tg_order_import_issues__flag_orders()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_orders uuid[];
begin
  if tg_op = 'INSERT' then
    v_orders := array(select distinct n.order_id from new_rows n);
  elsif tg_op = 'DELETE' then
    v_orders := array(select distinct o.order_id from old_rows o);
  else
    -- A later `last_seen_at` changes nothing in the order.
    v_orders := array(
      (select n.order_id from (
        select id, order_id, kind, resolved_at is null from new_rows
        except select id, order_id, kind, resolved_at is null from old_rows
      ) as n)
      union
      (select o.order_id from (
        select id, order_id, kind, resolved_at is null from old_rows
        except select id, order_id, kind, resolved_at is null from new_rows
      ) as o)
    );
  end if;
  -- Locks in a fixed order first; the next statement then sees the issues committed by concurrent transactions.
  perform from orders o where o.id = any (v_orders) order by o.id for no key update;
  update orders o set has_import_mapping_issue = f.mapping, has_import_data_issue = f.data
  from (
    select w.id, coalesce(bool_or(i.kind = 'MAPPING'), false) as mapping, coalesce(bool_or(i.kind = 'DATA'), false) as data
    from unnest(v_orders) as w(id)
    left join order_import_issues i on i.order_id = w.id and i.resolved_at is null
    group by w.id
  ) as f
  where o.id = f.id and (o.has_import_mapping_issue, o.has_import_data_issue) is distinct from (f.mapping, f.data);
  return null;
end;
$function$;
comment on function tg_order_import_issues__flag_orders() is 'Updates the orders'' flags for open issues of each kind.';

CREATE OR REPLACE FUNCTION tg_orders__copy_to_issues()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update order_import_issues i
  set order_placed_at = new.placed_at, order_is_superseded = new.superseded_by_order_id is not null
  where i.order_id = new.id;
  return null;
end;
$function$;
comment on function tg_orders__copy_to_issues() is 'Updates the order columns copied to issues.';

CREATE OR REPLACE FUNCTION tg_permissions__keep_user_keys()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform keep_keys_of_holders(array(
    select rp.role_id from role_permissions rp where rp.permission_id in (select c.id from changed_rows c)
  ));
  return null;
end;
$function$;
comment on function tg_permissions__keep_user_keys() is 'Updates the keys of users when permission keys change.';

CREATE OR REPLACE FUNCTION tg_resource_bookings__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_change record;
  v_zone text;
begin
  for v_change in
    -- The first booking of each user and series, with the number of their changed bookings.
    select distinct on (n.booked_by_user_id, series.id, n.status) n.*, o.starts_at as old_starts_at, o.ends_at as old_ends_at,
      count(*) over (partition by n.booked_by_user_id, series.id, n.status) as number
    from new_rows n join old_rows o on o.id = n.id, lateral (select coalesce(n.series_id, n.id)) as series(id)
    where n.booked_by_user_id is distinct from current_user_id() and o.ends_at > now()
      and (n.resource_id, n.starts_at, n.ends_at, n.status) is distinct from (o.resource_id, o.starts_at, o.ends_at, o.status)
    order by n.booked_by_user_id, series.id, n.status, o.starts_at, o.id
  loop
    v_zone := time_zone_of(v_change.booked_by_user_id);
    perform notify_users(array[v_change.booked_by_user_id], 'BOOKING_CHANGED',
      concat_ws(' ', user_name(current_user_id()), case v_change.status when 'CANCELLED' then 'cancelled' else 'changed' end,
        case v_change.number when 1 then 'your booking' else format('%s of your bookings', v_change.number) end,
        format('“%s” in %s', v_change.title, (select r.name from resources r where r.id = v_change.resource_id)))
        || case v_change.number when 1 then '' else format(', from %s on', local_text(v_change.old_starts_at, v_zone)) end,
      format('%s was from %s to %s', case v_change.number when 1 then 'It' else 'The first' end, local_text(v_change.old_starts_at, v_zone),
        local_text(v_change.old_ends_at, v_zone))
        || case v_change.status when 'CANCELLED' then '.'
          else format(', and is from %s to %s.', local_text(v_change.starts_at, v_zone), local_text(v_change.ends_at, v_zone)) end,
      'ResourceBooking', v_change.id::text,
      -- Changes that start with another booking, and cancellations, are separate notifications.
      concat_ws('.', v_change.id, case v_change.status when 'CANCELLED' then 'cancelled' end));
  end loop;
  return null;
end;
$function$;
comment on function tg_resource_bookings__notify() is 'Notifies the booker when another user changes or cancels bookings, once for each series.';

CREATE OR REPLACE FUNCTION tg_role_permissions__restore()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform changeable_role(new.role_id) where exists (select from roles r where r.id = new.role_id);
  perform require_grantable(array(select p.key from permissions p where p.id = new.permission_id));
  return new;
end;
$function$;
comment on function tg_role_permissions__restore() is 'Rejects restored permissions that the caller does not hold, and those of system roles.';

CREATE OR REPLACE FUNCTION tg_role_permissions__touch_roles()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform keep_keys_of_holders(array(select c.role_id from changed_rows c));
  update roles r set updated_at = now() where r.id in (select c.role_id from changed_rows c);
  return null;
end;
$function$;
comment on function tg_role_permissions__touch_roles() is 'Updates `updated_at` of roles whose permissions change, and the keys of their holders.';

CREATE OR REPLACE FUNCTION tg_search_watches__restore()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform require_watch_limit();
  new.table_name := '';
  new.statement := '';
  new.statement_values := '[]';
  new.seen_statement := '';
  new.ids_at := 0;
  new.is_settled := false;
  new.baseline_ids := null;
  new.baseline_snapshot := null;
  new.is_paused := true;
  new.problem := 'Restored, and not evaluated until you resume it';
  return new;
end;
$function$;
comment on function tg_search_watches__restore() is 'Pauses a restored watch. Resuming it compiles the search.';

CREATE OR REPLACE FUNCTION tg_sessions__last_login()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  insert into user_logins (user_id, last_login_at) values (new.user_id, new.created_at)
  on conflict on constraint user_logins_pkey do update set last_login_at = greatest(user_logins.last_login_at, excluded.last_login_at);
  return null;
end;
$function$;
comment on function tg_sessions__last_login() is 'Stores the last login of a user.';

CREATE OR REPLACE FUNCTION tg_sessions__notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  if exists (select from sessions s where s.user_id = new.user_id and s.id <> new.id and s.ip_address is not null) and not exists (
    select from sessions s
    where s.user_id = new.user_id and s.id <> new.id and attempt_address(s.ip_address) = attempt_address(new.ip_address)
  ) then
    perform notify_users(array[new.user_id], 'NEW_LOGIN_ADDRESS', 'New login from ' || new.ip_address,
      concat_ws(E'\n', new.user_agent, 'If this was not you, revoke the session and contact your administrator.'), 'Session', new.id::text);
  end if;
  return null;
end;
$function$;
comment on function tg_sessions__notify() is 'Notifies a user of a login from a new address.';

CREATE OR REPLACE FUNCTION tg_user_roles__restore()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.user_id = current_user_id() then
    perform require_full_login();
  end if;
  perform require_grantable(role_keys(array[new.role_id]));
  return new;
end;
$function$;
comment on function tg_user_roles__restore() is 'Rejects restored roles of users whose permissions the caller does not hold.';

CREATE OR REPLACE FUNCTION tg_user_roles__touch_users()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  -- Locks rows in the order of their ids to avoid deadlocks.
  perform from users u where u.id in (select c.user_id from changed_rows c) order by u.id for no key update;
  update users u set updated_at = now() where u.id in (select c.user_id from changed_rows c);
  perform keep_user_keys(array(select distinct c.user_id from changed_rows c));
  return null;
end;
$function$;
comment on function tg_user_roles__touch_users() is 'Updates `updated_at` and the keys of users whose roles change.';

CREATE OR REPLACE FUNCTION tg_users__check_dots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.email ~ '(^|[.@])[.]|[.](@|$)' then
    raise check_violation using constraint = 'users_email_check', table = 'users';
  end if;
  return new;
end;
$function$;
comment on function tg_users__check_dots() is 'Rejects addresses with a misplaced dot, with the message of the constraint on addresses.';

CREATE OR REPLACE FUNCTION tg_users__close_invitations()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.invitations_closed_at := now();
  return new;
end;
$function$;
comment on function tg_users__close_invitations() is 'Records when a user is first activated.';

CREATE OR REPLACE FUNCTION tg_users__end_invitations()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update invitations set state = 'expired' where id in (
    select i.id from invitations i where i.invited_by_user_id = new.id and i.state = 'pending' order by i.id for update
  );
  return null;
end;
$function$;
comment on function tg_users__end_invitations() is 'Ends the pending invitations of a deactivated inviter.';

CREATE OR REPLACE FUNCTION tg_users__end_logins()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  update sessions set ended_at = now() where sessions.user_id = new.id and ended_at is null;
  perform end_api_tokens(array(
    -- Includes tokens that the user created for others, because the creator saw their secrets.
    select t.id from api_tokens t where (t.user_id = new.id or t.created_by_user_id = new.id) and t.revoked_at is null
  ));
  return null;
end;
$function$;
comment on function tg_users__end_logins() is 'Ends the sessions of a deactivated user, and the API tokens that the user owns or created.';

CREATE OR REPLACE FUNCTION tg_users__forget_login_codes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  delete from login_codes c where c.user_id = new.id;
  return null;
end;
$function$;
comment on function tg_users__forget_login_codes() is 'Removes the login codes of a deactivated user.';

CREATE OR REPLACE FUNCTION tg_users__keep_active()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  insert into user_keys (user_id, is_active, permission_keys) values (new.id, new.is_active, '')
  on conflict (user_id) do update set is_active = excluded.is_active;
  return null;
end;
$function$;
comment on function tg_users__keep_active() is 'Stores whether a user is active where every request reads it.';

CREATE OR REPLACE FUNCTION tg_users__notification_preferences()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  insert into notification_preferences (user_id, kind, mail)
  select u.id, k.kind, default_notification_mail(k.kind)
  from new_rows u, notification_kinds() as k(kind);
  return null;
end;
$function$;
comment on function tg_users__notification_preferences() is 'Adds the preferences of new users.';

CREATE OR REPLACE FUNCTION tg_wine_types__normalize_color()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.color := upper(new.color);
  return new;
end;
$function$;
comment on function tg_wine_types__normalize_color() is 'Stores colours in capitals, like those of campaigns.';

CREATE OR REPLACE FUNCTION time_zone_of(user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select u.time_zone from users u where u.id = time_zone_of.user_id), office_time_zone())
$function$;
comment on function time_zone_of(uuid) is 'The time zone of a user, by default that of the office.';

CREATE OR REPLACE FUNCTION title_of(tags jsonb, name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select coalesce(nullif(btrim(title_of.tags ->> 'title'), ''), words_of(title_of.name))
$function$;
comment on function title_of(jsonb,text) is 'The title of a column or function: its tag @title, or its name in words.';

CREATE OR REPLACE FUNCTION token_permissions(token_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_token api_tokens;
  v_keys text[];
begin
  select * into v_token from api_tokens t where t.id = token_permissions.token_id;
  v_keys := user_permissions(v_token.user_id);
  if v_token.is_scoped then
    v_keys := array(select unnest(v_keys) intersect select unnest(v_token.scopes));
  end if;
  if v_token.created_by_user_id <> v_token.user_id then
    v_keys := array(select unnest(v_keys) intersect select unnest(user_permissions(v_token.created_by_user_id)));
  end if;
  if v_token.created_by_token_id is not null then
    v_keys := array(select unnest(v_keys) intersect select unnest(token_permissions(v_token.created_by_token_id)));
  end if;
  return v_keys;
end;
$function$;

CREATE OR REPLACE FUNCTION trigger_product_sync(input trigger_product_sync_input)
 RETURNS trigger_product_sync_payload
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_ids uuid[] := array(select distinct i from unnest(trigger_product_sync.input.product_ids) as i where i is not null);
  v_numbers text[];
  v_unknown text[];
  v_bad integer;
  v_run product_sync_runs;
  v_products text;
  v_refused text;
begin
  perform require_permission('productsync.run');
  select n.place - 1 into v_bad
  from unnest(trigger_product_sync.input.erp_product_numbers) with ordinality as n(number, place)
  where char_length(trim_to_null(n.number)) > 50 or trim_to_null(n.number) !~ '^[[:print:]]+$'
  order by n.place limit 1;
  if found then
    perform fail('OF400', 'erpProductNumbers: a number has 1 to 50 printable characters',
      jsonb_build_object('path', jsonb_build_array('input', 'erpProductNumbers', v_bad)));
  end if;
  v_unknown := array(select i::text from unnest(v_ids) as i where not exists (select from products p where p.id = i) order by 1);
  v_numbers := array(
    select n.number
    from (
      select trim_to_null(s.number) as number, s.place from unnest(trigger_product_sync.input.erp_product_numbers) with ordinality as s(number, place)
      union all
      select p.erp_product_number, null from products p where p.id = any (v_ids)
    ) as n
    where n.number is not null
    group by n.number
    order by min(n.place), n.number
  );
  -- An empty list must never mean all products.
  if cardinality(v_numbers) + cardinality(v_unknown) not between 1 and 1000 then
    perform fail('OF400',
      case when cardinality(v_numbers) + cardinality(v_unknown) = 0
        then 'Name at least one product, in productIds or erpProductNumbers'
        else format('Name 1000 products at most: these are %s', cardinality(v_numbers) + cardinality(v_unknown)) end,
      '{"path": ["input"]}');
  end if;

  v_refused := case when cardinality(v_unknown) = 1 then 'There is no product with the id ' || v_unknown[1]
    else 'There are no products with the ids ' || abbreviate_list(v_unknown, 20) end;
  if cardinality(v_numbers) = 0 then
    return row(false, cardinality(v_unknown), 0, null::timestamptz, 'Nothing was started. ' || v_refused);
  end if;
  insert into product_sync_runs (erp_product_numbers, user_id, api_token_id, correlation_id)
  values (v_numbers, current_user_id(), current_token_id(), nullif(current_setting('office.correlation_id', true), ''))
  returning * into v_run;
  v_products := case when cardinality(v_numbers) = 1 then '1 product' else cardinality(v_numbers) || ' products' end;
  perform enqueue_job('product_sync', jsonb_build_object('runId', v_run.id), v_run.id::text,
    subject => v_products || ': ' || abbreviate_list(v_numbers, 5), max_attempts => 12);
  return row(true, cardinality(v_numbers) + cardinality(v_unknown), cardinality(v_numbers), v_run.created_at,
    concat_ws(' ', format('The synchronisation of %s was started.', v_products),
      case when cardinality(v_unknown) > 0 then v_refused end));
end;
$function$;
grant execute on function trigger_product_sync(trigger_product_sync_input) to office_api;

comment on function trigger_product_sync(trigger_product_sync_input) is '@guard productsync.run
Starts the synchronisation of the given products with the ERP. Returns only an acknowledgement; a job calls the workflow, and `myJobs` returns its state.';

CREATE OR REPLACE FUNCTION trim_to_null(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select nullif(btrim(value, E' \t\r\n\u00a0\u3000'), '')
$function$;
grant execute on function trim_to_null(text) to office_api;
comment on function trim_to_null(text) is 'Trims white space of all kinds; blank text becomes null.';

CREATE OR REPLACE FUNCTION unknown_files(keys text[])
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select k from unnest(unknown_files.keys) as k where not exists (select from stored_files f where f.key = k)
$function$;
grant execute on function unknown_files(text[]) to office_worker;
comment on function unknown_files(text[]) is 'The keys that are not in the ledger.';

CREATE OR REPLACE FUNCTION unknown_in_page(customers text[], items text[])
 RETURNS TABLE(unknown_customers text[], unknown_items text[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select
    array(
      select distinct n from unnest(unknown_in_page.customers) as n
      where not exists (select from customers c where c.erp_customer_number = n)
    ),
    array(
      select distinct n from unnest(unknown_in_page.items) as n
      where not exists (select from products p where p.erp_product_number = n)
    )
$function$;
grant execute on function unknown_in_page(text[],text[]) to office_worker;
comment on function unknown_in_page(text[],text[]) is 'The numbers that are not stored yet.';

CREATE OR REPLACE FUNCTION unread_notification_count()
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  perform require_full_login();
  return (select count(*) from notifications n where n.user_id = current_user_id() and n.read_at is null);
end;
$function$;
grant execute on function unread_notification_count() to office_api;

comment on function unread_notification_count() is '@guard login
@notNull
The number of notifications that the caller has not read.';

CREATE OR REPLACE FUNCTION unrounded(relation regclass, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_column text;
  v_rule text;
begin
  for v_column, v_rule in
    select d.name, case
      when not pg_input_is_valid(d.value, d.type) then case
        when d.type = 'numeric' then 'is beyond what a decimal can be'
        when (pg_input_error_info(d.value, d.type)).sql_error_code = '22000' then 'must not end before it starts'
        else 'is not a valid value'
      end
      when d.type <> 'numeric' or d.atttypmod < 0 then null
      when scale(trim_scale(d.value::numeric)) > d.places then format('can have %s decimals at most', d.places)
      when abs(d.value::numeric) >= power(10::numeric, d.digits) then format('can have %s digits before the point at most', d.digits)
    end
    from (
      select a.attname as name, g.value, a.atttypmod,
        -- With its length, because `bit` alone has one digit. The digits of a decimal are checked below.
        format_type(a.atttypid, case when a.atttypid <> 'numeric'::regtype then a.atttypmod end) as type,
        (a.atttypmod - 4) & 2047 as places, ((a.atttypmod - 4) >> 16) - ((a.atttypmod - 4) & 2047) as digits
      from jsonb_each_text(unrounded.input) as g
        join pg_attribute a on a.attrelid = unrounded.relation and a.attname = g.key::name and a.attnum > 0 and not a.attisdropped
        join pg_type t on t.oid = a.atttypid
      where g.value is not null
        -- A domain has messages for its checks, and an array or a composite type is JSON.
        and t.typtype in ('b', 'r') and t.typcategory not in ('A', 'S') and t.typname not in ('json', 'jsonb')
    ) as d
  loop
    if v_rule is not null then
      perform fail('OF400', camel_case(v_column) || ' ' || v_rule,
        jsonb_build_object('path', jsonb_build_array('input', camel_case(v_column))));
    end if;
  end loop;
  return unrounded.input;
end;
$function$;
grant execute on function unrounded(regclass,jsonb) to office_api;

comment on function unrounded(regclass,jsonb) is '@behavior -*
Returns the columns of the input unchanged; fails when a value does not fit its column without rounding.';

CREATE OR REPLACE FUNCTION update_absence(id uuid, input absences, given text[])
 RETURNS absences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_old absences := absence_to_change(update_absence.id, false);
  v_new absences;
begin
  if v_old.status <> 'REQUESTED' then
    perform fail('OF409', format('The absence is %s and cannot be changed', lower(v_old.status::text)), '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_absence.input), given,
    array['type', 'starts_on', 'ends_on', 'starts_half_day', 'ends_half_day']));
  perform check_absence(v_new);
  update absences a set
    type = v_new.type, starts_on = v_new.starts_on, ends_on = v_new.ends_on, starts_half_day = v_new.starts_half_day,
    ends_half_day = v_new.ends_half_day, note = trim_to_null(v_new.note)
  where a.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$function$;
grant execute on function update_absence(uuid,absences,text[]) to office_api;

comment on function update_absence(uuid,absences,text[]) is '@guard login
Changes a requested absence that is not decided yet. Requests of other users need `absences.update`.';

CREATE OR REPLACE FUNCTION update_campaign(id uuid, input campaigns, given text[])
 RETURNS campaigns
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_old campaigns;
  v_new campaigns;
begin
  perform require_permission('campaigns.update');
  select * into v_old from campaigns c where c.id = update_campaign.id for update;
  if not found then
    perform fail('OF404', 'There is no campaign with this id', '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_campaign.input), given,
    array['title', 'price', 'author_user_id', 'medium', 'scheduled_at', 'status']));
  update campaigns c set
    product_id = v_new.product_id, title = coalesce(trim_to_null(v_new.title), ''), vintage = v_new.vintage,
    color = upper(v_new.color), note = trim_to_null(v_new.note), price = coalesce(trim_to_null(v_new.price), ''),
    author_user_id = v_new.author_user_id, medium = v_new.medium, scheduled_at = v_new.scheduled_at, status = v_new.status
  where c.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$function$;
grant execute on function update_campaign(uuid,campaigns,text[]) to office_api;

comment on function update_campaign(uuid,campaigns,text[]) is '@guard campaigns.update
Changes a campaign. Omitted fields stay unchanged, null clears an optional field, and `productId: null` removes the link to the product.';

CREATE OR REPLACE FUNCTION update_department(id uuid, input departments, given text[])
 RETURNS departments
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_department departments;
begin
  perform require_permission('departments.update');
  if 'name' = any (given) and update_department.input.name is null then
    perform fail('OF400', 'name cannot be null', '{"path": ["input", "name"]}');
  end if;
  update departments d set
    name = case when 'name' = any (given) then coalesce(trim_to_null(update_department.input.name), '') else d.name end,
    description = case when 'description' = any (given) then trim_to_null(update_department.input.description) else d.description end
  where d.id = update_department.id
  returning * into v_department;
  if not found then
    perform fail('OF404', 'There is no department with this id', '{"path": ["id"]}');
  end if;
  return v_department;
end;
$function$;
grant execute on function update_department(uuid,departments,text[]) to office_api;

comment on function update_department(uuid,departments,text[]) is '@guard departments.update
Changes a department; omitted fields stay unchanged.';

CREATE OR REPLACE FUNCTION update_export_template(id uuid, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_given jsonb := update_export_template.input;
  v_template export_templates;
  v_former uuid;
begin
  perform require_permission('exporttemplates.update');
  select * into v_template from export_templates t where t.id = update_export_template.id for update;
  if not found then
    perform fail('OF404', 'There is no export template with this id', '{"path": ["id"]}');
  end if;
  if v_given -> 'name' = 'null' then
    perform fail('OF400', 'name cannot be null', '{"path": ["input", "name"]}');
  elsif coalesce(v_given -> 'columns', 'null') <> 'null' and coalesce(v_given -> 'workbookId', 'null') <> 'null' then
    perform fail('OF400', 'A template has either columns or a workbookId', '{"path": ["input"]}');
  end if;
  if v_given ?| array['name', 'description'] then
    update export_templates t set
      name = case when v_given ? 'name' then coalesce(trim_to_null(v_given ->> 'name'), '') else t.name end,
      description = case when v_given ? 'description' then trim_to_null(v_given ->> 'description') else t.description end
    where t.id = v_template.id;
  end if;
  v_former := v_template.workbook_id;
  if coalesce(v_given -> 'columns', 'null') <> 'null' then
    perform set_template_columns(v_template, v_given -> 'columns');
    update export_templates t set workbook_id = null where t.id = v_template.id and t.workbook_id is not null;
  elsif coalesce(v_given -> 'workbookId', 'null') <> 'null' then
    perform assign_workbook(v_template, (v_given ->> 'workbookId')::uuid);
  else
    return v_template.id;
  end if;
  delete from export_workbooks w where w.id = v_former and is_unused(w);
  return v_template.id;
end;
$function$;
grant execute on function update_export_template(uuid,jsonb) to office_api;
comment on function update_export_template(uuid,jsonb) is 'Changes a template; omitted fields stay unchanged. Returns its id.';

CREATE OR REPLACE FUNCTION update_notification_preference(id uuid, input notification_preferences, given text[])
 RETURNS notification_preferences
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_old notification_preferences;
  v_new notification_preferences;
begin
  perform require_full_login();
  select * into v_old from notification_preferences p
  where p.id = update_notification_preference.id and p.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'There is no notification setting of yours with this id', '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_notification_preference.input), given, array['in_inbox', 'mail']));
  update notification_preferences p set in_inbox = v_new.in_inbox, mail = v_new.mail where p.id = v_old.id returning * into v_new;
  perform record_change('UPDATE', 'NotificationPreference', v_new.id::text,
    jsonb_build_object('inInbox', v_old.in_inbox, 'mail', v_old.mail), jsonb_build_object('inInbox', v_new.in_inbox, 'mail', v_new.mail),
    jsonb_build_object('kind', v_new.kind));
  return v_new;
end;
$function$;
grant execute on function update_notification_preference(uuid,notification_preferences,text[]) to office_api;

comment on function update_notification_preference(uuid,notification_preferences,text[]) is '@guard login
Changes how the caller receives one kind of notification.';

CREATE OR REPLACE FUNCTION update_removed_orders(invoiced text[], missing text[], at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_rules jsonb := erp_rules();
  v_numbers text[] := update_removed_orders.invoiced || update_removed_orders.missing;
  v_count integer;
begin
  perform from orders o where o.erp_order_number = any (v_numbers) order by o.erp_order_number for no key update;
  update orders o set
    status = n.status, currency = n.currency, payment_method = n.payment_method, shipping_method = n.shipping_method,
    warehouse = n.warehouse, imported_at = update_removed_orders.at
  from orders s, lateral (
    select (case when s.erp_order_number = any (update_removed_orders.invoiced) then 'INVOICED' else 'CANCELLED' end)::order_status,
      mapped(v_rules, 'currency.unmapped', s.erp_currency), mapped(v_rules, 'payment_method.unmapped', s.erp_payment_method),
      mapped(v_rules, 'shipping_method.unmapped', s.erp_shipping_method), mapped(v_rules, 'warehouse.unmapped', s.erp_warehouse)
  ) as n(status, currency, payment_method, shipping_method, warehouse)
  where s.erp_order_number = any (v_numbers) and o.id = s.id
    and (s.status, s.currency, s.payment_method, s.shipping_method, s.warehouse)
      is distinct from (n.status, n.currency, n.payment_method, n.shipping_method, n.warehouse);
  get diagnostics v_count = row_count;
  update order_lines l set kind = n.kind, vat_code = n.vat_code, warehouse = n.warehouse
  from orders s join order_lines w on w.order_id = s.id, lateral (
    select mapped(v_rules, 'line_kind.unmapped', w.erp_product_group)::order_line_kind, mapped(v_rules, 'vat_code.unmapped', w.erp_vat_code),
      mapped(v_rules, 'warehouse.unmapped', w.erp_warehouse)
  ) as n(kind, vat_code, warehouse)
  where s.erp_order_number = any (v_numbers) and l.id = w.id
    and (w.kind, w.vat_code, w.warehouse) is distinct from (n.kind, n.vat_code, n.warehouse);
  update order_import_issues i set resolved_at = update_removed_orders.at
  from orders s
  where s.erp_order_number = any (v_numbers) and i.order_id = s.id and i.resolved_at is null
    and (i.kind = 'DATA' or is_mapped(v_rules, i.code, i.key));
  perform delete_erp_failures('order', v_numbers);
  perform mark_superseded_orders(array(
    select o.customer_reference from orders o
    where o.erp_order_number = any (update_removed_orders.missing) and o.customer_reference is not null order by 1
  ));
  return v_count;
end;
$function$;
comment on function update_removed_orders(text[],text[],timestamp with time zone) is 'Marks orders that no longer exist in the ERP as invoiced or cancelled; returns the number of changed orders.';

CREATE OR REPLACE FUNCTION update_resource_booking(id uuid, input resource_bookings, given text[])
 RETURNS resource_bookings
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_old resource_bookings := booking_to_change(update_resource_booking.id);
  v_new resource_bookings;
begin
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_resource_booking.input), given,
    array['resource_id', 'title', 'starts_at', 'ends_at']));
  perform check_booking_times(v_new);
  perform check_booking(v_new, array[tstzrange(v_new.starts_at, v_new.ends_at)], array[v_old.id]);
  update resource_bookings b set
    resource_id = v_new.resource_id, title = coalesce(trim_to_null(v_new.title), ''), starts_at = v_new.starts_at,
    ends_at = v_new.ends_at, attendees = v_new.attendees, note = trim_to_null(v_new.note)
  where b.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$function$;
grant execute on function update_resource_booking(uuid,resource_bookings,text[]) to office_api;

comment on function update_resource_booking(uuid,resource_bookings,text[]) is '@guard login
Changes a booking that has not ended. Bookings of other users need `resourcebookings.update`. Other bookings of the series stay unchanged.';

CREATE OR REPLACE FUNCTION update_resource_booking_series(id uuid, input resource_bookings, given text[])
 RETURNS SETOF resource_bookings
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_old resource_bookings := booking_to_change(update_resource_booking_series.id);
  v_later resource_bookings[] := array(select b from bookings_of_series(v_old) as b);
  v_values jsonb := given_values(to_jsonb(update_resource_booking_series.input), given,
    array['resource_id', 'title', 'starts_at', 'ends_at']);
  v_new resource_bookings := jsonb_populate_record(v_old, v_values);
  v_zone text := office_time_zone();
  v_moved interval := (v_new.starts_at at time zone v_zone) - (v_old.starts_at at time zone v_zone);
  v_duration interval := local_duration(v_new.starts_at, v_new.ends_at, v_zone);
  v_has_new_duration boolean := v_duration <> local_duration(v_old.starts_at, v_old.ends_at, v_zone);
  v_changed resource_bookings[];
begin
  perform check_booking_times(v_new);
  -- Each booking keeps the values that are not given, because it may have been changed by itself.
  v_changed := array(
    select jsonb_populate_record(b, v_values || jsonb_build_object('starts_at', lower(t.time), 'ends_at', upper(t.time)))
    from unnest(v_later) as b,
      lateral (
        select case
          when b.id = v_old.id then tstzrange(v_new.starts_at, v_new.ends_at)
          when given && array['starts_at', 'ends_at'] then local_range((b.starts_at at time zone v_zone) + v_moved,
            case when v_has_new_duration then v_duration else local_duration(b.starts_at, b.ends_at, v_zone) end, v_zone)
          else tstzrange(b.starts_at, b.ends_at)
        end
      ) as t(time)
  );
  -- In the order of ids, so that two callers do not wait for each other's resources.
  for v_new in
    select distinct on (c.resource_id) c.* from unnest(v_changed) as c
    -- A booking that is new at the resource first, because a resource that is not in use keeps only the bookings it has.
    order by c.resource_id, exists (select from unnest(v_later) as b where b.id = c.id and b.resource_id = c.resource_id), c.starts_at
  loop
    v_new.attendees := (select max(c.attendees) from unnest(v_changed) as c where c.resource_id = v_new.resource_id);
    perform check_booking(v_new,
      array(select tstzrange(c.starts_at, c.ends_at) from unnest(v_changed) as c where c.resource_id = v_new.resource_id),
      array(select c.id from unnest(v_changed) as c));
  end loop;
  return query
  with updated as (
    update resource_bookings b set
      resource_id = c.resource_id, title = coalesce(trim_to_null(c.title), ''), starts_at = c.starts_at, ends_at = c.ends_at,
      attendees = c.attendees, note = trim_to_null(c.note)
    from unnest(v_changed) as c
    where b.id = c.id
    returning b.*
  )
  select * from updated u order by u.starts_at, u.id;
end;
$function$;
grant execute on function update_resource_booking_series(uuid,resource_bookings,text[]) to office_api;

comment on function update_resource_booking_series(uuid,resource_bookings,text[]) is '@guard login
@action if series_id
Changes a booking and all later bookings of its series that have not ended. Only the given fields change: a booking that was changed by itself keeps its other values. With new times, all of them are moved by the same amount of time in the office''s time zone, and get the same duration if it is changed. If one booking cannot be changed, none is. Returns the bookings by start.';

CREATE OR REPLACE FUNCTION update_role(id uuid, input role_changes, given text[])
 RETURNS roles
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_role roles;
begin
  perform require_permission('roles.update');
  v_role := changeable_role(update_role.id);
  if 'permission_keys' = any (given) then
    if update_role.input.permission_keys is null then
      perform fail('OF400', 'permissionKeys cannot be null: leave it out to keep the keys, or give [] for none',
        '{"path": ["input", "permissionKeys"]}');
    end if;
    perform set_role_permissions(v_role.id, update_role.input.permission_keys);
    select * into v_role from roles where roles.id = v_role.id;
  end if;
  if given && array['name', 'description'] then
    update roles set
      name = case when 'name' = any (given) then coalesce(trim_to_null(update_role.input.name), '') else v_role.name end,
      description = case when 'description' = any (given) then trim_to_null(update_role.input.description) else v_role.description end
    where roles.id = v_role.id
    returning * into v_role;
  end if;
  return v_role;
end;
$function$;
grant execute on function update_role(uuid,role_changes,text[]) to office_api;

comment on function update_role(uuid,role_changes,text[]) is '@guard roles.update
Changes a role; omitted fields stay unchanged. Callers can neither add nor remove permissions that they lack.';

CREATE OR REPLACE FUNCTION update_user(id uuid, input user_changes, given text[])
 RETURNS users
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_user users;
begin
  perform require_login();
  if update_user.id = current_user_id() then
    perform require_full_login();
  end if;
  if update_user.id is distinct from current_user_id() or given && array['role_ids', 'department_id'] then
    perform require_permission('users.update');
  end if;
  select * into v_user from users where users.id = update_user.id for update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["id"]}');
  elsif v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised and cannot be changed', '{"path": ["id"]}');
  end if;
  if 'role_ids' = any (given) then
    if update_user.input.role_ids is null then
      perform fail('OF400', 'roleIds cannot be null: leave it out to keep the roles, or give [] for none',
        '{"path": ["input", "roleIds"]}');
    end if;
    perform set_user_roles(v_user.id, update_user.input.role_ids);
    perform require_superadmin_left();
    select * into v_user from users where users.id = v_user.id;
  end if;
  if given && array['name', 'avatar_url', 'department_id', 'time_zone', 'locale'] then
    update users set
      name = case when 'name' = any (given) then trim_to_null(update_user.input.name) else v_user.name end,
      avatar_url = case when 'avatar_url' = any (given) then trim_to_null(update_user.input.avatar_url) else v_user.avatar_url end,
      department_id = case when 'department_id' = any (given) then update_user.input.department_id else v_user.department_id end,
      time_zone = case when 'time_zone' = any (given) then trim_to_null(update_user.input.time_zone) else v_user.time_zone end,
      locale = case when 'locale' = any (given) then trim_to_null(update_user.input.locale) else v_user.locale end
    where users.id = v_user.id
    returning * into v_user;
  end if;
  return v_user;
end;
$function$;
grant execute on function update_user(uuid,user_changes,text[]) to office_api;

comment on function update_user(uuid,user_changes,text[]) is '@guard principal
Changes a user; omitted fields stay unchanged. Users may change their own name, picture, time zone and locale; all other changes need `users.update`. A scoped token cannot change its owner, even with the scope `users.update`.';

CREATE OR REPLACE FUNCTION use_ai_approval(conversation_id text, tool_call_id text)
 RETURNS SETOF ai_approvals
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_assistant();
  return query
    update ai_approvals a set state = 'USED', used_at = now()
    where a.conversation_id = use_ai_approval.conversation_id and a.tool_call_id = use_ai_approval.tool_call_id
      and a.user_id = current_user_id() and a.state = 'APPROVED' and a.expires_at > now()
    returning a.*;
end;
$function$;
grant execute on function use_ai_approval(text,text) to office_api;
comment on function use_ai_approval(text,text) is 'Uses the approval of a change once; no row when there is no valid approval.';

CREATE OR REPLACE FUNCTION use_api_token(token_hash bytea, OUT user_id uuid, OUT token_id uuid, OUT permissions text[], OUT scoped boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  v_used_at timestamptz;
begin
  select t.user_id, t.id, t.is_scoped, t.last_used_at, token_permissions(t.id)
  into use_api_token.user_id, use_api_token.token_id, use_api_token.scoped, v_used_at, use_api_token.permissions
  from api_tokens t
  where t.token_hash = use_api_token.token_hash and t.revoked_at is null and t.expires_at > now()
    and (select u.is_active from users u where u.id = t.user_id);
  -- Writes at most once a minute per token and never waits for another request.
  if use_api_token.token_id is not null and coalesce(v_used_at < now() - interval '1 minute', true) then
    update api_tokens t set last_used_at = now()
    where t.id = (select id from api_tokens where id = use_api_token.token_id for update skip locked);
  end if;
end;
$function$;

CREATE OR REPLACE FUNCTION user_name(user_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select coalesce(u.name, split_part(u.email, '@', 1)) from users u where u.id = user_name.user_id), 'Somebody')
$function$;
comment on function user_name(uuid) is 'The display name of a user: the name, or the e-mail address before the @.';

CREATE OR REPLACE FUNCTION user_permissions(user_id uuid)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((
    select string_to_array(nullif(k.permission_keys, ''), ',') from user_keys k where k.user_id = user_permissions.user_id
  ), '{}')
$function$;

CREATE OR REPLACE FUNCTION user_sessions(user_id uuid)
 RETURNS SETOF session_view
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
begin
  perform require_permission('users.update');
  return query select * from live_sessions(user_sessions.user_id);
end;
$function$;
grant execute on function user_sessions(uuid) to office_api;

comment on function user_sessions(uuid) is '@guard users.update
@report People 20
@icon lock
@title Sessions of a user
@argument user_id The user whose sessions to list.
@auditReads Session
A user''s active sessions, newest first.';

CREATE OR REPLACE FUNCTION users_away_until(person users)
 RETURNS date
 LANGUAGE sql
 STABLE
AS $function$
  select max(w.ends_on) from away_periods w
  where w.user_id = users_away_until.person.id and is_near_period(now(), w.starts_on, w.ends_on)
    and (now() at time zone absence_time_zone(users_away_until.person.id))::date between w.starts_on and w.ends_on
$function$;
grant execute on function users_away_until(users) to office_api;

comment on function users_away_until(users) is '@computed
@list 5
The last day of the user''s current absence; null without an absence today, in the user''s time zone.';

CREATE OR REPLACE FUNCTION users_colleagues(person users)
 RETURNS SETOF users
 LANGUAGE sql
 STABLE ROWS 20
AS $function$
  select u.* from users u
  where u.department_id = users_colleagues.person.department_id and u.id <> users_colleagues.person.id and u.is_active
    -- A scoped token with `users.read` sees users by another policy, but needs `departments.read` here.
    and (select not is_scoped() or has_permission('departments.read'))
  order by coalesce(u.name, u.email), u.id
$function$;
grant execute on function users_colleagues(users) to office_api;

comment on function users_colleagues(users) is '@computed
@follows own
@scopedRead departments.read
The other active users of the same department, by name.';

CREATE OR REPLACE FUNCTION users_display_locale(person users)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(person.locale, office_locale())
$function$;
grant execute on function users_display_locale(users) to office_api;

comment on function users_display_locale(users) is '@computed
@list off
@notNull
The locale for the user''s dates and numbers: the locale of the user, or of the office.';

CREATE OR REPLACE FUNCTION users_display_time_zone(person users)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(person.time_zone, office_time_zone())
$function$;
grant execute on function users_display_time_zone(users) to office_api;

comment on function users_display_time_zone(users) is '@computed
@list off
@notNull
The time zone in which the console shows times to the user: the time zone of the user, or of the office.';

CREATE OR REPLACE FUNCTION users_last_login_at(person users)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select l.last_login_at from user_logins l where l.user_id = users_last_login_at.person.id
$function$;
grant execute on function users_last_login_at(users) to office_api;

comment on function users_last_login_at(users) is '@computed
@behavior +proc:orderBy
@title Last login
@list 6
The last login of the user; null before the first login, and for callers without `users.read`.';

CREATE OR REPLACE FUNCTION users_roles(person users)
 RETURNS SETOF roles
 LANGUAGE sql
 STABLE ROWS 3
AS $function$
  select r.* from user_roles ur join roles r on r.id = ur.role_id
  where ur.user_id = users_roles.person.id
  order by r.name
$function$;
grant execute on function users_roles(users) to office_api;

comment on function users_roles(users) is '@computed
@follows own
@reads user_roles
@auditReads unless own
The roles that the user holds, by name.';

CREATE OR REPLACE FUNCTION verify_audit_seal(tree text, "position" bigint)
 RETURNS TABLE(row_id uuid, problem text)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_seal audit_seals;
  v_before audit_seals;
  v_sealed_up_to uuid;
  v_dropped timestamptz;
begin
  select * into v_seal from audit_seals s where s.tree = verify_audit_seal.tree and s.position = verify_audit_seal.position;
  if not found then
    return query select null::uuid, 'the link is missing';
    return;
  end if;
  select * into v_before from audit_seals s
  where s.tree = verify_audit_seal.tree and s.position = verify_audit_seal.position - 1;
  if v_seal.previous <> coalesce(v_before.digest, decode(repeat('00', 32), 'hex'))
    or v_seal.from_id <> coalesce(v_before.to_id, '00000000-0000-0000-0000-000000000000')
  then
    return query select null::uuid, 'the link does not follow from the one before it';
  end if;
  if v_seal.digest <> audit_seal_digest(v_seal) or v_seal.rows_digest <> sha256(v_seal.row_hashes)
    or v_seal.row_count <> cardinality(v_seal.row_ids) or length(v_seal.row_hashes) <> 32 * v_seal.row_count
  then
    return query select null::uuid, 'the link itself was changed';
  end if;
  if v_seal.kind = 'DROP' then
    if v_seal.dropped_before > v_seal.sealed_at - interval '31 days' then
      return query select null::uuid, 'the link lets rows be dropped that retention must keep';
    end if;
    return;
  end if;
  select max(s.dropped_before) into v_dropped from audit_seals s
  where s.tree = verify_audit_seal.tree and s.kind = 'DROP' and s.position > verify_audit_seal.position;
  return query
    with recursive sealed as (
      select i.id, substr(v_seal.row_hashes, 32 * i.n::integer - 31, 32) as hash
      from unnest(v_seal.row_ids) with ordinality as i(id, n)
    ),
    present as (
      select a.id, audit_row_hash(a) as hash, strpos(concat(a.before, a.after), '"[erased]"') > 0 as is_erased
      from audit_log a
      where a.operation = any (audit_tree_operations(verify_audit_seal.tree)) and a.id > v_seal.from_id and a.id <= v_seal.to_id
    ),
    erasures as materialized (
      select d.erasure_id
      from (select distinct e.erasure_id from audit_erasures e where e.audit_log_id = any (v_seal.row_ids)) as d
      where is_recorded_erasure(d.erasure_id)
    ),
    -- Later erasures may have changed the same row again.
    erased (id, hash) as (
      select s.id, s.hash from sealed s where exists (select from erasures)
      union
      select e.audit_log_id, e.hash_after
      from erased d join audit_erasures e on e.audit_log_id = d.id and e.hash_before = d.hash
      where e.erasure_id in (select r.erasure_id from erasures r)
    )
    select coalesce(s.id, p.id),
      case
        when p.id is null then 'the row is missing'
        when s.id is null then 'the row was added afterwards'
        else 'the row was changed'
      end
    from sealed s full join present p on p.id = s.id
    where s.hash is distinct from p.hash
      and not exists (select from erased d where d.id = p.id and d.hash = p.hash and s.id is not null and p.is_erased)
      and not (p.id is null and uuid_extract_timestamp(s.id) < coalesce(v_dropped + interval '1 hour', '-infinity'))
    order by 1;
end;
$function$;
comment on function verify_audit_seal(text,bigint) is 'Returns missing, changed or added rows of a link, or an error in the link itself; no rows when it is valid.';

CREATE OR REPLACE FUNCTION version_of(changed_in text, changed_at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select md5(version_of.changed_in || '/' || coalesce(extract(epoch from version_of.changed_at)::text, ''))
$function$;
grant execute on function version_of(text,timestamp with time zone) to office_api;
comment on function version_of(text,timestamp with time zone) is 'The version of a row from its `xmin` and its `updated_at`.';

CREATE OR REPLACE FUNCTION view_origins()
 RETURNS TABLE(view regclass, attribute text, relation regclass, source text)
 LANGUAGE sql
 STABLE
AS $function$
  with recursive shown as (
    select distinct on (v.oid, a.attnum) v.oid as view, a.attname, m.part[2]::oid as relation, m.part[3]::smallint as attnum
    from pg_class v join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 join pg_rewrite r on r.ev_class = v.oid,
      regexp_matches(r.ev_action::text, format(':resno (%s) :resname %s :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+) :', a.attnum, a.attname), 'g')
        with ordinality as m(part, place)
    where v.relnamespace = (select current_schema()::regnamespace) and v.relkind = 'v' and a.attname ~ '^\w+$'
    order by v.oid, a.attnum, m.place desc
  ),
  traced as (
    select view, attname, relation, attnum, 1 as depth from shown where relation <> 0
    union all
    select t.view, t.attname, s.relation, s.attnum, t.depth + 1
    from traced t join pg_attribute a on a.attrelid = t.relation and a.attnum = t.attnum
      join shown s on s.view = t.relation and s.attname = a.attname and s.relation <> 0
  )
  select t.view::regclass, t.attname::text, t.relation::regclass, a.attname::text
  from traced t join pg_class c on c.oid = t.relation and c.relkind in ('r', 'p')
    join pg_attribute a on a.attrelid = t.relation and a.attnum = t.attnum
$function$;
comment on function view_origins() is 'The view columns that show a table column unchanged, so that its indexes serve them.';

CREATE OR REPLACE FUNCTION view_promises()
 RETURNS TABLE(broken text, query text)
 LANGUAGE sql
 STABLE
AS $function$
  with changed as (
    select c.oid, c.oid::regclass::text as name, obj_description(c.oid, 'pg_class') as comment
    from pg_class c, lateral (select pg_current_xact_id()::xid) as now(xid)
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v' and (
      exists (select from pg_rewrite r where r.ev_class = c.oid and age(r.xmin) <= age(now.xid))
      or exists (select from pg_description d where d.classoid = 'pg_class'::regclass and d.objoid = c.oid and age(d.xmin) <= age(now.xid)))
  ),
  keys as (
    select c.name, m[1] as tag, m[2] as columns, string_to_array(m[2], ',') as list
    from changed c, regexp_split_to_table(c.comment, '\n') as l(line), regexp_match(l.line, '^@(primaryKey|unique)[ \t]+([\w,]+)[ \t]*$') as m
    where m is not null
  )
  select format('view %s: the tag @%s is "%s", and several rows have the same', k.name, k.tag, k.columns),
    format('select from %s where %s group by %s having count(*) > 1 limit 1', k.name,
      (select string_agg(format('%I is not null', n), ' and ') from unnest(k.list) as n), (select string_agg(quote_ident(n), ', ') from unnest(k.list) as n))
  from keys k
  union all
  select format('view %s: the tag @primaryKey is "%s", and %s is null in a row', k.name, k.columns, n), format('select from %s where %I is null limit 1', k.name, n)
  from keys k, unnest(k.list) as n where k.tag = 'primaryKey'
  union all
  select format('column %s.%I: has the tag @notNull, and is null in a row', c.name, a.attname), format('select from %s where %I is null limit 1', c.name, a.attname)
  from changed c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where comment_tags(col_description(a.attrelid, a.attnum)) ? 'notNull'
  union all
  select format('column %s.%I: no list of the API holds null, and a row has one that does; write `array_remove(..., null)`', c.name, a.attname),
    format('select from %s where array_position(%I, null) is not null limit 1', c.name, a.attname)
  from changed c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 join pg_type t on t.oid = a.atttypid
  where t.typcategory = 'A'
$function$;
comment on function view_promises() is 'Queries that check the promises of tags on views changed in this transaction.';

CREATE OR REPLACE FUNCTION view_violations()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  with relations as materialized (
    select c.oid, c.oid::regclass::text as name, c.relkind, table_tags(c.oid) as tags, obj_description(c.oid, 'pg_class') as comment,
      exists (select from pg_options_to_table(c.reloptions) where option_name = 'security_invoker' and option_value::boolean) as is_invoker
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('v', 'm', 'f')
  ),
  views as materialized (select *, not tags ? 'internal' as is_shown from relations where relkind = 'v'),
  reads as materialized (
    select distinct v.oid as view, d.refobjid as base, d.refobjsubid as attnum
    from views v join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
    where v.is_shown
    union
    -- PostgreSQL records no dependency on its system tables.
    select v.oid, m[1]::oid, 0
    from views v join pg_rewrite r on r.ev_class = v.oid, regexp_matches(r.ev_action::text, ':relid (\d{1,5}) ', 'g') as m
    where v.is_shown and m[1]::oid between 1 and 16383
  ),
  bases as materialized (
    select distinct r.view, r.base, r.base::regclass::text as name, table_tags(r.base) as tags, c.relnamespace = current_schema()::regnamespace as is_own
    from reads r join pg_class c on c.oid = r.base
  ),
  asked as materialized (
    select v.oid as view,
      (select array_agg(distinct k order by k) from bases b, keys_in(b.tags ->> 'read') as k where b.view = v.oid) as keys,
      (select string_agg(distinct b.name, ', ' order by b.name) from bases b
        where b.view = v.oid and exists (
          select from keys_in(b.tags ->> 'read') as k where k not in (select keys_in(v.tags ->> 'read')))) as names,
      coalesce((select bool_or(b.tags ? 'session') from bases b where b.view = v.oid), false) as session,
      coalesce((select bool_or(b.tags ? 'login') from bases b where b.view = v.oid), false) as login
    from views v
  ),
  -- Permissions that only the root fields of a view require.
  further as materialized (
    select v.oid as view, string_agg('`' || k || '`', ', ' order by k) as keys
    from views v join asked a on a.view = v.oid, lateral (
      select keys_in(v.tags ->> 'read') except select unnest(a.keys)
      union all select '@session' where v.tags ? 'session' and not a.session
      union all select '@login' where v.tags ? 'login' and not (a.login or a.session)) as f(k)
    group by v.oid
  ),
  foreign_keys as materialized (
    select v.oid as view, v.name, m[2] as target_name, m[4] ~ '\+' as shows, m[4] ~ '@(backwardBehavior|behavior)[^|]*\+' as shows_back,
      to_regclass(m[2]) as target, regexp_split_to_array(m[1], ',\s*') as own, regexp_split_to_array(m[3], ',\s*') as theirs
    from views v, regexp_split_to_table(v.comment, '\n') as l(line),
      regexp_match(l.line, '^@foreignKey \(([^)]+)\) references (\w+) \(([^)]+)\)((?:\|@[^|]+)*)$') as m
    where m is not null
  ),
  declared_keys as materialized (
    select v.oid as view, string_to_array((regexp_match(l.line, '^@(?:primaryKey|unique)[ \t]+([\w,]+)'))[1], ',') as columns
    from views v, regexp_split_to_table(v.comment, '\n') as l(line) where l.line ~ '^@(primaryKey|unique)[ \t]'
  )
  select 'materialized view ' || name || ': bypasses row-level security; write `create view ' || name
      || ' with (security_invoker = true) as ...`, or a table that a job fills'
    from relations where relkind = 'm'
  union all
  select 'foreign table ' || name || ': policies do not apply to rows of another server; write `create table ' || name
      || ' (...)` and fill it by a job'
    from relations where relkind = 'f'
  union all
  select 'view ' || name || ': reads with the privileges of its owner and bypasses row-level security; write `create view ' || name
      || ' with (security_invoker = true) as ...`'
    from relations where relkind = 'v' and not is_invoker
  union all
  select 'view ' || name || ': has no description; add `comment on view ' || name || ' is ''...''`' from relations
    where relkind in ('v', 'm', 'f') and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'view ' || v.name || ': declares no permission to read it; add the tag `@read '
      || coalesce(array_to_string(a.keys, ' '), '<permission>') || '` (or `@internal`)'
    from views v join asked a on a.view = v.oid where v.is_shown and not v.tags ? 'read'
  union all
  select 'view ' || name || ': does not declare auditing; add the tag `@auditReads`, which records its reads, or `@audit off because <reason>`'
    from views where is_shown and not tags ?| array['audit', 'auditReads']
  union all
  select 'view ' || v.name || ': reads ' || b.name || ', which no caller may read; '
      || case when b.is_own then 'leave it out, or give it the tag `@read` (with `@root off` where it shows here alone)'
        else 'read tables of this schema only' end
    from views v join bases b on b.view = v.oid
    where not (b.is_own and b.tags ? 'read')
  union all
  select 'view ' || v.name || ': reads ' || b.name || '.' || a.attname || ', which no caller may read; leave the column out'
    from views v join bases b on b.view = v.oid join reads r on r.view = b.view and r.base = b.base
      join pg_attribute a on a.attrelid = r.base and a.attnum = r.attnum
    where b.is_own and b.tags ? 'read' and not has_column_privilege('office_api', r.base, r.attnum::smallint, 'select')
      -- Views get their grants after this check.
      and a.attrelid not in (select oid from relations)
  union all
  select 'view ' || v.name || ': reads whole rows of ' || b.name || ', of which no caller may read ' || string_agg(s.attname, ', ') || '; name the columns'
    from views v join bases b on b.view = v.oid join reads r on r.view = b.view and r.base = b.base and r.attnum = 0
      join pg_attribute s on s.attrelid = b.base and s.attnum > 0 and not s.attisdropped
        and comment_tags(col_description(s.attrelid, s.attnum)) ? 'secret'
    where b.is_own and b.tags ? 'read' and not exists (select from reads o where o.view = b.view and o.base = b.base and o.attnum > 0)
    group by v.name, b.name
  union all
  select 'view ' || v.name || ': reads ' || a.names || ', whose permissions its tag `@read` does not name; write `@read '
      || (select string_agg(k, ' ') from (select keys_in(v.tags ->> 'read') union select unnest(a.keys) order by 1) as u(k)) || '`'
    from views v join asked a on a.view = v.oid where v.tags ? 'read' and a.names is not null
  union all
  select 'view ' || v.name || ': reads a table with the tag @session; add `@session`' from views v join asked a on a.view = v.oid
    where v.is_shown and a.session and not v.tags ? 'session'
  union all
  select 'view ' || v.name || ': reads a table with the tag @login; add `@login`' from views v join asked a on a.view = v.oid
    where v.is_shown and a.login and not v.tags ?| array['login', 'session']
  union all
  select 'view ' || v.name || ': shows rows of ' || string_agg(b.name, ', ' order by b.name) || ', whose reads are recorded; add the tag `@auditReads`'
    from views v join bases b on b.view = v.oid where v.is_shown and b.tags ? 'auditReads' and not v.tags ? 'auditReads' group by v.name
  union all
  select distinct 'view ' || v.name || ': calls ' || p.oid::regprocedure || ', which the request role may not execute; write `grant execute on function '
      || p.proname || ' to office_api` in a file of `logic`'
    from views v join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
      join pg_proc p on p.oid = d.refobjid
    where v.is_shown and not has_function_privilege('office_api', p.oid, 'execute')
  union all
  select 'view ' || name || ': has the tag @connection, whose pages need a key; add `@primaryKey <column>`' from views
    where tags ? 'connection' and not tags ? 'primaryKey'
  union all
  select 'view ' || name || ': its rows have no defined order; add `@primaryKey <column>` or `@defaultOrder <column>`' from views
    where is_shown and not tags ?| array['connection', 'primaryKey', 'defaultOrder']
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` shows nothing; add `|@forwardBehavior +singularRelation:resource:single` behind it'
    from foreign_keys f where not f.shows
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` names the column ' || c || ', which does not exist'
    from foreign_keys f, unnest(f.own) as c
    where not exists (select from pg_attribute a where a.attrelid = f.view and a.attname = c and a.attnum > 0)
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` names ' || f.target_name || ', which is not a table or view of this schema'
    from foreign_keys f where f.target is null or (select relnamespace from pg_class where oid = f.target) <> current_schema()::regnamespace
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` leads to ' || f.target || ' (' || array_to_string(f.theirs, ', ')
      || '), which no primary key or unique constraint has; name the columns of one'
    from foreign_keys f
    where f.target is not null
      and not exists (
        select from pg_constraint k, lateral (
          select array_agg(a.attname::text) as names from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as n
        where k.conrelid = f.target and k.contype in ('p', 'u') and f.theirs @> n.names and n.names @> f.theirs)
      and not exists (select from declared_keys d where d.view = f.target and d.columns @> f.theirs and f.theirs @> d.columns)
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` compares ' || a.attname || ' (' || format_type(a.atttypid, null) || ') with ' || f.target || '.'
      || b.attname || ' (' || format_type(b.atttypid, null) || '); cast it in the view'
    from foreign_keys f, unnest(f.own, f.theirs) as c(own, their)
      join pg_attribute a on a.attname = c.own and a.attnum > 0 join pg_attribute b on b.attname = c.their and b.attnum > 0
    where a.attrelid = f.view and b.attrelid = f.target and a.atttypid <> b.atttypid
  union all
  select 'view ' || f.name || ': shows behind other rows, where ' || r.keys || ' is not asked for; write `@forwardBehavior` in its `@foreignKey`, or take it out of the view''s tags'
    from foreign_keys f join further r on r.view = f.view where f.shows_back
  union all
  select 'view ' || f.name || ': leads to ' || f.target || ', where ' || r.keys || ' is not asked for; leave its `@foreignKey` out, or take that out of the tags of ' || f.target
    from foreign_keys f join further r on r.view = f.target where f.shows
  union all
  select 'column ' || v.name || '.' || a.attname || ': is of type ' || format_type(a.atttypid, null) || ', which '
      || case when t.typtype = 'c' then 'is a whole row; write its columns' when a.atttypid = 'json'::regtype then 'has no order; write `::jsonb`'
        else 'the API cannot show; cast it, as to `text`' end
    from views v join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 join pg_type t on t.oid = a.atttypid
      left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
    where v.is_shown
      and (coalesce(e.typtype, t.typtype) in ('c', 'p') or coalesce(e.typcategory, t.typcategory) = 'G'
        or coalesce(e.oid, t.oid) in ('json'::regtype, 'xml'::regtype, 'jsonpath'::regtype))
  union all
  select 'column ' || v.name || '.' || a.attname || ': is ' || format_type(a.atttypid, null) || '; a column `id` is a uuid: cast it, or give it another name'
    from views v join pg_attribute a on a.attrelid = v.oid and a.attname = 'id'
    where v.is_shown and a.atttypid <> 'uuid'::regtype
$function$;
comment on function view_violations() is 'Violations of the rules for views, materialized views and foreign tables, each with its fix.';

CREATE OR REPLACE FUNCTION wait_for_mark(mark text, at_most_ms integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_ends timestamptz := clock_timestamp() + make_interval(secs => wait_for_mark.at_most_ms / 1000.0);
begin
  while behind_mark(wait_for_mark.mark) > 0 loop
    if clock_timestamp() >= v_ends then
      raise exception using errcode = 'OFR02', message = 'This replica did not reach the mark in time';
    end if;
    perform pg_sleep(0.001);
  end loop;
end;
$function$;
grant execute on function wait_for_mark(text,integer) to office_server;
comment on function wait_for_mark(text,integer) is 'Waits until this replica has reached the mark; later statements see the changes. Raises OFR02 after the given milliseconds.';

CREATE OR REPLACE FUNCTION waiting_search_documents(collection text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
  select distinct c.row_id from row_changes c join search_catalogue s on s.table_name = c.table_name
  where c.reader = 'search' and s.collection = waiting_search_documents.collection and c.row_id = any (waiting_search_documents.ids)
$function$;
grant execute on function waiting_search_documents(text,uuid[]) to office_worker;
comment on function waiting_search_documents(text,uuid[]) is 'The rows that wait for delivery.';

CREATE OR REPLACE FUNCTION watch_to_run(watch search_watches)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'id', watch.id, 'userId', watch.user_id, 'permissions', user_permissions(watch.user_id), 'tableName', watch.table_name,
    'statement', watch.statement, 'values', watch.statement_values, 'seenStatement', watch.seen_statement, 'idsAt', watch.ids_at,
    'isReady', watch.is_ready, 'needsNames', 'LEAVES' = any (watch.events), 'version', watch_version(watch)
  )
$function$;

CREATE OR REPLACE FUNCTION watch_version(watch search_watches)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select md5(concat_ws(' ', watch.user_id, watch.statement, watch.statement_values))
$function$;
comment on function watch_version(search_watches) is 'Changes with the search and the owner of a watch.';

CREATE OR REPLACE FUNCTION watched_row_text(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select btrim(left(regexp_replace(watched_row_text.name, '\s+', ' ', 'g'), 150))
$function$;
comment on function watched_row_text(text) is 'The name of a row as notifications of search watches quote it.';

CREATE OR REPLACE FUNCTION without_code(markdown text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  -- One expression for each kind of fence: with alternatives it would be greedy.
  select regexp_replace(regexp_replace(regexp_replace(without_code.markdown, '```.*?```', '', 'g'), '~~~.*?~~~', '', 'g'),
    '`[^`\n]*`', '', 'g')
$function$;

CREATE OR REPLACE FUNCTION without_personal(changed jsonb, names text[])
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select jsonb_object_agg(c.key, case when c.key = any (without_personal.names) and c.value <> 'null' then '"[erased]"' else c.value end)
  from jsonb_each(without_personal.changed) as c
$function$;

CREATE OR REPLACE FUNCTION without_tokens(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select regexp_replace(value, 'bo[salc]_[A-Za-z0-9_-]{20,}', '[left out]', 'g')
$function$;
comment on function without_tokens(text) is 'Replaces everything that looks like a session or API token.';

CREATE OR REPLACE FUNCTION word_beginnings(query tsquery)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  select '(?i)(?:^|\W)' || regexp_replace(regexp_replace(word, '(..)[ei]$', '\1'), '([][\\^$.|?*+(){}])', '\\\1', 'g')
  from unnest(tsvector_to_array(replace(any_word(word_beginnings.query)::text, ' | ', ' ')::tsvector)) as word
  order by length(word) desc, word limit 6
$function$;
grant execute on function word_beginnings(tsquery) to office_api;
comment on function word_beginnings(tsquery) is 'Regular expressions for the beginnings of the longest words of a search.';

CREATE OR REPLACE FUNCTION word_columns()
 RETURNS TABLE(relation regclass, attribute name)
 LANGUAGE sql
 STABLE
AS $function$
  -- Materialized, so that `pg_get_expr` runs once for each of these columns, and not for each default.
  with found as materialized (
    select g.attrelid, g.attnum, e.oid as expression, e.adbin
    from pg_class r join pg_attribute g on g.attrelid = r.oid join pg_attrdef e on e.adrelid = g.attrelid and e.adnum = g.attnum
    where r.relnamespace = (select current_schema()::regnamespace) and g.attname = 'search_words' and g.attgenerated = 's'
  ),
  generated as materialized (
    select f.attrelid, f.attnum, f.expression from found f where pg_get_expr(f.adbin, f.attrelid) ~ '^(extensions\.)?words_text\('
  )
  select g.attrelid::regclass, c.attname
  from generated g
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = g.expression and d.refclassid = 'pg_class'::regclass
      and d.refobjid = g.attrelid and d.refobjsubid not in (0, g.attnum)
    join pg_attribute c on c.attrelid = g.attrelid and c.attnum = d.refobjsubid
$function$;
comment on function word_columns() is 'The columns that are part of `search_words`, the column generated by `words_text`.';

CREATE OR REPLACE FUNCTION words_of(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select string_agg(
    coalesce(upper(m[1]) || m[2], case when place = 1 then upper(left(w, 1)) || substr(w, 2) else w end), ' ' order by place
  )
  -- A number after a word is a word, as in `address2`.
  from string_to_table(case words_of.name when 'updated_at' then 'changed'
      else regexp_replace(regexp_replace(words_of.name, '([a-z]{3,})(\d+)(?=_|$)', '\1_\2', 'g'), '_at$', '') end, '_')
      with ordinality as t(word, place)
    cross join regexp_replace(word, '^email(s?)$', 'e-mail\1') as w
    left join lateral regexp_match(w, '^(id|ip|erp|url|ai|api|vat|sms|ean|sku|iban|pdf|csv|xlsx)(s?)$') as m on true
$function$;
comment on function words_of(text) is 'Converts a database name to words for a title.';

CREATE OR REPLACE FUNCTION working_days(starts_on date, ends_on date, starts_half_day boolean, ends_half_day boolean)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(
    case when d.day = working_days.starts_on and working_days.starts_half_day
      or d.day = working_days.ends_on and working_days.ends_half_day then 0.5 else 1 end), 0)
  from (
    select working_days.starts_on + n as day from generate_series(0, working_days.ends_on - working_days.starts_on) as n
  ) as d
  where extract(isodow from d.day) < 6 and not exists (select from public_holidays h where h.holiday_on = d.day)
$function$;
grant execute on function working_days(date,date,boolean,boolean) to office_api;
comment on function working_days(date,date,boolean,boolean) is 'The number of working days in a period, its first and last day included.';

CREATE OR REPLACE FUNCTION writable_columns(relation regclass, verb text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
  from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
    lateral comment_tags(d.description) as c(tags), owner_columns(table_tags(writable_columns.relation)) as o(names)
  where a.attrelid = writable_columns.relation and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and a.attname not in ('id', 'created_at', 'updated_at') and not c.tags ?| array['secret', 'internal']
    and a.attname <> all (o.names)
    and coalesce(c.tags ->> 'mutations', writable_columns.verb) ~ ('\y' || writable_columns.verb || '\y')
$function$;
comment on function writable_columns(regclass,text) is 'The columns that a verb of @mutations may write, as a list for a grant.';

CREATE OR REPLACE FUNCTION write_ai_chunks(answer_id uuid, number integer, chunks jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
AS $function$
declare
  v_stop boolean;
begin
  perform require_assistant();
  update ai_answers a set alive_at = clock_timestamp()
  where a.id = write_ai_chunks.answer_id and a.user_id = current_user_id() and a.state = 'running'
  returning a.stop_requested_at is not null into v_stop;
  -- The answer may have been deleted with its conversation.
  if not found then
    return true;
  end if;
  if jsonb_array_length(write_ai_chunks.chunks) > 0 then
    insert into ai_answer_chunks (answer_id, number, chunks)
    values (write_ai_chunks.answer_id, write_ai_chunks.number, write_ai_chunks.chunks);
  end if;
  return v_stop;
end;
$function$;
grant execute on function write_ai_chunks(uuid,integer,jsonb) to office_api;
comment on function write_ai_chunks(uuid,integer,jsonb) is 'Stores chunks of an answer and its heartbeat; returns whether the answer should stop.';

CREATE OR REPLACE FUNCTION write_erp_customers(sent jsonb, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_rows erp_customer_row[];
  v_faults jsonb;
  v_failed integer[];
  v_new integer;
  v_numbers text[];
begin
  perform from customers c
  where c.erp_customer_number in (select s ->> 'number' from jsonb_array_elements(write_erp_customers.sent) as s)
  order by c.erp_customer_number for no key update;
  v_rows := erp_customer_rows(write_erp_customers.sent, erp_rules());
  select array_agg(distinct r.place), jsonb_agg(jsonb_build_object(
    'kind', 'customer', 'number', r.sent ->> 'number', 'id', r.sent ->> 'id', 'revision', r.sent ->> 'revision',
    'path', camel_case(f.attribute), 'message', camel_case(f.attribute) || ' ' || f.message
  )) into v_failed, v_faults
  from failed_checks(array(select s.wanted from unnest(v_rows) with ordinality as s order by s.ordinality)) as f,
    lateral (select (v_rows[f.place + 1]).*) as r;
  if v_faults is not null then
    perform record_erp_failures(v_faults, write_erp_customers.at);
  end if;

  insert into customers (
    id, erp_customer_number, name, email, phone, website, address_line1, address_line2, postal_code, city, region, country,
    currency, vat_number, payment_terms, credit_limit, balance_due, is_blocked, erp_revision, source_updated_at
  )
  select n.id, n.erp_customer_number, n.name, n.email, n.phone, n.website, n.address_line1, n.address_line2, n.postal_code,
    n.city, n.region, n.country, n.currency, n.vat_number, n.payment_terms, n.credit_limit, n.balance_due, n.is_blocked,
    n.erp_revision, n.source_updated_at
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where (r.was).id is null and r.place <> all (coalesce(v_failed, '{}'))
  order by n.erp_customer_number;
  get diagnostics v_new = row_count;

  update customers c set
    name = n.name, email = n.email, phone = n.phone, website = n.website, address_line1 = n.address_line1,
    address_line2 = n.address_line2, postal_code = n.postal_code, city = n.city, region = n.region, country = n.country,
    currency = n.currency, vat_number = n.vat_number, payment_terms = n.payment_terms, credit_limit = n.credit_limit,
    balance_due = n.balance_due, is_blocked = n.is_blocked, erp_revision = n.erp_revision,
    source_updated_at = n.source_updated_at
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where c.id = (r.was).id and r.wanted is distinct from r.was and r.place <> all (coalesce(v_failed, '{}'))
    and (n.source_updated_at < (r.was).source_updated_at) is not true;

  v_numbers := array(select r.sent ->> 'number' from unnest(v_rows) as r where r.place <> all (coalesce(v_failed, '{}')));
  perform delete_erp_failures('customer', v_numbers);
  if v_new > 0 then
    -- Orders that waited for these customers have them now.
    perform from orders o where o.erp_customer_number = any (v_numbers) and o.customer_id is null
    order by o.erp_order_number for no key update;
    update orders o set customer_id = c.id
    from customers c
    where o.erp_customer_number = any (v_numbers) and o.customer_id is null and c.erp_customer_number = o.erp_customer_number;
    update order_import_issues i set resolved_at = write_erp_customers.at
    where i.code = 'customer.missing' and i.key = any (v_numbers) and i.resolved_at is null;
  end if;
  return jsonb_build_object('customers', cardinality(v_rows), 'failed', coalesce(cardinality(v_failed), 0));
end;
$function$;
comment on function write_erp_customers(jsonb,timestamp with time zone) is 'Writes customers and links waiting orders to them.';

CREATE OR REPLACE FUNCTION write_erp_issues(issues erp_issue_row[], orders erp_order_row[], places integer[], changed integer[], at timestamp with time zone)
 RETURNS integer[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_changed integer[];
begin
  with resolved as (
    update order_import_issues i set resolved_at = write_erp_issues.at
    from unnest(write_erp_issues.orders) as r
    where i.order_id = (r.was).id and r.place = any (places) and i.resolved_at is null and not exists (
      select from unnest(write_erp_issues.issues) as s where s.place = r.place and s.code = i.code and s.key = i.key
    )
    returning r.place
  ),
  seen as (
    update order_import_issues i set
      kind = s.kind, message = s.message, value = s.value, path = s.path, occurrences = s.occurrences, resolved_at = null,
      last_seen_at = greatest(write_erp_issues.at, i.first_seen_at)
    from unnest(write_erp_issues.issues) as s join unnest(write_erp_issues.orders) as r on r.place = s.place
    where i.order_id = (r.was).id and i.code = s.code and i.key = s.key and r.place = any (places)
      and (
        s.place = any (write_erp_issues.changed) or i.resolved_at is not null
        or (i.kind, i.message, i.value, i.path, i.occurrences) is distinct from (s.kind, s.message, s.value, s.path, s.occurrences)
      )
    returning r.place
  ),
  added as (
    insert into order_import_issues (
      order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at, order_placed_at,
      order_is_superseded
    )
    select (r.wanted).id, s.kind, s.code, s.key, s.message, s.value, s.path, s.occurrences, write_erp_issues.at,
      write_erp_issues.at, (r.wanted).placed_at, (r.wanted).superseded_by_order_id is not null
    from unnest(write_erp_issues.issues) as s join unnest(write_erp_issues.orders) as r on r.place = s.place
    where r.place = any (places) and not exists (
      select from order_import_issues i where i.order_id = (r.was).id and i.code = s.code and i.key = s.key
    )
    returning order_id
  )
  select array_agg(distinct c.place) into v_changed
  from (
    select place from resolved union all select place from seen
    union all select r.place from added as a join unnest(write_erp_issues.orders) as r on (r.wanted).id = a.order_id
  ) as c;
  return coalesce(v_changed, '{}');
end;
$function$;

CREATE OR REPLACE FUNCTION write_erp_lines(lines erp_line_row[], orders erp_order_row[], places integer[])
 RETURNS integer[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_gone integer[];
  v_changed integer[];
begin
  v_changed := array(
    select distinct l.place from unnest(write_erp_lines.lines) as l
    where l.place = any (places) and l.wanted is distinct from l.was
  );
  with gone as (
    delete from order_lines o
    using unnest(write_erp_lines.orders) as r
    where o.order_id = (r.was).id and r.place = any (places) and not exists (
      select from unnest(write_erp_lines.lines) as l where (l.was).id = o.id
    )
    returning r.place
  )
  select array_agg(distinct place) into v_gone from gone;

  insert into order_lines (
    id, order_id, line_number, kind, erp_product_group, product_id, erp_product_number, description, quantity, unit, unit_price,
    discount_percent, vat_code, erp_vat_code, vat_percent, amount, warehouse, erp_warehouse
  )
  select n.id, n.order_id, n.line_number, n.kind, n.erp_product_group, n.product_id, n.erp_product_number, n.description,
    n.quantity, n.unit, n.unit_price, n.discount_percent, n.vat_code, n.erp_vat_code, n.vat_percent, n.amount, n.warehouse,
    n.erp_warehouse
  from unnest(write_erp_lines.lines) as l cross join lateral (select (l.wanted).*) as n
  where (l.was).id is null and l.place = any (places);

  update order_lines o set
    kind = n.kind, erp_product_group = n.erp_product_group, product_id = n.product_id, erp_product_number = n.erp_product_number,
    description = n.description, quantity = n.quantity, unit = n.unit, unit_price = n.unit_price,
    discount_percent = n.discount_percent, vat_code = n.vat_code, erp_vat_code = n.erp_vat_code, vat_percent = n.vat_percent,
    amount = n.amount, warehouse = n.warehouse, erp_warehouse = n.erp_warehouse
  from unnest(write_erp_lines.lines) as l cross join lateral (select (l.wanted).*) as n
  where o.id = (l.was).id and l.wanted is distinct from l.was and l.place = any (places);

  return v_changed || coalesce(v_gone, '{}');
end;
$function$;

CREATE OR REPLACE FUNCTION write_erp_orders(sent jsonb, unknown_items text[], time_zone text, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO (tenant), 'extensions', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_rules jsonb := erp_rules();
  v_rows erp_order_row[];
  v_lines erp_line_row[];
  v_issues erp_issue_row[];
  v_faults erp_fault[];
  v_failed integer[];
  v_stale integer[];
  v_places integer[];
  v_created integer[];
  v_changed integer[];
  v_result jsonb;
begin
  -- Locks in the order of the ERP numbers, to wait for other writers without deadlocks.
  perform from orders o
  where o.erp_order_number in (
    select n from jsonb_array_elements(write_erp_orders.sent) as s, unnest(array[s ->> 'number', s ->> 'customerReference']) as n
  )
  order by o.erp_order_number for no key update;

  -- A customer who is being anonymised is read after that.
  perform from customers c
  where c.erp_customer_number in (select s ->> 'customerNumber' from jsonb_array_elements(as_list(write_erp_orders.sent)) as s)
  order by c.erp_customer_number for key share;
  v_rows := erp_order_rows(write_erp_orders.sent, v_rules, write_erp_orders.time_zone);
  v_lines := erp_line_rows(v_rows, v_rules);
  v_issues := erp_order_issues(v_rows, v_lines, v_rules, write_erp_orders.unknown_items);
  v_faults := array(select f from erp_order_faults(v_rows, v_lines) as f);
  v_failed := array(select distinct f.place from unnest(v_faults) as f);
  v_stale := array(
    select r.place from unnest(v_rows) as r where (r.wanted).source_updated_at < (r.was).source_updated_at
  );
  v_places := array(
    select r.place from unnest(v_rows) as r where r.place <> all (v_failed) and r.place <> all (v_stale)
  );
  v_created := array(select r.place from unnest(v_rows) as r where r.place = any (v_places) and (r.was).id is null);
  v_changed := v_created || array(
    select r.place from unnest(v_rows) as r
    where r.place = any (v_places) and (r.was).id is not null and r.wanted is distinct from r.was
  );

  insert into orders (
    id, erp_order_number, erp_id, customer_id, erp_customer_number, customer_name, customer_reference, salesperson, placed_at,
    requested_delivery_date, status, currency, erp_currency, net_amount, discount_amount, vat_amount, total_amount,
    payment_method, erp_payment_method, shipping_method, erp_shipping_method, warehouse, erp_warehouse, email, phone,
    delivery_name, delivery_address_line1, delivery_address_line2, delivery_postal_code, delivery_city, delivery_region,
    delivery_country, has_import_mapping_issue, has_import_data_issue, erp_revision, source_updated_at, imported_at
  )
  select n.id, n.erp_order_number, n.erp_id, n.customer_id, n.erp_customer_number, n.customer_name, n.customer_reference,
    n.salesperson, n.placed_at, n.requested_delivery_date, n.status, n.currency, n.erp_currency, n.net_amount,
    n.discount_amount, n.vat_amount, n.total_amount, n.payment_method, n.erp_payment_method, n.shipping_method,
    n.erp_shipping_method, n.warehouse, n.erp_warehouse, n.email, n.phone, n.delivery_name, n.delivery_address_line1,
    n.delivery_address_line2, n.delivery_postal_code, n.delivery_city, n.delivery_region, n.delivery_country,
    coalesce(i.mapping, false), coalesce(i.data, false), n.erp_revision, n.source_updated_at, write_erp_orders.at
  from unnest(v_rows) as r
    cross join lateral (select (r.wanted).*) as n
    left join (
      select s.place, bool_or(s.kind = 'MAPPING') as mapping, bool_or(s.kind = 'DATA') as data
      from unnest(v_issues) as s group by s.place
    ) as i on i.place = r.place
  where r.place = any (v_created)
  order by n.erp_order_number;

  -- An order also counts as changed when only one of its lines differs.
  v_changed := array(select distinct p from unnest(v_changed || write_erp_lines(v_lines, v_rows, v_places)) as p);

  update orders o set
    erp_id = n.erp_id, customer_id = n.customer_id, erp_customer_number = n.erp_customer_number,
    customer_name = n.customer_name, customer_reference = n.customer_reference, salesperson = n.salesperson,
    placed_at = n.placed_at, requested_delivery_date = n.requested_delivery_date, status = n.status, currency = n.currency,
    erp_currency = n.erp_currency, net_amount = n.net_amount, discount_amount = n.discount_amount,
    vat_amount = n.vat_amount, total_amount = n.total_amount, payment_method = n.payment_method,
    erp_payment_method = n.erp_payment_method, shipping_method = n.shipping_method,
    erp_shipping_method = n.erp_shipping_method, warehouse = n.warehouse, erp_warehouse = n.erp_warehouse, email = n.email,
    phone = n.phone, delivery_name = n.delivery_name, delivery_address_line1 = n.delivery_address_line1,
    delivery_address_line2 = n.delivery_address_line2, delivery_postal_code = n.delivery_postal_code,
    delivery_city = n.delivery_city, delivery_region = n.delivery_region, delivery_country = n.delivery_country,
    erp_revision = n.erp_revision, source_updated_at = n.source_updated_at, imported_at = write_erp_orders.at
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where o.id = (r.was).id and r.place = any (v_changed);

  v_changed := array(
    select distinct p from unnest(v_changed || write_erp_issues(v_issues, v_rows, v_places, v_changed, write_erp_orders.at)) as p
  );
  if v_changed <> '{}' then
    perform mark_superseded_orders(array(
      select distinct n
      from unnest(v_rows) as r,
        unnest(array[(r.wanted).erp_order_number, (r.wanted).customer_reference, (r.was).customer_reference]) as n
      where r.place = any (v_changed) and n is not null
      order by n
    ));
  end if;

  if v_faults <> '{}' then
    perform record_erp_failures((
      select jsonb_agg(jsonb_build_object(
        'kind', 'order', 'number', r.sent ->> 'number', 'id', r.sent ->> 'id', 'revision', r.sent ->> 'revision',
        'path', f.path, 'message', f.message
      ) order by f.path)
      from unnest(v_faults) as f join unnest(v_rows) as r on r.place = f.place
    ), write_erp_orders.at);
  end if;
  perform delete_erp_failures('order', array(
    select n from unnest(v_rows) as r, unnest(array[r.sent ->> 'number', r.sent ->> 'id']) as n where r.place <> all (v_failed)
  ));

  select jsonb_build_object(
    'done', count(*), 'created', cardinality(v_created), 'updated', cardinality(v_changed) - cardinality(v_created),
    'unchanged', cardinality(v_places) - cardinality(v_changed) + cardinality(v_stale), 'failed', cardinality(v_failed)
  ) into v_result
  from unnest(v_rows);
  return v_result;
end;
$function$;
comment on function write_erp_orders(jsonb,text[],text,timestamp with time zone) is 'Writes a page of orders with their lines and issues, in a fixed number of statements. Equal or newer rows are not touched.';

CREATE OR REPLACE FUNCTION write_mark()
 RETURNS text
 LANGUAGE sql
AS $function$
  select format(
    '%s.%s.%s %s',
    (select system_identifier from pg_control_system()), left(pg_walfile_name(come.so_far), 8),
    (select oid from pg_database where datname = current_database()), come.so_far
  )
  from (
    -- With asynchronous commit, confirmed changes may not be flushed yet.
    select case when current_setting('synchronous_commit') = 'off'
      then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as so_far
    where not pg_is_in_recovery()
  ) come
$function$;
grant execute on function write_mark() to office_server;
comment on function write_mark() is 'The current position in the write-ahead log, with its database and timeline; null on a replica. It covers all confirmed changes.';

CREATE OR REPLACE FUNCTION write_sync_images(staged sync_image[], writes integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from product_images p
  using unnest(write_sync_images.staged) as s join unnest(write_sync_images.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_images as p (product_id, url, alt_text, position)
  select n.product_id, n.url, n.alt_text, n.position
  from unnest(write_sync_images.staged) as s
    join unnest(write_sync_images.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, url) do update set alt_text = excluded.alt_text, position = excluded.position;
end;
$function$;

CREATE OR REPLACE FUNCTION write_sync_prices(staged sync_price[], writes integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from product_prices p
  using unnest(write_sync_prices.staged) as s join unnest(write_sync_prices.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_prices as p (product_id, type, currency, amount)
  select n.product_id, n.type, n.currency, n.amount
  from unnest(write_sync_prices.staged) as s
    join unnest(write_sync_prices.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, type, currency) do update set amount = excluded.amount;
end;
$function$;

CREATE OR REPLACE FUNCTION write_sync_ratings(staged sync_rating[], writes integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into reviewers (name)
  select distinct on (name_key(s.reviewer)) s.reviewer
  from unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where s.reviewer is not null and (s.wanted).reviewer_id is null
  order by name_key(s.reviewer), s.row_no, s.item_no
  on conflict (name_key(name)) do nothing;

  delete from product_ratings p
  using unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_ratings as p (product_id, reviewer_id, year, points, review)
  select n.product_id, coalesce(n.reviewer_id, v.id), n.year, n.points, n.review
  from unnest(write_sync_ratings.staged) as s
    join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
    left join reviewers v on n.reviewer_id is null and name_key(v.name) = name_key(s.reviewer)
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, reviewer_id, year) do update set points = excluded.points, review = excluded.review;
end;
$function$;

-- office_jobs: tables
create table office_jobs.tenants (
  tenant text not null,
  run_id text,
  created_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone not null default now(),
  constraint tenants_pkey PRIMARY KEY (tenant)
);
alter table office_jobs.tenants enable row level security, force row level security;

create policy tenants_own on office_jobs.tenants for all to office_worker
  using (true)
  with check (true);
comment on table office_jobs.tenants is 'The tenant schemas of isolated test runs, with their last use.';

create table office_jobs.workers (
  id text not null,
  silence interval not null,
  started_at timestamp with time zone not null default clock_timestamp(),
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint workers_pkey PRIMARY KEY (id)
);
alter table office_jobs.workers enable row level security, force row level security;

create policy workers_own on office_jobs.workers for all to office_worker
  using (true)
  with check (true);
comment on table office_jobs.workers is 'Live worker processes, named as in `locked_by` of their jobs. Each renews its row; a worker without a heartbeat for `silence` loses its jobs.';

-- office_jobs: views
create view office_jobs.queue with (security_invoker=true) as
 SELECT j.id,
    t.identifier AS task,
    j.payload,
    j.run_at,
    j.attempts,
    j.max_attempts,
    j.last_error,
    j.locked_at
   FROM graphile_worker._private_jobs j
     JOIN graphile_worker._private_tasks t ON t.id = j.task_id;
comment on view office_jobs.queue is 'The jobs of all tenants: waiting, running and failed ones.';

-- office_jobs: functions
CREATE OR REPLACE FUNCTION office_jobs.add(task text, payload jsonb, job_key text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, max_attempts integer DEFAULT NULL::integer, queue_name text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_id bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('office_jobs.add ' || add.job_key, 0)) where add.job_key is not null;
  loop
    -- A running job gives up its key to the new one. Otherwise graphile-worker would set its attempts to the maximum,
    -- and it would count as failed if its worker dies. A waiting job is locked, so that no worker takes it between
    -- these statements.
    perform from graphile_worker._private_jobs j where j.key = add.job_key for update;
    update graphile_worker._private_jobs j set key = null where j.key = add.job_key and j.locked_at is not null;
    select id into v_id from graphile_worker.add_job(
      identifier => add.task, payload => add.payload::json, queue_name => add.queue_name, run_at => add.run_at,
      max_attempts => greatest(coalesce(add.max_attempts, 25), 2), job_key => add.job_key,
      job_key_mode => 'preserve_run_at'
    );
    -- add_job returns null when a worker has just locked the waiting job of this key. That job may have missed the
    -- current change, so another one is added.
    exit when v_id is not null;
  end loop;
  return v_id;
end;
$function$;
grant execute on function office_jobs.add(text,jsonb,text,timestamp with time zone,integer,text) to office_owner;
comment on function office_jobs.add(text,jsonb,text,timestamp with time zone,integer,text) is 'Adds a job in the caller''s transaction. At least two attempts, because a worker can die during the first.';

CREATE OR REPLACE FUNCTION office_jobs.backup_tables()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array['_private_tasks', '_private_job_queues', '_private_jobs']
$function$;
comment on function office_jobs.backup_tables() is 'The tables of the queue that a backup has; those of workers and schedules are not part of it.';

CREATE OR REPLACE FUNCTION office_jobs.beat(worker text, silence interval)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'office_jobs', 'pg_temp'
AS $function$
declare
  v_before timestamptz;
begin
  insert into office_jobs.workers (id, silence) values (beat.worker, beat.silence)
  on conflict on constraint workers_pkey do update set seen_at = clock_timestamp(), silence = excluded.silence
  returning old.seen_at into v_before;
  return case
    when v_before is null then 'new'
    when v_before < clock_timestamp() - beat.silence / 2 then 'late'
    else 'steady'
  end;
end;
$function$;
comment on function office_jobs.beat(text,interval) is 'Records a worker''s heartbeat. Returns `new` (unknown or removed as dead), `late` (the worker or the database was away) or `steady`.';

CREATE OR REPLACE FUNCTION office_jobs.cancel(job_id bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_id bigint;
begin
  select j.id into v_id from graphile_worker._private_jobs j
  where j.id = cancel.job_id and j.locked_at is null
  for update skip locked;
  if found then
    delete from graphile_worker._private_jobs j where j.id = v_id;
    return true;
  end if;
  return not exists (select from graphile_worker._private_jobs j where j.id = cancel.job_id);
end;
$function$;
grant execute on function office_jobs.cancel(bigint) to office_owner;
comment on function office_jobs.cancel(bigint) is 'Removes a waiting job; false when a worker holds it.';

CREATE OR REPLACE FUNCTION office_jobs.finish(job_id bigint, worker text, locked_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_queue_id integer;
begin
  delete from graphile_worker._private_jobs j
  where j.id = finish.job_id and j.locked_by = finish.worker and date_trunc('milliseconds', j.locked_at) = finish.locked_at
  returning j.job_queue_id into v_queue_id;
  if not found then
    return false;
  end if;
  if v_queue_id is not null then
    perform office_jobs.unlock_queue(v_queue_id, finish.worker);
  end if;
  return true;
end;
$function$;
comment on function office_jobs.finish(bigint,text,timestamp with time zone) is 'Removes a job that is done; false when the worker has lost it.';

CREATE OR REPLACE FUNCTION office_jobs.give_back(job_id bigint, worker text, locked_at timestamp with time zone, not_before_ms integer)
 RETURNS TABLE(attempts integer, max_attempts integer, next_attempt_at timestamp with time zone)
 LANGUAGE sql
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  with j as (
    update graphile_worker._private_jobs g
    set locked_at = null, locked_by = null, attempts = greatest(g.attempts - 1, 0), updated_at = now(),
      run_at = greatest(g.run_at, now() + give_back.not_before_ms * interval '1 ms')
    where g.id = give_back.job_id and g.locked_by = give_back.worker
      and date_trunc('milliseconds', g.locked_at) = give_back.locked_at
    returning g.job_queue_id, g.attempts, g.max_attempts, g.run_at
  ), q as (
    update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
    from j where q.id = j.job_queue_id and q.locked_by = give_back.worker
  )
  select j.attempts::integer, j.max_attempts::integer, j.run_at from j
$function$;
comment on function office_jobs.give_back(bigint,text,timestamp with time zone,integer) is 'Requeues a job without counting the attempt; no row when the worker has lost the job.';

CREATE OR REPLACE FUNCTION office_jobs.hold(job_id bigint, worker text, locked_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
begin
  perform from graphile_worker._private_jobs j
  where j.id = hold.job_id and j.locked_by = hold.worker and date_trunc('milliseconds', j.locked_at) = hold.locked_at
  for no key update;
  return found;
end;
$function$;
comment on function office_jobs.hold(bigint,text,timestamp with time zone) is 'Locks the row of a job until the transaction ends; false when the worker has lost the job.';

CREATE OR REPLACE FUNCTION office_jobs.is_owned(job_id bigint, worker text, locked_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  select exists (
    select from graphile_worker._private_jobs j
    where j.id = is_owned.job_id and j.locked_by = is_owned.worker
      and date_trunc('milliseconds', j.locked_at) = is_owned.locked_at)
$function$;
comment on function office_jobs.is_owned(bigint,text,timestamp with time zone) is 'Whether a worker still holds a job for this attempt.';

CREATE OR REPLACE FUNCTION office_jobs.is_queued(job_key text)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  select exists (
    select from graphile_worker._private_jobs j
    where j.key = is_queued.job_key and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$function$;
grant execute on function office_jobs.is_queued(text) to office_owner;
comment on function office_jobs.is_queued(text) is 'Whether a job of this key is waiting or running.';

CREATE OR REPLACE FUNCTION office_jobs.last_error(job_id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  select j.last_error from graphile_worker._private_jobs j where j.id = last_error.job_id
$function$;
grant execute on function office_jobs.last_error(bigint) to office_owner;
comment on function office_jobs.last_error(bigint) is 'The error of a job''s last attempt; null for a job that is gone.';

CREATE OR REPLACE FUNCTION office_jobs.leave(worker text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_job record;
  v_count integer := 0;
begin
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null where q.locked_by = leave.worker;
  for v_job in
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, attempts = greatest(j.attempts - 1, 0), updated_at = now()
    where j.locked_by = leave.worker
    returning j.id, j.attempts, j.payload ->> 'tenant' as tenant
  loop
    v_count := v_count + 1;
    perform office_jobs.notify_job_owner(v_job.tenant, v_job.id, 'QUEUED', v_job.attempts, null);
  end loop;
  delete from office_jobs.workers w where w.id = leave.worker;
  if v_count > 0 then
    perform pg_notify('jobs:insert', json_build_object('count', v_count)::text);
  end if;
  return v_count;
end;
$function$;
comment on function office_jobs.leave(text) is 'Unregisters a stopping worker and requeues its unfinished jobs without counting the attempt. Returns their number.';

CREATE OR REPLACE FUNCTION office_jobs.lost(job_ids bigint[])
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  select w.id from unnest(lost.job_ids) as w(id)
  where not exists (
    select from graphile_worker._private_jobs j where j.id = w.id and (j.locked_at is not null or j.attempts < j.max_attempts)
  )
$function$;
grant execute on function office_jobs.lost(bigint[]) to office_owner;
comment on function office_jobs.lost(bigint[]) is 'The given jobs that are gone from the queue or out of attempts.';

CREATE OR REPLACE FUNCTION office_jobs.notify_job_owner(tenant text, job_id bigint, state text, attempts integer, error text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_records integer;
begin
  if to_regprocedure(format('%I.record_job(bigint, text, integer, integer, text, timestamptz)', notify_job_owner.tenant)) is not null then
    execute format('select %I.record_job($1, $2, $3, null, $4)', notify_job_owner.tenant) into v_records
      using notify_job_owner.job_id, notify_job_owner.state, notify_job_owner.attempts, notify_job_owner.error;
    if notify_job_owner.state = 'FAILED' and v_records = 0 then
      execute format('select %I.notify_of_failed_task(q.task, q.id, $2) from office_jobs.queue q where q.id = $1', notify_job_owner.tenant)
        using notify_job_owner.job_id, notify_job_owner.error;
    end if;
  end if;
exception when others then
  raise warning 'state of job % was not recorded in tenant %: %', notify_job_owner.job_id, notify_job_owner.tenant, sqlerrm;
end;
$function$;

CREATE OR REPLACE FUNCTION office_jobs.postpone(job_id bigint, worker text, locked_at timestamp with time zone, not_before_ms integer)
 RETURNS TABLE(attempts integer, max_attempts integer, next_attempt_at timestamp with time zone)
 LANGUAGE sql
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  update graphile_worker._private_jobs j
  set run_at = greatest(j.run_at, now() + postpone.not_before_ms * interval '1 ms')
  where j.id = postpone.job_id and j.locked_by = postpone.worker and date_trunc('milliseconds', j.locked_at) = postpone.locked_at
  returning j.attempts::integer, j.max_attempts::integer,
    greatest(j.run_at, now()) + exp(least(j.attempts, 10)) * interval '1 second'
$function$;
comment on function office_jobs.postpone(bigint,text,timestamp with time zone,integer) is 'Delays the next attempt of a failing job; returns its state after the failure, and no row when the worker has lost the job.';

CREATE OR REPLACE FUNCTION office_jobs.queue_changes(main_tenant text, with_search boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'office_jobs', 'pg_temp'
AS $function$
declare
  v_tenant text;
begin
  execute format('select %I.queue_changes($1)', queue_changes.main_tenant) using queue_changes.with_search;
  for v_tenant in select a.tenant from office_jobs.tenants a
  loop
    begin
      if to_regprocedure(format('%I.queue_changes(boolean)', v_tenant)) is not null then
        execute format('select %I.queue_changes($1)', v_tenant) using queue_changes.with_search;
      end if;
    exception when undefined_table or undefined_function or invalid_schema_name or internal_error then
      null;
    end;
  end loop;
end;
$function$;
comment on function office_jobs.queue_changes(text,boolean) is 'Queues the jobs for changes of watched rows and for the search engine, in the live schema and all test runs that have any.';

CREATE OR REPLACE FUNCTION office_jobs.release_dead(silence interval)
 RETURNS TABLE(job_id bigint, task text, tenant text, correlation_id text, worker text, given_up boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_lost record;
  v_count integer := 0;
begin
  delete from office_jobs.workers w where w.seen_at < clock_timestamp() - w.silence;
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  where q.locked_at < clock_timestamp() - release_dead.silence
    and not exists (select from office_jobs.workers w where w.id = q.locked_by);
  for v_lost in
    with lost as (
      select j.id, j.locked_by as owner,
        coalesce(substring(j.last_error from '^Its worker died (\d+) times?$')::integer, 0) + 1 as deaths
      from graphile_worker._private_jobs j
      where j.locked_at < clock_timestamp() - release_dead.silence
        and not exists (select from office_jobs.workers w where w.id = j.locked_by)
      -- Skips a job whose worker is committing its result.
      for update of j skip locked
    )
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, updated_at = now(), run_at = greatest(j.run_at, now()),
      attempts = case when l.deaths >= 3 then j.max_attempts else j.attempts end,
      last_error = format('Its worker died %s %s', l.deaths, case when l.deaths = 1 then 'time' else 'times' end)
    from lost l, graphile_worker._private_tasks t
    where j.id = l.id and t.id = j.task_id
    returning j.id, t.identifier as task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
      l.owner, j.attempts >= j.max_attempts as given_up, l.deaths
  loop
    v_count := v_count + 1;
    perform office_jobs.notify_job_owner(v_lost.tenant, v_lost.id, case when v_lost.given_up then 'FAILED' else 'QUEUED' end, null,
      case
        when v_lost.deaths >= 3 then format('Its worker died %s times in a row: the job failed', v_lost.deaths)
        when v_lost.given_up then 'Its worker died: the job failed'
        else 'Its worker died: the job is retried'
      end);
    job_id := v_lost.id;
    task := v_lost.task;
    tenant := v_lost.tenant;
    correlation_id := v_lost.correlation_id;
    worker := v_lost.owner;
    given_up := v_lost.given_up;
    return next;
  end loop;
  if v_count > 0 then
    perform pg_notify('jobs:insert', '{"count":100}');
  end if;
end;
$function$;
comment on function office_jobs.release_dead(interval) is 'Releases and returns the jobs of dead workers; `given_up` marks jobs without further attempts.';

CREATE OR REPLACE FUNCTION office_jobs.remove_all_dead(older_than interval)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_count integer;
begin
  -- `updated_at` is when the job was added or replaced; `run_at` is when the next attempt was due.
  delete from graphile_worker._private_jobs j
  where j.locked_at is null and j.attempts >= j.max_attempts
    and greatest(j.run_at, j.updated_at) < clock_timestamp() - remove_all_dead.older_than;
  get diagnostics v_count = row_count;
  return v_count;
end;
$function$;
comment on function office_jobs.remove_all_dead(interval) is 'Removes failed jobs of all tenants older than the given time; returns their number.';

CREATE OR REPLACE FUNCTION office_jobs.remove_dead(job_id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  delete from graphile_worker._private_jobs j
  where j.id = remove_dead.job_id and j.locked_at is null and j.attempts >= j.max_attempts
$function$;
grant execute on function office_jobs.remove_dead(bigint) to office_owner;
comment on function office_jobs.remove_dead(bigint) is 'Removes a failed job that is out of attempts.';

CREATE OR REPLACE FUNCTION office_jobs.remove_tenant(tenant text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_running integer;
begin
  perform graphile_worker.complete_jobs(array(
    select id from graphile_worker._private_jobs where payload ->> 'tenant' = remove_tenant.tenant and locked_at is null
  ));
  select count(*) into v_running from graphile_worker._private_jobs where payload ->> 'tenant' = remove_tenant.tenant;
  return v_running;
end;
$function$;
grant execute on function office_jobs.remove_tenant(text) to office_owner;
comment on function office_jobs.remove_tenant(text) is 'Removes a tenant''s waiting jobs; returns the number of running ones.';

CREATE OR REPLACE FUNCTION office_jobs.requeue_undelivered(worker text, at_hand bigint[], silence interval)
 RETURNS TABLE(job_id bigint, task text, tenant text, correlation_id text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
declare
  v_job record;
begin
  for v_job in
    with unheard as (
      select j.id from graphile_worker._private_jobs j
      where j.locked_by = requeue_undelivered.worker and j.id <> all (requeue_undelivered.at_hand)
        and j.locked_at < clock_timestamp() - requeue_undelivered.silence
      for update of j skip locked
    )
    update graphile_worker._private_jobs j
    set locked_at = null, locked_by = null, attempts = greatest(j.attempts - 1, 0), updated_at = now()
    from unheard u, graphile_worker._private_tasks t
    where j.id = u.id and t.id = j.task_id
    returning j.id, t.identifier as task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
      j.attempts, j.job_queue_id
  loop
    update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
    where q.id = v_job.job_queue_id and q.locked_by = requeue_undelivered.worker;
    perform office_jobs.notify_job_owner(v_job.tenant, v_job.id, 'QUEUED', v_job.attempts, null);
    perform pg_notify('jobs:insert', '{"count":1}');
    job_id := v_job.id;
    task := v_job.task;
    tenant := v_job.tenant;
    correlation_id := v_job.correlation_id;
    return next;
  end loop;
end;
$function$;
comment on function office_jobs.requeue_undelivered(text,bigint[],interval) is 'Releases and returns jobs locked for a live worker that never received them; their attempt does not count.';

CREATE OR REPLACE FUNCTION office_jobs.stale_tenants(older_than interval)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'office_jobs', 'pg_temp'
AS $function$
  select a.tenant from office_jobs.tenants a
  where a.last_used_at < clock_timestamp() - stale_tenants.older_than
  order by a.last_used_at
$function$;
grant execute on function office_jobs.stale_tenants(interval) to office_owner;
comment on function office_jobs.stale_tenants(interval) is 'The tenants that were not used for the given time.';

CREATE OR REPLACE FUNCTION office_jobs.touch_tenant(tenant text, run_id text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'office_jobs', 'pg_temp'
AS $function$
  insert into office_jobs.tenants as a (tenant, run_id) values (touch_tenant.tenant, touch_tenant.run_id)
  on conflict on constraint tenants_pkey do update
    set last_used_at = clock_timestamp(), run_id = coalesce(excluded.run_id, a.run_id)
$function$;
grant execute on function office_jobs.touch_tenant(text,text) to office_owner;
comment on function office_jobs.touch_tenant(text,text) is 'Records the use of a test run''s tenant, also before its schema exists.';

CREATE OR REPLACE FUNCTION office_jobs.unlock_all()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  update graphile_worker._private_jobs j set locked_at = null, locked_by = null where j.locked_by is not null;
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null where q.locked_by is not null;
$function$;
comment on function office_jobs.unlock_all() is 'Releases all jobs, after a restore in which no worker exists.';

CREATE OR REPLACE FUNCTION office_jobs.unlock_queue(queue_id integer, worker text)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'graphile_worker', 'pg_temp'
AS $function$
  update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  where q.id = unlock_queue.queue_id and q.locked_by = unlock_queue.worker
$function$;

CREATE OR REPLACE FUNCTION office_jobs.unregister_tenant(tenant text, unused_for interval DEFAULT NULL::interval)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'office_jobs', 'pg_temp'
AS $function$
begin
  delete from office_jobs.tenants a
  where a.tenant = unregister_tenant.tenant
    and (unregister_tenant.unused_for is null or a.last_used_at < clock_timestamp() - unregister_tenant.unused_for);
  return found;
end;
$function$;
grant execute on function office_jobs.unregister_tenant(text,interval) to office_owner;
comment on function office_jobs.unregister_tenant(text,interval) is 'Removes the record of a tenant before its schema is dropped; false when it is unknown or was used within the given time.';
