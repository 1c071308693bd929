-- Calendar feeds. The server creates the secrets; the database stores only hashes.
create or replace function create_calendar_feed(token_hash bytea, name text) returns uuid as $$
declare
  v_id uuid;
begin
  -- A feed outlives a token and shows what its owner may read, so a token makes none.
  perform require_session();
  perform from users u where u.id = current_user_id() for no key update;
  if 20 <= (select count(*) from calendar_feeds f where f.user_id = current_user_id() and f.revoked_at is null) then
    perform fail('OF409', 'You have 20 calendar feeds: revoke one first');
  end if;
  insert into calendar_feeds (user_id, token_hash, name)
  values (current_user_id(), create_calendar_feed.token_hash, coalesce(trim_to_null(create_calendar_feed.name), ''))
  returning id into v_id;
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_calendar_feed is 'Creates a calendar feed of the caller; called by `createCalendarFeed`.';

create or replace function revoke_calendar_feed(id uuid) returns calendar_feeds as $$
declare
  v_feed calendar_feeds;
begin
  perform require_full_login();
  update calendar_feeds f set revoked_at = coalesce(f.revoked_at, now())
  where f.id = revoke_calendar_feed.id and f.user_id = current_user_id()
  returning * into v_feed;
  if not found then
    perform fail('OF404', 'There is no calendar feed of yours with this id', '{"path": ["id"]}');
  end if;
  return v_feed;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function revoke_calendar_feed is '@guard login
@action bad unless revoked_at
Revokes a calendar feed. Its address then returns 404.';
grant execute on function create_calendar_feed, revoke_calendar_feed to office_api;

-- Events from 90 days ago to two years ahead. The sequence grows with each change, as calendar programs expect (RFC 5545, 3.8.7.4).
drop function if exists calendar_events(uuid);
create function calendar_events(user_id uuid) returns table (
  entity text, id uuid, starts_at timestamptz, ends_at timestamptz, starts_on date, ends_on date, title text, location text,
  description text, updated_at timestamptz, sequence integer
) as $$
  select 'resourceBookings', b.id, b.starts_at, b.ends_at, null::date, null::date, b.title, concat_ws(', ', r.name, r.location), b.note,
    b.updated_at, extract(epoch from b.updated_at - b.created_at)::integer
  from resource_bookings b join resources r on r.id = b.resource_id
  where b.booked_by_user_id = calendar_events.user_id and b.status = 'BOOKED'
    and b.ends_at > now() - interval '90 days' and b.starts_at < now() + interval '2 years'
  union all
  select 'absences', a.id, null, null, a.starts_on, a.ends_on,
    concat_ws(' ', initcap(a.type::text), case when a.starts_half_day then 'from noon' end, case when a.ends_half_day then 'until noon' end,
      case when a.status = 'REQUESTED' then '(requested)' end),
    null, a.note, a.updated_at, extract(epoch from a.updated_at - a.created_at)::integer
  from absences a
  where a.user_id = calendar_events.user_id and a.status in ('REQUESTED', 'APPROVED')
    and a.ends_on > (now() at time zone time_zone_of(calendar_events.user_id))::date - 90
    and a.starts_on < (now() at time zone time_zone_of(calendar_events.user_id))::date + interval '2 years'
  union all
  select 'campaigns', c.id, c.scheduled_at, c.scheduled_at, null, null, c.title, null, c.note, c.updated_at,
    extract(epoch from c.updated_at - c.created_at)::integer
  from campaigns c
  where c.author_user_id = calendar_events.user_id and c.status <> 'CANCELLED'
    and 'campaigns.read' = any (user_permissions(calendar_events.user_id))
    and c.scheduled_at between now() - interval '90 days' and now() + interval '2 years'
$$ language sql stable;

create or replace function read_calendar_feed(token_hash bytea) returns jsonb as $$
declare
  v_feed calendar_feeds;
begin
  select f.* into v_feed from calendar_feeds f join users u on u.id = f.user_id
  where f.token_hash = read_calendar_feed.token_hash and f.revoked_at is null and u.is_active;
  if not found then
    return null;
  end if;
  -- At most once a minute, and never waiting for another request.
  update calendar_feeds f set last_used_at = now()
  where f.id = (select o.id from calendar_feeds o where o.id = v_feed.id for update skip locked)
    and (v_feed.last_used_at is null or v_feed.last_used_at < now() - interval '1 minute');
  return jsonb_build_object(
    'name', user_name(v_feed.user_id),
    'events', (select coalesce(jsonb_agg(to_jsonb(e)), '[]') from (
      select * from calendar_events(v_feed.user_id) as c order by coalesce(c.starts_at, c.starts_on), c.id limit 5000) as e)
  );
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function read_calendar_feed is
  'The calendar for a secret; null for an unknown or revoked secret and for an inactive owner.';
-- Called by the server for a calendar program, which has no login.
grant execute on function read_calendar_feed to office_server;
