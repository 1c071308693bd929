-- Bookings of resources.

-- Locks the resource, so that simultaneous bookings of it are checked one after the other; the exclusion constraint
-- alone would let two of them wait for each other.
create or replace function check_booking(booking resource_bookings, times tstzrange[], own_ids uuid[]) returns void as $$
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
$$ language plpgsql volatile;
comment on function check_booking is
  'Fails unless the resource can be booked at all these times and they do not overlap. Names the bookings in the way, except those with `own_ids`. Null attendees fit any capacity.';

create or replace function check_booking_times(booking resource_bookings) returns void as $$
begin
  if booking.ends_at <= booking.starts_at then
    perform fail('OF400', 'endsAt must be after startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at - booking.starts_at > interval '31 days' then
    perform fail('OF400', 'endsAt must be within 31 days of startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at <= now() then
    perform fail('OF400', 'endsAt must be in the future', '{"path": ["input", "endsAt"]}');
  end if;
end;
$$ language plpgsql volatile;

-- In the hour that a clock change skips, a local end can be before its start: then the duration counts.
create or replace function local_range(starts timestamp, duration interval, time_zone text) returns tstzrange as $$
  select tstzrange(s.starts_at, case when s.ends_at > s.starts_at then s.ends_at else s.starts_at + local_range.duration end)
  from (
    select local_range.starts at time zone local_range.time_zone as starts_at,
      (local_range.starts + local_range.duration) at time zone local_range.time_zone as ends_at
  ) as s
$$ language sql stable;

-- In the hour that a clock change repeats, a local end can be at its start or before it: then the time that passes counts.
create or replace function local_duration(starts_at timestamptz, ends_at timestamptz, time_zone text) returns interval as $$
  select case when l.ends > l.starts then l.ends - l.starts else local_duration.ends_at - local_duration.starts_at end
  from (
    select local_duration.starts_at at time zone local_duration.time_zone as starts,
      local_duration.ends_at at time zone local_duration.time_zone as ends
  ) as l
$$ language sql stable;

-- The times of a series: each at the time of day of the first in the office's time zone, also when clocks change.
create or replace function booking_times(booking resource_bookings) returns tstzrange[] as $$
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
  -- Where clocks change, the overlap with the next booking decides.
  elsif least(v_duration, booking.ends_at - booking.starts_at) > make_interval(weeks => booking.repeat_weeks) then
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
$$ language plpgsql stable;

-- The booking to change, locked: one's own, or anybody's with `resourcebookings.update`.
create or replace function booking_to_change(id uuid) returns resource_bookings as $$
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
$$ language plpgsql volatile;

create or replace function create_resource_booking(input resource_bookings) returns resource_bookings as $$
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
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_resource_booking is '@guard login
Books a resource for the caller. With `repeatWeeks` and `repeatUntil`, books a series at the same time of day in the office''s time zone and returns the first booking. If the resource is already booked at one of these times, nothing is booked and the error names the conflicting bookings.';

create or replace function update_resource_booking(id uuid, input resource_bookings, given text[]) returns resource_bookings as $$
declare
  v_old resource_bookings := booking_to_change(update_resource_booking.id);
  v_new resource_bookings;
  v_checked resource_bookings;
begin
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_resource_booking.input), given,
    array['resource_id', 'title', 'starts_at', 'ends_at']));
  perform check_booking_times(v_new);
  v_checked := v_new;
  -- A booking keeps its attendees when the capacity was reduced after it.
  if v_new.resource_id = v_old.resource_id and v_new.attendees <= v_old.attendees then
    v_checked.attendees := null;
  end if;
  perform check_booking(v_checked, array[tstzrange(v_new.starts_at, v_new.ends_at)], array[v_old.id]);
  update resource_bookings b set
    resource_id = v_new.resource_id, title = coalesce(trim_to_null(v_new.title), ''), starts_at = v_new.starts_at,
    ends_at = v_new.ends_at, attendees = v_new.attendees, note = trim_to_null(v_new.note)
  where b.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_resource_booking is '@guard login
Changes a booking that has not ended. Bookings of other users need `resourcebookings.update`. Other bookings of the series stay unchanged.';

-- The booking and those after it in its series that are not over, locked.
create or replace function bookings_of_series(booking resource_bookings) returns setof resource_bookings as $$
begin
  if booking.series_id is null then
    perform fail('OF409', 'The booking belongs to no series', '{"path": ["id"]}');
  end if;
  return query
  select * from resource_bookings b
  where b.series_id = booking.series_id and b.status = 'BOOKED' and b.starts_at >= booking.starts_at and b.ends_at > now()
  order by b.starts_at, b.id for update;
end;
$$ language plpgsql volatile;

create or replace function update_resource_booking_series(id uuid, input resource_bookings, given text[])
returns setof resource_bookings as $$
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
    v_new.attendees := (
      select max(c.attendees) from unnest(v_changed) as c
      where c.resource_id = v_new.resource_id and not exists (
        select from unnest(v_later) as b where b.id = c.id and b.resource_id = c.resource_id and b.attendees >= c.attendees));
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
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_resource_booking_series is '@guard login
@action if series_id
Changes a booking and all later bookings of its series that have not ended. Only the given fields change: a booking that was changed by itself keeps its other values. With new times, all of them are moved by the same amount of time in the office''s time zone, and get the same duration if it is changed. If one booking cannot be changed, none is. Returns the bookings by start.';

create or replace function cancel_resource_booking_series(id uuid) returns resource_bookings as $$
declare
  v_booking resource_bookings := booking_to_change(cancel_resource_booking_series.id);
begin
  update resource_bookings b set status = 'CANCELLED' where b.id in (select s.id from bookings_of_series(v_booking) as s);
  select * into v_booking from resource_bookings b where b.id = v_booking.id;
  return v_booking;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_resource_booking_series is '@guard login
@action bad if series_id
Cancels a booking and all later bookings of its series that have not ended.';

create or replace function cancel_resource_booking(id uuid) returns resource_bookings as $$
declare
  v_booking resource_bookings := booking_to_change(cancel_resource_booking.id);
begin
  update resource_bookings b set status = 'CANCELLED' where b.id = v_booking.id returning * into v_booking;
  return v_booking;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_resource_booking is '@guard login
@action bad
Cancels a booking that has not ended. Bookings of other users need `resourcebookings.update`.';

create or replace function free_resources(
  "from" timestamptz, "to" timestamptz, kind resource_kind default null, capacity integer default null
) returns setof resources as $$
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
$$ language plpgsql stable security definer set search_path from current;
comment on function free_resources is '@guard login
@report Office 10
@icon box
@argument from The start of the period.
@argument to The end of the period.
@argument kind Only resources of this kind.
@argument capacity Only resources with at least this capacity, in people.
The resources without a booking in the given period, by name.';

grant execute on function create_resource_booking, update_resource_booking, update_resource_booking_series, cancel_resource_booking,
  cancel_resource_booking_series, free_resources
to office_api;
