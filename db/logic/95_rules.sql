-- The rules that every table and function keeps. The migrate command, the server's start and the tests ask this view.
create or replace function rule_violations() returns setof text as $$
  with tables as (
    select c.oid, c.oid::regclass::text as name, c.relkind, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
      obj_description(c.oid, 'pg_class') as comment, table_tags(c.oid) as tags, c.relowner
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and c.relname <> 'schema_migrations'
  ),
  functions as (
    select p.oid, p.oid::regprocedure::text as name, p.prosecdef, p.proconfig, p.proacl, comment_tags(d.description) as tags,
      d.description as comment, p.prorettype
    from pg_proc p left join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass
    where p.pronamespace = current_schema()::regnamespace
  ),
  known_keys as (select key from permissions)
  select 'table ' || name || ': row-level security must be enabled and forced' from tables
    where relkind in ('r', 'p') and not (relrowsecurity and relforcerowsecurity)
  union all
  select 'table ' || name || ': views and foreign tables need security_invoker and a decision; none is in use' from tables
    where relkind in ('v', 'm', 'f') and not exists (
      select from pg_class c where c.oid = tables.oid and 'security_invoker=true' = any (c.reloptions))
  union all
  select 'table ' || name || ': has no description; add `comment on table ' || name || ' is ''...''`' from tables
    where not relispartition and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'table ' || name || ': declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)' from tables
    where not relispartition and relkind in ('r', 'p') and not tags ? 'read' and not tags ? 'internal'
  union all
  select 'table ' || name || ': decides nothing about audit; add the tag `@audit <EntityType>` or `@audit off because <reason>`' from tables
    where not relispartition and relkind in ('r', 'p') and coalesce(tags ->> 'audit', '') !~ '^(off because \S+|[A-Z]\w+)'
  union all
  select 'table ' || t.name || ': the tag @' || tag || ' names the unknown permission ' || key
    from tables t, unnest(array['read', 'create', 'update', 'delete']) as tag,
      regexp_split_to_table(btrim(t.tags ->> tag), '[\s,]+') as key
    where t.tags ? tag and key not in (select k.key from known_keys k)
  union all
  select 'table ' || t.name || ': the tag @mutations offers ' || verb || ' but @' || verb || ' names no permission'
    from tables t, regexp_split_to_table(btrim(t.tags ->> 'mutations'), '[\s,]+') as verb
    where t.tags ? 'mutations' and coalesce(t.tags ->> verb, '') = ''
  union all
  select 'column ' || t.name || '.' || a.attname || ': has no description; add `comment on column`'
    from tables t join pg_attribute a on a.attrelid = t.oid
    where not t.relispartition and not t.tags ? 'internal' and a.attnum > 0 and not a.attisdropped
      and a.attname not in ('id', 'created_at', 'updated_at') and a.attname !~ '_id$'
      and col_description(t.oid, a.attnum) is null
  union all
  select 'column ' || t.name || '.' || a.attname || ': looks like a secret and can be read; add the tag @secret or another name'
    from tables t join pg_attribute a on a.attrelid = t.oid
    where a.attnum > 0 and not a.attisdropped and a.attname ~ '(secret|password|token|hash|private)' and a.attname !~ '_id$'
      and has_column_privilege('office_api', t.oid, a.attnum, 'select')
  union all
  select 'table ' || t.name || ': ' || g.grantee::regrole || ' holds ' || g.privilege_type || ', which no request role may'
    from tables t join pg_class c on c.oid = t.oid, lateral aclexplode(c.relacl) as g
    where g.grantee <> 0 and g.grantee <> c.relowner
      and (g.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN') or g.grantee::regrole::text = 'office_server')
  union all
  select 'table ' || t.name || ': PUBLIC holds ' || g.privilege_type
    from tables t join pg_class c on c.oid = t.oid, lateral aclexplode(c.relacl) as g where g.grantee = 0
  union all
  select 'partition ' || t.name || ': can be reached directly by ' || g.grantee::regrole
    from tables t join pg_class c on c.oid = t.oid, lateral aclexplode(c.relacl) as g
    where t.relispartition and g.grantee <> c.relowner and g.grantee <> 0
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': is for PUBLIC' from tables t join pg_policy p on p.polrelid = t.oid
    where 0 = any (p.polroles)
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': lets everyone write (`true`)'
    from tables t join pg_policy p on p.polrelid = t.oid
    where p.polroles <> array['office_owner'::regrole::oid] and p.polcmd <> 'r'
      and ('true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)))
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': a writing policy needs a check of the new row'
    from tables t join pg_policy p on p.polrelid = t.oid where p.polcmd in ('a', 'w', '*') and p.polwithcheck is null
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': calls has_permission for each row; write `(select has_permission(...))`'
    from tables t join pg_policy p on p.polrelid = t.oid,
      lateral concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) as e
    where e ~ 'has_permission\(' and e !~ '\( ?SELECT has_permission\('
  union all
  select 'table ' || t.name || ': ' || g.grantee::regrole || ' may ' || g.privilege_type || ' but no policy says which rows'
    from tables t join pg_class c on c.oid = t.oid, lateral (
      select (aclexplode(c.relacl)).* union
      select (aclexplode(a.attacl)).* from pg_attribute a where a.attrelid = t.oid and a.attnum > 0
    ) as g
    where g.grantee not in (0, c.relowner) and g.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      and not exists (
        select from pg_policy p where p.polrelid = t.oid and g.grantee = any (p.polroles)
          and p.polcmd::text in ('*', case g.privilege_type when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' else 'd' end))
  union all
  select 'table ' || t.name || ': belongs to ' || t.relowner::regrole || ', not to office_owner'
    from tables t where t.relowner <> 'office_owner'::regrole
  union all
  select 'foreign key ' || k.conname || ' on ' || t.name || ': its columns have no index'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
    where not t.relispartition and not exists (
      select from pg_index i where i.indrelid = t.oid and (i.indkey::smallint[])[0] = k.conkey[1])
  union all
  select 'function ' || name || ': a security definer function must pin its search_path' from functions
    where prosecdef and not exists (select from unnest(proconfig) c where c like 'search_path=%')
  union all
  select 'function ' || name || ': may be executed by PUBLIC; revoke it' from functions
    where proacl is null or exists (select from aclexplode(proacl) g where g.grantee = 0)
  union all
  select 'function ' || name || ': is open to the request role and has no description' from functions
    where prorettype <> 'trigger'::regtype and has_function_privilege('office_api', oid, 'execute')
      and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'function ' || f.name || ': the tag @guard names the unknown permission ' || key
    from functions f, regexp_split_to_table(btrim(f.tags ->> 'guard'), '[\s,]+') as key
    where f.tags ? 'guard' and key not in ('public', 'principal', 'session') and key not in (select k.key from known_keys k)
  union all
  select 'function ' || name || ': has a @guard but the request role may not execute it' from functions
    where tags ? 'guard' and not has_function_privilege('office_api', oid, 'execute')
  union all
  select 'constraint ' || k.conname || ' on ' || t.name || ': has no message for people; add `comment on constraint`'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'c'
    where not t.relispartition and not t.tags ? 'internal' and obj_description(k.oid, 'pg_constraint') is null
      and k.conname not in ('invitations_state_check', 'permissions_key_check', 'audit_log_operation_check', 'campaign_colors_color_check')
$$ language sql stable security definer set search_path from current;
comment on function rule_violations is 'What in this schema breaks a rule of the house, each with what to do about it; no rows when all is well.';
grant execute on function rule_violations to office_server;
