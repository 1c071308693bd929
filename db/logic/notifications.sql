-- Notifications: creation, inbox, settings and mails.
create or replace function default_notification_mail(kind notification_kind) returns notification_mail as $$
  select case
    when default_notification_mail.kind in ('NEW_LOGIN_ADDRESS', 'TOKEN_CREATED') then 'AT_ONCE'
    when default_notification_mail.kind = 'EXPORT_COMPLETED' then 'OFF'
    else 'DAILY'
  end::notification_mail
$$ language sql immutable;

create or replace function notification_kinds() returns setof notification_kind as $$
  select k from unnest(enum_range(null::notification_kind)) as k where k <> 'WATCH_MATCHED'
$$ language sql stable;
comment on function notification_kinds is 'The kinds with a preference. A search watch has its own channels.';

create or replace function add_notification_preferences() returns void as $$
  insert into notification_preferences (user_id, kind, mail)
  select u.id, k.kind, default_notification_mail(k.kind)
  from users u, notification_kinds() as k(kind)
  where not exists (select from notification_preferences p where p.user_id = u.id and p.kind = k.kind)
  on conflict do nothing
$$ language sql volatile;
comment on function add_notification_preferences is 'Adds missing preferences, such as those of a new kind.';

create or replace function tg_users__notification_preferences() returns trigger as $$
begin
  insert into notification_preferences (user_id, kind, mail)
  select u.id, k.kind, default_notification_mail(k.kind)
  from new_rows u, notification_kinds() as k(kind);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__notification_preferences is 'Adds the preferences of new users.';
select ensure_trigger('users', '_500_notification_preferences',
  'after insert on %TABLE% referencing new table as new_rows for each statement execute function tg_users__notification_preferences()');

create or replace function holders_of(permission text) returns uuid[] as $$
  select array(
    select k.user_id from user_keys k where holders_of.permission = any (string_to_array(k.permission_keys, ',')) and k.is_active
  )
$$ language sql stable;
comment on function holders_of is 'The active users who hold a permission.';

create or replace function next_digest_at(user_id uuid, at timestamptz default now(), is_weekly boolean default false) returns timestamptz as $$
  select (
    d.day + interval '8 hours' + case when next_digest_at.is_weekly then make_interval(days => (8 - extract(isodow from d.day)::integer) % 7) else interval '0' end
  ) at time zone d.zone
  from (
    select z.zone, date_trunc('day', (next_digest_at.at at time zone z.zone) + interval '16 hours') as day
    from (select time_zone_of(next_digest_at.user_id)) as z(zone)
  ) as d
$$ language sql stable;
comment on function next_digest_at is 'The next 08:00 in the user''s time zone, on a Monday with `is_weekly`.';

-- Schemas from before `occurrences` was a parameter.
drop function if exists add_notifications(uuid[], notification_kind, text, text, text, text, text, boolean, notification_mail);
-- Repetitions within an hour are merged into one notification, which becomes unread again and is not mailed at once
-- again. `in_inbox` and `mail` override the preferences.
create or replace function add_notifications(
  user_ids uuid[], kind notification_kind, title text, body text, entity text, entity_id text, subject_key text,
  in_inbox boolean default null, mail notification_mail default null, occurrences integer default 1
) returns void as $$
declare
  v_key text := coalesce(add_notifications.subject_key, add_notifications.entity_id, '');
  v_title text := left(add_notifications.title, 300);
  v_body text := left(trim_to_null(add_notifications.body), 2000);
begin
  -- Concurrent repetitions are merged as well.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws('.', current_schema(), 'notify', add_notifications.kind, v_key) collate "C", 0));
  with recipients as (
    select u.id as user_id, coalesce(add_notifications.in_inbox, p.in_inbox) as in_inbox, coalesce(add_notifications.mail, p.mail) as mail
    from users u left join notification_preferences p on p.user_id = u.id and p.kind = add_notifications.kind
    where u.id = any (add_notifications.user_ids) and u.is_active
  ),
  again as (
    update notifications n set
      occurrences = n.occurrences + add_notifications.occurrences, happened_at = now(), title = v_title, body = v_body,
      entity = add_notifications.entity, entity_id = add_notifications.entity_id,
      read_at = case when t.in_inbox then null else n.read_at end,
      -- A daily mail that was sent before the repetition is followed by the next one.
      mail_at = case when n.mailed_at is not null and t.mail = 'DAILY' then next_digest_at(t.user_id) else n.mail_at end,
      mail_id = case when n.mailed_at is not null and t.mail = 'DAILY' then null else n.mail_id end,
      mailed_at = case when t.mail = 'DAILY' then null else n.mailed_at end
    from recipients t
    where n.kind = add_notifications.kind and n.subject_key = v_key and n.created_at > now() - interval '1 hour' and n.user_id = t.user_id
    returning n.user_id
  )
  insert into notifications (user_id, kind, title, body, entity, entity_id, subject_key, occurrences, read_at, mail_at)
  select t.user_id, add_notifications.kind, v_title, v_body, add_notifications.entity, add_notifications.entity_id, v_key,
    add_notifications.occurrences,
    case when not t.in_inbox then now() end,
    case t.mail when 'AT_ONCE' then now() when 'DAILY' then next_digest_at(t.user_id) end
  from recipients t
  where (t.in_inbox or t.mail <> 'OFF') and not exists (select from again a where a.user_id = t.user_id);
end;
$$ language plpgsql volatile security definer set search_path from current;

create or replace function notify_users(
  user_ids uuid[], kind notification_kind, title text, body text default null, entity text default null, entity_id text default null,
  subject_key text default null
) returns void as $$
  select add_notifications(notify_users.user_ids, notify_users.kind, notify_users.title, notify_users.body, notify_users.entity,
    notify_users.entity_id, notify_users.subject_key)
$$ language sql volatile;
comment on function notify_users is
  'Notifies active users. Notifications of one kind and `subject_key` (default: `entity_id`) within an hour are merged.';

create or replace function notify_of_outage(permission text, kind notification_kind, title text, since timestamptz, error text)
returns void as $$
  select notify_users(z.user_ids, notify_of_outage.kind, notify_of_outage.title,
    concat_ws(E'\n', nullif(notify_of_outage.error, ''), format('Since %s', local_text(notify_of_outage.since, z.time_zone))),
    subject_key => iso_text(notify_of_outage.since))
  from (
    select time_zone_of(h.user_id) as time_zone, array_agg(h.user_id) as user_ids
    from unnest(holders_of(notify_of_outage.permission)) as h(user_id)
    group by 1
  ) as z
$$ language sql volatile;
comment on function notify_of_outage is
  'Notifies the holders of a permission of the start of an outage, in their time zones. `iso_text` of the start is the subject key.';

create or replace function unread_notification_count() returns integer as $$
begin
  perform require_full_login();
  return (select count(*) from notifications n where n.user_id = current_user_id() and n.read_at is null);
end;
$$ language plpgsql stable;
comment on function unread_notification_count is '@guard login
@notNull
The number of notifications that the caller has not read.';

create or replace function mark_notifications_read(ids uuid[] default null, "all" boolean default false) returns integer as $$
declare
  v_unknown uuid[];
  v_count integer;
begin
  perform require_full_login();
  if (mark_notifications_read.ids is null) = (mark_notifications_read."all" is not true) then
    perform fail('OF400', 'Give either ids or all: true', '{"path": ["ids"]}');
  elsif cardinality(mark_notifications_read.ids) > 1000 then
    perform fail('OF400', 'ids must be 1000 at most', '{"path": ["ids"]}');
  end if;
  v_unknown := array(
    select i from unnest(mark_notifications_read.ids) as i
    where not exists (select from notifications n where n.id = i and n.user_id = current_user_id())
  );
  if cardinality(v_unknown) > 0 then
    perform fail('OF404', 'There are no notifications of yours with the ids ' || array_to_string(v_unknown, ', ', 'null'), '{"path": ["ids"]}');
  end if;
  update notifications n set read_at = now()
  where n.user_id = current_user_id() and n.read_at is null
    and (mark_notifications_read.ids is null or n.id = any (mark_notifications_read.ids));
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function mark_notifications_read is '@guard login
@action of notifications with all
@argument ids The notifications to mark, 1000 at most.
@argument all Whether to mark all of the caller''s, instead of `ids`.
Marks notifications as read. Returns the number of those that were unread.';

create or replace function mark_notification_read(id uuid) returns notifications as $$
declare
  v_notification notifications;
begin
  perform require_full_login();
  update notifications n set read_at = coalesce(n.read_at, now())
  where n.id = mark_notification_read.id and n.user_id = current_user_id()
  returning * into v_notification;
  if not found then
    perform fail('OF404', 'There is no notification of yours with this id', '{"path": ["id"]}');
  end if;
  return v_notification;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function mark_notification_read is '@guard login
@action unless read_at
Marks a notification as read.';

create or replace function update_notification_preference(id uuid, input notification_preferences, given text[])
returns notification_preferences as $$
declare
  v_old notification_preferences;
  v_new notification_preferences;
begin
  perform require_full_login();
  select * into v_old from notification_preferences p
  where p.id = update_notification_preference.id and p.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'There is no notification setting of yours with this id', '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_notification_preference.input), given, array['in_inbox', 'mail']));
  update notification_preferences p set in_inbox = v_new.in_inbox, mail = v_new.mail where p.id = v_old.id returning * into v_new;
  perform record_change('UPDATE', 'NotificationPreference', v_new.id::text,
    jsonb_build_object('inInbox', v_old.in_inbox, 'mail', v_old.mail), jsonb_build_object('inInbox', v_new.in_inbox, 'mail', v_new.mail),
    jsonb_build_object('kind', v_new.kind));
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_notification_preference is '@guard login
Changes how the caller receives one kind of notification.';

grant execute on function unread_notification_count, mark_notifications_read, mark_notification_read, update_notification_preference
to office_api;

-- Functions for the worker.
create or replace function queue_notification_mails() returns integer as $$
declare
  v_user_id uuid;
  v_mail_id uuid;
  v_count integer := 0;
begin
  -- Notifications that were read before a later mail, and those of inactive users, are not mailed. Mails at once are sent
  -- anyway: somebody who uses a stolen login must not be able to stop the warning about it.
  update notifications n set mail_at = null
  from users u
  where n.mail_at <= now() and n.mail_id is null and u.id = n.user_id
    and (not u.is_active or n.read_at > n.created_at and n.mail_at > n.created_at);
  for v_user_id in select distinct n.user_id from notifications n where n.mail_at <= now() and n.mail_id is null loop
    v_mail_id := uuidv7();
    update notifications n set mail_id = v_mail_id where n.user_id = v_user_id and n.mail_at <= now() and n.mail_id is null;
    perform enqueue_job('send_notifications', jsonb_build_object('mailId', v_mail_id), v_mail_id::text);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$ language plpgsql volatile;
comment on function queue_notification_mails is 'Queues one mail per user with due notifications; returns the number of mails.';

create or replace function begin_notification_mail(mail_id uuid) returns table (
  email text, title text, body text, occurrences integer, happened_at timestamptz, time_zone text, locale text, id uuid
) as $$
  select u.email, n.title, n.body,
    -- The title of a watch has the number of rows.
    case n.kind when 'WATCH_MATCHED' then 1 else n.occurrences end, n.happened_at, time_zone_of(u.id), locale_of(u.id), n.id
  from notifications n join users u on u.id = n.user_id
  where n.mail_id = begin_notification_mail.mail_id and n.mailed_at is null and u.is_active
  order by n.happened_at desc, n.id desc
$$ language sql volatile security definer set search_path from current;
comment on function begin_notification_mail is 'The content of a mail; no row for a sent mail or an inactive recipient.';

drop function if exists record_notification_mail(uuid);
create or replace function record_notification_mail(mail_id uuid, ids uuid[], times timestamptz[]) returns void as $$
  update notifications n set
    mailed_at = case when not s.is_late then now() end,
    mail_id = case when not s.is_late then n.mail_id end,
    mail_at = case when s.is_late then next_digest_at(n.user_id) else n.mail_at end
  from (
    select o.id,
      -- Times come with milliseconds.
      coalesce(p.mail = 'DAILY', false) and date_trunc('milliseconds', o.happened_at) > coalesce(w.happened_at, '-infinity') as is_late
    from notifications o
    left join unnest(record_notification_mail.ids, record_notification_mail.times) as w(id, happened_at) on w.id = o.id
    left join notification_preferences p on p.user_id = o.user_id and p.kind = o.kind
    where o.mail_id = record_notification_mail.mail_id
  ) as s
  where n.id = s.id
$$ language sql volatile security definer set search_path from current;
comment on function record_notification_mail is
  'Records that a mail with these notifications was sent. One that happened again meanwhile is in the next daily mail.';

create or replace function schedule_notifications(keep_days integer) returns table (removed integer, mails integer) as $$
begin
  perform add_notification_preferences();
  perform notify_of_tokens();
  perform notify_of_systems();
  delete from notifications n where n.id in (
    select o.id from notifications o where o.created_at < now() - make_interval(days => schedule_notifications.keep_days)
    order by o.created_at limit 10000
  );
  get diagnostics schedule_notifications.removed = row_count;
  schedule_notifications.mails := queue_notification_mails();
  return next;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function schedule_notifications is
  'Creates the notifications that depend on time, removes old ones and queues mails.';

grant execute on function begin_notification_mail, record_notification_mail, schedule_notifications to office_worker;
