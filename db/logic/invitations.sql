-- Invitations. Lock order: the inviter, the user, then invitations by id.
select ensure_policy('invitations', 'invitations_managed', 'select', 'office_api',
  '(select has_permission(''invitations.create''))');

create or replace function invitations_status(invitation invitations) returns text as $$
  select case
    when invitation.state = 'pending' and invitation.expires_at <= now() then 'expired'
    else invitation.state
  end
$$ language sql stable;
comment on function invitations_status is '@computed
@list 2
@notNull
One of `pending`, `accepted`, `expired`.';
grant execute on function invitations_status to office_api;

create or replace function invitations_role(invitation invitations) returns roles as $$
  select r.* from roles r where r.id = invitation.role_id
$$ language sql stable;
comment on function invitations_role is '@computed
The role that the user gets; null after it was deleted.';
grant execute on function invitations_role to office_api;

-- An invitation activates its user, so it is only for users who were never active and never deactivated.
create or replace function require_not_joined(person users, details jsonb) returns void as $$
begin
  if person.is_active then
    perform fail('OF409', 'An active user has this e-mail address already', details);
  elsif person.invitations_closed_at is not null then
    perform fail('OF409', 'A deactivated user has this e-mail address: activate that user instead', details);
  end if;
end;
$$ language plpgsql volatile;

-- Waits for a deactivation of the inviter, which ends their invitations.
create or replace function require_active_inviter() returns void as $$
begin
  perform from users u where u.id = current_user_id() and u.is_active for share;
  if not found then
    perform fail('OF401', 'You are not logged in');
  end if;
end;
$$ language plpgsql volatile;

create or replace function invitation_end() returns timestamptz as $$
  select now() + make_interval(days => current_setting('office.invitation_days')::integer)
$$ language sql stable;

-- The payload holds only the id; the job reads the current row.
create or replace function queue_invitation_mail(invitation_id uuid) returns void as $$
  select enqueue_job('send_invitation', jsonb_build_object('invitationId', i.id), i.id::text,
    subject => 'Invitation of ' || i.email, max_attempts => 12)
  from invitations i where i.id = queue_invitation_mail.invitation_id
$$ language sql volatile;

create or replace function create_invitation(input new_invitation) returns invitations as $$
declare
  v_email text := normalize_name(create_invitation.input.email);
  v_user users;
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  perform require_active_inviter();
  perform from roles r where r.id = create_invitation.input.role_id for key share;
  if not found then
    perform fail('OF400', 'roleId: there is no role with this id', '{"path": ["input", "roleId"]}');
  end if;
  perform require_grantable(role_keys(array[create_invitation.input.role_id]));

  insert into users (email) values (coalesce(v_email, '')) on conflict (name_key(email)) do nothing;
  select * into v_user from users where name_key(email) = name_key(v_email) for update;
  perform require_not_joined(v_user, '{"path": ["input", "email"]}');
  -- Removes the role of an earlier invitation.
  perform require_revocable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = v_user.id and ur.role_id <> create_invitation.input.role_id
  )));
  update invitations set state = 'expired' where invitations.user_id = v_user.id and state = 'pending';
  delete from user_roles ur where ur.user_id = v_user.id and ur.role_id <> create_invitation.input.role_id;
  insert into user_roles (user_id, role_id) values (v_user.id, create_invitation.input.role_id) on conflict do nothing;
  insert into invitations (user_id, email, role_id, expires_at, invited_by_user_id)
  values (v_user.id, v_user.email, create_invitation.input.role_id, invitation_end(), current_user_id())
  returning * into v_invitation;
  perform queue_invitation_mail(v_invitation.id);
  return v_invitation;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_invitation is '@guard invitations.create
Invites a person by e-mail: creates an inactive user with the role, and a pending invitation. The invitation replaces an earlier one of the same person; the caller must then also hold the permissions of the earlier role.';

-- Returns an invitation that can be resent or revoked, locked with its user.
create or replace function open_invitation(id uuid) returns invitations as $$
declare
  v_user users;
  v_invitation invitations;
begin
  select u.* into v_user from users u join invitations i on i.user_id = u.id
  where i.id = open_invitation.id for update of u;
  if not found then
    perform fail('OF404', 'There is no invitation with this id', '{"path": ["id"]}');
  end if;
  select * into v_invitation from invitations i where i.id = open_invitation.id for update;
  if v_invitation.state = 'accepted' then
    perform fail('OF409', 'This invitation was accepted already');
  end if;
  perform require_not_joined(v_user, '{}');
  if exists (select from invitations i where i.user_id = v_user.id and i.id > v_invitation.id) then
    perform fail('OF409', 'There is a newer invitation for this person');
  end if;
  return v_invitation;
end;
$$ language plpgsql volatile;

create or replace function resend_invitation(id uuid) returns invitations as $$
declare
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  perform require_active_inviter();
  v_invitation := open_invitation(resend_invitation.id);
  if v_invitation.revoked_at is not null then
    perform fail('OF409', 'This invitation was revoked: invite the person again');
  end if;
  -- Anybody can be invited, also people who never asked for a mail.
  if v_invitation.mail_number >= 10 then
    perform fail('OF409', 'This invitation was mailed ten times: ask the person whether they received it');
  end if;
  perform from roles r where r.id = v_invitation.role_id for key share;
  if not found then
    perform fail('OF409', 'The role of this invitation was deleted: invite the person again with another role');
  end if;
  -- Activation also enables roles that the user received since the invitation.
  perform require_grantable(role_keys(array(
    select ur.role_id from user_roles ur where ur.user_id = v_invitation.user_id union select v_invitation.role_id
  )));
  insert into user_roles (user_id, role_id) values (v_invitation.user_id, v_invitation.role_id) on conflict do nothing;
  update invitations i set
    state = 'pending', expires_at = invitation_end(), invited_by_user_id = current_user_id(),
    mail_number = i.mail_number + 1, mail_attempts = 0, mail_error = null, mailed_at = null
  where i.id = v_invitation.id
  returning * into v_invitation;
  perform queue_invitation_mail(v_invitation.id);
  return v_invitation;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function resend_invitation is '@guard invitations.create
@action
Mails a pending or expired invitation again, up to ten times, and restarts its validity. The caller must hold the permissions of its role and becomes the inviter.';

create or replace function revoke_invitation(id uuid) returns invitations as $$
declare
  v_invitation invitations;
begin
  perform require_permission('invitations.create');
  v_invitation := open_invitation(revoke_invitation.id);
  if v_invitation.revoked_at is null then
    -- The inviter may always revoke their own invitation, but not with a scoped token.
    if is_scoped() or v_invitation.invited_by_user_id is distinct from current_user_id() then
      perform require_revocable(role_keys(array[v_invitation.role_id]));
    end if;
    delete from user_roles ur where ur.user_id = v_invitation.user_id and ur.role_id = v_invitation.role_id;
    update invitations i set state = 'expired', revoked_at = now()
    where i.id = v_invitation.id
    returning * into v_invitation;
  end if;
  return v_invitation;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function revoke_invitation is '@guard invitations.create
@action bad
Revokes an invitation: its status becomes `expired`, and the user stays inactive and loses the role. The caller must hold all permissions of the role or be the inviter. Repeating the call changes nothing.';

grant execute on function create_invitation, resend_invitation, revoke_invitation to office_api;

-- An invitation ends with its inviter's account, unless another user resends it.
create or replace function tg_users__end_invitations() returns trigger as $$
begin
  update invitations set state = 'expired' where id in (
    select i.id from invitations i where i.invited_by_user_id = new.id and i.state = 'pending' order by i.id for update
  );
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__end_invitations is 'Ends the pending invitations of a deactivated inviter.';
select ensure_trigger('users', '_500_end_invitations',
  'after update of is_active on %TABLE% for each row when (old.is_active and not new.is_active) execute function tg_users__end_invitations()');

-- A trigger sets the end time, because several functions end an invitation.
create or replace function tg_invitations__end() returns trigger as $$
begin
  new.expires_at := least(new.expires_at, now());
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_invitations__end is 'Sets the expiry of an invitation that ends early.';
select ensure_trigger('invitations', '_200_end',
  'before update of state on %TABLE% for each row when (new.state = ''expired'' and old.state <> ''expired'') execute function tg_invitations__end()');

create or replace function expire_invitations() returns integer as $$
  with expired as (
    update invitations set state = 'expired' where id in (
      select i.id from invitations i where i.state = 'pending' and i.expires_at <= now() order by i.id for update
    )
    returning 1
  )
  select count(*)::integer from expired
$$ language sql volatile security definer set search_path from current;
comment on function expire_invitations is 'Marks invitations as expired; returns their number.';

-- Schemas from before the time zone was a part of the result.
drop function if exists begin_invitation_mail(uuid);
create or replace function begin_invitation_mail(invitation_id uuid) returns table (
  email text, role_name text, invited_by text, expires_at timestamptz, mail_number integer, attempt integer, time_zone text, locale text
) as $$
  update invitations i set
    mail_attempts = i.mail_attempts + 1,
    -- An attempt without an outcome means that its worker died.
    mail_error = case
      when i.mail_attempts > 0 then coalesce(i.mail_error, 'Sending was cut off and is tried again') end
  from users u
  where i.id = begin_invitation_mail.invitation_id and u.id = i.user_id
    and i.state = 'pending' and i.expires_at > now() and i.mailed_at is null and not u.is_active
  returning i.email, (select r.name from roles r where r.id = i.role_id),
    (select coalesce(b.name, b.email) from users b where b.id = i.invited_by_user_id),
    i.expires_at, i.mail_number, i.mail_attempts, time_zone_of(u.id), locale_of(u.id)
$$ language sql volatile security definer set search_path from current;
comment on function begin_invitation_mail is
  'Counts a delivery attempt and returns the content of the mail; no row when it was sent, or the invitation was accepted, revoked or expired.';

create or replace function record_invitation_mail(invitation_id uuid, mail_number integer, error text) returns boolean as $$
begin
  update invitations i set
    mailed_at = case when record_invitation_mail.error is null then now() end, mail_error = without_tokens(record_invitation_mail.error)
  where i.id = record_invitation_mail.invitation_id
    -- Ignores the outcome of an earlier mail.
    and i.mail_number = record_invitation_mail.mail_number;
  return found;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_invitation_mail is
  'Records the outcome of a mail by its number: sent, or the error. False when a newer mail replaced it.';

grant execute on function expire_invitations, begin_invitation_mail, record_invitation_mail to office_worker;
