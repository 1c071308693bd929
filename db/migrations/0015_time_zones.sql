-- Time zones and locales of the office and its users.
-- lint: allow function-in-migration because check constraints of the tables call it
create function is_time_zone(value text) returns boolean as $$
begin
  -- PostgreSQL also accepts zones that are made up of a name and an offset; none of them matches.
  if value !~ '^(UTC|[A-Z][A-Za-z_]+(/[A-Z][A-Za-z_-]+){1,2})$' then
    return false;
  end if;
  perform timestamptz 'epoch' at time zone value;
  return true;
exception when invalid_parameter_value then
  return false;
end;
$$ language plpgsql immutable;
comment on function is_time_zone is 'Whether a text is the name of a time zone, such as Europe/Copenhagen.';

-- lint: allow function-in-migration because check constraints of the tables call it
create function is_locale(value text) returns boolean as $$
  -- PostgreSQL has a collation for each locale of ICU, whose locales are those of the programs that format texts.
  select value ~ '^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$'
    and exists (select from pg_catalog.pg_collation c where c.collname = value || '-x-icu')
$$ language sql immutable strict;
comment on function is_locale is 'Whether a text is the name of a locale, such as da-DK.';
grant execute on function is_time_zone, is_locale to office_api;

create table office_settings (
  id uuid primary key default uuidv7(),
  time_zone text not null default 'Europe/Copenhagen',
  locale text not null default 'en-GB',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint office_settings_time_zone_check check (is_time_zone(time_zone)),
  constraint office_settings_locale_check check (is_locale(locale))
);
create unique index office_settings_single_key on office_settings ((true));
comment on table office_settings is '@group Office 70
@title Office settings
@titleOne Office settings
@read login
@update settings.update
@mutations update
@audit OfficeSetting
@label time_zone
The settings of the office. The table has one row.';
comment on column office_settings.time_zone is '@list 1
The time zone of the office, such as `Europe/Copenhagen`. It is the default for users without a time zone.';
comment on constraint office_settings_time_zone_check on office_settings is 'must be the name of a time zone, such as Europe/Copenhagen';
comment on column office_settings.locale is '@list 2
The locale of the office, such as `da-DK`, for the form of dates and numbers. It is the default for users without a locale.';
comment on constraint office_settings_locale_check on office_settings is 'must be the name of a locale, such as da-DK';
comment on index office_settings_single_key is 'The office has its settings already.';

alter table users add column time_zone text;
alter table users add constraint users_time_zone_check check (is_time_zone(time_zone)) not valid;
comment on column users.time_zone is 'The user''s time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';
comment on constraint users_time_zone_check on users is 'must be the name of a time zone, such as Europe/Copenhagen';
alter table users add column locale text;
alter table users add constraint users_locale_check check (is_locale(locale)) not valid;
comment on column users.locale is 'The user''s locale, such as `da-DK`, for the form of dates and numbers; null for the locale of the office.';
comment on constraint users_locale_check on users is 'must be the name of a locale, such as da-DK';
alter type user_changes add attribute time_zone text;
alter type user_changes add attribute locale text;
comment on column user_changes.time_zone is 'The name of a time zone, such as `Europe/Copenhagen`; null for the time zone of the office.';
comment on column user_changes.locale is 'The name of a locale, such as `da-DK`; null for the locale of the office.';
