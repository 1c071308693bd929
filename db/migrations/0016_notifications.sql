-- Notifications, and the settings of each person for each kind.
alter table users validate constraint users_time_zone_check;
alter table users validate constraint users_locale_check;

create type notification_kind as enum (
  'EXPORT_COMPLETED', 'EXPORT_FAILED', 'JOB_FAILED', 'INVITATION_ACCEPTED', 'INVITATION_UNDELIVERABLE', 'IMPORT_ISSUES', 'ERP_DOWN',
  'SEARCH_DOWN', 'ABSENCE_REQUESTED', 'ABSENCE_DECIDED', 'BOOKING_CHANGED', 'TOKEN_EXPIRING', 'NEW_LOGIN_ADDRESS', 'WATCH_MATCHED'
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
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  read_at timestamptz,
  subject_key text not null,
  mail_at timestamptz,
  mail_id uuid,
  mailed_at timestamptz,
  constraint notifications_title_check check (char_length(title) between 1 and 300),
  constraint notifications_body_check check (char_length(body) <= 2000),
  constraint notifications_entity_check check (entity ~ '^[A-Z][A-Za-z]*$'),
  constraint notifications_entity_id_check check (char_length(entity_id) <= 100),
  constraint notifications_occurrences_check check (occurrences > 0)
);
create index notifications_user_id_idx on notifications (user_id, created_at desc, id desc);
create index notifications_subject_idx on notifications (kind, subject_key, created_at desc);
create index notifications_unread_idx on notifications (user_id) where read_at is null;
create index notifications_mail_at_idx on notifications (mail_at) where mail_id is null;
create index notifications_mail_id_idx on notifications (mail_id) where mail_id is not null;
create index notifications_created_at_idx on notifications (created_at, id);
create index notifications_title_idx on notifications using gin (search_text(title) extensions.gin_trgm_ops);
comment on table notifications is '@group Office 51
@read login
@owner user_id
@audit off because the change that caused it is recorded
@connection
@filter unreadOnly -readAt:*
@defaultOrder created_at desc, id desc
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
The type of the row that it refers to, such as `ExportJob`.';
comment on column notifications.entity_id is '@title ID of the row
@widget row
The id of that row.';
comment on column notifications.occurrences is '@title Times
How often the event repeated within an hour of the first.';
comment on column notifications.created_at is '@list 4
@title Since';
comment on column notifications.read_at is '@list 5
@title Read
When the recipient marked it as read; null before.';
comment on column notifications.subject_key is '@internal
Notifications of one kind and subject within an hour are merged.';
comment on column notifications.mail_at is '@internal
When it is to be sent by mail; null for never.';
comment on column notifications.mail_id is '@internal
The mail that it is part of; null before.';
comment on column notifications.mailed_at is '@internal
When that mail was sent.';
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
Whether notifications of this kind come as unread. Otherwise they are marked as read at once.';
comment on column notification_preferences.mail is '@list 3
@title By e-mail
Whether and when they come by e-mail.';
comment on index notification_preferences_user_id_kind_key is 'The person has this preference already.';

alter table erp_cursors add column erp_down_at timestamptz;
comment on column erp_cursors.erp_down_at is 'Since when the ERP does not answer; null while it does.';
alter table erp_sync_runs add column open_issue_groups integer;
-- lint: allow create-index because only runs with a number, which are new, are in the index
create index erp_sync_runs_open_issue_groups_idx on erp_sync_runs (finished_at desc, id desc) where open_issue_groups is not null;
comment on column erp_sync_runs.open_issue_groups is 'The number of groups of import issues that were open when the run ended; null before.';
