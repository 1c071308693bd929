import type { PgClass } from "pg-introspection";
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";

declare global {
  namespace DataplanPg {
    interface PgCodecAttributeExtensions {
      /** How many characters a check of the table allows at most. */
      maxLength?: number;
    }
  }
}

/**
 * Checks of one column that bound its length: `is_label(name, 200)`, `char_length(name) <= 200`. A check with `or` may not
 * bound it.
 */
const lengthsQuery = `
  select k.conrelid::text as relation, a.attname as name, min(bound[1]::integer) as max
  from pg_constraint k
    join pg_attribute a on a.attrelid = k.conrelid and k.conkey = array[a.attnum],
    pg_get_constraintdef(k.oid) as definition,
    regexp_matches(definition, '(?:\\mis_label\\(\\(?"?\\w+"?\\)?(?:::text)?, |\\m(?:char_length|length)\\(\\(?"?\\w+"?\\)?(?:::text)?\\) <= )(\\d+)\\)', 'g') as bound
  where k.contype = 'c' and definition !~ '\\mOR\\M'
  group by 1, 2`;

const lengthsOf = new WeakMap<PgClass, ReadonlyMap<string, number>>();

/** Notes at each text column how long it may be, for the forms of the console. */
export const MaxLengthsPlugin: GraphileConfig.Plugin = {
  name: "MaxLengthsPlugin",
  version: "1.0.0",
  gather: {
    hooks: {
      async pgIntrospection_introspection(info, { introspection, serviceName }) {
        const service = info.resolvedPreset.pgServices?.find(({ name }) => name === serviceName);
        if (!service) throw new Error(`There is no database service ${serviceName}`);
        const { rows } = await withPgClientFromPgService(service, null, (client) =>
          client.query<{ relation: string; name: string; max: number }>({ text: lengthsQuery }),
        );
        const byRelation = Map.groupBy(rows, ({ relation }) => relation);
        for (const pgClass of introspection.classes) {
          const bounds = byRelation.get(pgClass._id) ?? [];
          lengthsOf.set(pgClass, new Map(bounds.map(({ name, max }) => [name, max])));
        }
      },

      pgCodecs_attribute(_info, { pgAttribute, attribute }) {
        const pgClass = pgAttribute.getClass();
        const maxLength = pgClass && lengthsOf.get(pgClass)?.get(pgAttribute.attname);
        if (maxLength !== undefined) attribute.extensions = { ...attribute.extensions, maxLength };
      },
    },
  },
};
