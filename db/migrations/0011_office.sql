-- The days of the office: bookings, absences, feeds for calendar programs, and the handbook.
create type resource_kind as enum ('ROOM', 'VEHICLE', 'EQUIPMENT', 'TASTING_SET');
comment on type resource_kind is 'The kind of a resource.';
create type resource_booking_status as enum ('BOOKED', 'CANCELLED');
comment on type resource_booking_status is 'Whether a booking reserves its resource.';

create table resources (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  kind resource_kind not null,
  location text,
  capacity integer,
  color text,
  description text,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint resources_name_check check (is_label(name, 200)),
  constraint resources_location_check check (is_label(location, 200)),
  constraint resources_capacity_check check (capacity between 1 and 100000),
  constraint resources_color_check check (color ~ '^#[0-9A-F]{6}$'),
  constraint resources_description_check check (char_length(description) <= 5000)
);
create unique index resources_name_key on resources (name_key(name));
create index resources_name_idx on resources (name, id);
create index resources_kind_idx on resources (kind, id);
create index resources_location_idx on resources (location, id);
create index resources_capacity_idx on resources (capacity, id);
create index resources_is_active_idx on resources (is_active, id);
create index resources_words_idx on resources using gin (search_text(name) extensions.gin_trgm_ops);
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
comment on constraint resources_name_check on resources is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint resources_location_check on resources is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint resources_capacity_check on resources is 'must be 1 to 100000';
comment on constraint resources_color_check on resources is 'must be a colour such as #7A0019';
comment on constraint resources_description_check on resources is 'must be 5000 characters at most';
comment on index resources_name_key is 'A resource of this name exists already.';

create table resource_bookings (
  id uuid primary key default uuidv7(),
  resource_id uuid not null references resources on delete restrict,
  booked_by_user_id uuid not null references users on delete restrict,
  booked_by_name text not null,
  title text collate display_order not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  attendees integer,
  note text,
  status resource_booking_status not null default 'BOOKED',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  repeat_weeks integer,
  repeat_until date,
  series_id uuid,
  constraint resource_bookings_title_check check (is_label(title, 200)),
  constraint resource_bookings_booked_by_name_check check (char_length(booked_by_name) between 1 and 320),
  constraint resource_bookings_ends_at_check check (ends_at > starts_at and ends_at - starts_at <= interval '31 days'),
  constraint resource_bookings_attendees_check check (attendees between 1 and 100000),
  constraint resource_bookings_note_check check (char_length(note) <= 5000),
  constraint resource_bookings_repeat_weeks_check check (repeat_weeks in (1, 2)),
  constraint resource_bookings_series_check check (num_nulls(repeat_weeks, repeat_until, series_id) in (0, 3)),
  -- Deferrable, because moving a series by its own interval overlaps its other bookings within the statement.
  constraint resource_bookings_overlap_excl
    exclude using gist (resource_id with =, tstzrange(starts_at, ends_at) with &&) where (status = 'BOOKED') deferrable
);
create index resource_bookings_starts_at_idx on resource_bookings (starts_at, id);
create index resource_bookings_ends_at_idx on resource_bookings (ends_at, id);
create index resource_bookings_title_order_idx on resource_bookings (title, id);
create index resource_bookings_status_idx on resource_bookings (status, id);
create index resource_bookings_booked_by_name_idx on resource_bookings (booked_by_name, id);
create index resource_bookings_created_at_idx on resource_bookings (created_at, id);
create index resource_bookings_updated_at_idx on resource_bookings (updated_at, id);
create index resource_bookings_resource_id_idx on resource_bookings (resource_id, starts_at);
create index resource_bookings_booked_by_user_id_idx on resource_bookings (booked_by_user_id);
create index resource_bookings_title_idx on resource_bookings using gin (search_text(title) extensions.gin_trgm_ops);
create index resource_bookings_series_id_idx on resource_bookings (series_id, starts_at);
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
comment on column resource_bookings.booked_by_user_id is '@mutations off
@list off
@title User
The user who booked the resource.';
comment on column resource_bookings.booked_by_name is '@personal booked_by_user_id Former user
@searchIndex searchable
@mutations off
@list 6
@title Booked by
The name of the person who booked the resource, at the time of the booking; without a name, the part of the e-mail address before the @. Every reader of the booking can see it.';
comment on column resource_bookings.title is '@list 1
@searchIndex searchable sort
@search word
The purpose of the booking.';
comment on column resource_bookings.resource_id is '@list 3';
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
comment on constraint resource_bookings_title_check on resource_bookings is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint resource_bookings_booked_by_name_check on resource_bookings is 'must be 1 to 320 characters';
comment on constraint resource_bookings_ends_at_check on resource_bookings is 'must be in order and 31 days apart at most';
comment on constraint resource_bookings_attendees_check on resource_bookings is 'must be 1 to 100000';
comment on constraint resource_bookings_note_check on resource_bookings is 'must be 5000 characters at most';
comment on constraint resource_bookings_repeat_weeks_check on resource_bookings is 'must be 1 or 2';
comment on constraint resource_bookings_series_check on resource_bookings is 'must be given together with the other fields of a series';
comment on constraint resource_bookings_overlap_excl on resource_bookings is 'The resource is booked at that time already.';
comment on constraint resource_bookings_resource_id_fkey on resource_bookings is '@searchIndex name searchable facet
@forwardBehavior +singularRelation:resource:single
@notNull
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName bookings';
comment on constraint resource_bookings_booked_by_user_id_fkey on resource_bookings is '@forwardBehavior +singularRelation:resource:single
@fieldName bookedBy';

-- Absences of staff, and the public holidays that are no working days.
create type absence_type as enum ('VACATION', 'SICK', 'PARENTAL', 'TRAINING', 'OTHER');
comment on type absence_type is 'The reason for an absence.';
create type absence_status as enum ('REQUESTED', 'APPROVED', 'DECLINED', 'CANCELLED');
comment on type absence_status is 'The status of an absence. It stays REQUESTED until an approver decides on it or it is cancelled.';

create table public_holidays (
  id uuid primary key default uuidv7(),
  holiday_on date not null,
  name text collate display_order not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint public_holidays_name_check check (is_label(name, 200))
);
create unique index public_holidays_holiday_on_key on public_holidays (holiday_on);
create index public_holidays_words_idx on public_holidays using gin (search_text(name) extensions.gin_trgm_ops);
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
comment on constraint public_holidays_name_check on public_holidays is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on index public_holidays_holiday_on_key is 'There is a public holiday on this day already.';

create table absences (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete restrict,
  type absence_type not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null default false,
  ends_half_day boolean not null default false,
  note text,
  status absence_status not null default 'REQUESTED',
  decided_by_user_id uuid references users on delete set null,
  decided_at timestamptz,
  decision_note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint absences_ends_on_check check (ends_on >= starts_on and ends_on - starts_on <= 730),
  constraint absences_half_days_check check (starts_on < ends_on or not (starts_half_day and ends_half_day)),
  constraint absences_note_check check (char_length(note) <= 5000),
  constraint absences_decision_note_check check (char_length(decision_note) <= 5000),
  constraint absences_overlap_excl exclude using gist (
    user_id with =,
    tsrange(
      starts_on + case when starts_half_day then time '12:00' else time '00:00' end,
      ends_on + case when ends_half_day then time '12:00' else time '24:00' end
    ) with &&
  ) where (status in ('REQUESTED', 'APPROVED'))
);
create index absences_starts_on_idx on absences (starts_on, id);
create index absences_ends_on_idx on absences (ends_on, id);
create index absences_type_idx on absences (type, id);
create index absences_status_idx on absences (status, id);
create index absences_decided_at_idx on absences (decided_at, id);
create index absences_created_at_idx on absences (created_at, id);
create index absences_updated_at_idx on absences (updated_at, id);
create index absences_user_id_idx on absences (user_id, starts_on);
create index absences_decided_by_user_id_idx on absences (decided_by_user_id);
comment on table absences is '@group Office 57
@icon sun
@read login
@owner user_id
@audit Absence
@history absences.read
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
comment on constraint absences_ends_on_check on absences is 'must be in order and two years apart at most';
comment on constraint absences_half_days_check on absences is 'must not both be true for a single day';
comment on constraint absences_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_decision_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_overlap_excl on absences is 'There is another absence at that time already.';
comment on constraint absences_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName user';
comment on constraint absences_decided_by_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName decidedBy';

create table away_periods (
  id uuid primary key references absences on delete cascade,
  user_id uuid not null references users on delete restrict,
  name text collate display_order not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null,
  ends_half_day boolean not null
);
create index away_periods_starts_on_idx on away_periods (starts_on, id);
create index away_periods_ends_on_idx on away_periods (ends_on);
create index away_periods_name_order_idx on away_periods (name, id);
create index away_periods_user_id_idx on away_periods (user_id);
create index away_periods_name_idx on away_periods using gin (search_text(name) extensions.gin_trgm_ops);
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
comment on column away_periods.name is '@personal user_id
@search word
@list 1
The name of the person at the time of the decision.';
comment on column away_periods.user_id is '@list off
@title Person
The user who is away.';
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

-- Feeds for calendar programs.

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
comment on column calendar_feeds.created_at is '@list 2';
comment on column calendar_feeds.last_used_at is '@list 3
When the feed was last read, to the minute; null before the first read.';
comment on column calendar_feeds.revoked_at is '@list 4
When the feed was revoked; null for an active feed.';
comment on constraint calendar_feeds_name_check on calendar_feeds is
  'must be 1 to 100 visible characters without spaces at its ends';

-- Saved views: a list with its query, order and columns, under a name.
create table saved_views (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  entity text collate "C" not null,
  role_id uuid references roles on delete set null,
  position integer not null default 0,
  query text,
  order_by text[] not null default '{}',
  columns text[] not null default '{}',
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint saved_views_name_check check (is_label(name, 100)),
  constraint saved_views_entity_check check (entity ~ '^[a-z][A-Za-z0-9]*$' and char_length(entity) <= 100),
  constraint saved_views_query_check check (char_length(query) between 1 and 4000),
  constraint saved_views_order_by_check check (
    cardinality(order_by) <= 10 and array_to_string(order_by, '') ~ '^[A-Z0-9_]*$' and octet_length(array_to_string(order_by, '')) <= 1000
  ),
  constraint saved_views_columns_check check (
    cardinality(columns) <= 200 and array_to_string(columns, '') ~ '^[A-Za-z0-9_]*$' and octet_length(array_to_string(columns, '')) <= 10000
  )
);
create index saved_views_user_id_idx on saved_views (user_id, position, name, id);
create index saved_views_role_id_idx on saved_views (role_id);
create index saved_views_entity_idx on saved_views (entity, position, name, id);
create index saved_views_name_idx on saved_views using gin (search_text(name) extensions.gin_trgm_ops);
comment on table saved_views is '@group Office 53
@icon star
@read login
@create login
@update login
@delete login
@mutations create update delete
@owner user_id
@audit SavedView
@defaultOrder entity, position, name, id
@label name entity
A list with its query, order and columns under a name, shown above the list. A view with a role is also shown to those who hold the role; only its owner changes it.';
comment on column saved_views.user_id is '@list off
@title Owner (user)
The user who created the view, or to whom it was handed over.';
comment on column saved_views.name is '@search word
@list 1
@personal user_id
The name of the view.';
comment on column saved_views.entity is '@mutations create
@list 2
@widget list
@title List
The name of the list, such as `products`.';
comment on column saved_views.query is '@list 3
@personal user_id
@widget long
@section What it shows
The search, as in the argument `query` of that list; null for all rows.';
comment on column saved_views.order_by is '@list off
@section What it shows
@title Order
The order, as in the argument `orderBy` of that list; empty for the default order.';
comment on column saved_views.columns is '@list off
@section What it shows
The shown columns in their order, as the API names the fields; empty for the default columns.';
comment on column saved_views.role_id is '@list 4
@title Shared with
The role whose holders see the view too; null for its owner only. Needs `roles.update`.';
comment on column saved_views.position is '@list 5
The place among the views of the list: the lowest comes first, and equal ones are in the order of their names.';
comment on constraint saved_views_name_check on saved_views is
  'must be 1 to 100 visible characters without spaces at its ends';
comment on constraint saved_views_entity_check on saved_views is 'must be the name of a list, such as `products`';
comment on constraint saved_views_query_check on saved_views is 'must be 1 to 4000 characters, or null';
comment on constraint saved_views_order_by_check on saved_views is 'must be at most 10 values of `orderBy`, such as `NAME_ASC`';
comment on constraint saved_views_columns_check on saved_views is 'must be at most 200 names of fields, such as `name`';
comment on constraint saved_views_role_id_fkey on saved_views is '@forwardBehavior +singularRelation:resource:single
@forwardFollows parent
There is no role with this id';

-- The handbook: pages in a tree, with all their versions.
-- lint: allow function-in-migration because a check constraint of the table calls it
create function are_tags(value text[]) returns boolean language sql immutable parallel safe
begin atomic
  select count(*) = count(distinct name_key(t)) and coalesce(bool_and(is_label(t, 1000)), true) from unnest(value) as t;
end;
comment on function are_tags is 'Whether all tags are visible words and none is repeated, ignoring case.';
grant execute on function are_tags to office_api;

create table documentation_pages (
  id uuid primary key default uuidv7(),
  title text collate display_order not null,
  slug text collate "C" not null default '',
  body text not null default '',
  parent_id uuid references documentation_pages on delete restrict,
  position integer not null default 0,
  tags text[] not null default '{}',
  is_published boolean not null default false,
  is_built_in boolean not null default false,
  author_user_id uuid references users on delete set null,
  updated_by_user_id uuid references users on delete set null,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_vector tsvector not null default '',
  constraint documentation_pages_slug_check check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(slug) <= 100),
  constraint documentation_pages_title_check check (is_label(title, 200)),
  constraint documentation_pages_body_check check (octet_length(body) <= 200000),
  constraint documentation_pages_tags_check check (cardinality(tags) <= 20 and char_length(array_to_string(tags, '')) <= 1000),
  constraint documentation_pages_tags_words_check check (are_tags(tags))
);
create unique index documentation_pages_slug_key on documentation_pages (slug);
create index documentation_pages_parent_id_idx on documentation_pages (parent_id, position, title, id);
create index documentation_pages_order_idx on documentation_pages (title, id);
create index documentation_pages_is_published_idx on documentation_pages (is_published, id);
create index documentation_pages_created_at_idx on documentation_pages (created_at, id);
create index documentation_pages_updated_at_idx on documentation_pages (updated_at, id);
create index documentation_pages_position_idx on documentation_pages (position, title, id);
create index documentation_pages_author_user_id_idx on documentation_pages (author_user_id);
create index documentation_pages_updated_by_user_id_idx on documentation_pages (updated_by_user_id);
create index documentation_pages_title_idx on documentation_pages using gin (search_text(title) extensions.gin_trgm_ops);
create index documentation_pages_body_idx on documentation_pages using gin (search_text(body) extensions.gin_trgm_ops);
create index documentation_pages_search_idx on documentation_pages using gin (search_vector);
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
@shared
@audit DocumentationPage id except search_vector
@history documentation.update
@connection
@searchCollection documentation
@searchTitle Handbook
@searchOnly is_published
@searchSort title
@defaultOrder position, title, id
@label title
A handbook page. Every caller with a login can read published pages. Only the author and holders of `documentation.update` can read drafts.';
comment on column documentation_pages.slug is '@title Address
@searchIndex filter
The page''s name in links, such as `leave-rules`. By default, it is derived from the title. Earlier addresses redirect to the page.';
comment on column documentation_pages.title is '@list 1
@searchIndex searchable sort
@search word
The heading of the page.';
comment on column documentation_pages.body is '@list off
@search word
@searchIndex searchable
@widget markdown
The text in Markdown, at most 200 kB. HTML is shown as text. A link to another page is `[text](leave-rules)`.';
comment on column documentation_pages.parent_id is '@list 2
@title Below
The parent page; null for a page at the top level.';
comment on column documentation_pages.position is 'The position among the pages with the same parent.';
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
comment on constraint documentation_pages_slug_check on documentation_pages is
  'must be 1 to 100 lowercase letters and digits, with single hyphens between them';
comment on constraint documentation_pages_title_check on documentation_pages is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint documentation_pages_body_check on documentation_pages is 'must be 200 kB at most';
comment on constraint documentation_pages_tags_check on documentation_pages is 'must be 20 words at most, of 1000 characters together';
comment on constraint documentation_pages_tags_words_check on documentation_pages is
  'must be different words of visible characters without spaces at their ends';
comment on index documentation_pages_slug_key is 'A page with this address exists already.';
comment on constraint documentation_pages_parent_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName parent
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName children';
comment on constraint documentation_pages_author_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
comment on constraint documentation_pages_updated_by_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName updatedBy';

create table documentation_versions (
  id uuid primary key default uuidv7(),
  page_id uuid not null references documentation_pages on delete cascade,
  number integer not null,
  title text collate display_order not null,
  body text not null,
  tags text[] not null default '{}',
  author_user_id uuid references users on delete set null,
  created_at timestamptz not null default now()
);
create unique index documentation_versions_page_id_number_key on documentation_versions (page_id, number desc);
create index documentation_versions_author_user_id_idx on documentation_versions (author_user_id);
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
comment on index documentation_versions_page_id_number_key is 'The page has a version of this number already.';
comment on constraint documentation_versions_page_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName page
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName versions';
comment on constraint documentation_versions_author_user_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName author';

create table documentation_slugs (
  slug text collate "C" primary key,
  page_id uuid not null
);
create index documentation_slugs_page_id_idx on documentation_slugs (page_id);
comment on column documentation_slugs.page_id is 'The page, which may be deleted: a restored page has its earlier addresses again.';
comment on table documentation_slugs is '@internal
@audit off because the change of the address is recorded
The earlier addresses of pages.';

create type documentation_change as enum ('REMOVED', 'ADDED');
comment on type documentation_change is 'Whether only the earlier or only the later text has a line.';
create type documentation_difference as (field text, change documentation_change, line integer, text text);
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

create type documentation_entry as (number text, documentation_page_id uuid, slug text, title text, is_published boolean);
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

create type documentation_match as (documentation_page_id uuid, slug text, title text, excerpt text);
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
