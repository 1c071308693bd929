-- Checks whose violations do not stop a migration; the migrate command logs each as a warning.
create or replace function schema_warnings() returns setof text as $$
  with tables as materialized (
    select c.oid, comment_tags(d.description) as tags
    from pg_class c left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
  ),
  functions as materialized (
    select p.oid, p.proname, p.prosecdef, p.provolatile, comment_tags(d.description) ->> 'guard' as guard,
      coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~ '\m(require_\w+|has_\w*permission\w*|current_user_id|current_permissions)\(' as checks,
      coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body
    from pg_proc p left join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid
    where p.pronamespace = (select current_schema()::regnamespace)
  )
  select format('column %s.%I: lists are ordered by it; write `text collate display_order` for what people read, `text collate "C"` for codes',
    t.oid::regclass, a.attname)
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where not t.tags ? 'internal'
    and a.atttypid = 'text'::regtype and a.attcollation = 'default'::regcollation and a.attgenerated = ''
    and (a.attname in ('name', 'title', 'email') or strpos(t.tags ->> 'defaultOrder', a.attname) > 0 and t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y'))
  union all
  select format('index %s: is unique by lower(); write `name_key(...)`, which also heeds spaces and composition', i.indexrelid::regclass)
  from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = (select current_schema()::regnamespace) and i.indisunique
    and (i.indexprs is not null or i.indpred is not null) and pg_get_indexdef(i.indexrelid) ~ '\mlower\('
  union all
  -- A policy written to hide rows shows more of them instead.
  select format('policy %I on %s: is permissive, so it %s; write `ensure_policy` in a file of `logic`, and to narrow access, `restrictive => true`',
    p.polname, t.oid::regclass, case p.polcmd when 'r' then 'shows rows beside those of @read' else 'allows rows beside those of the tags' end)
  from tables t join pg_policy p on p.polrelid = t.oid
    left join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid and d.objsubid = 0
  where p.polpermissive and 'office_api'::regrole = any (p.polroles) and not is_ensured_policy(d.description)
  union all
  -- A query without any check of the caller shows rows that the policies hide.
  select format('function %s: is a query with the privileges of its owner and does not check the caller, so it may show rows that the policies hide; write `security invoker`, or check by `require_permission`',
    f.oid::regprocedure)
  from functions f
  where f.prosecdef and f.provolatile <> 'v' and f.guard <> 'public' and not f.checks
  union all
  -- So does a mutation whose guard names no permission; it may check by a function that it calls.
  select format('function %s: is a mutation with the privileges of its owner and does not check the caller, so everyone whom `@guard %s` lets through may do it; name a permission there, or check by `require_permission`',
    f.oid::regprocedure, f.guard)
  from functions f, lateral (select '\m(' || string_agg(distinct c.proname, '|') || ')\(' from functions c where c.checks) as k(names)
  where f.prosecdef and f.provolatile = 'v' and f.guard ~ '^(principal|login|session)$' and not f.checks and f.body !~ k.names
  union all
  select format('table %s: a mutation creates rows for any user of %I; add `@owner %I` if rows belong to this user, or name the column by what the user does, such as `assigned_user_id`',
    t.oid::regclass, a.attname, a.attname)
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attname ~ '^((owner|author|created_by)_)?(user_)?id$' and a.attname <> 'id' and not a.attisdropped
    join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conkey = array[a.attnum] and k.confrelid = 'users'::regclass
  where t.tags ->> 'mutations' ~ '\ycreate\y' and not t.tags ? 'owner'
    and coalesce(comment_tags(col_description(t.oid, a.attnum)) ->> 'mutations', 'create') = 'create'
    and not comment_tags(col_description(t.oid, a.attnum)) ? 'internal'
  union all
  -- Restoring the other row would bring back less than its deletion removed.
  select format('table %s: its rows are deleted with those of %s and do not return with them; add `@create <permission>`, which also says who may restore them',
    t.oid::regclass, string_agg(distinct k.confrelid::regclass::text, ' and '))
  from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.confdeltype = 'c' join tables p on p.oid = k.confrelid
  where not t.tags ? 'create' and t.tags ->> 'audit' !~ '^off\y' and p.tags ? 'create' and p.tags ->> 'audit' !~ '^off\y'
  group by t.oid
  union all
  select format('column %s.%I: has `@widget money`, but the row has no column `%s_currency` or `currency`, so the console shows amounts without a currency; add one, or write `@unit DKK` instead',
    t.oid::regclass, a.attname, a.attname)
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where comment_tags(col_description(t.oid, a.attnum)) ->> 'widget' = 'money' and not exists (
    select from pg_attribute c
    where c.attrelid = t.oid and c.attname in (a.attname || '_currency', 'currency') and not c.attisdropped)
  union all
  select format('table %s: has no primary key, so the console does not list it and no mutation changes its rows', t.oid::regclass)
  from tables t
  where t.tags ? 'read' and not t.tags ? 'internal' and not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)
$$ language sql stable;
comment on function schema_warnings is
  'Tables, columns, indexes, functions and policies that do less than their author may expect, or show more, each with its fix.';
