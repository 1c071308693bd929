-- Display names, time zones, locales and formatted times.
create or replace function user_name(user_id uuid) returns text as $$
  select coalesce((select coalesce(u.name, split_part(u.email, '@', 1)) from users u where u.id = user_name.user_id), 'Somebody')
$$ language sql stable;
comment on function user_name is 'The display name of a user: the name, or the e-mail address before the @.';

-- Every login sees the names of colleagues, also in bookings and periods away.
create or replace function colleague_name(user_id uuid) returns text as $$
  select user_name(u.id) from users u where u.id = colleague_name.user_id and is_login()
$$ language sql stable security definer set search_path from current;
comment on function colleague_name is '@behavior -*
The display name of a user, also for logins without `users.read`; null for scoped tokens and without a user.';
grant execute on function colleague_name to office_api;

create or replace function office_time_zone() returns text as $$
  select coalesce((select s.time_zone from office_settings s), 'UTC')
$$ language sql stable;
comment on function office_time_zone is 'The time zone of the office.';
grant execute on function office_time_zone to office_api;

create or replace function time_zone_of(user_id uuid) returns text as $$
  select coalesce((select u.time_zone from users u where u.id = time_zone_of.user_id), office_time_zone())
$$ language sql stable;
comment on function time_zone_of is 'The time zone of a user, by default that of the office.';

create or replace function own_time_zone() returns text as $$
  select coalesce((select u.time_zone from users u where u.id = current_user_id()), office_time_zone())
$$ language sql stable;
comment on function own_time_zone is '@behavior -*
The time zone of the caller.';
grant execute on function own_time_zone to office_api;

create or replace function office_locale() returns text as $$
  select coalesce((select s.locale from office_settings s), 'en-GB')
$$ language sql stable;
comment on function office_locale is 'The locale of the office.';
grant execute on function office_locale to office_api;

create or replace function locale_of(user_id uuid) returns text as $$
  select coalesce((select u.locale from users u where u.id = locale_of.user_id), office_locale())
$$ language sql stable;
comment on function locale_of is 'The locale of a user, by default that of the office.';

create or replace function own_locale() returns text as $$
  select coalesce((select u.locale from users u where u.id = current_user_id()), office_locale())
$$ language sql stable;
comment on function own_locale is '@behavior -*
The locale of the caller.';
grant execute on function own_locale to office_api;

create or replace function users_display_locale(person users) returns text as $$
  select coalesce(person.locale, office_locale())
$$ language sql stable;
comment on function users_display_locale is '@computed
@list off
@notNull
The locale for the user''s dates and numbers: the locale of the user, or of the office.';
grant execute on function users_display_locale to office_api;

create or replace function users_display_time_zone(person users) returns text as $$
  select coalesce(person.time_zone, office_time_zone())
$$ language sql stable;
comment on function users_display_time_zone is '@computed
@list off
@notNull
The time zone in which the console shows times to the user: the time zone of the user, or of the office.';
grant execute on function users_display_time_zone to office_api;

create or replace function local_text(moment timestamptz, time_zone text) returns text as $$
  select to_char(local_text.moment at time zone local_text.time_zone, 'YYYY-MM-DD HH24:MI')
$$ language sql stable;
comment on function local_text is 'Formats a moment in a time zone.';

-- The format of `DateTime` in the API.
create or replace function iso_text(moment timestamptz) returns text as $$
  select to_char(iso_text.moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$ language sql stable;
