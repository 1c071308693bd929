-- The rules for functions.

-- The parts of tables whose values or checks a function computes.
create or replace function stored_uses() returns table (function oid, what text) as $$
  select d.refobjid, case d.classid
      when 'pg_class'::regclass then 'the index ' || d.objid::regclass
      when 'pg_constraint'::regclass then 'the constraint ' || (select k.conname from pg_constraint k where k.oid = d.objid)
      else 'the column ' || (
        select a.attrelid::regclass || '.' || quote_ident(a.attname)
        from pg_attrdef e join pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum
        where e.oid = d.objid and a.attgenerated <> '')
    end
  from pg_depend d
  where d.refclassid = 'pg_proc'::regclass and d.classid in ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_attrdef'::regclass)
$$ language sql stable;

create or replace function function_violations() returns setof text as $$
  with functions as materialized (
    select p.oid, p.oid::regprocedure::text as name, p.proname, p.pronargs, p.prosecdef, p.proconfig, p.proacl, p.proowner, p.prokind,
      comment_tags(d.description) as tags, d.description as comment, p.prorettype
    from pg_proc p left join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass
    where p.pronamespace = (select current_schema()::regnamespace)
  ),
  known_keys as (select key from permissions)
  select 'function ' || name || ': belongs to ' || proowner::regrole || ', not to office_owner' from functions
    where proowner <> 'office_owner'::regrole
  union all
  select 'function ' || name || ': a security definer function must pin its search_path; write `set search_path from current`' from functions
    where prosecdef and not exists (select from unnest(proconfig) c where c like 'search_path=%')
  union all
  select 'function ' || name || ': searches other schemas before this one; write `set search_path from current`' from functions
    where exists (
      select from unnest(proconfig) c
      where c like 'search_path=%' and c !~ ('^search_path="?' || current_schema() || '"?, ?extensions, ?pg_temp$'))
  union all
  select 'function ' || name || ': may be executed by PUBLIC; revoke it' from functions
    where proacl is null or exists (select from aclexplode(proacl) g where g.grantee = 0)
  union all
  select 'function ' || name || ': is executable by the request role and has no description' from functions
    where prorettype <> 'trigger'::regtype and has_function_privilege('office_api', oid, 'execute')
      and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'function ' || f.name || ': takes whole rows of ' || c.oid::regclass || ', and no caller may read their column ' || a.attname
    || ' (@secret); keep the secret in a separate table'
    from functions f join pg_proc p on p.oid = f.oid join pg_class c on c.reltype = p.proargtypes[0]
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where f.tags ? 'computed' and comment_tags(col_description(a.attrelid, a.attnum)) ? 'secret'
  union all
  select 'function ' || f.name || ': the tag @guard names the unknown permission ' || key
      || permission_hint(key, (select array_agg(k.key) from known_keys k))
    from functions f, regexp_split_to_table(btrim(f.tags ->> 'guard'), '[\s,]+') as key
    where f.tags ->> 'guard' ~ '\S' and key not in ('public', 'principal', 'login', 'session') and key not in (select k.key from known_keys k)
  union all
  select distinct 'function ' || f.name || ': asks for the unknown permission ' || k.found[1]
      || permission_hint(k.found[1], (select array_agg(o.key) from known_keys o))
    from functions f join pg_proc p on p.oid = f.oid
      cross join lateral regexp_matches(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '\m(?:has|has_any|require|require_all)_permissions?\(''([\w.]+)''', 'g') as k(found)
    where k.found[1] not in (select o.key from known_keys o)
  union all
  select distinct 'function ' || f.name || ': queues a job of the task ' || quote_literal(k.found[1]) || ', which no worker has'
      || did_you_mean(k.found[1], known_tasks())
    from functions f join pg_proc p on p.oid = f.oid
      cross join lateral regexp_matches(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '\menqueue_job\(''([^'']*)''', 'g') as k(found)
    where k.found[1] <> all (known_tasks())
  union all
  select 'function ' || name || case when tags ? 'guard' then ': has a @guard' else ': has the tag @computed' end
      || ' but the request role may not execute it; add `grant execute on function ' || proname || ' to office_api`'
    from functions where tags ?| array['guard', 'computed'] and not has_function_privilege('office_api', oid, 'execute')
  union all
  select 'function ' || name || ': has a @guard and returns void; return the changed row, or a boolean' from functions
    where tags ? 'guard' and prorettype = 'void'::regtype and prokind = 'f'
  union all
  -- The API leaves out such a function, or has no name for an argument.
  select 'function ' || f.name || ': has a @guard and ' || r.reason
    from functions f join pg_proc p on p.oid = f.oid
      cross join lateral unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes, p.proargnames) with ordinality
        as a(type, mode, name, place)
      join pg_type y on y.oid = a.type
      cross join lateral (select case
        when a.mode = 'v' then 'a variable number of arguments, which the API does not have; take an array without `variadic`'
        when y.typtype = 'p' then format('an argument of the type %s, which the API does not have; name one type', y.typname)
        when coalesce(a.mode, 'i') in ('i', 'b') and coalesce(a.name, '') = '' then format('no name for its argument %s; give it one', a.place)
      end) as r(reason)
    where f.tags ? 'guard' and r.reason is not null
  union all
  select 'function ' || f.name || ': has a @guard and ' || case f.prokind when 'p' then 'is a procedure, which the API does not have; write a function'
      else 'returns a record without columns, which the API does not have; write `returns table (...)`, or return rows of a table' end
    from functions f join pg_proc p on p.oid = f.oid
    where f.tags ? 'guard' and (f.prokind = 'p'
      or p.prorettype = 'record'::regtype and not coalesce(p.proargmodes && array['o', 'b', 't']::"char"[], false))
  union all
  -- The API leaves out all functions of such a name.
  select 'functions ' || string_agg(name, ' and ' order by name) || ': have the same name, so the API has none of them; name them differently, or drop the one that is left from before its parameters changed'
    from functions group by proname having count(*) > 1 and bool_or(tags ?| array['guard', 'computed'])
  union all
  select 'function ' || f.name || ': has the tag @computed and its first parameter is no row of a table; it must be, such as `supplier suppliers`'
    from functions f join pg_proc p on p.oid = f.oid
    where f.tags ? 'computed' and not exists (select from pg_class c where c.reltype = p.proargtypes[0] and c.relkind in ('r', 'p', 'v', 'm'))
  union all
  select 'function ' || f.name || ': has the tag @computed and is volatile, so it is no field; write `stable`'
    from functions f join pg_proc p on p.oid = f.oid where f.tags ? 'computed' and p.provolatile = 'v'
  union all
  select 'function ' || name || ': has the tag @computed and runs with the privileges of its owner, which see all rows; write `security invoker`'
    from functions where tags ? 'computed' and prosecdef
  union all
  -- `pg_dump` does not know what a body in a string calls, and restores a table before functions that it needs.
  select 'function ' || f.name || ': ' || min(u.what) || ' uses it and its body is a string, so that a dump of the database cannot be restored; write the body as `begin atomic ...; end`'
    from functions f join pg_proc p on p.oid = f.oid join stored_uses() u on u.function = f.oid
    where u.what is not null and p.prolang = (select l.oid from pg_language l where l.lanname = 'sql') and p.prosqlbody is null
    group by f.name
$$ language sql stable;
comment on function function_violations is 'Violations of the rules for functions, for `schema_violations`.';
