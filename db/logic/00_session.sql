-- The caller's identity. The server sets these settings for each transaction with `set local`.
create or replace function current_user_id() returns uuid as $$
  select nullif(current_setting('office.user_id', true), '')::uuid
$$ language sql stable parallel safe;
comment on function current_user_id is 'The user of the transaction; null without a caller.';

create or replace function current_token_id() returns uuid as $$
  select nullif(current_setting('office.token_id', true), '')::uuid
$$ language sql stable parallel safe;
comment on function current_token_id is 'The API token of the request; null for a session.';
grant execute on function current_token_id to office_api;

-- Checks the session id itself: a request with neither a session id nor a token id has no session.
create or replace function is_session() returns boolean as $$
  select coalesce(current_setting('office.session_id', true), '') <> '' and current_token_id() is null
$$ language sql stable;
comment on function is_session is 'Whether the caller authenticated with a session, not with an API token.';

create or replace function is_scoped() returns boolean as $$
  select coalesce(current_setting('office.scoped', true), '') = 'true'
$$ language sql stable parallel safe;
comment on function is_scoped is 'Whether the caller authenticated with a scoped token, which passes only plain permission guards.';

create or replace function is_login() returns boolean as $$
  select current_user_id() is not null and not is_scoped()
$$ language sql stable parallel safe;
comment on function is_login is 'Whether the caller authenticated with a session or an unscoped API token.';

create or replace function has_permission(key text) returns boolean as $$
  select has_permission.key = any (string_to_array(nullif(current_setting('office.permissions', true), ''), ',')) is true
$$ language sql stable parallel safe;
comment on function has_permission is 'Whether the caller holds the permission; false without a caller.';

create or replace function has_any_permission(variadic keys text[]) returns boolean as $$
  select has_any_permission.keys && string_to_array(nullif(current_setting('office.permissions', true), ''), ',') is true
$$ language sql stable parallel safe;
comment on function has_any_permission is 'Whether the caller holds at least one of the permissions; false without keys or without a caller.';

create or replace function current_permissions() returns text[] as $$
  select coalesce(string_to_array(nullif(current_setting('office.permissions', true), ''), ','), '{}')
$$ language sql stable parallel safe;
comment on function current_permissions is 'The keys of the caller''s effective permissions.';

-- All errors that a caller may see are raised here; `details` become `extensions` of the GraphQL error.
create or replace function fail(code text, message text, details jsonb default '{}') returns void as $$
begin
  raise exception using errcode = fail.code, message = fail.message, detail = fail.details::text;
end;
$$ language plpgsql volatile;
comment on function fail is 'Raises OF400 (input), OF401 (login), OF403 (permission), OF404 (missing) or OF409 (state).';

create or replace function missing_row() returns text as $$
begin
  raise exception 'A required row is missing or not visible' using errcode = 'OFR03';
end;
$$ language plpgsql volatile;
comment on function missing_row is 'Fails a statement that did not find a required row.';
grant execute on function missing_row to office_api;

create or replace function require_all_permissions(variadic keys text[]) returns void as $$
declare
  v_key text;
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  foreach v_key in array require_all_permissions.keys loop
    if not has_permission(v_key) then
      perform fail('OF403', 'Missing required permission: ' || v_key, jsonb_build_object('requiredPermission', v_key));
    end if;
  end loop;
end;
$$ language plpgsql stable;
comment on function require_all_permissions is 'Fails unless the caller holds all of the permissions; names the first missing one.';

create or replace function require_permission(key text) returns void as $$
begin
  perform require_all_permissions(require_permission.key);
end;
$$ language plpgsql stable;
comment on function require_permission is 'Fails unless the caller holds the permission.';

grant execute on function
  current_user_id, is_session, is_scoped, is_login, has_permission, has_any_permission, current_permissions, fail, require_permission,
  require_all_permissions
to office_api, office_worker;

create or replace function trim_to_null(value text) returns text as $$
  select nullif(btrim(value, E' \t\r\n\u00a0\u3000'), '')
$$ language sql immutable parallel safe;
comment on function trim_to_null is 'Trims white space of all kinds; blank text becomes null.';
grant execute on function trim_to_null to office_api;

-- Replaces the SQL function of the migrations. PL/pgSQL caches its plan, while a SQL function is inlined into the check
-- and planned for each statement.
create or replace function is_label(value text, max_length integer) returns boolean as $$
begin
  return value = btrim(value, E' \t\r\n\u00a0\u3000')
    and char_length(value) between 1 and max_length
    and value !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]'
    -- Some letters and signs are invisible; a label needs at least one visible character.
    and value ~ '[^\s\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0]';
end;
$$ language plpgsql immutable parallel safe;

-- People paste tokens into the wrong field; values stored for long must not contain one.
create or replace function without_tokens(value text) returns text as $$
  select regexp_replace(value, 'bo[salc]_[A-Za-z0-9_-]{20,}', '[left out]', 'g')
$$ language sql immutable parallel safe;
comment on function without_tokens is 'Replaces everything that looks like a session or API token.';

create or replace function is_restoring() returns boolean as $$
  select coalesce(current_setting('office.restoring', true), '') = 'on'
$$ language sql stable;
comment on function is_restoring is 'Whether `restore` inserts the rows.';
