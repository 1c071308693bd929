-- Series of bookings.
alter table resource_bookings add column repeat_weeks integer;
alter table resource_bookings add column repeat_until date;
alter table resource_bookings add column series_id uuid;
alter table resource_bookings add constraint resource_bookings_repeat_weeks_check check (repeat_weeks in (1, 2)) not valid;
alter table resource_bookings add constraint resource_bookings_series_check
  check (num_nulls(repeat_weeks, repeat_until, series_id) in (0, 3)) not valid;
-- lint: allow create-index because an office has some thousands of bookings, which are indexed within a second
create index resource_bookings_series_id_idx on resource_bookings (series_id, starts_at);
-- Deferrable, because moving a series by its own interval overlaps its other bookings within the statement.
alter table resource_bookings drop constraint resource_bookings_overlap_excl;
-- lint: allow create-index because an office has some thousands of bookings, which are indexed within a second
alter table resource_bookings add constraint resource_bookings_overlap_excl
  exclude using gist (resource_id with =, tstzrange(starts_at, ends_at) with &&) where (status = 'BOOKED') deferrable;
comment on column resource_bookings.repeat_weeks is '@mutations create
@title Repeat every
@unit weeks
The interval of a series in weeks, 1 or 2.';
comment on column resource_bookings.repeat_until is '@mutations create
@title Repeat until
The last day of a series.';
comment on column resource_bookings.series_id is '@mutations off
@title Series
The id that the bookings of one series share.';
comment on constraint resource_bookings_repeat_weeks_check on resource_bookings is 'must be 1 or 2';
comment on constraint resource_bookings_series_check on resource_bookings is 'must be given with the others of a series';
comment on constraint resource_bookings_overlap_excl on resource_bookings is 'The resource is booked at that time already.';
