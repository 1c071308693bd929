-- Logging in through OpenID Connect. The server talks to the provider and checks its tokens; who that person is here, and
-- whether they may come in, is decided here. The secrets are made by the server: only hashes come here.

-- Expired rows go with the next login, a bounded number at a time: no job has to come for them.
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
comment on function begin_login is 'Remembers a login that is sent to its provider, for ten minutes.';

create or replace function take_login_attempt(state_hash bytea, browser_hash bytea, provider text) returns table (
  nonce text, pkce_verifier text, return_to text, challenge text
) as $$
  delete from login_attempts a
  where a.state_hash = take_login_attempt.state_hash and a.browser_hash = take_login_attempt.browser_hash
    and a.provider = take_login_attempt.provider and a.expires_at > now()
  returning a.nonce, a.pkce_verifier, a.return_to, a.challenge
$$ language sql volatile security definer set search_path from current;
comment on function take_login_attempt is
  'What was remembered of a login, once; no row for one that is unknown, used, expired or of another browser or provider.';

create or replace function record_refused_login(reason text, details jsonb) returns void as $$
  select record_change('CREATE', 'Session', null, null, null,
    jsonb_build_object('refused', record_refused_login.reason) || jsonb_strip_nulls(details))
$$ language sql volatile;

-- Letters of other scripts that look like a, or fold to, an ASCII letter never match one: only A to Z count as a to z.
create or replace function same_email(one text, other text) returns boolean as $$
  select lower(same_email.one collate "C") = lower(same_email.other collate "C")
$$ language sql immutable parallel safe;

-- The reason why an e-mail address does not let a person in for the first time; null when it does.
create or replace function first_login_refusal(person users) returns text as $$
  select case
    when person.id is null then 'unknown'
    when exists (select from user_identities i where i.user_id = person.id) then 'other_identity'
    when person.is_active then null
    -- An invitation stays pending when the user is activated or deactivated in the database itself.
    when person.invitations_closed_at is not null then 'inactive'
    when exists (
      select from invitations i where i.user_id = person.id and i.state = 'pending' and i.expires_at > now()
    ) then null
    when exists (select from invitations i where i.user_id = person.id) then 'invitation_expired'
    else 'inactive'
  end
$$ language sql volatile;

-- Makes a user active who logs in; name and picture are the provider's, taken where the user has none.
create or replace function activate_on_login(user_id uuid, name text, picture text) returns void as $$
  update users u set
    is_active = true, name = coalesce(u.name, activate_on_login.name), avatar_url = coalesce(u.avatar_url, activate_on_login.picture)
  where u.id = activate_on_login.user_id and (
    not u.is_active or (u.name is null and activate_on_login.name is not null) or (u.avatar_url is null and activate_on_login.picture is not null)
  )
$$ language sql volatile;

-- Returns null when the person may come in, for whom the code is then good; otherwise the reason, which is recorded.
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
  -- Logins of one person come one at a time, so that of many at once one links and activates and the others follow it.
  perform pg_advisory_xact_lock(
    hashtextextended(concat_ws(' ', current_schema() || '.identity', complete_login.issuer, complete_login.subject), 0)
  );
  select i.user_id into v_linked
  from user_identities i where i.issuer = complete_login.issuer and i.subject = complete_login.subject;

  if found then
    select * into v_user from users u where u.id = v_linked for update;
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
    -- A picture that the house does not take keeps nobody out.
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
  'Decides whether a person whom a provider vouches for may come in: matched by issuer and subject, else once by a verified e-mail address. An invited person''s first login activates them and accepts the invitation.';

-- A wrong attempt uses the code up, so refusals are returned (no row) instead of raised, which would undo that.
create or replace function exchange_login_code(
  code_hash bytea, return_to text, challenge text, token_hash bytea, idle_hours integer, max_days integer
) returns table (user_id uuid, permissions text[]) as $$
declare
  v_code login_codes;
  v_active boolean;
  v_refused text;
begin
  -- The user is locked before the code, in the order in which a deactivation locks them.
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
  'Opens a session for the holder of a login code, once; no row for a code that is unknown, used, expired or for another address.';

-- A code from before a deactivation must not open a session after a reactivation.
create or replace function tg_users__forget_login_codes() returns trigger as $$
begin
  delete from login_codes c where c.user_id = new.id;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__forget_login_codes is 'Ends the login codes of a user who is deactivated.';
select ensure_trigger('users', '_500_forget_login_codes',
  'after update of is_active on %TABLE% for each row when (old.is_active and not new.is_active) execute function tg_users__forget_login_codes()');

-- The first three are the server's own steps; a GraphQL request cannot reach them.
grant execute on function begin_login, take_login_attempt, complete_login to office_server;
grant execute on function exchange_login_code to office_api;
