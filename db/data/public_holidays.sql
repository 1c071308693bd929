-- The public holidays of Denmark from 2025 to 2030. Inserted into a new database only; staff change them afterwards.
with years as (
  select y, y % 19 as a, y / 100 as b, y % 100 as c from generate_series(2025, 2030) as y
),
-- The Gregorian computus of Meeus, Jones and Butcher.
moon as (
  select y, a, b, c, (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30 as h from years
),
week as (
  select y, a, h, (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7 as l from moon
),
easter as (
  select y, make_date(y, (h + l - 7 * ((a + 11 * h + 22 * l) / 451) + 114) / 31,
    (h + l - 7 * ((a + 11 * h + 22 * l) / 451) + 114) % 31 + 1) as day
  from week
)
insert into public_holidays (holiday_on, name)
select h.day, h.name
from easter e, lateral (values
  (make_date(e.y, 1, 1), 'New Year''s Day'), (e.day - 3, 'Maundy Thursday'), (e.day - 2, 'Good Friday'),
  (e.day, 'Easter Sunday'), (e.day + 1, 'Easter Monday'), (e.day + 39, 'Ascension Day'), (e.day + 49, 'Whit Sunday'),
  (e.day + 50, 'Whit Monday'), (make_date(e.y, 12, 25), 'Christmas Day'), (make_date(e.y, 12, 26), 'Second Day of Christmas')
) as h(day, name)
where not exists (select from public_holidays);
