-- Notifications, and the settings of each person for each kind.

create type notification_kind as enum (
  'EXPORT_COMPLETED', 'EXPORT_FAILED', 'JOB_FAILED', 'INVITATION_ACCEPTED', 'INVITATION_UNDELIVERABLE', 'IMPORT_ISSUES', 'ERP_DOWN',
  'SEARCH_DOWN', 'ABSENCE_REQUESTED', 'ABSENCE_DECIDED', 'BOOKING_CHANGED', 'TOKEN_EXPIRING', 'NEW_LOGIN_ADDRESS', 'WATCH_MATCHED',
  'WORK_HANDED_OVER', 'TOKEN_CREATED'
);
comment on type notification_kind is 'The kind of event that a notification reports.';
create type notification_mail as enum ('OFF', 'AT_ONCE', 'DAILY');
comment on type notification_mail is
  'When notifications are sent by e-mail. DAILY: those that are still unread at 08:00 in the person''s time zone, in one mail.';

create table notifications (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  kind notification_kind not null,
  title text collate display_order not null,
  body text,
  entity text collate "C",
  entity_id text collate "C",
  occurrences integer not null default 1,
  happened_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  read_at timestamptz,
  subject_key text not null,
  mail_at timestamptz,
  mail_id uuid,
  mailed_at timestamptz,
  row_ids uuid[],
  constraint notifications_title_check check (char_length(title) between 1 and 300),
  constraint notifications_body_check check (char_length(body) <= 2000),
  constraint notifications_entity_check check (entity ~ '^[A-Z][A-Za-z]*$'),
  constraint notifications_entity_id_check check (char_length(entity_id) <= 100),
  constraint notifications_occurrences_check check (occurrences > 0)
);
create index notifications_user_id_idx on notifications (user_id, happened_at desc, id desc);
create index notifications_subject_idx on notifications (kind, subject_key, created_at desc);
create index notifications_unread_idx on notifications (user_id) where read_at is null;
create index notifications_mail_at_idx on notifications (mail_at) where mail_id is null;
create index notifications_mail_id_idx on notifications (mail_id) where mail_id is not null;
create index notifications_happened_at_idx on notifications (happened_at, id);
create index notifications_created_at_idx on notifications (created_at, id);
create index notifications_title_idx on notifications using gin (search_text(title) extensions.gin_trgm_ops);
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
comment on constraint notifications_title_check on notifications is 'must be 1 to 300 characters';
comment on constraint notifications_body_check on notifications is 'must be 2000 characters at most';
comment on constraint notifications_entity_check on notifications is 'must be the name of a type';
comment on constraint notifications_entity_id_check on notifications is 'must be 100 characters at most';
comment on constraint notifications_occurrences_check on notifications is 'must be 1 at least';

create table notification_preferences (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  kind notification_kind not null,
  in_inbox boolean not null default true,
  mail notification_mail not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index notification_preferences_user_id_kind_key on notification_preferences (user_id, kind);
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

-- Search watches: saved searches that notify their owners when rows start or stop matching.
create type search_watch_event as enum ('CREATED', 'MATCHES', 'LEAVES', 'CHANGED');
comment on type search_watch_event is
  'An event of a search watch. CREATED: a new row matches. MATCHES: an existing row starts to match. LEAVES: a row stops matching. CHANGED: a matching row changed.';
create type search_watch_delivery as enum ('AT_ONCE', 'DAILY', 'WEEKLY');
comment on type search_watch_delivery is
  'When the owner is notified. AT_ONCE: within seconds. DAILY: at 08:00. WEEKLY: on Mondays at 08:00. Times are in the owner''s time zone.';
create type search_watch_channel as enum ('INBOX', 'EMAIL');
comment on type search_watch_channel is 'Where the owner receives notifications.';

create table search_watches (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  name text collate display_order not null,
  entity text collate "C" not null,
  query text not null,
  events search_watch_event[] not null default '{CREATED,MATCHES}',
  delivery search_watch_delivery not null default 'AT_ONCE',
  channels search_watch_channel[] not null default '{INBOX}',
  is_paused boolean not null default false,
  last_match_at timestamptz,
  match_count integer not null default 0,
  problem text,
  table_name text not null,
  statement text not null,
  statement_values jsonb not null,
  seen_statement text not null,
  ids_at integer not null,
  related_tables text[] not null default '{}',
  related_at timestamptz,
  related_due_at timestamptz,
  is_ready boolean not null default false,
  ready_after text,
  is_settled boolean not null default false,
  baseline_ids uuid[],
  baseline_snapshot text,
  due_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint search_watches_name_check check (is_label(name, 200)),
  constraint search_watches_query_check check (char_length(query) between 1 and 10000),
  constraint search_watches_events_check check (cardinality(events) > 0),
  constraint search_watches_channels_check check (cardinality(channels) > 0)
);
create index search_watches_user_id_idx on search_watches (user_id, name, id);
create index search_watches_table_name_idx on search_watches (table_name);
create index search_watches_related_tables_idx on search_watches using gin (related_tables);
create index search_watches_related_due_at_idx on search_watches (related_due_at);
create index search_watches_due_at_idx on search_watches (due_at);
create index search_watches_words_idx on search_watches using gin (search_text(name) extensions.gin_trgm_ops);
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
comment on constraint search_watches_name_check on search_watches is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint search_watches_query_check on search_watches is 'must be 1 to 10000 characters';
comment on constraint search_watches_events_check on search_watches is 'must name at least one event';
comment on constraint search_watches_channels_check on search_watches is 'must name at least one channel';

create table search_watch_rows (
  watch_id uuid not null references search_watches on delete cascade,
  row_id uuid not null,
  primary key (watch_id, row_id)
);
create index search_watch_rows_row_id_idx on search_watch_rows (row_id);
comment on table search_watch_rows is '@internal
@audit off because it is derived data
The rows that matched a watch at its last evaluation.';

create table search_watch_notices (
  id uuid primary key default uuidv7(),
  watch_id uuid not null references search_watches on delete cascade,
  event search_watch_event not null,
  row_id uuid not null,
  name text not null,
  created_at timestamptz not null default now()
);
create index search_watch_notices_watch_id_idx on search_watch_notices (watch_id, id);
comment on table search_watch_notices is '@internal
@audit off because notifications report these events
The pending events of a watch.';
