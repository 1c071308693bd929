import type pg from "pg";
import type { FunctionRow, TriggerUse } from "./probe.ts";

/** The SQL and PL/pgSQL functions of a schema, without aggregates and functions of extensions. */
export async function listFunctions(client: pg.ClientBase, tenant: string): Promise<FunctionRow[]> {
  const { rows } = await client.query<FunctionRow>(
    `select p.oid::integer as oid, p.oid::regprocedure::text as signature, p.proname as name, l.lanname as language,
       pg_get_functiondef(p.oid) as definition, p.prosrc as source, pg_get_function_arguments(p.oid) as arguments,
       coalesce((select jsonb_agg(jsonb_build_object('name', a.name, 'type', format_type(a.type, null)) order by a.n)
         from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames) with ordinality as a(type, name, n)
         where a.name <> ''), '[]') as parameters,
       case p.prokind when 'p' then case when p.prorettype = 'void'::regtype then 'void' else '' end
         else pg_get_function_result(p.oid) end as result,
       coalesce((select string_agg(case when p.provariadic <> 0 and a.n = p.pronargs then 'variadic ' else '' end
         || 'null::' || format_type(a.type, null), ', ' order by a.n) from unnest(p.proargtypes::oid[]) with ordinality as a(type, n)), '') as nulls,
       p.proretset or p.prorettype = 'void'::regtype or coalesce(p.proargmodes && '{o,b,t}'::"char"[], false) as "returnsNothing",
       (select substring(setting from '^search_path=(.*)$') from unnest(p.proconfig) as setting where setting like 'search\\_path=%') as "searchPath"
     from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace = to_regnamespace(quote_ident($1)) and l.lanname in ('sql', 'plpgsql') and p.prokind in ('f', 'p')
       and p.prosqlbody is null
       and not exists (select from pg_type t where t.oid = any (p.proargtypes) and t.typtype = 'p')
       and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
     order by p.proname, p.oid`,
    [tenant],
  );
  return rows;
}

/** The tables whose triggers run a function, by function, without partitions. */
export async function listTriggers(
  client: pg.ClientBase,
  tenant: string,
): Promise<Map<number, TriggerUse[]>> {
  const { rows } = await client.query<TriggerUse & { oid: number }>(
    `select t.tgfoid::integer as oid, t.tgrelid::regclass::text as table,
       coalesce(array_agg(distinct n.name::text) filter (where n.name is not null), '{}') as transitions,
       max(t.tgoldtable) as "oldRows", max(t.tgnewtable) as "newRows"
     from pg_trigger t join pg_class c on c.oid = t.tgrelid, lateral (values (t.tgnewtable), (t.tgoldtable)) as n(name)
     where not t.tgisinternal and t.tgparentid = 0 and c.relnamespace = to_regnamespace(quote_ident($1))
     group by 1, 2 order by 1, 2`,
    [tenant],
  );
  const uses = new Map<number, TriggerUse[]>();
  for (const { oid, ...use } of rows) uses.set(oid, [...(uses.get(oid) ?? []), use]);
  return uses;
}
