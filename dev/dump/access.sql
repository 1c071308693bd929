-- $1: the schemas to dump. Policies, grants and comments of tables, views and sequences. Comments of policies and
-- triggers are left out, because they only repeat the definitions.
with relations as (
  select c.*, array_position($1::text[], n.nspname::text) as place, c.oid::regclass::text as name,
    case c.relkind when 'S' then 'sequences' when 'v' then 'views' when 'm' then 'views' else 'tables' end as section
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any ($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and not (c.relispartition and c.relname ~ '_\d{4}_\d{2}$')
)
select place, section, name as object, 20 as part, concat(
  format('create policy %I on %s%s for %s to ', p.polname, name, case when not p.polpermissive then ' as restrictive' end,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end),
  (
    select string_agg(case r when 0 then 'public' else r::regrole::text end, ', ' order by r::regrole::text collate "C")
    from unnest(p.polroles) r
  ),
  E'\n  using (' || pg_get_expr(p.polqual, p.polrelid) || ')',
  E'\n  with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', ';'
) as text
from relations join pg_policy p on p.polrelid = relations.oid
union all
select place, section, name, 21, format(
  'grant %s on %s%s to %s;', string_agg(lower(g.privilege_type), ', ' order by g.privilege_type collate "C"),
  case relkind when 'S' then 'sequence ' end, name, case g.grantee when 0 then 'public' else g.grantee::regrole::text end
)
from relations, aclexplode(relacl) g where g.grantee <> relowner
group by place, section, name, relkind, g.grantee
union all
select place, section, name, 22, format(
  'grant %s (%s) on %s to %s;', lower(g.privilege_type), string_agg(quote_ident(a.attname), ', ' order by a.attnum), name,
  case g.grantee when 0 then 'public' else g.grantee::regrole::text end
)
from relations join pg_attribute a on a.attrelid = relations.oid and not a.attisdropped, aclexplode(a.attacl) g
group by place, section, name, g.grantee, g.privilege_type
union all
select place, section, name, 30, format(
  'comment on %s %s is %L;', case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
  name, d.description
)
from relations join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = relations.oid and d.objsubid = 0
union all
select place, section, name, 30 + d.objsubid, format('comment on column %s.%I is %L;', name, a.attname, d.description)
from relations
  join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = relations.oid and d.objsubid > 0
  join pg_attribute a on a.attrelid = relations.oid and a.attnum = d.objsubid
union all
select place, section, name, 2000, format('comment on constraint %I on %s is %L;', k.conname, name, d.description)
from relations join pg_constraint k on k.conrelid = relations.oid and k.conparentid = 0
  join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid
union all
select place, section, name, 2001, format('comment on index %s is %L;', i.indexrelid::regclass, d.description)
from relations join pg_index i on i.indrelid = relations.oid
  join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = i.indexrelid and d.objsubid = 0
