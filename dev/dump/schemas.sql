-- $1: the schemas to dump; the first is the tenant, whose name is omitted. Roles, default privileges, schemas and
-- extensions. LOGIN is omitted, because it differs between installations.
select 0 as place, 'roles' as section, r.rolname as object, 1 as part,
  format(
    'create role %I%s;', r.rolname,
    concat(
      case when r.rolsuper then ' superuser' end, case when r.rolcreatedb then ' createdb' end,
      case when r.rolcreaterole then ' createrole' end, case when r.rolreplication then ' replication' end,
      case when r.rolbypassrls then ' bypassrls' end, case when r.rolinherit then ' inherit' else ' noinherit' end
    )
  ) as text
from pg_roles r where r.rolname ~ '^office_'
union all
-- The administrator's memberships are left out, because they depend on the administrator's name.
select 0, 'roles', m.rolname, 2, format(
  'grant %I to %I with inherit %s, set %s%s;', r.rolname, m.rolname, a.inherit_option::text, a.set_option::text,
  case when a.admin_option then ', admin true' end
)
from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
where r.rolname ~ '^office_' and m.rolname ~ '^office_'
union all
select 0, 'roles', 'default privileges', 1, format(
  'alter default privileges for role %I%s: %s;', d.defaclrole::regrole::text,
  case when n.nspname = ($1::text[])[1] then ' in the tenant' else ' in schema ' || n.nspname end,
  (
    select coalesce(string_agg(
      format('%s on %s to %s', lower(g.privilege_type), k.name, case g.grantee when 0 then 'public' else g.grantee::regrole::text end),
      ', ' order by g.grantee::regrole::text collate "C", g.privilege_type collate "C"
    ), 'nothing on ' || k.name)
    from aclexplode(d.defaclacl) g
  )
)
from pg_default_acl d
  left join pg_namespace n on n.oid = d.defaclnamespace,
  lateral (
    values (case d.defaclobjtype
      when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' else 'schemas'
    end)
  ) as k(name)
where d.defaclrole::regrole::text ~ '^office_' and (d.defaclnamespace = 0 or n.nspname = any ($1::text[]))
union all
select 0, 'schemas', s.object, 1, format('create schema %s authorization %I;', s.name, n.nspowner::regrole::text)
from pg_namespace n, lateral (
  values (case when n.nspname = ($1::text[])[1] then '' else n.nspname end, case when n.nspname = ($1::text[])[1] then '(tenant)' else quote_ident(n.nspname) end)
) as s(object, name)
where n.nspname = any ($1::text[])
union all
select 0, 'schemas', s.object, 2, format(
  'grant %s on schema %s to %s;', string_agg(lower(g.privilege_type), ', ' order by g.privilege_type collate "C"), s.name,
  case g.grantee when 0 then 'public' else g.grantee::regrole::text end
)
from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) g, lateral (
  values (case when n.nspname = ($1::text[])[1] then '' else n.nspname end, case when n.nspname = ($1::text[])[1] then '(tenant)' else quote_ident(n.nspname) end)
) as s(object, name)
where (n.nspname = any ($1::text[]) or n.nspname in ('extensions', 'graphile_worker', 'public'))
  and g.grantee <> n.nspowner and (g.grantee = 0 or g.grantee::regrole::text ~ '^office_')
group by s.object, s.name, g.grantee
union all
select 0, 'schemas', 'extension ' || e.extname, 1, format('create extension %I with schema %I;', e.extname, n.nspname)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where n.nspname = 'extensions'
