-- $1: the schemas to dump. All other objects, by kind and name only, so that no object is missed.
select array_position($1::text[], n.nspname::text) as place, 'other objects' as section, i.type || ' ' || coalesce(i.name, '') as object, 1 as part,
  format('-- %s %s', i.type, coalesce(i.name, replace(i.identity, quote_ident(n.nspname) || '.', ''))) as text
from pg_depend d
  join pg_namespace n on d.refclassid = 'pg_namespace'::regclass and n.oid = d.refobjid,
  pg_identify_object(d.classid, d.objid, d.objsubid) i
where n.nspname = any ($1::text[]) and d.classid not in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_default_acl'::regclass)
  and d.classid <> 'pg_statistic_ext'::regclass
union all
select array_position($1::text[], n.nspname::text), 'other objects', p.oid::regprocedure::text, 1, format('-- aggregate %s', p.oid::regprocedure)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = any ($1::text[]) and p.prokind = 'a'
