-- Absences of staff, and the public holidays that are no working days.
create type absence_type as enum ('VACATION', 'SICK', 'PARENTAL', 'TRAINING', 'OTHER');
comment on type absence_type is 'Why somebody is absent.';
create type absence_status as enum ('REQUESTED', 'APPROVED', 'DECLINED', 'CANCELLED');
comment on type absence_status is 'How far an absence is: it is requested until somebody decides on it or its owner cancels it.';

create table public_holidays (
  id uuid primary key default uuidv7(),
  holiday_on date not null,
  name text collate display_order not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint public_holidays_name_check check (is_label(name, 200))
);
create unique index public_holidays_holiday_on_key on public_holidays (holiday_on);
comment on table public_holidays is '@group Office 59
@read login
@create absences.update
@update absences.update
@delete absences.update
@mutations create update delete
@audit PublicHoliday
@defaultOrder holiday_on
@label name holiday_on
A day on which nobody works, so that it is no working day of an absence.';
comment on column public_holidays.holiday_on is '@title Day
@list 1
Unique.';
comment on column public_holidays.name is '@list 2
What is celebrated.';
comment on constraint public_holidays_name_check on public_holidays is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on index public_holidays_holiday_on_key is 'There is a public holiday on this day already.';

create table absences (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete restrict,
  type absence_type not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null default false,
  ends_half_day boolean not null default false,
  note text,
  status absence_status not null default 'REQUESTED',
  decided_by_user_id uuid references users on delete set null,
  decided_at timestamptz,
  decision_note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint absences_ends_on_check check (ends_on >= starts_on and ends_on - starts_on <= 730),
  constraint absences_half_days_check check (starts_on < ends_on or not (starts_half_day and ends_half_day)),
  constraint absences_note_check check (char_length(note) <= 5000),
  constraint absences_decision_note_check check (char_length(decision_note) <= 5000),
  constraint absences_overlap_excl exclude using gist (
    user_id with =,
    tsrange(
      starts_on + case when starts_half_day then time '12:00' else time '00:00' end,
      ends_on + case when ends_half_day then time '12:00' else time '24:00' end
    ) with &&
  ) where (status in ('REQUESTED', 'APPROVED'))
);
create index absences_starts_on_idx on absences (starts_on desc, id desc);
create index absences_user_id_idx on absences (user_id, starts_on desc);
create index absences_decided_by_user_id_idx on absences (decided_by_user_id);
comment on table absences is '@group Office 57
@read login
@owner user_id
@audit Absence
@connection
@filter from endsOn:>=$value
@filter to startsOn:<=$value
@filter userId userId:$value
@filter departmentId user.departmentId:$value
@filter status status:$value
@defaultOrder starts_on desc
@label type starts_on
A time in which somebody does not work. Callers see their own, with `absences.read` or `absences.update` those of everybody. Two absences of one person never overlap.';
comment on column absences.user_id is '@mutations off
@list 1
@title Person
Who is absent.';
comment on column absences.type is '@list 2
Why.';
comment on column absences.starts_on is '@list 3
@title From
The first day.';
comment on column absences.ends_on is '@list 4
@title Until
The last day.';
comment on column absences.starts_half_day is '@title From noon
Whether the first day is absent from noon only.';
comment on column absences.ends_half_day is '@title Until noon
Whether the last day is absent until noon only.';
comment on column absences.note is '@personal user_id
@widget long
For those who decide.';
comment on column absences.status is '@mutations off
@list 5
@tone REQUESTED info
@tone APPROVED ok
@tone DECLINED bad
How far it is.';
comment on column absences.decided_by_user_id is '@mutations off
@title Decided by
Who approved or declined it.';
comment on column absences.decided_at is '@mutations off
When that was.';
comment on column absences.decision_note is '@personal user_id
@mutations off
@widget long
What was said about the decision.';
comment on constraint absences_ends_on_check on absences is 'must be in order and two years apart at most';
comment on constraint absences_half_days_check on absences is 'leave nothing of a single day: set one of them';
comment on constraint absences_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_decision_note_check on absences is 'must be 5000 characters at most';
comment on constraint absences_overlap_excl on absences is 'There is another absence at that time already.';
comment on constraint absences_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName user';
comment on constraint absences_decided_by_user_id_fkey on absences is '@forwardBehavior +singularRelation:resource:single
@fieldName decidedBy';

create table away_periods (
  id uuid primary key references absences on delete cascade,
  user_id uuid not null references users on delete restrict,
  name text collate display_order not null,
  starts_on date not null,
  ends_on date not null,
  starts_half_day boolean not null,
  ends_half_day boolean not null
);
create index away_periods_starts_on_idx on away_periods (starts_on desc, id desc);
create index away_periods_ends_on_idx on away_periods (ends_on);
create index away_periods_user_id_idx on away_periods (user_id);
create index away_periods_name_idx on away_periods using gin (search_text(name) extensions.gin_trgm_ops);
comment on table away_periods is '@group Office 58
@title Away
@titleOne Period away
@read login
@audit off because it only copies approved absences
@connection
@defaultOrder starts_on desc
Who is away and when, without the reason: a copy of each approved absence for all colleagues.';
comment on column away_periods.name is '@personal user_id
@search word
@list 1
The name of the person, at the time of the decision.';
comment on column away_periods.user_id is '@list off
@title Person
Who is away.';
comment on column away_periods.starts_on is '@list 2
@title From
The first day.';
comment on column away_periods.ends_on is '@list 3
@title Until
The last day.';
comment on column away_periods.starts_half_day is '@title From noon
@list 4
Whether the first day is free from noon only.';
comment on column away_periods.ends_half_day is '@title Until noon
@list 5
Whether the last day is free until noon only.';
comment on constraint away_periods_user_id_fkey on away_periods is '@forwardBehavior +singularRelation:resource:single
@fieldName user';

create type absence_day as (
  day date,
  period_id uuid,
  user_id uuid,
  name text,
  is_half boolean
);
comment on type absence_day is 'A working day on which somebody is away.';
comment on column absence_day.day is '@notNull
The day.';
comment on column absence_day.period_id is '@notNull
The period that it belongs to.';
comment on column absence_day.user_id is '@notNull
Who is away.';
comment on column absence_day.name is '@notNull
Their name.';
comment on column absence_day.is_half is '@notNull
Whether only half of the day.';

create type absence_balance as (
  type absence_type,
  requested_days numeric,
  approved_days numeric
);
comment on type absence_balance is 'The working days of a year that somebody is absent for one reason.';
comment on column absence_balance.type is '@notNull
The reason.';
comment on column absence_balance.requested_days is '@notNull
Nobody has decided on these yet.';
comment on column absence_balance.approved_days is '@notNull
These are approved.';
