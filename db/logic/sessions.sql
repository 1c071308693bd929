-- Login and logout. The server creates and hashes tokens; the database stores only hashes.
create or replace function open_session(
  user_id uuid, token_hash bytea, idle_hours integer, max_days integer
) returns uuid as $$
  insert into sessions (user_id, token_hash, ip_address, user_agent, idle_expires_at, expires_at)
  values (open_session.user_id, open_session.token_hash,
    nullif(current_setting('office.ip_address', true), ''), nullif(current_setting('office.user_agent', true), ''),
    now() + make_interval(hours => open_session.idle_hours), now() + make_interval(days => open_session.max_days))
  returning id
$$ language sql volatile;

-- Sets the user of the transaction, so that the audit log records them.
create or replace function act_as(user_id uuid) returns void as $$
begin
  perform set_config('office.user_id', act_as.user_id::text, true);
end;
$$ language plpgsql volatile;

-- A refused login returns no row; an exception would roll back its audit record.
create or replace function bootstrap_first_user(
  email text, token_hash bytea, idle_hours integer, max_days integer
) returns table (user_id uuid, permissions text[]) as $$
declare
  v_id uuid := uuidv7();
  v_refused boolean := exists (select from users);
begin
  if not v_refused then
    -- Serializes concurrent calls: the first creates the user.
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.bootstrap', 0));
    v_refused := exists (select from users);
  end if;
  if v_refused then
    perform record_refused_login('not_the_first_user',
      jsonb_build_object('step', 'bootstrapFirstUser', 'email', left(trim_to_null(bootstrap_first_user.email), 254)));
    return;
  end if;
  perform act_as(v_id);
  begin
    insert into users (id, email, is_active) values (v_id, coalesce(trim_to_null(bootstrap_first_user.email), ''), true);
  exception when check_violation then
    perform fail('OF400', 'email ' || column_message('users', 'email', 'must be an e-mail address'), '{"path": ["email"]}');
  end;
  insert into user_roles (user_id, role_id) select v_id, r.id from roles r where r.is_system and r.name = 'Superadmin';
  perform open_session(v_id, token_hash, idle_hours, max_days);
  return query select v_id, user_permissions(v_id);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function bootstrap_first_user is
  'Creates the first user, a Superadmin, with a session. When users exist, records the refusal and returns no row.';

create or replace function awaits_first_user() returns boolean as $$
  select not exists (select from users)
$$ language sql stable security definer set search_path from current;
comment on function awaits_first_user is 'Whether there are no users yet, so that `bootstrapFirstUser` works.';

create or replace function dev_login(
  email text, token_hash bytea, idle_hours integer, max_days integer
) returns table (user_id uuid, permissions text[]) as $$
declare
  v_id uuid;
begin
  select u.id into v_id from users u where name_key(u.email) = name_key(dev_login.email) and u.is_active for share;
  if not found then
    -- Unknown and inactive users take the same time, so that timing does not reveal which users exist.
    v_id := (select u.id from users u where name_key(u.email) = name_key(dev_login.email));
    perform record_refused_login(case when v_id is null then 'unknown' else 'inactive' end,
      jsonb_build_object('step', 'devLogin', 'email', left(trim_to_null(dev_login.email), 254), 'userId', v_id));
    return;
  end if;
  perform act_as(v_id);
  perform open_session(v_id, token_hash, idle_hours, max_days);
  return query select v_id, user_permissions(v_id);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function dev_login is
  'Opens a session for an active user, or records the refusal and returns no row. Available outside production only.';

create or replace function end_session() returns boolean as $$
begin
  update sessions set ended_at = now()
  where id = nullif(current_setting('office.session_id', true), '')::uuid and ended_at is null;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function end_session is 'Ends the caller''s session; an API token has none.';

grant execute on function bootstrap_first_user, awaits_first_user, dev_login, end_session to office_api;
grant execute on function awaits_first_user to office_server;

-- The request role cannot read the table; these functions return the columns that users may see.
create or replace function live_sessions(user_id uuid) returns setof session_view as $$
  select s.id, s.created_at, s.last_used_at, least(s.idle_expires_at, s.expires_at), s.ip_address, s.user_agent,
    s.id is not distinct from nullif(current_setting('office.session_id', true), '')::uuid
  from sessions s join users u on u.id = s.user_id
  where s.user_id = live_sessions.user_id
    and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now() and u.is_active
  order by s.created_at desc, s.id desc
$$ language sql stable;

create or replace function my_sessions() returns setof session_view as $$
begin
  perform require_full_login();
  return query select * from live_sessions(current_user_id());
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function my_sessions is '@guard login
@report People 10
@icon lock
The caller''s active sessions, newest first.';

create or replace function user_sessions(user_id uuid) returns setof session_view as $$
begin
  perform require_permission('users.update');
  return query select * from live_sessions(user_sessions.user_id);
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function user_sessions is '@guard users.update
@report People 20
@icon lock
@title Sessions of a user
@argument user_id The user whose sessions to list.
@auditReads Session
A user''s active sessions, newest first.';

create or replace function revoke_session(id uuid) returns boolean as $$
declare
  v_user_id uuid := (select s.user_id from sessions s where s.id = revoke_session.id);
  v_is_own boolean := coalesce(v_user_id = current_user_id(), false) and not is_scoped();
begin
  perform require_login();
  if not v_is_own then
    perform require_permission('users.update');
  end if;
  if v_user_id is null then
    perform fail('OF404', 'There is no session with this id', '{"path": ["id"]}');
  elsif not v_is_own then
    perform require_revocable(user_permissions(v_user_id));
  end if;
  update sessions s set ended_at = now() where s.id = revoke_session.id and s.ended_at is null;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function revoke_session is '@guard principal
@action bad of mySessions
Ends a session; repeating the call changes nothing. Users may end their own sessions, but not with a scoped token. Ending other sessions needs `users.update` and the permissions of the session''s user.';

grant execute on function my_sessions, user_sessions, revoke_session to office_api;

-- A token's current permissions: its scopes, limited to what its owner holds. They are also limited by what its creator
-- and the creating token hold, so that a creator never gains permissions of a colleague or keeps lost ones.
create or replace function token_permissions(token_id uuid) returns text[] as $$
declare
  v_token api_tokens;
  v_keys text[];
begin
  select * into v_token from api_tokens t where t.id = token_permissions.token_id;
  v_keys := user_permissions(v_token.user_id);
  if v_token.is_scoped then
    v_keys := array(select unnest(v_keys) intersect select unnest(v_token.scopes));
  end if;
  if v_token.created_by_user_id <> v_token.user_id then
    v_keys := array(select unnest(v_keys) intersect select unnest(user_permissions(v_token.created_by_user_id)));
  end if;
  if v_token.created_by_token_id is not null then
    v_keys := array(select unnest(v_keys) intersect select unnest(token_permissions(v_token.created_by_token_id)));
  end if;
  return v_keys;
end;
$$ language plpgsql stable;

-- Finds a live API token and updates its last use; all columns are null for an unknown, revoked or expired one.
create or replace function use_api_token(
  token_hash bytea, out user_id uuid, out token_id uuid, out permissions text[], out scoped boolean
) as $$
declare
  v_used_at timestamptz;
begin
  select t.user_id, t.id, t.is_scoped, t.last_used_at, token_permissions(t.id)
  into use_api_token.user_id, use_api_token.token_id, use_api_token.scoped, v_used_at, use_api_token.permissions
  from api_tokens t
  where t.token_hash = use_api_token.token_hash and t.revoked_at is null and t.expires_at > now()
    and (select u.is_active from users u where u.id = t.user_id);
  -- Writes at most once a minute per token and never waits for another request.
  if use_api_token.token_id is not null and coalesce(v_used_at < now() - interval '1 minute', true) then
    update api_tokens t set last_used_at = now()
    where t.id = (select id from api_tokens where id = use_api_token.token_id for update skip locked);
  end if;
end;
$$ language plpgsql volatile;

-- Called by the server's login role before it switches to the request role, like `authenticate`.
create or replace function authenticate_api_token(token_hash bytea) returns table (
  user_id uuid, token_id uuid, permissions text[], scoped boolean
) as $$
  select w.user_id, w.token_id, w.permissions, w.scoped
  from use_api_token(authenticate_api_token.token_hash) as w
  where w.user_id is not null
$$ language sql volatile security definer set search_path from current;
comment on function authenticate_api_token is
  'The owner and effective permissions of a live API token; no row for an unknown, revoked or expired one.';
grant execute on function authenticate_api_token to office_server;

-- Authenticates and sets the identity of the current transaction, or none for an invalid token. Sets every setting, so
-- that no value of another request remains; assignments run no extra statement. Runs in every request: one statement
-- reads two rows by their keys.
create or replace function enter_with_session(token_hash bytea, idle_hours integer) returns void as $$
declare
  v_user_id uuid;
  v_session_id uuid;
  v_used_at timestamptz;
  v_keys text;
  v_settings text[];
begin
  select s.user_id, s.id, s.last_used_at, k.permission_keys into v_user_id, v_session_id, v_used_at, v_keys
  from sessions s join user_keys k on k.user_id = s.user_id
  where s.token_hash = enter_with_session.token_hash
    and s.ended_at is null and s.expires_at > now() and s.idle_expires_at > now() and k.is_active;
  -- Writes at most once a minute per session and never waits for another request.
  if v_used_at < now() - interval '1 minute' then
    update sessions s
    set last_used_at = now(), idle_expires_at = now() + make_interval(hours => enter_with_session.idle_hours)
    where s.id = (select id from sessions where id = v_session_id for update skip locked);
  end if;
  v_settings := array[
    set_config('office.user_id', coalesce(v_user_id::text, ''), true),
    set_config('office.session_id', coalesce(v_session_id::text, ''), true),
    set_config('office.token_id', '', true),
    set_config('office.permissions', coalesce(v_keys, ''), true),
    set_config('office.scoped', 'false', true)
  ];
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function enter_with_session is 'Sets the transaction''s identity to the user of a live session, with effective permissions.';

-- Called by the server's login role before it switches to the request role; that role may execute nothing else.
create or replace function authenticate(token_hash bytea, idle_hours integer) returns table (
  user_id uuid, session_id uuid, permissions text[], scoped boolean
) as $$
  select enter_with_session(authenticate.token_hash, authenticate.idle_hours);
  select current_user_id(), current_setting('office.session_id')::uuid, current_permissions(), false
  where current_user_id() is not null
$$ language sql volatile security definer set search_path from current;
comment on function authenticate is
  'The user, session and effective permissions of a live session; no row for an unknown, ended or expired token.';
grant execute on function authenticate to office_server;

create or replace function enter_with_api_token(token_hash bytea) returns void as $$
declare
  v_who record := use_api_token(enter_with_api_token.token_hash);
  v_settings text[];
begin
  v_settings := array[
    set_config('office.user_id', coalesce(v_who.user_id::text, ''), true),
    set_config('office.session_id', '', true),
    set_config('office.token_id', coalesce(v_who.token_id::text, ''), true),
    set_config('office.permissions', coalesce(array_to_string(v_who.permissions, ','), ''), true),
    set_config('office.scoped', coalesce(v_who.scoped, false)::text, true)
  ];
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function enter_with_api_token is 'Sets the transaction''s identity to the owner of a live API token, with the token''s effective permissions.';
grant execute on function enter_with_session, enter_with_api_token to office_server;

create or replace function remove_old_sessions() returns integer as $$
  with removed as (
    delete from sessions where least(ended_at, expires_at, idle_expires_at) < now() - interval '90 days' returning 1
  ),
  removed_tokens as (
    delete from api_tokens where least(revoked_at, expires_at) < now() - interval '90 days' returning 1
  )
  select ((select count(*) from removed) + (select count(*) from removed_tokens))::integer
$$ language sql volatile security definer set search_path from current;
comment on function remove_old_sessions is
  'Removes sessions and API tokens that ended more than 90 days ago; the audit log keeps its records.';
grant execute on function remove_old_sessions to office_worker;
