-- The import from the ERP: the issues of orders, the runs, cursors and schedule, the records that it could not read, and
-- the rules that map the ERP's codes.

create type order_import_issue_kind as enum ('MAPPING', 'DATA');
comment on type order_import_issue_kind is
  'The kind of an import issue. MAPPING: an order contains a value without a mapping rule; DATA: an order lacks data that only the ERP can supply.';

-- One row for each cause in an order. The row stays when the cause is gone, with `resolved_at`, and is opened again
-- when the cause returns.
create table order_import_issues (
  id uuid primary key default uuidv7(),
  order_id uuid not null references orders on delete cascade,
  kind order_import_issue_kind not null,
  code text collate "C" not null,
  key text collate "C" not null,
  message text not null,
  value text,
  path text,
  occurrences integer not null default 1,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  resolved_at timestamptz,
  order_placed_at timestamptz not null,
  order_is_superseded boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint order_import_issues_cause_key unique (order_id, code, key),
  constraint order_import_issues_code_check check (code ~ '^[a-z_]+\.[a-z_]+$' and char_length(code) <= 80),
  constraint order_import_issues_key_check check (char_length(key) <= 300),
  constraint order_import_issues_message_check check (char_length(message) between 1 and 2000),
  constraint order_import_issues_value_check check (char_length(value) <= 2000),
  constraint order_import_issues_path_check check (char_length(path) <= 300),
  constraint order_import_issues_occurrences_check check (occurrences > 0),
  constraint order_import_issues_last_seen_at_check check (last_seen_at >= first_seen_at)
);
-- Serves the groups, whose sums read only the index, and the latest orders of each cause.
create index order_import_issues_groups_idx on order_import_issues (kind, code, key, order_placed_at desc, order_id)
  include (occurrences, first_seen_at, last_seen_at)
  where resolved_at is null and not order_is_superseded;
create index order_import_issues_code_key_idx on order_import_issues (code, key);
create index order_import_issues_key_idx on order_import_issues (key);
comment on table order_import_issues is '@read orders.read erpsync.read
@audit off because a row holds its own history: when it was first and last seen, and when it was resolved
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
comment on column order_import_issues.first_seen_at is
  'When an import first found the issue. The time is kept if the issue is resolved and returns.';
comment on column order_import_issues.last_seen_at is
  'When an import of a changed order last found the issue. Importing an unchanged order does not update this time.';
comment on column order_import_issues.resolved_at is 'When an import no longer found the issue; null for an open issue.';
comment on column order_import_issues.order_placed_at is '@internal
Copy of the order''s `placed_at` for the index of the groups.';
comment on column order_import_issues.order_is_superseded is '@internal
Whether the order is superseded, copied for the index of the groups.';
comment on constraint order_import_issues_cause_key on order_import_issues is 'The order has this issue already.';
comment on constraint order_import_issues_code_check on order_import_issues is
  'must be two words joined by a dot, such as line_kind.unmapped';
comment on constraint order_import_issues_key_check on order_import_issues is 'must be 300 characters at most';
comment on constraint order_import_issues_message_check on order_import_issues is 'must be 1 to 2000 characters';
comment on constraint order_import_issues_value_check on order_import_issues is 'must be 2000 characters at most';
comment on constraint order_import_issues_path_check on order_import_issues is 'must be 300 characters at most';
comment on constraint order_import_issues_occurrences_check on order_import_issues is 'must be 1 at least';
comment on constraint order_import_issues_last_seen_at_check on order_import_issues is 'must not be before firstSeenAt';
comment on constraint order_import_issues_order_id_fkey on order_import_issues is '@foreignFieldName importIssueHistory
@behavior +manyRelation:resource:list';

create type erp_order_health as (orders_with_mapping_issues integer, orders_with_data_issues integer);
comment on type erp_order_health is 'The health of the order import from the ERP.';
comment on column erp_order_health.orders_with_mapping_issues is '@notNull
The number of orders that contain a value without a mapping rule.';
comment on column erp_order_health.orders_with_data_issues is '@notNull
The number of orders that lack data that only the ERP can supply.';

-- The open issues of each cause, counted by triggers, so that reading the groups does not depend on the number of
-- issues.
create table order_import_causes (
  kind order_import_issue_kind not null,
  code text collate "C" not null,
  key text collate "C" not null,
  order_count bigint not null,
  occurrences bigint not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  is_exact boolean not null default true,
  primary key (kind, code, key)
);
create index order_import_causes_size_idx on order_import_causes (kind, order_count desc, last_seen_at desc, code, key);
comment on table order_import_causes is '@internal
@audit off because triggers compute it from the issues
The causes of open import issues with their counts; superseded orders are left out.';
comment on column order_import_causes.is_exact is
  'False when the issue that was seen first or last may have been resolved; both times are then read from the issues.';

create table erp_mapping_targets (
  id uuid primary key default uuidv7(),
  code text collate "C" not null,
  value text collate "C" not null,
  title text collate display_order not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint erp_mapping_targets_value_key unique (code, value),
  constraint erp_mapping_targets_code_check check (code in (
    'line_kind.unmapped', 'payment_method.unmapped', 'shipping_method.unmapped', 'vat_code.unmapped', 'currency.unmapped',
    'warehouse.unmapped'
  )),
  constraint erp_mapping_targets_value_check check (is_label(value, 50)),
  constraint erp_mapping_targets_currency_check check (code <> 'currency.unmapped' or value ~ '^[A-Z]{3}$'),
  constraint erp_mapping_targets_title_check check (is_label(title, 200))
);
create index erp_mapping_targets_value_idx on erp_mapping_targets (value);
create index erp_mapping_targets_words_idx on erp_mapping_targets using gin (search_text(title) extensions.gin_trgm_ops);
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
comment on constraint erp_mapping_targets_value_key on erp_mapping_targets is
  'There is a target of this code and value already.';
comment on constraint erp_mapping_targets_code_check on erp_mapping_targets is
  'must be line_kind.unmapped, payment_method.unmapped, shipping_method.unmapped, vat_code.unmapped, currency.unmapped or warehouse.unmapped';
comment on constraint erp_mapping_targets_value_check on erp_mapping_targets is
  'must be 1 to 50 visible characters without spaces at its ends';
comment on constraint erp_mapping_targets_currency_check on erp_mapping_targets is
  'must be a currency code of three capitals, such as DKK';
comment on constraint erp_mapping_targets_title_check on erp_mapping_targets is
  'must be 1 to 200 visible characters without spaces at its ends';

create table erp_mapping_rules (
  id uuid primary key default uuidv7(),
  code text collate "C" not null,
  key text collate "C" not null,
  target text collate "C",
  is_ignored boolean not null default false,
  note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint erp_mapping_rules_key_key unique (code, key),
  constraint erp_mapping_rules_target_fkey foreign key (code, target) references erp_mapping_targets (code, value)
    on update cascade on delete restrict,
  constraint erp_mapping_rules_code_check check (code in (
    'line_kind.unmapped', 'payment_method.unmapped', 'shipping_method.unmapped', 'vat_code.unmapped', 'currency.unmapped',
    'warehouse.unmapped'
  )),
  constraint erp_mapping_rules_key_check check (is_label(key, 100)),
  constraint erp_mapping_rules_target_check check ((target is null) = is_ignored),
  constraint erp_mapping_rules_note_check check (char_length(note) <= 2000)
);
create index erp_mapping_rules_code_target_idx on erp_mapping_rules (code, target);
create index erp_mapping_rules_key_idx on erp_mapping_rules (key);
create index erp_mapping_rules_target_idx on erp_mapping_rules (target);
create index erp_mapping_rules_created_at_idx on erp_mapping_rules (created_at, id);
create index erp_mapping_rules_search_idx on erp_mapping_rules using gin (search_text(key) extensions.gin_trgm_ops);
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
comment on column erp_mapping_rules.is_ignored is
  '@list 4
@title Ignored
Whether the value is ignored: orders with it get neither a mapped value nor an import issue.';
comment on column erp_mapping_rules.note is '@list 5
@widget long
The reason for the rule, as a note for colleagues.';
comment on column erp_mapping_rules.updated_at is '@list 6';
comment on constraint erp_mapping_rules_key_key on erp_mapping_rules is
  'There is a rule for this code and key already.';
comment on constraint erp_mapping_rules_code_check on erp_mapping_rules is
  'must be line_kind.unmapped, payment_method.unmapped, shipping_method.unmapped, vat_code.unmapped, currency.unmapped or warehouse.unmapped';
comment on constraint erp_mapping_rules_key_check on erp_mapping_rules is
  'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint erp_mapping_rules_target_check on erp_mapping_rules is
  'is required, or must be omitted when isIgnored is true';
comment on constraint erp_mapping_rules_note_check on erp_mapping_rules is 'must be 2000 characters at most';

create type erp_sync_run_kind as enum ('IMPORT', 'RECHECK', 'DATA_RECHECK', 'ORDER');
comment on type erp_sync_run_kind is
  'The data that a run reads from the ERP. IMPORT: changes since the last import; RECHECK: orders with a mapping issue; DATA_RECHECK: orders with a data issue; ORDER: one order, by its number.';
create type erp_sync_run_status as enum ('QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED', 'CANCELLED');
comment on type erp_sync_run_status is
  'The status of a run. RETRYING: an attempt failed, and a later one continues from the same position; FAILED: the run failed and is not retried.';

create table erp_sync_runs (
  id uuid primary key default uuidv7(),
  kind erp_sync_run_kind not null,
  status erp_sync_run_status not null default 'QUEUED',
  requested_by_user_id uuid references users on delete set null,
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
  queued_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  retry_at timestamptz,
  finished_at timestamptz,
  position text collate "C",
  customer_position text collate "C",
  job_id bigint,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  cancelled_by_user_id uuid references users on delete set null,
  open_issue_groups integer,
  open_issue_orders integer,
  constraint erp_sync_runs_error_check check (char_length(error) <= 2000)
);
create index erp_sync_runs_kind_order_idx on erp_sync_runs (kind, id);
create index erp_sync_runs_status_order_idx on erp_sync_runs (status, id);
create index erp_sync_runs_queued_at_idx on erp_sync_runs (queued_at, id);
create index erp_sync_runs_status_idx on erp_sync_runs (status, queued_at desc);
create index erp_sync_runs_kind_idx on erp_sync_runs (kind, queued_at desc);
create index erp_sync_runs_erp_order_number_idx on erp_sync_runs (erp_order_number);
create index erp_sync_runs_requested_by_user_id_idx on erp_sync_runs (requested_by_user_id);
create index erp_sync_runs_created_at_idx on erp_sync_runs (created_at, id);
-- At most one run of a kind waits and one works. Single orders have one of each for each number.
create unique index erp_sync_runs_waiting_key on erp_sync_runs (kind, erp_order_number) nulls not distinct where status = 'QUEUED';
create unique index erp_sync_runs_working_key on erp_sync_runs (kind, erp_order_number) nulls not distinct
  where status in ('RUNNING', 'RETRYING');
create index erp_sync_runs_cancelled_by_user_id_idx on erp_sync_runs (cancelled_by_user_id);
create index erp_sync_runs_open_issue_groups_idx on erp_sync_runs (finished_at desc, id desc) where open_issue_groups is not null;
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
comment on column erp_sync_runs.failures is
  '@list 7
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
comment on column erp_sync_runs.customer_position is '@internal
The last customer number that the recheck of data has read; null before the first one.';
comment on column erp_sync_runs.position is '@internal
The number of the last order done; the run continues after it.';
comment on column erp_sync_runs.job_id is '@internal
The job in the queue.';
comment on column erp_sync_runs.cancelled_by_user_id is 'The user who cancelled the run; null for a run that was not cancelled.';
comment on column erp_sync_runs.open_issue_groups is 'The number of open groups of import issues at the end of the run; null before.';
comment on column erp_sync_runs.open_issue_orders is
  'The number of orders in these groups at the end of the run; null before. An order counts once for each of its groups.';
comment on constraint erp_sync_runs_error_check on erp_sync_runs is 'must be 2000 characters at most';
comment on constraint erp_sync_runs_requested_by_user_id_fkey on erp_sync_runs is '@behavior -*';

create table erp_import_failures (
  id uuid primary key default uuidv7(),
  record text collate "C" not null,
  erp_order_number text collate "C",
  message text not null,
  path text,
  revision text,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint erp_import_failures_record_key unique (record),
  constraint erp_import_failures_record_check check (char_length(record) between 1 and 200),
  constraint erp_import_failures_erp_order_number_check check (char_length(erp_order_number) <= 200),
  constraint erp_import_failures_message_check check (char_length(message) between 1 and 2000),
  constraint erp_import_failures_path_check check (char_length(path) <= 300)
);
create index erp_import_failures_last_seen_at_idx on erp_import_failures (last_seen_at, id);
create index erp_import_failures_erp_order_number_idx on erp_import_failures (erp_order_number);
create index erp_import_failures_created_at_idx on erp_import_failures (created_at, id);
create index erp_import_failures_search_idx on erp_import_failures using gin (
  search_text(erp_order_number) extensions.gin_trgm_ops, search_text(message) extensions.gin_trgm_ops
);
comment on table erp_import_failures is '@group Operations 62
@icon alert
@title Unreadable records
@titleOne Unreadable record
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
comment on column erp_import_failures.last_seen_at is
  'When an import last found the failure in a new version of the record, or a different failure of the record.';
comment on constraint erp_import_failures_record_key on erp_import_failures is 'This record failed already.';
comment on constraint erp_import_failures_record_check on erp_import_failures is 'must be 1 to 200 characters';
comment on constraint erp_import_failures_erp_order_number_check on erp_import_failures is
  'must be 200 characters at most';
comment on constraint erp_import_failures_message_check on erp_import_failures is 'must be 1 to 2000 characters';
comment on constraint erp_import_failures_path_check on erp_import_failures is 'must be 300 characters at most';

create table erp_cursors (
  entity text primary key,
  cursor text,
  cursor_at timestamptz,
  caught_up_at timestamptz,
  erp_is_up boolean,
  erp_error text,
  erp_seen_at timestamptz,
  pass_run_id uuid,
  erp_down_at timestamptz,
  constraint erp_cursors_entity_check check (entity in ('orders', 'customers')),
  constraint erp_cursors_cursor_check check (char_length(cursor) <= 4000),
  constraint erp_cursors_erp_error_check check (char_length(erp_error) <= 2000)
);
comment on table erp_cursors is '@internal
@audit off because it is the state of the import
The progress of the imports of orders and customers, and the state of the ERP at its last response.';
comment on column erp_cursors.cursor is 'Where the next import goes on, in the words of the ERP''s client.';
comment on column erp_cursors.cursor_at is 'Up to when the ERP''s changes are in.';
comment on column erp_cursors.caught_up_at is 'When an import last came to the end of what the ERP had.';
comment on column erp_cursors.pass_run_id is 'The run that started the current pass of the cursor; null between passes.';
comment on column erp_cursors.erp_down_at is 'Since when the ERP does not answer; null while it does.';

insert into erp_cursors (entity) values ('customers'), ('orders');

create table erp_schedule (
  what text primary key,
  next_at timestamptz,
  done_on date,
  constraint erp_schedule_what_check check (what in ('import', 'recheck'))
);
comment on table erp_schedule is '@internal
@audit off because it is the state of the schedule
When the schedule acts next.';
comment on column erp_schedule.done_on is 'The last day, in the configured time zone, whose nightly run was queued.';

insert into erp_schedule (what) values ('import'), ('recheck');

create type erp_sync_job_handle as (
  id uuid,
  status erp_sync_run_status,
  queued_at timestamptz,
  reused boolean,
  order_count integer
);
comment on type erp_sync_job_handle is
  'A waiting or running import; `erpSyncRun` with its `id` returns the progress.';
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

create type sync_status as (
  last_run erp_sync_runs,
  last_success_at timestamptz,
  cursor text,
  cursor_at timestamptz,
  lag_seconds integer,
  failed_runs integer,
  unreadable_records integer,
  next_import_at timestamptz,
  next_recheck_at timestamptz,
  erp_is_up boolean,
  erp_error text,
  erp_seen_at timestamptz
);
comment on type sync_status is 'The state of the import from the ERP.';
comment on column sync_status.last_run is 'The latest run that a worker has started.';
comment on column sync_status.last_success_at is 'When an import last reached the end of the ERP''s changes.';
comment on column sync_status.cursor is 'The position from which the next import continues.';
comment on column sync_status.cursor_at is 'The time up to which changes of the ERP are imported.';
comment on column sync_status.lag_seconds is
  'The number of seconds since an import last reached the end of the ERP''s changes; null before the first time.';
comment on column sync_status.failed_runs is '@notNull
The number of failed runs since the last successful one.';
comment on column sync_status.unreadable_records is '@notNull
The number of orders and customers of the ERP that could not be read or imported; `erpImportFailures` lists them.';
comment on column sync_status.next_import_at is 'When the next scheduled import is due; null before a worker has run.';
comment on column sync_status.next_recheck_at is 'When the next nightly run is due; null before a worker has run.';
comment on column sync_status.erp_is_up is 'Whether the last request to the ERP succeeded; null before the first request.';
comment on column sync_status.erp_error is 'The error of the last request to the ERP; null if it succeeded.';
comment on column sync_status.erp_seen_at is 'When the service last sent a request to the ERP.';
