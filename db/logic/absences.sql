-- Absences: requests, decisions, and who is away.
select ensure_policy('absences', 'absences_of_everybody', 'select', 'office_api',
  '(select is_login()) and (select has_any_permission(''absences.read'', ''absences.update''))');

-- Monday to Friday without public holidays; half days count half.
create or replace function working_days(starts_on date, ends_on date, starts_half_day boolean, ends_half_day boolean) returns numeric as $$
  select coalesce(sum(
    case when d.day = working_days.starts_on and working_days.starts_half_day
      or d.day = working_days.ends_on and working_days.ends_half_day then 0.5 else 1 end), 0)
  from (
    select working_days.starts_on + n as day from generate_series(0, working_days.ends_on - working_days.starts_on) as n
  ) as d
  where extract(isodow from d.day) < 6 and not exists (select from public_holidays h where h.holiday_on = d.day)
$$ language sql stable;
comment on function working_days is 'The number of working days in a period, its first and last day included.';
grant execute on function working_days to office_api;

create or replace function absences_working_days(absence absences) returns numeric as $$
  select working_days(absence.starts_on, absence.ends_on, absence.starts_half_day, absence.ends_half_day)
$$ language sql stable;
comment on function absences_working_days is '@computed
@list 6
@notNull
The number of working days: Monday to Friday without public holidays. Half days count as 0.5.';
grant execute on function absences_working_days to office_api;

create or replace function absences_user_name(absence absences) returns text as $$
  select colleague_name(absence.user_id)
$$ language sql stable;
comment on function absences_user_name is '@computed
@title Person
@list 1
The name of the person; without a name, the part of the e-mail address before the @. Every reader of the absence can see it.';

-- Readers of absences need not be able to read users.
create or replace function absent_department_id(user_id uuid) returns uuid as $$
  select u.department_id from users u
  where u.id = absent_department_id.user_id and is_login()
    and (u.id = current_user_id() or has_any_permission('absences.read', 'absences.update'))
$$ language sql stable security definer set search_path from current;
comment on function absent_department_id is '@behavior -*
The department of a user, for callers who see the absences of that user; null for others.';

create or replace function absences_department_id(absence absences) returns uuid as $$
  select absent_department_id(absence.user_id)
$$ language sql stable;
comment on function absences_department_id is '@computed
The id of the person''s current department. Every reader of the absence can see it.';
grant execute on function absences_user_name, absent_department_id, absences_department_id to office_api;

create or replace function tg_absences__away() returns trigger as $$
begin
  delete from away_periods w where w.id = new.id;
  -- An erasure changes the absences of the person, which removes the copies.
  if new.status = 'APPROVED' and not exists (select from users u where u.id = new.user_id and u.erased_at is not null) then
    insert into away_periods (id, user_id, name, starts_on, ends_on, starts_half_day, ends_half_day)
    values (new.id, new.user_id, user_name(new.user_id), new.starts_on, new.ends_on, new.starts_half_day, new.ends_half_day);
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_absences__away is 'Copies approved absences, without their reason, to the list for all colleagues.';
select ensure_trigger('absences', '_500_away',
  'after insert or update on %TABLE% for each row execute function tg_absences__away()');

-- Locks the person, so that simultaneous absences of them are checked one after the other.
create or replace function check_absence(absence absences) returns void as $$
declare
  v_other absences;
begin
  if absence.ends_on < absence.starts_on then
    perform fail('OF400', 'endsOn must not be before startsOn', '{"path": ["input", "endsOn"]}');
  elsif absence.ends_on - absence.starts_on > 730 then
    perform fail('OF400', 'endsOn must be within two years of startsOn', '{"path": ["input", "endsOn"]}');
  elsif absence.starts_on = absence.ends_on and absence.starts_half_day and absence.ends_half_day then
    perform fail('OF400', 'endsHalfDay leaves nothing of a single day that begins at noon: set one of them',
      '{"path": ["input", "endsHalfDay"]}');
  end if;
  perform from users u where u.id = absence.user_id for no key update;
  select * into v_other from absences a
  where a.user_id = absence.user_id and a.status in ('REQUESTED', 'APPROVED') and a.id is distinct from absence.id
    and a.starts_on + case when a.starts_half_day then time '12:00' else time '00:00' end
      < absence.ends_on + case when absence.ends_half_day then time '12:00' else time '24:00' end
    and absence.starts_on + case when absence.starts_half_day then time '12:00' else time '00:00' end
      < a.ends_on + case when a.ends_half_day then time '12:00' else time '24:00' end
  order by a.starts_on limit 1;
  if found then
    perform fail('OF409', format('There is an absence from %s to %s already', v_other.starts_on, v_other.ends_on),
      jsonb_build_object('path', array['input', 'startsOn'], 'absence', jsonb_build_object('id', v_other.id,
        'startsOn', v_other.starts_on, 'endsOn', v_other.ends_on)));
  end if;
end;
$$ language plpgsql volatile;
comment on function check_absence is 'Fails unless the person has no other absence at that time; names the one in the way.';

create or replace function create_absence(input absences) returns absences as $$
declare
  v_absence absences := create_absence.input;
begin
  perform require_full_login();
  v_absence.user_id := current_user_id();
  v_absence.starts_half_day := coalesce(v_absence.starts_half_day, false);
  v_absence.ends_half_day := coalesce(v_absence.ends_half_day, false);
  perform check_absence(v_absence);
  insert into absences (user_id, type, starts_on, ends_on, starts_half_day, ends_half_day, note)
  values (v_absence.user_id, v_absence.type, v_absence.starts_on, v_absence.ends_on, v_absence.starts_half_day,
    v_absence.ends_half_day, trim_to_null(v_absence.note))
  returning * into v_absence;
  return v_absence;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_absence is '@guard login
Requests an absence of the caller. If another absence overlaps, the error names it.';

create or replace function enter_absence(user_id uuid, input absences) returns absences as $$
declare
  v_absence absences := enter_absence.input;
begin
  perform require_full_login();
  perform require_permission('absences.update');
  if enter_absence.user_id = current_user_id() then
    perform fail('OF403', 'Nobody decides on an absence of their own: request it', '{"path": ["userId"]}');
  elsif not exists (select from users u where u.id = enter_absence.user_id and u.is_active) then
    perform fail('OF404', 'There is no active user with this id', '{"path": ["userId"]}');
  end if;
  v_absence.user_id := enter_absence.user_id;
  v_absence.starts_half_day := coalesce(v_absence.starts_half_day, false);
  v_absence.ends_half_day := coalesce(v_absence.ends_half_day, false);
  perform check_absence(v_absence);
  insert into absences (user_id, type, starts_on, ends_on, starts_half_day, ends_half_day, note, status, decided_by_user_id, decided_at)
  values (v_absence.user_id, v_absence.type, v_absence.starts_on, v_absence.ends_on, v_absence.starts_half_day,
    v_absence.ends_half_day, trim_to_null(v_absence.note), 'APPROVED', current_user_id(), now())
  returning * into v_absence;
  return v_absence;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function enter_absence is '@guard login absences.update
@action
@argument user_id The user who is absent.
Creates an approved absence of another user.';

-- The absence to change, locked; others' absences exist only for those who decide on them.
create or replace function absence_to_change(id uuid, is_decision boolean) returns absences as $$
declare
  v_absence absences;
begin
  perform require_full_login();
  if is_decision then
    perform require_permission('absences.update');
  end if;
  select * into v_absence from absences a where a.id = absence_to_change.id for update;
  if not found or v_absence.user_id <> current_user_id() and not has_any_permission('absences.read', 'absences.update') then
    perform fail('OF404', 'There is no absence with this id', '{"path": ["id"]}');
  end if;
  if is_decision and v_absence.user_id = current_user_id() then
    perform fail('OF403', 'Nobody decides on an absence of their own', '{"path": ["id"]}');
  elsif not is_decision and v_absence.user_id <> current_user_id() then
    perform require_permission('absences.update');
  end if;
  return v_absence;
end;
$$ language plpgsql volatile;

create or replace function update_absence(id uuid, input absences, given text[]) returns absences as $$
declare
  v_old absences := absence_to_change(update_absence.id, false);
  v_new absences;
begin
  if v_old.status <> 'REQUESTED' then
    perform fail('OF409', format('The absence is %s and cannot be changed', lower(v_old.status::text)), '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_absence.input), given,
    array['type', 'starts_on', 'ends_on', 'starts_half_day', 'ends_half_day']));
  perform check_absence(v_new);
  update absences a set
    type = v_new.type, starts_on = v_new.starts_on, ends_on = v_new.ends_on, starts_half_day = v_new.starts_half_day,
    ends_half_day = v_new.ends_half_day, note = trim_to_null(v_new.note)
  where a.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_absence is '@guard login
Changes a requested absence that is not decided yet. Requests of other users need `absences.update`.';

create or replace function cancel_absence(id uuid) returns absences as $$
declare
  v_absence absences := absence_to_change(cancel_absence.id, false);
begin
  if v_absence.status = 'APPROVED' and v_absence.user_id = current_user_id() then
    perform fail('OF409', 'The absence is approved: somebody else with absences.update can cancel it', '{"path": ["id"]}');
  elsif v_absence.status not in ('REQUESTED', 'APPROVED') then
    perform fail('OF409', format('The absence is %s already', lower(v_absence.status::text)), '{"path": ["id"]}');
  end if;
  update absences a set status = 'CANCELLED' where a.id = v_absence.id returning * into v_absence;
  return v_absence;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_absence is '@guard login
@action bad
Cancels an absence. Callers can cancel their own absences before the decision; absences of other users need `absences.update`.';

create or replace function decide_absence(id uuid, status absence_status, note text) returns absences as $$
declare
  v_absence absences := absence_to_change(decide_absence.id, true);
begin
  if v_absence.status <> 'REQUESTED' then
    perform fail('OF409', format('The absence is %s already', lower(v_absence.status::text)), '{"path": ["id"]}');
  elsif char_length(trim_to_null(decide_absence.note)) > 5000 then
    -- The constraint would name the column, which is no argument.
    perform fail('OF400', 'note must be 5000 characters at most', '{"path": ["note"]}');
  end if;
  update absences a set
    status = decide_absence.status, decided_by_user_id = current_user_id(), decided_at = now(),
    decision_note = trim_to_null(decide_absence.note)
  where a.id = v_absence.id
  returning * into v_absence;
  return v_absence;
end;
$$ language plpgsql volatile;

create or replace function approve_absence(id uuid, note text default null) returns absences as $$
begin
  return decide_absence(approve_absence.id, 'APPROVED', approve_absence.note);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function approve_absence is '@guard login absences.update
@action
@argument note A note about the decision, for the person.
Approves the requested absence of a colleague. All colleagues then see the period as away.';

create or replace function decline_absence(id uuid, note text default null) returns absences as $$
begin
  return decide_absence(decline_absence.id, 'DECLINED', decline_absence.note);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function decline_absence is '@guard login absences.update
@action bad
@argument note A note about the decision, for the person.
Declines the requested absence of a colleague.';

create or replace function away_days(starts_on date default null, ends_on date default null) returns setof absence_day as $$
declare
  v_starts_on date := coalesce(away_days.starts_on, (now() at time zone own_time_zone())::date);
  v_ends_on date := coalesce(away_days.ends_on, v_starts_on + 6);
begin
  perform require_full_login();
  if v_ends_on < v_starts_on then
    perform fail('OF400', 'endsOn must not be before startsOn', '{"path": ["endsOn"]}');
  elsif v_ends_on - v_starts_on > 366 then
    perform fail('OF400', 'endsOn must be within a year of startsOn', '{"path": ["endsOn"]}');
  end if;
  return query
  select d.day, w.id, w.user_id, w.name, w.starts_half_day and d.day = w.starts_on or w.ends_half_day and d.day = w.ends_on
  from (select v_starts_on + n as day from generate_series(0, v_ends_on - v_starts_on) as n) as d
    join away_periods w on d.day between w.starts_on and w.ends_on
  where extract(isodow from d.day) < 6 and not exists (select from public_holidays h where h.holiday_on = d.day)
  order by d.day, w.name, w.id;
end;
$$ language plpgsql stable;
comment on function away_days is '@guard login
@report Office 20
@icon door
@title Who is away
@argument starts_on The first day; by default today.
@argument ends_on The last day, within a year; by default the sixth day after the first.
The people who are away on each working day.';

-- Readers of absences need not be able to read users.
create or replace function is_user(id uuid) returns boolean as $$
  select exists (select from users u where u.id = is_user.id) and is_login()
    and has_any_permission('absences.read', 'absences.update')
$$ language sql stable security definer set search_path from current;
comment on function is_user is '@behavior -*
Whether this id is one of a user, for callers who see the absences of everybody; false for others.';
grant execute on function is_user to office_api;

create or replace function absence_balances(year integer default null, user_id uuid default null) returns setof absence_balance as $$
declare
  v_user_id uuid := coalesce(absence_balances.user_id, current_user_id());
  v_year integer := coalesce(absence_balances.year, extract(year from now() at time zone own_time_zone()));
  v_first_on date;
  v_last_on date;
begin
  perform require_full_login();
  if v_user_id <> current_user_id() and not has_any_permission('absences.read', 'absences.update') then
    perform require_permission('absences.read');
  end if;
  if v_year not between 1900 and 2200 then
    perform fail('OF400', 'year must be 1900 to 2200', '{"path": ["year"]}');
  elsif v_user_id <> current_user_id() and not is_user(v_user_id) then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  end if;
  v_first_on := make_date(v_year, 1, 1);
  v_last_on := make_date(v_year, 12, 31);
  return query
  select t.type,
    coalesce(sum(d.days) filter (where a.status = 'REQUESTED'), 0), coalesce(sum(d.days) filter (where a.status = 'APPROVED'), 0)
  from unnest(enum_range(null::absence_type)) as t(type)
    left join absences a on a.user_id = v_user_id and a.type = t.type and a.status in ('REQUESTED', 'APPROVED')
      and a.starts_on <= v_last_on and a.ends_on >= v_first_on
    left join lateral working_days(
      greatest(a.starts_on, v_first_on), least(a.ends_on, v_last_on),
      a.starts_half_day and a.starts_on >= v_first_on, a.ends_half_day and a.ends_on <= v_last_on
    ) as d(days) on a.id is not null
  group by t.type order by t.type;
end;
$$ language plpgsql stable;
comment on function absence_balances is '@guard login
@report Office 30
@icon chart
@argument year The calendar year; by default the present one.
@argument user_id The user whose balances to read; the caller by default. Other users need `absences.read` or `absences.update`.
The working days of a year on which a user is absent, by reason.';

grant execute on function create_absence, enter_absence, update_absence, cancel_absence, approve_absence, decline_absence,
  away_days, absence_balances
to office_api;

-- Readers of a campaign need not be able to read its author.
create or replace function absence_time_zone(user_id uuid) returns text as $$
  select time_zone_of(absence_time_zone.user_id)
$$ language sql stable security definer set search_path from current;
comment on function absence_time_zone is '@behavior -*
The time zone in which the days of the absences of a user begin and end.';
grant execute on function absence_time_zone to office_api;

create or replace function is_near_period(moment timestamptz, starts_on date, ends_on date) returns boolean as $$
  select is_near_period.moment >= is_near_period.starts_on::timestamp at time zone 'utc' - interval '1 day'
    and is_near_period.moment < is_near_period.ends_on::timestamp at time zone 'utc' + interval '2 days'
$$ language sql immutable;
comment on function is_near_period is '@behavior -*
Whether a moment can be within a period of days in any time zone. The time zone of a person is looked up only then.';
grant execute on function is_near_period to office_api;

create or replace function users_away_until(person users) returns date as $$
  select max(w.ends_on) from away_periods w
  where w.user_id = users_away_until.person.id and is_near_period(now(), w.starts_on, w.ends_on)
    and (now() at time zone absence_time_zone(users_away_until.person.id))::date between w.starts_on and w.ends_on
$$ language sql stable;
comment on function users_away_until is '@computed
@list 5
The last day of the user''s current absence; null without an absence today, in the user''s time zone.';

create or replace function campaigns_is_author_away(campaign campaigns) returns boolean as $$
  select exists (
    select from away_periods w
    where w.user_id = campaign.author_user_id and is_near_period(campaign.scheduled_at, w.starts_on, w.ends_on)
      and (campaign.scheduled_at at time zone absence_time_zone(campaign.author_user_id))::date between w.starts_on and w.ends_on
  )
  where is_login()
$$ language sql stable;
comment on function campaigns_is_author_away is '@computed
@list 7
@title Author away
Whether the author is away on the day of the campaign in the author''s time zone; null for scoped tokens, which cannot read absences.';
grant execute on function users_away_until, campaigns_is_author_away to office_api;
