-- Login through OpenID Connect. The server talks to the provider and checks its tokens; these functions match the
-- person to a user and decide on the login. The database stores only hashes of secrets.

-- Each login removes a bounded number of expired rows, so no job is needed.
create or replace function remove_expired_logins() returns void as $$
  delete from login_attempts where state_hash in (
    select a.state_hash from login_attempts a where a.expires_at < now() limit 100 for update skip locked
  );
  delete from login_codes where code_hash in (
    select c.code_hash from login_codes c where c.expires_at < now() limit 100 for update skip locked
  );
$$ language sql volatile;

create or replace function begin_login(
  state_hash bytea, browser_hash bytea, provider text, nonce text, pkce_verifier text, return_to text, challenge text
) returns void as $$
begin
  perform remove_expired_logins();
  insert into login_attempts (state_hash, browser_hash, provider, nonce, pkce_verifier, return_to, challenge, expires_at)
  values (begin_login.state_hash, begin_login.browser_hash, begin_login.provider, begin_login.nonce,
    begin_login.pkce_verifier, begin_login.return_to, begin_login.challenge, now() + interval '10 minutes');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function begin_login is 'Stores a login attempt for ten minutes, before the redirect to the provider.';

create or replace function take_login_attempt(state_hash bytea, browser_hash bytea, provider text) returns table (
  nonce text, pkce_verifier text, return_to text, challenge text
) as $$
  delete from login_attempts a
  where a.state_hash = take_login_attempt.state_hash and a.browser_hash = take_login_attempt.browser_hash
    and a.provider = take_login_attempt.provider and a.expires_at > now()
  returning a.nonce, a.pkce_verifier, a.return_to, a.challenge
$$ language sql volatile security definer set search_path from current;
comment on function take_login_attempt is
  'Returns and removes a stored login attempt; no row for an unknown, used or expired one, or one of another browser or provider.';

create or replace function record_refused_login(reason text, details jsonb) returns void as $$
  select record_change('CREATE', 'Session', null, null, null,
    jsonb_build_object('refused', record_refused_login.reason) || jsonb_strip_nulls(details))
$$ language sql volatile;

-- Only A to Z match a to z; lookalike letters and letters that fold to ASCII never match.
create or replace function same_email(one text, other text) returns boolean as $$
  select lower(same_email.one collate "C") = lower(same_email.other collate "C")
$$ language sql immutable parallel safe;

-- The reason why an e-mail address does not admit a person at their first login; null when it does.
create or replace function first_login_refusal(person users) returns text as $$
  select case
    when person.id is null then 'unknown'
    when exists (select from user_identities i where i.user_id = person.id) then 'other_identity'
    when person.is_active then null
    -- An invitation stays pending when its user is changed directly in the database.
    when person.invitations_closed_at is not null then 'inactive'
    when exists (
      select from invitations i where i.user_id = person.id and i.state = 'pending' and i.expires_at > now()
    ) then null
    when exists (select from invitations i where i.user_id = person.id) then 'invitation_expired'
    else 'inactive'
  end
$$ language sql volatile;

-- Activates a user at login; fills a missing name and picture from the provider.
create or replace function activate_on_login(user_id uuid, name text, picture text) returns void as $$
  update users u set
    is_active = true, name = coalesce(u.name, activate_on_login.name), avatar_url = coalesce(u.avatar_url, activate_on_login.picture)
  where u.id = activate_on_login.user_id and (
    not u.is_active or (u.name is null and activate_on_login.name is not null) or (u.avatar_url is null and activate_on_login.picture is not null)
  )
$$ language sql volatile;

-- Returns null and stores the code when the person may log in; otherwise records and returns the reason.
create or replace function complete_login(
  provider text, issuer text, subject text, email text, email_verified boolean, name text, picture text,
  code_hash bytea, return_to text, challenge text
) returns text as $$
declare
  v_user users;
  v_linked uuid;
  v_refused text;
  v_name text := case when is_label(trim_to_null(complete_login.name), 120) then trim_to_null(complete_login.name) end;
begin
  -- Serializes concurrent logins of one person: the first links and activates the account.
  perform pg_advisory_xact_lock(
    hashtextextended(concat_ws(' ', current_schema() || '.identity', complete_login.issuer, complete_login.subject), 0)
  );
  select i.user_id into v_linked
  from user_identities i where i.issuer = complete_login.issuer and i.subject = complete_login.subject;

  if found then
    select * into v_user from users u where u.id = v_linked for update;
    -- The user may have been unlinked while this waited.
    if not exists (
      select from user_identities i
      where i.issuer = complete_login.issuer and i.subject = complete_login.subject and i.user_id = v_linked
    ) then
      v_linked := null;
    end if;
  end if;

  if v_linked is not null then
    v_refused := case when v_user.is_active is not true then 'inactive' end;
  elsif complete_login.email is null then
    v_refused := 'no_email';
  elsif complete_login.email_verified is not true then
    v_refused := 'unverified_email';
  else
    select * into v_user from users u
    where name_key(u.email) = name_key(complete_login.email) and same_email(u.email, complete_login.email)
    for update;
    v_refused := first_login_refusal(v_user);
  end if;

  if v_refused is not null then
    perform record_refused_login(v_refused, jsonb_build_object(
      'provider', complete_login.provider, 'issuer', complete_login.issuer, 'subject', complete_login.subject,
      'email', left(complete_login.email, 254), 'userId', v_user.id
    ));
    return v_refused;
  end if;

  perform act_as(v_user.id);
  if v_linked is null then
    insert into user_identities (user_id, issuer, subject, email)
    values (v_user.id, complete_login.issuer, complete_login.subject, complete_login.email);
  end if;
  begin
    perform activate_on_login(v_user.id, v_name, complete_login.picture);
  exception when check_violation then
    -- An invalid picture must not prevent the login.
    perform activate_on_login(v_user.id, v_name, null);
  end;
  update invitations i set state = 'accepted', accepted_at = now()
  where i.user_id = v_user.id and i.state = 'pending' and i.expires_at > now();
  insert into login_codes (code_hash, user_id, provider, return_to, challenge, expires_at)
  values (complete_login.code_hash, v_user.id, complete_login.provider, complete_login.return_to,
    complete_login.challenge, now() + interval '60 seconds');
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function complete_login is
  'Decides whether a person authenticated by a provider may log in: matched by issuer and subject, or at the first login by a verified e-mail address. The first login of an invited person activates the user and accepts the invitation.';

-- A wrong attempt uses the code up. Refusals therefore return no row; an exception would roll that back.
create or replace function exchange_login_code(
  code_hash bytea, return_to text, challenge text, token_hash bytea, idle_hours integer, max_days integer
) returns table (user_id uuid, permissions text[]) as $$
declare
  v_code login_codes;
  v_active boolean;
  v_refused text;
begin
  -- Locks the user before the code, in the same order as a deactivation.
  select u.is_active into v_active
  from users u
  where u.id = (select c.user_id from login_codes c where c.code_hash = exchange_login_code.code_hash)
  for share;
  delete from login_codes c where c.code_hash = exchange_login_code.code_hash returning * into v_code;
  if not found or v_code.expires_at <= now() then
    return;
  end if;
  v_refused := case
    when not v_active then 'inactive'
    when v_code.return_to <> exchange_login_code.return_to then 'other_return_address'
    when v_code.challenge is distinct from exchange_login_code.challenge then 'wrong_verifier'
  end;
  if v_refused is not null then
    perform record_refused_login(v_refused, jsonb_build_object('provider', v_code.provider, 'userId', v_code.user_id));
    return;
  end if;
  perform act_as(v_code.user_id);
  perform open_session(v_code.user_id, token_hash, idle_hours, max_days);
  return query select v_code.user_id, user_permissions(v_code.user_id);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function exchange_login_code is
  'Opens a session for a login code, once; no row for an unknown, used or expired code, or one for another address.';

-- A code from before a deactivation must not open a session after a reactivation.
create or replace function tg_users__forget_login_codes() returns trigger as $$
begin
  delete from login_codes c where c.user_id = new.id;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__forget_login_codes is 'Removes the login codes of a deactivated user.';
select ensure_trigger('users', '_500_forget_login_codes',
  'after update of is_active on %TABLE% for each row when (old.is_active and not new.is_active) execute function tg_users__forget_login_codes()');

-- The first three are called by the server only; not callable through GraphQL.
grant execute on function begin_login, take_login_attempt, complete_login to office_server;
grant execute on function exchange_login_code to office_api;
