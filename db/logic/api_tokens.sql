-- API tokens: scopes, who may create which, and revocation. The server creates the secret; the database stores only its
-- hash.

-- A scoped token sees only tokens that it created, because the mutation returns them. Holders of users.update see the
-- tokens of all users.
select ensure_policy('api_tokens', 'api_tokens_made', 'select', 'office_api',
  'created_by_token_id = (select current_token_id())');
select ensure_policy('api_tokens', 'api_tokens_managed', 'select', 'office_api', '(select has_permission(''users.update''))');

create or replace function require_login() returns void as $$
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
end;
$$ language plpgsql stable;
comment on function require_login is 'Fails without a caller; the check of the guard `principal`.';

create or replace function require_full_login() returns void as $$
begin
  perform require_login();
  if is_scoped() then
    perform fail('OF403', 'This needs a full login: a scoped token is not enough');
  end if;
end;
$$ language plpgsql stable;
comment on function require_full_login is 'Fails unless the caller has a session or an unscoped token; the check of the guard `login`.';

grant execute on function require_login, require_full_login to office_api;

create or replace function require_session() returns void as $$
begin
  perform require_login();
  if not is_session() then
    perform fail('OF403', 'This needs a session: log in; an API token is not enough, with or without scopes');
  end if;
end;
$$ language plpgsql stable;
comment on function require_session is 'Fails unless the caller has a session; the check of the guard `session`.';

-- Creating a token with a token takes this lock shared, revoking takes it exclusively, so a token cannot create others
-- while it is revoked.
create or replace function api_tokens_lock() returns bigint as $$
  select hashtextextended(current_schema() || '.api_tokens', 0)
$$ language sql stable;

create or replace function end_api_tokens(ids uuid[]) returns void as $$
begin
  perform pg_advisory_xact_lock(api_tokens_lock());
  -- Includes all tokens created with these, so that a stolen token leaves nothing behind.
  with recursive ended as (
    select unnest(end_api_tokens.ids) as id
    union
    select t.id from ended join api_tokens t on t.created_by_token_id = ended.id
  )
  update api_tokens t set revoked_at = now() from ended where t.id = ended.id and t.revoked_at is null;
end;
$$ language plpgsql volatile;

create or replace function make_api_token(
  user_id uuid, token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamptz
) returns uuid as $$
declare
  v_owner users;
  v_scopes text[] := array(select distinct k from unnest(make_api_token.scopes) as k order by k);
  v_missing text[];
  v_maker_ends timestamptz;
  v_expires_at timestamptz;
  v_id uuid;
begin
  if make_api_token.scoped and cardinality(v_scopes) = 0 then
    perform fail('OF400', 'scopes must name at least one permission, or isScoped must be false',
      '{"path": ["input", "scopes"]}');
  elsif not make_api_token.scoped and cardinality(v_scopes) > 0 then
    perform fail('OF400', 'scopes limit the token: leave them out, or set isScoped to true', '{"path": ["input", "scopes"]}');
  elsif is_scoped() and not make_api_token.scoped then
    perform fail('OF403', 'A scoped token cannot make a token without scopes: name its scopes',
      '{"path": ["input", "scopes"]}');
  end if;
  v_missing := array(select coalesce(k, 'null') from unnest(v_scopes) as k where not exists (
    select from permissions p where p.key = k));
  if cardinality(v_missing) > 0 then
    perform fail('OF400', 'scopes: there are no permissions ' || array_to_string(v_missing, ', '),
      '{"path": ["input", "scopes"]}');
  end if;

  -- The lock waits for a deactivation of the owner and for concurrent creation of tokens for the same owner.
  select * into v_owner from users u where u.id = make_api_token.user_id for no key update;
  if not found then
    perform fail('OF404', 'There is no user with this id', '{"path": ["userId"]}');
  elsif not v_owner.is_active then
    perform fail('OF409', 'The user is not active', '{"path": ["userId"]}');
  elsif 100 <= (
    select count(*) from api_tokens t where t.user_id = v_owner.id and t.revoked_at is null and t.expires_at > now()
  ) then
    perform fail('OF409', 'The user has 100 API tokens: revoke one first');
  end if;

  -- Reveals which permissions the owner lacks only to callers who could grant them.
  if make_api_token.scoped then
    perform require_grantable(v_scopes);
  elsif v_owner.id <> current_user_id() then
    perform require_grantable(user_permissions(v_owner.id));
  end if;
  v_missing := array(select unnest(v_scopes) except select unnest(user_permissions(v_owner.id)) order by 1);
  if cardinality(v_missing) > 0 then
    perform fail('OF400', 'scopes: the token''s owner does not hold ' || array_to_string(v_missing, ', '),
      '{"path": ["input", "scopes"]}');
  end if;

  if current_token_id() is not null then
    perform pg_advisory_xact_lock_shared(api_tokens_lock());
    select t.expires_at into v_maker_ends
    from api_tokens t where t.id = current_token_id() and t.revoked_at is null and t.expires_at > now();
    if not found then
      perform fail('OF401', 'You are not logged in');
    end if;
  end if;
  v_expires_at := coalesce(make_api_token.expires_at, least(now() + interval '1 year', v_maker_ends));
  if v_expires_at <= now() then
    perform fail('OF400', 'expiresAt must lie in the future', '{"path": ["input", "expiresAt"]}');
  elsif v_expires_at > now() + interval '5 years' then
    perform fail('OF400', 'expiresAt must lie within five years', '{"path": ["input", "expiresAt"]}');
  elsif v_expires_at > v_maker_ends then
    perform fail('OF400', 'expiresAt must not be later than the end of the token that makes this one',
      '{"path": ["input", "expiresAt"]}');
  end if;

  insert into api_tokens (
    user_id, name, token_hash, is_scoped, scopes, expires_at, created_by_user_id, created_by_token_id
  )
  values (v_owner.id, coalesce(trim_to_null(make_api_token.name), ''), make_api_token.token_hash, make_api_token.scoped,
    v_scopes, v_expires_at, current_user_id(), current_token_id())
  returning id into v_id;
  return v_id;
end;
$$ language plpgsql volatile;

create or replace function create_my_api_token(
  token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamptz
) returns uuid as $$
begin
  -- A token can only create tokens within its own scopes.
  perform require_login();
  return make_api_token(current_user_id(), token_hash, name, scoped, scopes, expires_at);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_my_api_token is 'Creates an API token that acts for the caller; returns its id.';

create or replace function create_user_api_token(
  user_id uuid, token_hash bytea, name text, scoped boolean, scopes text[], expires_at timestamptz
) returns uuid as $$
declare
  v_id uuid;
begin
  perform require_permission('users.update');
  v_id := make_api_token(user_id, token_hash, name, scoped, scopes, expires_at);
  -- Without scopes, a token also reads the absences and notifications of its owner, so the owner is notified.
  perform notify_users(array_remove(array[user_id], current_user_id()), 'TOKEN_CREATED',
    format('%s created the API token “%s” for you', user_name(current_user_id()), (select t.name from api_tokens t where t.id = v_id)),
    format('It acts for you, %s. If you did not expect it, revoke it, in the console or with `revokeApiToken`, and contact an administrator.',
      case when scoped then 'with the permissions ' || array_to_string(scopes, ', ') else 'with all your permissions' end),
    'ApiToken', v_id::text);
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_user_api_token is 'Creates an API token that acts for another user; returns its id.';

create or replace function revoke_api_token(id uuid) returns boolean as $$
declare
  v_user_id uuid := (select t.user_id from api_tokens t where t.id = revoke_api_token.id);
  v_is_own boolean := coalesce(v_user_id = current_user_id(), false) and not is_scoped();
begin
  perform require_login();
  if not v_is_own then
    perform require_permission('users.update');
  end if;
  if v_user_id is null then
    perform fail('OF404', 'There is no API token with this id', '{"path": ["id"]}');
  elsif not v_is_own then
    -- Tokens created with this one never have more permissions than it.
    perform require_revocable(token_permissions(revoke_api_token.id));
  end if;
  perform end_api_tokens(array[revoke_api_token.id]);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function revoke_api_token is '@guard principal
@action bad of apiTokens unless revoked_at
Revokes an API token and all tokens created with it; repeating the call changes nothing. Users may revoke their own tokens, but not with a scoped token. Revoking other tokens needs `users.update` and the permissions of the token.';

create or replace function revoke_current_api_token() returns boolean as $$
begin
  perform require_login();
  if current_token_id() is null then
    perform fail('OF403', 'This needs an API token: a session ends by `logout`, another token by `revokeApiToken`');
  end if;
  perform end_api_tokens(array[current_token_id()]);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function revoke_current_api_token is '@guard principal
Revokes the API token of the request and all tokens created with it. Every token may revoke itself, for example after a leak; a session may not use this mutation. Later requests with the token, including a repeat of this one, fail with `UNAUTHENTICATED`.';

grant execute on function create_my_api_token, create_user_api_token, revoke_api_token, revoke_current_api_token to office_api;

-- A trigger, so that every way of deactivating a user ends all logins. Reactivation restores neither sessions nor
-- tokens.
create or replace function tg_users__end_logins() returns trigger as $$
begin
  update sessions set ended_at = now() where sessions.user_id = new.id and ended_at is null;
  perform end_api_tokens(array(
    -- Includes tokens that the user created for others, because the creator saw their secrets.
    select t.id from api_tokens t where (t.user_id = new.id or t.created_by_user_id = new.id) and t.revoked_at is null
  ));
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_users__end_logins is 'Ends the sessions of a deactivated user, and the API tokens that the user owns or created.';
select ensure_trigger('users', '_500_end_logins',
  'after update of is_active on %TABLE% for each row when (old.is_active and not new.is_active) execute function tg_users__end_logins()');
