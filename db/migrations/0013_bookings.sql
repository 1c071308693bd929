-- Rooms, vehicles and other resources of the office, and their bookings.
create type resource_kind as enum ('ROOM', 'VEHICLE', 'EQUIPMENT', 'TASTING_SET');
comment on type resource_kind is 'What a resource is.';
create type resource_booking_status as enum ('BOOKED', 'CANCELLED');
comment on type resource_booking_status is 'Whether a booking holds its resource.';

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
comment on table resources is '@group Office 55
@read login
@create resources.update
@update resources.update
@delete resources.update
@mutations create update delete
@audit Resource
@defaultOrder name, id
@label name location
A room, vehicle, piece of equipment or tasting set that staff can book.';
comment on column resources.name is '@list 1
Unique without regard to case.';
comment on column resources.kind is '@list 2
What the resource is.';
comment on column resources.location is '@list 3
Where it is.';
comment on column resources.capacity is '@list 4
The largest number of people.';
comment on column resources.color is '@title Colour
@widget color
Its colour in calendars, as `#RRGGBB`.';
comment on column resources.description is '@widget long
What colleagues should know about it.';
comment on column resources.is_active is '@list 5
@title In use
Whether it can be booked.';
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
  constraint resource_bookings_title_check check (is_label(title, 200)),
  constraint resource_bookings_booked_by_name_check check (char_length(booked_by_name) between 1 and 320),
  constraint resource_bookings_ends_at_check check (ends_at > starts_at and ends_at - starts_at <= interval '31 days'),
  constraint resource_bookings_attendees_check check (attendees between 1 and 100000),
  constraint resource_bookings_note_check check (char_length(note) <= 5000),
  constraint resource_bookings_overlap_excl exclude using gist (resource_id with =, tstzrange(starts_at, ends_at) with &&)
    where (status = 'BOOKED')
);
create index resource_bookings_starts_at_idx on resource_bookings (starts_at desc, id desc);
create index resource_bookings_resource_id_idx on resource_bookings (resource_id, starts_at desc);
create index resource_bookings_booked_by_user_id_idx on resource_bookings (booked_by_user_id);
create index resource_bookings_title_idx on resource_bookings using gin (search_text(title) extensions.gin_trgm_ops);
comment on table resource_bookings is '@group Office 56
@title Bookings
@titleOne Booking
@read login
@audit ResourceBooking
@connection
@filter from endsAt:>$value
@filter to startsAt:<$value
@filter resourceId resourceId:$value
@defaultOrder starts_at desc
@label title
A booking of a resource. Two bookings of one resource never overlap.';
comment on column resource_bookings.booked_by_user_id is '@mutations off
@list off
@title User
Who booked the resource.';
comment on column resource_bookings.booked_by_name is '@personal booked_by_user_id
@mutations off
@list 5
@title Booked by
The name of the person who booked it, at that time; without one, their e-mail address before the @. Every reader of the booking sees it.';
comment on column resource_bookings.title is '@list 1
@search word
What it is booked for.';
comment on column resource_bookings.resource_id is '@list 2';
comment on column resource_bookings.starts_at is '@list 3
@title From
When the booking begins.';
comment on column resource_bookings.ends_at is '@list 4
@title Until
When the booking ends, at most 31 days after it begins.';
comment on column resource_bookings.attendees is 'How many people come, no more than the capacity of the resource.';
comment on column resource_bookings.note is '@widget long
For colleagues.';
comment on column resource_bookings.status is '@mutations off
@list 6
@tone BOOKED ok
@tone CANCELLED bad
Whether the booking holds its resource.';
comment on constraint resource_bookings_title_check on resource_bookings is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint resource_bookings_booked_by_name_check on resource_bookings is 'must be 1 to 320 characters';
comment on constraint resource_bookings_ends_at_check on resource_bookings is 'must be in order and 31 days apart at most';
comment on constraint resource_bookings_attendees_check on resource_bookings is 'must be 1 to 100000';
comment on constraint resource_bookings_note_check on resource_bookings is 'must be 5000 characters at most';
comment on constraint resource_bookings_overlap_excl on resource_bookings is 'The resource is booked at that time already.';
comment on constraint resource_bookings_resource_id_fkey on resource_bookings is '@forwardBehavior +singularRelation:resource:single
@notNull
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName bookings';
comment on constraint resource_bookings_booked_by_user_id_fkey on resource_bookings is '@forwardBehavior +singularRelation:resource:single
@fieldName bookedBy';
