-- Prepares a database before its first migration: roles, shared schemas, extensions. An administrator runs it; roles
-- belong to the cluster, and every statement can be repeated.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['office_owner', 'office_api', 'office_server', 'office_worker'] loop
    begin
      execute format('create role %I nologin noinherit', v_role);
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
  if not pg_has_role(current_user, 'office_owner', 'set') then
    execute format('grant office_owner to %I with set true', current_user);
  end if;
  if not pg_has_role(current_user, 'office_worker', 'set') then
    execute format('grant office_worker to %I with set true', current_user);
  end if;
  if not pg_has_role('office_server', 'office_api', 'set') then
    grant office_api to office_server with inherit false, set true;
  end if;
  -- Workers run jobs such as exports with the permissions of the user who started them, under row-level security.
  if not pg_has_role('office_worker', 'office_api', 'set') then
    grant office_api to office_worker with inherit false, set true;
  end if;
  -- Requests take milliseconds, less than JIT compilation. A role setting applies to every connection, also through a
  -- pooler.
  if not exists (select from pg_db_role_setting where setrole = 'office_server'::regrole and 'jit=off' = any (setconfig)) then
    alter role office_server set jit = off;
  end if;
  execute format('revoke all on database %I from public', current_database());
  execute format('grant create, connect on database %I to office_owner', current_database());
  execute format('grant connect on database %I to office_server, office_worker', current_database());
end;
$$;

revoke all on schema public from public;

create schema if not exists extensions;
grant usage on schema extensions to office_owner, office_api, office_worker;
create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists btree_gin with schema extensions;
create extension if not exists btree_gist with schema extensions;

create schema if not exists graphile_worker authorization office_worker;
create schema if not exists office_jobs authorization office_worker;

-- Functions need an explicit grant to be executable.
alter default privileges for role office_owner revoke execute on functions from public;
alter default privileges for role office_worker revoke execute on functions from public;

-- The sort order of names and e-mail addresses: Danish, with Æ, Ø and Å last; other accents and case only break ties.
-- The collation is deterministic: equality compares bytes, as `LIKE` and pattern indexes need.
do $$ begin
  if not exists (select from pg_collation where collprovider = 'i') then
    raise exception 'This PostgreSQL server is built without ICU, which sorts lists of names: use one that is built with it (`--with-icu`)';
  end if;
end $$;
create collation if not exists extensions.display_order (provider = icu, locale = 'da');

-- Functions of indexes, generated columns and check constraints have bodies whose functions PostgreSQL knows
-- (`begin atomic`). Otherwise `pg_dump` writes tables before functions that they need, and `pg_restore` fails.
-- Texts of Latin letters, digits and signs between single spaces are in that form already. Their test takes a tenth of
-- the time. The function is not strict, so that queries inline it.
create or replace function extensions.normalize_name(value text) returns text language sql immutable parallel safe
begin atomic
  select case
    when value ~ '^[!-~\u00a1-\u02ff]+( [!-~\u00a1-\u02ff]+)*$' then value
    else nullif(btrim(regexp_replace(
      normalize(value, NFC), '[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'
    )), '')
  end;
end;
comment on function extensions.normalize_name is 'Normalizes a name for storage: Unicode NFC, single spaces, trimmed; null when it is empty.';

-- Removes the invisible characters of Unicode's Default_Ignorable_Code_Point, of which Latin texts only have U+00AD.
create or replace function extensions.name_key(value text) returns text language sql immutable strict parallel safe
begin atomic
  select lower((case
    when value ~ '^[!-~\u00a1-\u00ac\u00ae-\u02ff]+( [!-~\u00a1-\u00ac\u00ae-\u02ff]+)*$' then value
    else extensions.normalize_name(regexp_replace(
      value,
      '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]',
      '', 'g'
    ))
  end) collate "pg_unicode_fast");
end;
comment on function extensions.name_key is
  'Normalizes a name for comparison: `normalize_name`, in lower case, without invisible characters. A unique name needs the index `unique (name_key(name))`.';
revoke execute on function extensions.normalize_name, extensions.name_key from public;
grant execute on function extensions.normalize_name, extensions.name_key to office_owner, office_api, office_worker;

-- Shared by all schemas, because only an administrator can mark a function leakproof. Under row-level security an index
-- serves a condition only when its functions are leakproof.
create or replace function extensions.search_text(value text) returns text language sql immutable strict parallel safe
begin atomic
  select lower(extensions.unaccent('extensions.unaccent', value) collate "pg_unicode_fast");
end;
comment on function extensions.search_text is
  'Text for comparison in searches: in lower case and without accents. Indexes: `gin (search_text(name) extensions.gin_trgm_ops)` for words, `(search_text(name) text_pattern_ops)` for values and prefixes.';
create or replace function extensions.search_texts(value text[]) returns text[] language sql immutable strict parallel safe
begin atomic
  select array(select extensions.search_text(v) from unnest(value) as v);
end;
comment on function extensions.search_texts is
  'The items of a list, each as in `search_text`. Index: `gin (search_texts(labels))`.';
-- Separates texts by U+001F (unit separator). Searches reject that character, so no word matches across two texts.
create or replace function extensions.words_text(variadic texts text[]) returns text language sql immutable parallel safe
begin atomic
  select extensions.search_text(chr(31) || array_to_string(texts, chr(31)) || chr(31));
end;
comment on function extensions.words_text is
  'Joins texts with separators, each as in `search_text`, for the generated column `search_words`.';
revoke execute on function extensions.search_text, extensions.search_texts, extensions.words_text from public;
grant execute on function extensions.search_text, extensions.search_texts, extensions.words_text to office_owner, office_api, office_worker;

-- Marks operators as leakproof: LIKE and regular expressions fail only for invalid patterns, and comparisons of
-- numbers, enumeration values and arrays never fail. Where the administrator is no superuser, such searches scan the
-- table instead.
do $$
declare
  v_name regprocedure;
begin
  for v_name in
    select p.oid::regprocedure from pg_proc p
    where not p.proleakproof and (
      p.oid in ('extensions.search_text(text)'::regprocedure, 'extensions.search_texts(text[])'::regprocedure,
        'textlike(text,text)'::regprocedure, 'textregexeq(text,text)'::regprocedure, 'arrayoverlap(anyarray,anyarray)'::regprocedure)
      or p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(numeric|enum)_(eq|ne|lt|le|gt|ge|cmp)$'
    )
  loop
    execute format('alter function %s leakproof', v_name);
  end loop;
exception when insufficient_privilege then
  raise warning 'Searches by text, numbers and enumerations will not use their indexes: that takes a superuser to run db/prepare.sql once';
end;
$$;
