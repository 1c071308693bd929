-- The sources of notifications.
create or replace function tg_export_jobs__notify() returns trigger as $$
begin
  perform notify_users(array[new.user_id],
    case new.state when 'completed' then 'EXPORT_COMPLETED' else 'EXPORT_FAILED' end::notification_kind,
    format('Your export “%s” %s', new.source, case new.state when 'completed' then 'is ready' else 'failed' end),
    case new.state when 'completed' then format('%s rows as %s', new.exported_rows, new.format) else new.error_message end,
    'ExportJob', new.id::text);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_export_jobs__notify is 'Notifies a user when their export ends, but not of the exports of API tokens, whose program waits for them.';
select ensure_trigger('export_jobs', '_500_notify', 'after update of state on %TABLE% for each row when
  (new.state in (''completed'', ''failed'') and old.state <> new.state and new.token_id is null) execute function tg_export_jobs__notify()');

create or replace function tg_jobs__notify() returns trigger as $$
begin
  if new.kind = 'send_invitation' then
    perform notify_users(array[new.user_id], 'INVITATION_UNDELIVERABLE', format('%s could not be delivered', new.subject),
      new.error, 'Job', new.id::text);
  else
    perform notify_users(array[new.user_id], 'JOB_FAILED', format('%s failed', jobs_title(new)), concat_ws(': ', new.subject, new.error),
      'Job', new.id::text, new.kind);
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_jobs__notify is 'Notifies a user when a job that they started fails permanently.';
select ensure_trigger('jobs', '_500_notify', 'after update of state on %TABLE% for each row when
  (new.state = ''FAILED'' and old.state <> new.state) execute function tg_jobs__notify()');

create or replace function notify_of_failed_task(task text, queue_job_id bigint, reason text) returns void as $$
begin
  perform notify_users(holders_of('settings.update'), 'JOB_FAILED', format('The task %s failed', task),
    concat_ws(E'\n', left(without_tokens(reason), 1000), format('Search the log of the workers for job %s.', queue_job_id)),
    -- The prefix separates it from failures of a job that the recipient started.
    subject_key => 'task:' || task);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function notify_of_failed_task is 'Notifies holders of `settings.update` when a job that no user started fails permanently.';
grant execute on function notify_of_failed_task to office_worker;

create or replace function tg_invitations__notify() returns trigger as $$
begin
  perform notify_users(array_remove(array[new.invited_by_user_id], current_user_id()), 'INVITATION_ACCEPTED', format('%s accepted your invitation', new.email), null,
    'Invitation', new.id::text);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_invitations__notify is 'Notifies the inviter when an invitation is accepted, unless the inviter activated the user.';
select ensure_trigger('invitations', '_500_notify', 'after update of state on %TABLE% for each row when
  (new.state = ''accepted'' and old.state <> new.state) execute function tg_invitations__notify()');

create or replace function tg_absences__notify() returns trigger as $$
declare
  v_by text := user_name(current_user_id());
  v_period text := lower(new.type::text) || case
    when new.starts_on = new.ends_on then
      format(' on %s', new.starts_on) || case when new.starts_half_day then ' from noon' when new.ends_half_day then ' until noon' else '' end
    else format(' from %s%s to %s%s', new.starts_on, case when new.starts_half_day then ' at noon' end,
      new.ends_on, case when new.ends_half_day then ' at noon' end)
    end;
begin
  if new.status = 'REQUESTED' then
    -- A notification of the last hour is merged with this one. Earlier ones show the period before the change.
    delete from notifications n
    where n.kind = 'ABSENCE_REQUESTED' and n.subject_key = new.id::text and n.created_at <= now() - interval '1 hour';
    perform notify_users(array_remove(holders_of('absences.update'), new.user_id), 'ABSENCE_REQUESTED',
      format('%s asks for an absence: %s', user_name(new.user_id), v_period), new.note, 'Absence', new.id::text);
  elsif new.user_id is distinct from current_user_id() then
    perform notify_users(array[new.user_id], 'ABSENCE_DECIDED',
      format(case when tg_op = 'INSERT' then '%s entered an absence of yours: %s' else '%s has ' || lower(new.status::text) || ' your absence: %s' end,
        v_by, v_period),
      -- A cancelled absence keeps the note of its approval.
      case when new.status <> 'CANCELLED' then new.decision_note end, 'Absence', new.id::text);
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_absences__notify is 'Notifies approvers of a request and of its changes, and the absent user of changes by others.';
select ensure_trigger('absences', '_500_notify', 'after insert on %TABLE% for each row execute function tg_absences__notify()');
select ensure_trigger('absences', '_500_notify_change', 'after update of status on %TABLE% for each row when
  (new.status <> old.status) execute function tg_absences__notify()');
-- An erasure empties the note.
select ensure_trigger('absences', '_500_notify_request', 'after update on %TABLE% for each row when
  (new.status = ''REQUESTED'' and old.status = ''REQUESTED'' and not is_erasing()
    and (new.type, new.starts_on, new.ends_on, new.note) is distinct from (old.type, old.starts_on, old.ends_on, old.note))
  execute function tg_absences__notify()');

create or replace function tg_resource_bookings__notify() returns trigger as $$
declare
  v_change record;
  v_zone text;
begin
  for v_change in
    -- The first booking of each user and series, with the number of their changed bookings.
    select distinct on (n.booked_by_user_id, series.id, n.status) n.*, o.starts_at as old_starts_at, o.ends_at as old_ends_at,
      count(*) over (partition by n.booked_by_user_id, series.id, n.status) as number
    from new_rows n join old_rows o on o.id = n.id, lateral (select coalesce(n.series_id, n.id)) as series(id)
    where n.booked_by_user_id is distinct from current_user_id() and o.ends_at > now()
      and (n.resource_id, n.starts_at, n.ends_at, n.status) is distinct from (o.resource_id, o.starts_at, o.ends_at, o.status)
    order by n.booked_by_user_id, series.id, n.status, o.starts_at, o.id
  loop
    v_zone := time_zone_of(v_change.booked_by_user_id);
    perform notify_users(array[v_change.booked_by_user_id], 'BOOKING_CHANGED',
      concat_ws(' ', user_name(current_user_id()), case v_change.status when 'CANCELLED' then 'cancelled' else 'changed' end,
        case v_change.number when 1 then 'your booking' else format('%s of your bookings', v_change.number) end,
        format('“%s” in %s', v_change.title, (select r.name from resources r where r.id = v_change.resource_id)))
        || case v_change.number when 1 then '' else format(', from %s on', local_text(v_change.old_starts_at, v_zone)) end,
      format('%s was from %s to %s', case v_change.number when 1 then 'It' else 'The first' end, local_text(v_change.old_starts_at, v_zone),
        local_text(v_change.old_ends_at, v_zone))
        || case v_change.status when 'CANCELLED' then '.'
          else format(', and is from %s to %s.', local_text(v_change.starts_at, v_zone), local_text(v_change.ends_at, v_zone)) end,
      'ResourceBooking', v_change.id::text,
      -- Changes that start with another booking, and cancellations, are separate notifications.
      concat_ws('.', v_change.id, case v_change.status when 'CANCELLED' then 'cancelled' end));
  end loop;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_resource_bookings__notify is 'Notifies the booker when another user changes or cancels bookings, once for each series.';
select ensure_trigger('resource_bookings', '_500_notify',
  'after update on %TABLE% referencing old table as old_rows new table as new_rows for each statement execute function tg_resource_bookings__notify()');

-- The first session of a user, and one without an address, cause no notification.
create or replace function tg_sessions__notify() returns trigger as $$
begin
  if exists (select from sessions s where s.user_id = new.user_id and s.id <> new.id and s.ip_address is not null) and not exists (
    select from sessions s
    where s.user_id = new.user_id and s.id <> new.id and attempt_address(s.ip_address) = attempt_address(new.ip_address)
  ) then
    perform notify_users(array[new.user_id], 'NEW_LOGIN_ADDRESS', 'New login from ' || new.ip_address,
      concat_ws(E'\n', new.user_agent, 'If this was not you, revoke the session and contact your administrator.'), 'Session', new.id::text);
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_sessions__notify is 'Notifies a user of a login from a new address.';
select ensure_trigger('sessions', '_500_notify', 'after insert on %TABLE% for each row when
  (new.ip_address is not null) execute function tg_sessions__notify()');

create or replace function notify_of_import_issues(run_before erp_sync_runs, run_now erp_sync_runs) returns void as $$
declare
  v_groups integer := run_now.open_issue_groups - run_before.open_issue_groups;
  v_orders integer := run_now.open_issue_orders - run_before.open_issue_orders;
begin
  if v_groups > 0 or v_orders > 0 then
    perform notify_users(holders_of('erpsync.read'), 'IMPORT_ISSUES',
      case when v_groups > 0 then format('New groups of import issues: %s', v_groups)
        else format('More orders with import issues: %s', v_orders) end,
      format('Open groups after the last import: %s. Affected orders: %s.', run_now.open_issue_groups, run_now.open_issue_orders),
      'ErpSyncRun', run_now.id::text, '');
  end if;
end;
$$ language plpgsql volatile;

create or replace function notify_of_tokens() returns void as $$
declare
  v_token api_tokens;
begin
  for v_token in
    select * from api_tokens t
    where t.expires_at between now() and now() + interval '7 days' and t.revoked_at is null
      and t.expires_at - t.created_at > interval '7 days'
      and not exists (select from notifications n where n.kind = 'TOKEN_EXPIRING' and n.subject_key = t.id::text)
  loop
    perform notify_users(array[v_token.user_id], 'TOKEN_EXPIRING', format('Your API token “%s” expires soon', v_token.name),
      format('It expires at %s. Create a new one before.', local_text(v_token.expires_at, time_zone_of(v_token.user_id))),
      'ApiToken', v_token.id::text);
  end loop;
end;
$$ language plpgsql volatile;
comment on function notify_of_tokens is 'Notifies owners of API tokens that expire within seven days, once per token.';

create or replace function notify_of_systems() returns void as $$
declare
  v_erp erp_cursors;
  v_search search_engine_state;
  v_since timestamptz;
begin
  select * into v_erp from erp_cursors c where c.entity = 'orders';
  if v_erp.erp_down_at < now() - interval '10 minutes' and not exists (
    select from notifications n where n.kind = 'ERP_DOWN' and n.subject_key = iso_text(v_erp.erp_down_at)
  ) then
    perform notify_of_outage('erpsync.read', 'ERP_DOWN', 'The ERP does not answer', v_erp.erp_down_at, v_erp.erp_error);
  end if;
  select * into v_search from search_engine_state;
  -- After an outage, the changes that waited during it get ten more minutes for their delivery.
  select least(v_search.down_at, min(greatest(c.created_at, v_search.up_at))) into v_since
  from row_changes c join search_catalogue s on s.table_name = c.table_name join search_indexes i on i.collection = s.collection
  where c.reader = 'search' and i.version is not null;
  if v_since < now() - interval '10 minutes' and not exists (
    -- When the engine works again, the oldest waiting row changes until the backlog is empty.
    select from notifications n where n.kind = 'SEARCH_DOWN' and (n.subject_key = iso_text(v_since) or n.created_at > v_since)
  ) then
    perform notify_of_outage('settings.update', 'SEARCH_DOWN', 'The search engine accepts no changes', v_since,
      concat_ws('; ', v_search.error, (select string_agg(distinct i.error, '; ') from search_indexes i)));
  end if;
end;
$$ language plpgsql volatile;
comment on function notify_of_systems is 'Notifies permission holders of systems that have been down for more than ten minutes, once per outage.';
