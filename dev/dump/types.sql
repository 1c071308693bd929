-- $1: the schemas to dump. Enums, domains and composite types with their grants and comments.
with types as (
  select t.*, array_position($1::text[], n.nspname::text) as place, format_type(t.oid, null) as name
  from pg_type t join pg_namespace n on n.oid = t.typnamespace left join pg_class c on c.oid = t.typrelid
  where n.nspname = any ($1::text[]) and (t.typtype in ('e', 'd', 'r') or (t.typtype = 'c' and c.relkind = 'c'))
)
select place, 'types' as section, name as object, 1 as part, format(
  'create type %s as enum (%s);', name,
  (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = types.oid)
) as text
from types where typtype = 'e'
union all
select place, 'types', name, 1, format(E'create type %s as (\n%s\n);', name, (
  select string_agg(format('  %I %s', attname, format_type(atttypid, atttypmod)), E',\n' order by attnum)
  from pg_attribute where attrelid = types.typrelid and attnum > 0 and not attisdropped
))
from types where typtype = 'c'
union all
select place, 'types', name, 1, format(
  'create domain %s as %s%s%s%s;', name, format_type(typbasetype, typtypmod), ' default ' || typdefault,
  case when typnotnull then ' not null' end,
  (
    select string_agg(format(' constraint %I %s', conname, pg_get_constraintdef(oid, true)), '' order by conname collate "C")
    from pg_constraint where contypid = types.oid and contype = 'c'
  )
)
from types where typtype = 'd'
union all
select place, 'types', name, 1, format('create type %s as range (subtype = %s);', name, format_type(r.rngsubtype, null))
from types join pg_range r on r.rngtypid = types.oid where typtype = 'r'
union all
select place, 'types', name, 2, format('alter type %s owner to %I;', name, typowner::regrole::text)
from types join pg_namespace n on n.oid = typnamespace where typowner <> n.nspowner
union all
-- USAGE is granted to PUBLIC by default; only deviations are shown.
select place, 'types', name, 3, format(
  'revoke usage on type %s from public;', name
) from types where typacl is not null and not exists (select from aclexplode(typacl) g where g.grantee = 0)
union all
select place, 'types', name, 4, format('grant usage on type %s to %s;', name, g.grantee::regrole::text)
from types, aclexplode(typacl) g where g.grantee not in (0, typowner)
union all
select place, 'types', name, 5, format('comment on type %s is %L;', name, d.description)
from types join pg_description d on d.classoid = 'pg_type'::regclass and d.objoid = types.oid and d.objsubid = 0
union all
select place, 'types', name, 10 + d.objsubid, format('comment on column %s.%I is %L;', name, a.attname, d.description)
from types
  join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = types.typrelid and d.objsubid > 0
  join pg_attribute a on a.attrelid = types.typrelid and a.attnum = d.objsubid
where typtype = 'c'
