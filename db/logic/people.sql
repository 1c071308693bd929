-- Last logins, ending all sessions, and handovers.
create or replace function tg_sessions__last_login() returns trigger as $$
begin
  insert into user_logins (user_id, last_login_at) values (new.user_id, new.created_at)
  on conflict on constraint user_logins_pkey do update set last_login_at = greatest(user_logins.last_login_at, excluded.last_login_at);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_sessions__last_login is 'Stores the last login of a user.';
select ensure_trigger('sessions', '_500_last_login', 'after insert on %TABLE% for each row execute function tg_sessions__last_login()');

-- Colleagues without `users.read` cannot see the last login.
select ensure_policy('user_logins', 'user_logins_own', 'select', 'office_api',
  'user_id = (select current_user_id()) and not (select is_scoped())');

create or replace function users_last_login_at(person users) returns timestamptz as $$
  select l.last_login_at from user_logins l where l.user_id = users_last_login_at.person.id
$$ language sql stable;
comment on function users_last_login_at is '@computed
@behavior +proc:orderBy
@title Last login
@list 6
The last login of the user; null before the first login, and for callers without `users.read`.';
grant execute on function users_last_login_at to office_api;

create or replace function logout_everywhere() returns integer as $$
declare
  v_count integer;
begin
  perform require_session();
  update sessions s set ended_at = now()
  where s.user_id = current_user_id() and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now();
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function logout_everywhere is '@guard session
@action bad of mySessions
Ends all sessions of the caller, including the current one, and returns their number. API tokens and calendar feeds stay valid.';
grant execute on function logout_everywhere to office_api;

create or replace function require_handover_limit(from_user_id uuid, to_user_id uuid) returns void as $$
declare
  v_kind record;
  v_excess bigint;
begin
  for v_kind in
    select 'search watch' as noun, 'es' as plural, search_watch_limit() as most,
      count(*) filter (where w.user_id = require_handover_limit.from_user_id) as given,
      count(*) filter (where w.user_id = require_handover_limit.to_user_id) as own
    from search_watches w where w.user_id in (require_handover_limit.from_user_id, require_handover_limit.to_user_id)
    union all
    select 'shared view', 's', saved_view_limit(),
      count(*) filter (where v.user_id = require_handover_limit.from_user_id and v.role_id is not null),
      count(*) filter (where v.user_id = require_handover_limit.to_user_id)
    from saved_views v where v.user_id in (require_handover_limit.from_user_id, require_handover_limit.to_user_id)
  loop
    v_excess := v_kind.given + v_kind.own - v_kind.most;
    if v_kind.given > 0 and v_excess > 0 then
      perform fail('OF409', format(
        '%s has %s and %s has %s, and a person can have %s: one of them must delete %s first, or choose another person',
        user_name(require_handover_limit.from_user_id),
        v_kind.given || ' ' || v_kind.noun || case v_kind.given when 1 then '' else v_kind.plural end,
        user_name(require_handover_limit.to_user_id), v_kind.own, v_kind.most, v_excess),
        '{"path": ["toUserId"]}');
    end if;
  end loop;
end;
$$ language plpgsql stable;
comment on function require_handover_limit is
  'Rejects a handover after which the new owner would have too many search watches or saved views. The caller has locked both users.';

create or replace function handed_watch_problem(watch search_watches, to_user_id uuid) returns text as $$
  select 'The handover paused it, because you lack the permission '
    || missing_to_read(watch.table_name, user_permissions(handed_watch_problem.to_user_id))
$$ language sql stable;
comment on function handed_watch_problem is 'The reason why a user cannot read the list of a search watch; null when they can.';

create or replace function hand_over(from_user_id uuid, to_user_id uuid) returns handed_over as $$
declare
  v_handed handed_over;
  v_numbers text;
begin
  perform require_full_login();
  perform require_permission('users.update');
  if hand_over.from_user_id = hand_over.to_user_id then
    perform fail('OF400', 'toUserId must be another person', '{"path": ["toUserId"]}');
  elsif not exists (select from users u where u.id = hand_over.from_user_id) then
    perform fail('OF404', 'There is no user with this id', '{"path": ["fromUserId"]}');
  end if;
  -- As for a deactivation.
  perform require_revocable(user_permissions(hand_over.from_user_id));
  -- Both are locked, because either could create a search watch meanwhile. The order prevents deadlocks of opposite handovers.
  perform from users u where u.id in (hand_over.from_user_id, hand_over.to_user_id) order by u.id for no key update;
  if not exists (select from users u where u.id = hand_over.to_user_id and u.is_active) then
    perform fail('OF404', 'There is no active user with this id', '{"path": ["toUserId"]}');
  end if;
  perform require_handover_limit(hand_over.from_user_id, hand_over.to_user_id);
  update campaigns c set author_user_id = hand_over.to_user_id
  where c.author_user_id = hand_over.from_user_id and c.status not in ('COMPLETED', 'CANCELLED');
  get diagnostics v_handed.campaigns = row_count;
  update resource_bookings b set booked_by_user_id = hand_over.to_user_id, booked_by_name = user_name(hand_over.to_user_id)
  where b.booked_by_user_id = hand_over.from_user_id and b.status = 'BOOKED' and b.ends_at > now();
  get diagnostics v_handed.bookings = row_count;
  update export_templates t set owner_user_id = hand_over.to_user_id where t.owner_user_id = hand_over.from_user_id;
  get diagnostics v_handed.templates = row_count;
  -- The watches lose their baseline, because they read with the permissions of the new owner.
  perform drop_watch_notices(w.id) from search_watches w where w.user_id = hand_over.from_user_id;
  update search_watches w set user_id = hand_over.to_user_id, is_ready = false, ready_after = null, is_settled = false,
    baseline_ids = null, baseline_snapshot = null, is_paused = w.is_paused or p.problem is not null, problem = coalesce(p.problem, w.problem)
  from (
    select o.id, handed_watch_problem(o, hand_over.to_user_id) as problem from search_watches o where o.user_id = hand_over.from_user_id
  ) as p
  where w.id = p.id;
  get diagnostics v_handed.watches = row_count;
  update saved_views v set user_id = hand_over.to_user_id where v.user_id = hand_over.from_user_id and v.role_id is not null;
  get diagnostics v_handed.views = row_count;
  select string_agg(n.number || ' ' || n.what || case n.number when 1 then '' else n.plural end, ', ' order by n.place) into v_numbers
  from (values
    (1, v_handed.campaigns, 'open campaign', 's'), (2, v_handed.bookings, 'future booking', 's'),
    (3, v_handed.templates, 'export template', 's'), (4, v_handed.watches, 'search watch', 'es'),
    (5, v_handed.views, 'shared view', 's')
  ) as n(place, number, what, plural)
  where n.number > 0;
  if v_numbers is not null then
    perform notify_users(array_remove(array[hand_over.to_user_id], current_user_id()), 'WORK_HANDED_OVER',
      format('%s handed over the work of %s to you', user_name(current_user_id()), user_name(hand_over.from_user_id)), v_numbers,
      'User', hand_over.from_user_id::text);
  end if;
  return v_handed;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function hand_over is '@guard login users.update
@action bad of users
@argument from_user_id The user who leaves.
@argument to_user_id The active user who takes over.
Transfers the open campaigns, future bookings, export templates, search watches and shared views of one user to another, for example before a deactivation, and notifies the new owner. Nothing is transferred when the new owner would then have more than 50 search watches. A watch of a list that the new owner cannot read is paused; its `problem` names the permission.';
grant execute on function hand_over to office_api;
