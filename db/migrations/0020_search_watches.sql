-- Search watches: saved searches that notify their owners when rows start or stop matching.
create type search_watch_event as enum ('CREATED', 'MATCHES', 'LEAVES', 'CHANGED');
comment on type search_watch_event is
  'CREATED: a new row matches. MATCHES: an existing row starts to match. LEAVES: a row stops matching. CHANGED: a matching row changed.';
create type search_watch_delivery as enum ('AT_ONCE', 'DAILY', 'WEEKLY');
comment on type search_watch_delivery is
  'AT_ONCE: within two minutes. DAILY: at 08:00. WEEKLY: on Mondays at 08:00. Times are in the owner''s time zone.';
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
  is_ready boolean not null default false,
  ready_after text,
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
create index search_watches_due_at_idx on search_watches (due_at);
comment on table search_watches is '@group Office 54
@read login
@owner user_id
@audit SearchWatch id except table_name statement statement_values seen_statement ids_at is_ready ready_after due_at last_match_at match_count
@defaultOrder name, id
@label name entity
A saved search that notifies its owner when rows start or stop matching.';
comment on column search_watches.user_id is '@internal
Whose watch it is.';
comment on column search_watches.name is '@list 1
Its name.';
comment on column search_watches.entity is '@list 2
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
Whether it is paused. Events during a pause are not reported later.';
comment on column search_watches.last_match_at is '@list 7
@title Last match
When it last found an event; null before the first.';
comment on column search_watches.match_count is '@list 8
@title Matches
The number of events that it found.';
comment on column search_watches.problem is 'Why the service paused it; null without a problem.';
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
comment on column search_watches.is_ready is '@internal
Whether `search_watch_rows` holds the matching rows.';
comment on column search_watches.ready_after is '@internal
The transaction id that all earlier transactions must end before, so that the baseline is complete.';
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

create table watched_changes (
  id bigint generated by default as identity primary key,
  table_name text not null,
  row_id uuid not null,
  is_new boolean not null
);
create index watched_changes_row_idx on watched_changes (table_name, row_id);
comment on table watched_changes is '@internal
@audit off because it is a queue
A queue of changed rows of watched tables.';
