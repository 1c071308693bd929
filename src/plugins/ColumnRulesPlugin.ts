import type { PgAttribute, PgClass } from "pg-introspection";
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
}

/**
 * For each column, the maximum length in a check such as `is_label(name, 200)` or `char_length(name) <= 200`, and the
 * constant default. Omits checks with `or`, which may not limit the length, and computed defaults such as `now()`.
 */
const rulesQuery = String.raw`
  with lengths as (
    select k.conrelid as relation, k.conkey[1] as attnum, min(bound[1]::integer) as max
    from pg_constraint k,
      pg_get_constraintdef(k.oid) as definition,
      regexp_matches(definition, '(?:\mis_label\(\(?"?\w+"?\)?(?:::text)?, |\m(?:char_length|length)\(\(?"?\w+"?\)?(?:::text)?\) <= )(\d+)\)', 'g') as bound
    where k.contype = 'c' and cardinality(k.conkey) = 1 and definition !~ '\mOR\M'
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
  select a.attrelid::text as relation, a.attname as name, l.max as "maxLength", d.text as "defaultText"
  from pg_attribute a
    left join lengths l on l.relation = a.attrelid and l.attnum = a.attnum
    left join defaults d on d.relation = a.attrelid and d.attnum = a.attnum and a.attgenerated = ''
  where l.max is not null or d.text is not null`;

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
        const { maxLength = null, defaultText = null } = rules ?? {};
        const digits = digitsOf(pgAttribute);
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

/** Decodes the type modifier of a `numeric` column; null for other types and for `numeric` without a precision. */
function digitsOf(pgAttribute: PgAttribute): NumericDigits | null {
  const modifier = (pgAttribute.atttypmod ?? -1) - 4;
  if (pgAttribute.getType()?.typname !== "numeric" || modifier < 0) return null;
  const scale = modifier & 0x7ff;
  // A negative scale rounds before the decimal point.
  return scale > 1000 ? null : { precision: modifier >> 16, scale };
}
