import type { PgClass } from "pg-introspection";
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";
import type { NumericDigits } from "../schema/columns.ts";

declare global {
  namespace DataplanPg {
    interface PgCodecAttributeExtensions {
      /** The maximum number of characters that a check constraint allows. */
      maxLength?: number;
      /** The constant default in PostgreSQL's text format. */
      defaultText?: string;
      /** The total digits and the decimal places of a `numeric` column. */
      digits?: NumericDigits;
    }
  }
}

interface Rules {
  maxLength: number | null;
  defaultText: string | null;
  /** The type modifier of a `numeric` column. */
  modifier: number | null;
}

/**
 * For each column, the maximum length in a check, also of its domain, such as `is_label(name, 200)` or
 * `char_length(name) <= 200`, the constant default and the type modifier of `numeric`. Omits checks with `or`, which may not limit the length, and computed defaults such as `now()`.
 */
const rulesQuery = String.raw`
  with columns as (
    select a.attrelid as relation, a.attnum, a.attname as name, a.attgenerated, t.oid as type,
      -- Of a domain, that of its base type.
      case when coalesce(nullif(t.typbasetype, 0), t.oid) = 'numeric'::regtype
        then nullif(case when t.typbasetype = 0 then a.atttypmod else t.typtypmod end, -1) end as modifier
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attnum > 0
  ), checks as (
    select oid, conrelid as relation, conkey[1] as attnum from pg_constraint where contype = 'c' and cardinality(conkey) = 1
    union all
    select k.oid, c.relation, c.attnum from pg_constraint k join columns c on c.type = k.contypid where k.contype = 'c'
  ), lengths as (
    select k.relation, k.attnum, min(bound[1]::integer) as max
    from checks k,
      pg_get_constraintdef(k.oid) as definition,
      regexp_matches(definition, '(?:\mis_label\(\(?"?\w+"?\)?(?:::text)?, |\m(?:char_length|length)\(\(?"?\w+"?\)?(?:::text)?\) <= )(\d+)\)', 'g') as bound
    where definition !~ '\mOR\M'
    group by 1, 2
  ), defaults as (
    select d.adrelid as relation, d.adnum as attnum,
      coalesce(replace(quoted[1], '''''', ''''), plain[1]) as text
    from pg_attrdef d,
      pg_get_expr(d.adbin, d.adrelid) as expression,
      regexp_match(expression, '^''((?:[^'']|'''')*)''::[^:]+$') as quoted,
      regexp_match(expression, '^\(?(-?\d+(?:\.\d+)?|true|false)\)?(?:::[\w ]+)?$') as plain
    where quoted is not null or plain is not null
  )
  select c.relation::text as relation, c.name, l.max as "maxLength", d.text as "defaultText", c.modifier
  from columns c
    left join lengths l using (relation, attnum)
    left join defaults d on d.relation = c.relation and d.attnum = c.attnum and c.attgenerated = ''
  where l.max is not null or d.text is not null or c.modifier is not null`;

const rulesOf = new WeakMap<PgClass, ReadonlyMap<string, Rules>>();

/** Adds the maximum length and the constant default to each column, for the forms of the console. */
export const ColumnRulesPlugin: GraphileConfig.Plugin = {
  name: "ColumnRulesPlugin",
  version: "1.0.0",
  gather: {
    hooks: {
      async pgIntrospection_introspection(info, { introspection, serviceName }) {
        const service = info.resolvedPreset.pgServices?.find(({ name }) => name === serviceName);
        if (!service) throw new Error(`There is no database service ${serviceName}`);
        const { rows } = await withPgClientFromPgService(service, null, (client) =>
          client.query<Rules & { relation: string; name: string }>({ text: rulesQuery }),
        );
        const byRelation = Map.groupBy(rows, ({ relation }) => relation);
        for (const pgClass of introspection.classes) {
          const columns = byRelation.get(pgClass._id) ?? [];
          rulesOf.set(pgClass, new Map(columns.map((column) => [column.name, column])));
        }
      },

      pgCodecs_attribute(_info, { pgAttribute, attribute }) {
        const pgClass = pgAttribute.getClass();
        const rules = pgClass && rulesOf.get(pgClass)?.get(pgAttribute.attname);
        const { maxLength = null, defaultText = null, modifier = null } = rules ?? {};
        const digits = modifier === null ? null : digitsOf(modifier);
        attribute.extensions = {
          ...attribute.extensions,
          ...(maxLength === null ? {} : { maxLength }),
          ...(defaultText === null ? {} : { defaultText }),
          ...(digits === null ? {} : { digits }),
        };
      },
    },
  },
};

/** Decodes the type modifier of `numeric(precision, scale)`; null for a negative scale, which rounds before the point. */
function digitsOf(modifier: number): NumericDigits | null {
  const scale = (modifier - 4) & 0x7ff;
  return scale > 1000 ? null : { precision: (modifier - 4) >> 16, scale };
}
