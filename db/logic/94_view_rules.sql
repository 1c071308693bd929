-- Checks views: invoker privileges, and tags that agree with the tables that the view reads.

create or replace function keys_in(tag text) returns setof text as $$
  select k from regexp_split_to_table(keys_in.tag, '[\s,]+') as k where k <> ''
$$ language sql immutable;

create or replace function view_violations() returns setof text as $$
  with relations as materialized (
    select c.oid, c.oid::regclass::text as name, c.relkind, table_tags(c.oid) as tags, obj_description(c.oid, 'pg_class') as comment,
      exists (select from pg_options_to_table(c.reloptions) where option_name = 'security_invoker' and option_value::boolean) as is_invoker
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('v', 'm', 'f')
  ),
  views as materialized (select *, not tags ? 'internal' as is_shown from relations where relkind = 'v'),
  reads as materialized (
    select distinct v.oid as view, d.refobjid as base, d.refobjsubid as attnum
    from views v join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
    where v.is_shown
    union
    -- PostgreSQL records no dependency on its system tables.
    select v.oid, m[1]::oid, 0
    from views v join pg_rewrite r on r.ev_class = v.oid, regexp_matches(r.ev_action::text, ':relid (\d{1,5}) ', 'g') as m
    where v.is_shown and m[1]::oid between 1 and 16383
  ),
  bases as materialized (
    select distinct r.view, r.base, r.base::regclass::text as name,
      -- `@read login` asks for a login and for no permission.
      t.tags || case when t.tags ->> 'read' = 'login' then '{"read": "", "login": ""}' else '{}'::jsonb end as tags, c.relnamespace = current_schema()::regnamespace as is_own
    from reads r join pg_class c on c.oid = r.base, lateral (select table_tags(r.base)) as t(tags)
  ),
  asked as materialized (
    select v.oid as view,
      (select array_agg(distinct k order by k) from bases b, keys_in(b.tags ->> 'read') as k where b.view = v.oid) as keys,
      (select string_agg(distinct b.name, ', ' order by b.name) from bases b
        where b.view = v.oid and exists (
          select from keys_in(b.tags ->> 'read') as k where k not in (select keys_in(v.tags ->> 'read')))) as names,
      coalesce((select bool_or(b.tags ? 'session') from bases b where b.view = v.oid), false) as session,
      coalesce((select bool_or(b.tags ? 'login') from bases b where b.view = v.oid), false) as login
    from views v
  ),
  -- Permissions that only the root fields of a view require.
  further as materialized (
    select v.oid as view, string_agg('`' || k || '`', ', ' order by k) as keys
    from views v join asked a on a.view = v.oid, lateral (
      select keys_in(nullif(v.tags ->> 'read', 'login')) except select unnest(a.keys)
      union all select '@session' where v.tags ? 'session' and not a.session
      union all select '@login' where (v.tags ? 'login' or v.tags ->> 'read' = 'login') and not (a.login or a.session)) as f(k)
    group by v.oid
  ),
  foreign_keys as materialized (
    select v.oid as view, v.name, m[2] as target_name, m[4] ~ '\+' as shows, m[4] ~ '@(backwardBehavior|behavior)[^|]*\+' as shows_back,
      to_regclass(m[2]) as target, regexp_split_to_array(m[1], ',\s*') as own, regexp_split_to_array(m[3], ',\s*') as theirs
    from views v, regexp_split_to_table(v.comment, '\n') as l(line),
      regexp_match(l.line, '^@foreignKey \(([^)]+)\) references (\w+) \(([^)]+)\)((?:\|@[^|]+)*)$') as m
    where m is not null
  ),
  declared_keys as materialized (
    select v.oid as view, string_to_array((regexp_match(l.line, '^@(?:primaryKey|unique)[ \t]+([\w,]+)'))[1], ',') as columns
    from views v, regexp_split_to_table(v.comment, '\n') as l(line) where l.line ~ '^@(primaryKey|unique)[ \t]'
  )
  select 'materialized view ' || name || ': bypasses row-level security; write `create view ' || name
      || ' with (security_invoker = true) as ...`, or a table that a job fills'
    from relations where relkind = 'm'
  union all
  select 'foreign table ' || name || ': policies do not apply to rows of another server; write `create table ' || name
      || ' (...)` and fill it by a job'
    from relations where relkind = 'f'
  union all
  select 'view ' || name || ': reads with the privileges of its owner and bypasses row-level security; write `create view ' || name
      || ' with (security_invoker = true) as ...`'
    from relations where relkind = 'v' and not is_invoker
  union all
  select 'view ' || name || ': has no description; add `comment on view ' || name || ' is ''...''`' from relations
    where relkind in ('v', 'm', 'f') and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'view ' || v.name || ': declares no permission to read it; add the tag `@read '
      || coalesce(array_to_string(a.keys, ' '), '<permission>') || '` (or `@internal`)'
    from views v join asked a on a.view = v.oid where v.is_shown and not v.tags ? 'read'
  union all
  select 'view ' || name || ': does not declare auditing; add the tag `@auditReads`, which records its reads, or `@audit off because <reason>`'
    from views where is_shown and not tags ?| array['audit', 'auditReads']
  union all
  select 'view ' || v.name || ': reads ' || b.name || ', which no caller may read; '
      || case when b.is_own then 'leave it out, or give it the tag `@read` (with `@root off` where it shows here alone)'
        else 'read tables of this schema only' end
    from views v join bases b on b.view = v.oid
    where not (b.is_own and b.tags ? 'read')
  union all
  select 'view ' || v.name || ': reads ' || b.name || '.' || a.attname || ', which no caller may read; leave the column out'
    from views v join bases b on b.view = v.oid join reads r on r.view = b.view and r.base = b.base
      join pg_attribute a on a.attrelid = r.base and a.attnum = r.attnum
    where b.is_own and b.tags ? 'read' and not has_column_privilege('office_api', r.base, r.attnum::smallint, 'select')
      -- Views get their grants after this check.
      and a.attrelid not in (select oid from relations)
  union all
  select 'view ' || v.name || ': reads whole rows of ' || b.name || ', of which no caller may read ' || string_agg(s.attname, ', ') || '; name the columns'
    from views v join bases b on b.view = v.oid join reads r on r.view = b.view and r.base = b.base and r.attnum = 0
      join pg_attribute s on s.attrelid = b.base and s.attnum > 0 and not s.attisdropped
        and comment_tags(col_description(s.attrelid, s.attnum)) ? 'secret'
    where b.is_own and b.tags ? 'read' and not exists (select from reads o where o.view = b.view and o.base = b.base and o.attnum > 0)
    group by v.name, b.name
  union all
  select 'view ' || v.name || ': reads ' || a.names || ', whose permissions its tag `@read` does not name; write `@read '
      || (select string_agg(k, ' ') from (select keys_in(v.tags ->> 'read') union select unnest(a.keys) order by 1) as u(k)) || '`'
    from views v join asked a on a.view = v.oid where v.tags ? 'read' and a.names is not null
  union all
  select 'view ' || v.name || ': reads a table with the tag @session; add `@session`' from views v join asked a on a.view = v.oid
    where v.is_shown and a.session and not v.tags ? 'session'
  union all
  select 'view ' || v.name || ': reads a table with the tag @login; add `@login`' from views v join asked a on a.view = v.oid
    where v.is_shown and a.login and not v.tags ?| array['login', 'session'] and v.tags ->> 'read' is distinct from 'login'
  union all
  select 'view ' || v.name || ': shows rows of ' || string_agg(b.name, ', ' order by b.name) || ', whose reads are recorded; add the tag `@auditReads`'
    from views v join bases b on b.view = v.oid where v.is_shown and b.tags ? 'auditReads' and not v.tags ? 'auditReads' group by v.name
  union all
  select distinct 'view ' || v.name || ': calls ' || p.oid::regprocedure || ', which the request role may not execute; write `grant execute on function '
      || p.proname || ' to office_api` in a file of `logic`'
    from views v join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
      join pg_proc p on p.oid = d.refobjid
    where v.is_shown and not has_function_privilege('office_api', p.oid, 'execute')
  union all
  select 'view ' || name || ': has the tag @connection, whose pages need a key; add `@primaryKey <column>`' from views
    where tags ? 'connection' and not tags ? 'primaryKey'
  union all
  select 'view ' || name || ': its rows have no defined order; add `@primaryKey <column>` or `@defaultOrder <column>`' from views
    where is_shown and not tags ?| array['connection', 'primaryKey', 'defaultOrder']
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` shows nothing; add `|@forwardBehavior +singularRelation:resource:single` behind it'
    from foreign_keys f where not f.shows
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` names the column ' || c || ', which does not exist'
    from foreign_keys f, unnest(f.own) as c
    where not exists (select from pg_attribute a where a.attrelid = f.view and a.attname = c and a.attnum > 0)
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` names ' || f.target_name || ', which is not a table or view of this schema'
    from foreign_keys f where f.target is null or (select relnamespace from pg_class where oid = f.target) <> current_schema()::regnamespace
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` leads to ' || f.target || ' (' || array_to_string(f.theirs, ', ')
      || '), which no primary key or unique constraint has; name the columns of one'
    from foreign_keys f
    where f.target is not null
      and not exists (
        select from pg_constraint k, lateral (
          select array_agg(a.attname::text) as names from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as n
        where k.conrelid = f.target and k.contype in ('p', 'u') and f.theirs @> n.names and n.names @> f.theirs)
      and not exists (select from declared_keys d where d.view = f.target and d.columns @> f.theirs and f.theirs @> d.columns)
  union all
  select 'view ' || f.name || ': its tag `@foreignKey` compares ' || a.attname || ' (' || format_type(a.atttypid, null) || ') with ' || f.target || '.'
      || b.attname || ' (' || format_type(b.atttypid, null) || '); cast it in the view'
    from foreign_keys f, unnest(f.own, f.theirs) as c(own, their)
      join pg_attribute a on a.attname = c.own and a.attnum > 0 join pg_attribute b on b.attname = c.their and b.attnum > 0
    where a.attrelid = f.view and b.attrelid = f.target and a.atttypid <> b.atttypid
  union all
  select 'view ' || f.name || ': shows behind other rows, where ' || r.keys || ' is not asked for; write `@forwardBehavior` in its `@foreignKey`, or take it out of the view''s tags'
    from foreign_keys f join further r on r.view = f.view where f.shows_back
  union all
  select 'view ' || f.name || ': leads to ' || f.target || ', where ' || r.keys || ' is not asked for; leave its `@foreignKey` out, or take that out of the tags of ' || f.target
    from foreign_keys f join further r on r.view = f.target where f.shows
  union all
  select 'column ' || v.name || '.' || a.attname || ': is of type ' || format_type(a.atttypid, null) || ', which '
      || case when t.typtype = 'c' then 'is a whole row; write its columns' when a.atttypid = 'json'::regtype then 'has no order; write `::jsonb`'
        else 'the API cannot show; cast it, as to `text`' end
    from views v join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 join pg_type t on t.oid = a.atttypid
      left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
    where v.is_shown
      and (coalesce(e.typtype, t.typtype) in ('c', 'p') or coalesce(e.typcategory, t.typcategory) = 'G'
        or coalesce(e.oid, t.oid) in ('json'::regtype, 'xml'::regtype, 'jsonpath'::regtype))
  union all
  select 'column ' || v.name || '.' || a.attname || ': is ' || format_type(a.atttypid, null) || '; a column `id` is a uuid: cast it, or give it another name'
    from views v join pg_attribute a on a.attrelid = v.oid and a.attname = 'id'
    where v.is_shown and a.atttypid <> 'uuid'::regtype
$$ language sql stable security definer set search_path from current;
comment on function view_violations is 'Violations of the rules for views, materialized views and foreign tables, each with its fix.';

-- Queries that find rows which break the tags of views created or commented in this transaction; each reads the whole
-- view. Rows written in subtransactions have later transaction ids than the transaction itself.
create or replace function view_promises() returns table (broken text, query text) as $$
  with changed as (
    select c.oid, c.oid::regclass::text as name, obj_description(c.oid, 'pg_class') as comment
    from pg_class c, lateral (select pg_current_xact_id()::xid) as now(xid)
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v' and (
      exists (select from pg_rewrite r where r.ev_class = c.oid and age(r.xmin) <= age(now.xid))
      or exists (select from pg_description d where d.classoid = 'pg_class'::regclass and d.objoid = c.oid and age(d.xmin) <= age(now.xid)))
  ),
  keys as (
    select c.name, m[1] as tag, m[2] as columns, string_to_array(m[2], ',') as list
    from changed c, regexp_split_to_table(c.comment, '\n') as l(line), regexp_match(l.line, '^@(primaryKey|unique)[ \t]+([\w,]+)[ \t]*$') as m
    where m is not null
  )
  select format('view %s: the tag @%s is "%s", and several rows have the same', k.name, k.tag, k.columns),
    format('select from %s where %s group by %s having count(*) > 1 limit 1', k.name,
      (select string_agg(format('%I is not null', n), ' and ') from unnest(k.list) as n), (select string_agg(quote_ident(n), ', ') from unnest(k.list) as n))
  from keys k
  union all
  select format('view %s: the tag @primaryKey is "%s", and %s is null in a row', k.name, k.columns, n), format('select from %s where %I is null limit 1', k.name, n)
  from keys k, unnest(k.list) as n where k.tag = 'primaryKey'
  union all
  select format('column %s.%I: has the tag @notNull, and is null in a row', c.name, a.attname), format('select from %s where %I is null limit 1', c.name, a.attname)
  from changed c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where comment_tags(col_description(a.attrelid, a.attnum)) ? 'notNull'
  union all
  select format('column %s.%I: no list of the API holds null, and a row has one that does; write `array_remove(..., null)`', c.name, a.attname),
    format('select from %s where array_position(%I, null) is not null limit 1', c.name, a.attname)
  from changed c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 join pg_type t on t.oid = a.atttypid
  where t.typcategory = 'A'
$$ language sql stable;
comment on function view_promises is 'Queries that check the promises of tags on views changed in this transaction.';
