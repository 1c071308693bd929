-- Bookings of resources.

-- Locks the resource, so that simultaneous bookings of it are checked one after the other; the exclusion constraint
-- alone would let two of them wait for each other.
create or replace function check_booking(booking resource_bookings) returns void as $$
declare
  v_resource resources;
  v_other resource_bookings;
  v_zone text := time_zone_of(current_user_id());
begin
  if booking.ends_at <= booking.starts_at then
    perform fail('OF400', 'endsAt must be after startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at - booking.starts_at > interval '31 days' then
    perform fail('OF400', 'endsAt must be within 31 days of startsAt', '{"path": ["input", "endsAt"]}');
  elsif booking.ends_at <= now() then
    perform fail('OF400', 'endsAt must be in the future', '{"path": ["input", "endsAt"]}');
  end if;
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
  select * into v_other from resource_bookings b
  where b.resource_id = booking.resource_id and b.status = 'BOOKED' and b.id is distinct from booking.id
    and tstzrange(b.starts_at, b.ends_at) && tstzrange(booking.starts_at, booking.ends_at)
  order by b.starts_at limit 1;
  if found then
    perform fail('OF409',
      format('%s is booked from %s to %s: %s', v_resource.name, local_text(v_other.starts_at, v_zone),
        local_text(v_other.ends_at, v_zone), v_other.title),
      jsonb_build_object('path', array['input', 'startsAt'], 'booking', jsonb_build_object('id', v_other.id,
        'title', v_other.title, 'startsAt', iso_text(v_other.starts_at), 'endsAt', iso_text(v_other.ends_at))));
  end if;
end;
$$ language plpgsql volatile;
comment on function check_booking is 'Fails unless the resource can be booked at that time; names the booking in the way.';

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
begin
  perform require_full_login();
  perform check_booking(v_booking);
  insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at, attendees, note)
  values (v_booking.resource_id, current_user_id(), user_name(current_user_id()), coalesce(trim_to_null(v_booking.title), ''),
    v_booking.starts_at, v_booking.ends_at, v_booking.attendees, trim_to_null(v_booking.note))
  returning * into v_booking;
  return v_booking;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_resource_booking is '@guard login
Books a resource for the caller. Where it is booked at that time already, the error names that booking.';

create or replace function update_resource_booking(id uuid, input resource_bookings, given text[]) returns resource_bookings as $$
declare
  v_old resource_bookings := booking_to_change(update_resource_booking.id);
  v_new resource_bookings;
begin
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_resource_booking.input), given,
    array['resource_id', 'title', 'starts_at', 'ends_at']));
  perform check_booking(v_new);
  update resource_bookings b set
    resource_id = v_new.resource_id, title = coalesce(trim_to_null(v_new.title), ''), starts_at = v_new.starts_at,
    ends_at = v_new.ends_at, attendees = v_new.attendees, note = trim_to_null(v_new.note)
  where b.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_resource_booking is '@guard login
Changes one''s own booking that is not over; those of others with `resourcebookings.update`.';

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
Gives the resource free again. One''s own booking that is not over; those of others with `resourcebookings.update`.';

create or replace function free_resources(
  starts_at timestamptz, ends_at timestamptz, kind resource_kind default null, capacity integer default null
) returns setof resources as $$
begin
  perform require_full_login();
  if free_resources.ends_at <= free_resources.starts_at then
    perform fail('OF400', 'endsAt must be after startsAt', '{"path": ["endsAt"]}');
  end if;
  return query
  select r.* from resources r
  where r.is_active and (free_resources.kind is null or r.kind = free_resources.kind)
    and (free_resources.capacity is null or r.capacity >= free_resources.capacity)
    and not exists (
      select from resource_bookings b
      where b.resource_id = r.id and b.status = 'BOOKED'
        and tstzrange(b.starts_at, b.ends_at) && tstzrange(free_resources.starts_at, free_resources.ends_at)
    )
  order by r.name, r.id;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function free_resources is '@guard login
@argument starts_at The beginning of the time in question.
@argument ends_at Its end.
@argument kind Only resources of this kind.
@argument capacity Only resources for at least so many people.
The resources that nobody has booked in that time, by name.';

grant execute on function create_resource_booking, update_resource_booking, cancel_resource_booking, free_resources to office_api;
