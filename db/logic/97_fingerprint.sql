-- A fingerprint of the state that `schema_violations` reads. A server skips the check when nothing changed since the
-- migrate command.

create or replace function schema_fingerprint() returns text as $$
  with recursive relations as (
    select c.oid, c.xmin from pg_class c where c.relnamespace = (select current_schema()::regnamespace)
  ),
  functions as (
    select p.oid, p.xmin from pg_proc p where p.pronamespace = (select current_schema()::regnamespace)
  ),
  types as (
    select t.oid, t.xmin from pg_type t where t.typnamespace = (select current_schema()::regnamespace)
  ),
  constraints as (
    select k.oid, k.xmin from pg_constraint k where k.connamespace = (select current_schema()::regnamespace)
  ),
  own_roles(oid) as (select unnest(array['office_api', 'office_server', 'office_worker']::regrole[])::oid),
  -- Privileges that the roles of requests and workers inherit.
  memberships as (
    select m.roleid, m.member, m.xmin from pg_auth_members m join own_roles o on o.oid = m.member
    union
    select m.roleid, m.member, m.xmin from pg_auth_members m join memberships p on p.roleid = m.member
  ),
  -- A row of the catalogue has another xmin after each change.
  versions(kind, id, part, version) as (
    select 'relation', oid, 0, xmin from relations
    union all select 'function', oid, 0, xmin from functions
    union all select 'type', oid, 0, xmin from types
    union all select 'constraint', oid, 0, xmin from constraints
    union all select 'schema', n.oid, 0, n.xmin from pg_namespace n where n.nspname = current_schema()
    union all select 'column', a.attrelid, a.attnum, a.xmin from pg_attribute a join relations r on r.oid = a.attrelid
    union all select 'default', d.oid, 0, d.xmin from pg_attrdef d join relations r on r.oid = d.adrelid
    union all select 'index', i.indexrelid, 0, i.xmin from pg_index i join relations r on r.oid = i.indrelid
    union all select 'trigger', t.oid, 0, t.xmin from pg_trigger t join relations r on r.oid = t.tgrelid
    union all select 'policy', p.oid, 0, p.xmin from pg_policy p join relations r on r.oid = p.polrelid
    union all select 'rule', w.oid, 0, w.xmin from pg_rewrite w join relations r on r.oid = w.ev_class
    union all select 'parent', i.inhrelid, i.inhseqno, i.xmin from pg_inherits i join relations r on r.oid = i.inhrelid
    union all select 'value', e.oid, 0, e.xmin from pg_enum e join types t on t.oid = e.enumtypid
    union all
    select 'comment ' || d.classoid, d.objoid, d.objsubid, d.xmin from pg_description d
    where d.objoid in (select oid from relations union all select oid from functions union all select oid from types union all select oid from constraints)
    union all select 'member of ' || m.roleid, m.member, 0, m.xmin from memberships m
    union all
    select concat_ws(' ', 'role', r.rolsuper, r.rolinherit, r.rolbypassrls, r.rolcreaterole), r.oid, 0, null from pg_roles r
    where r.oid in (select o.oid from own_roles o union all select m.roleid from memberships m)
    -- Functions of extensions are made again by each preparation of the database: only who may execute them counts.
    union all
    select 'granted ' || p.proacl::text, p.oid, 0, null from pg_proc p
    where p.pronamespace = to_regnamespace('extensions') and p.proacl is not null
    -- Tags name permissions.
    union all select 'permission ' || p.key, null, 0, p.xmin from permissions p
  )
  select concat_ws('.', count(*), bit_xor(hashtextextended(concat_ws(' ', kind, id, part, version), 0)))
  from versions
$$ language sql stable security definer set search_path from current;
comment on function schema_fingerprint is 'Changes with every change of a table, function, policy, grant, comment or permission of this schema.';

create or replace function is_checked_schema() returns boolean as $$
  select coalesce(
    split_part(obj_description(current_schema()::regnamespace, 'pg_namespace'), ' ', 2) = schema_fingerprint(),
    false
  )
$$ language sql stable security definer set search_path from current;
comment on function is_checked_schema is
  'Whether this schema is as the migrate command left it, whose check found no violation. The comment of the schema holds the stamp of the files and the fingerprint.';
grant execute on function is_checked_schema to office_server;
