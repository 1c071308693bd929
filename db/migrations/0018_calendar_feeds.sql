-- Feeds for calendar programs.
alter table resource_bookings validate constraint resource_bookings_repeat_weeks_check;
alter table resource_bookings validate constraint resource_bookings_series_check;

create table calendar_feeds (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  name text collate display_order not null,
  token_hash bytea not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint calendar_feeds_token_hash_key unique (token_hash),
  constraint calendar_feeds_name_check check (is_label(name, 100))
);
create index calendar_feeds_user_id_idx on calendar_feeds (user_id, created_at desc, id desc);
comment on table calendar_feeds is '@group Office 60
@read login
@owner user_id
@audit CalendarFeed id except last_used_at
@defaultOrder created_at desc, id desc
A secret address that serves the bookings, absences and campaigns of its owner to calendar programs.';
comment on column calendar_feeds.user_id is '@internal
Whose calendar it is.';
comment on column calendar_feeds.name is '@list 1
The program that reads it, such as "Phone".';
comment on column calendar_feeds.token_hash is '@secret
SHA-256 of the secret in the address.';
comment on column calendar_feeds.created_at is '@list 2';
comment on column calendar_feeds.last_used_at is '@list 3
When it was last read, to the minute; null before the first read.';
comment on column calendar_feeds.revoked_at is '@list 4
@title Revoked
When it was revoked; null for an active feed.';
comment on constraint calendar_feeds_name_check on calendar_feeds is
  'must be 1 to 100 visible characters without spaces at its ends';
