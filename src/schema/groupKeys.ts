import type {
  PgCodec,
  PgResource,
  PgSelectQueryBuilder,
  PgSelectStep,
} from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import { lambda } from "postgraphile/grafast";
import type { Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Column } from "./columns.ts";
import { innerCodec, isHidden } from "./columns.ts";

declare global {
  namespace GraphileBuild {
    interface Inflection {
      aggregateGroupByAttributeEnum(details: {
        resource: PgResource;
        attributeName: string;
      }): string;
    }
  }
}

/** By how much points in time are rounded down to make groups; always in UTC. */
const spans = ["hour", "day", "week", "month", "quarter", "year"] as const;

/** What rows can be grouped by: a column, or what is made of it. */
interface GroupKey {
  name: string;
  /** What the rows of a group have in common. */
  of: (column: SQL) => SQL;
  /** Turns that into the text that the API shows. */
  codec: PgCodec;
}

type Builder = Pick<PgSelectQueryBuilder, "alias" | "groupBy">;

/** A key of a table's rows. */
export interface TableKey {
  /** What a row gives for it. */
  of: (row: SQL) => SQL;
  /** Turns that into the text that the API shows. */
  codec: PgCodec;
}

/** The keys of each table by their names in the API. */
const keysByResource = new WeakMap<PgResource, ReadonlyMap<string, TableKey>>();

/** What a table's rows can be grouped by under a name in the API. */
export function groupKey(resource: PgResource, name: string): TableKey | undefined {
  return keysByResource.get(resource)?.get(name);
}

/**
 * The values of an enumeration of what a table's rows can be grouped by: times by their spans, and whatever is neither hidden
 * nor unique nor a decimal by its values.
 */
export function groupKeys(build: GraphileBuild.Build, resource: PgResource) {
  const columns = Object.entries((resource.codec.attributes ?? {}) as Record<string, Column>);
  const keys = new Map<string, TableKey>();
  const entries = columns.flatMap(([attributeName, column]) => {
    if (isHidden(column) || isUnique(resource, attributeName)) return [];
    const name = build.inflection.aggregateGroupByAttributeEnum({ resource, attributeName });
    return keysOf(build, name, innerCodec(column.codec)).map((key) => {
      const of = (row: SQL) => key.of(sql`${row}.${sql.identifier(attributeName)}`);
      const { codec } = key;
      keys.set(key.name, { of, codec });
      const apply = (builder: Builder) => {
        builder.groupBy({ fragment: of(builder.alias), codec });
      };
      return [key.name, { extensions: { grafast: { apply } } }] as const;
    });
  });
  keysByResource.set(resource, keys);
  return Object.fromEntries(entries);
}

/** Puts groups in the order of their keys, those without a value last. */
export function orderGroups($groups: PgSelectStep, $names: Step): void {
  const { resource, alias } = $groups;
  // The library drops orders of groups that are made when the keys are known, so that this one is made before.
  const fragment = $groups.deferredSQL(
    lambda($names, (names) => {
      const values = (names as readonly string[]).map(
        (name) => groupKey(resource, name)?.of(alias) ?? sql.null,
      );
      return sql`row(${sql.join(values, ", ")})`;
    }),
  );
  $groups.orderBy({ fragment, codec: TYPES.text, direction: "ASC" });
}

function isUnique(resource: PgResource, attributeName: string): boolean {
  return resource.uniques.some(
    ({ attributes: [first, ...others] }) => first === attributeName && others.length === 0,
  );
}

function keysOf(build: GraphileBuild.Build, name: string, codec: PgCodec): GroupKey[] {
  const itself = (column: SQL) => column;
  if (codec === TYPES.timestamptz)
    return spans.map((span) => ({
      name: `${name}_TRUNCATED_TO_${span.toUpperCase()}`,
      of: (column) => sql`date_trunc(${sql.literal(span)}, ${column} at time zone 'UTC')`,
      codec: {
        ...TYPES.text,
        castFromPg: (time) => sql`to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      },
    }));
  if (build.dataplanPg.isEnumCodec(codec)) {
    const names = codec.values.map(({ value }) => {
      const shown = build.inflection.enumValue(value, codec);
      return sql`when ${sql.literal(value)} then ${sql.literal(shown)}`;
    });
    const castFromPg = (value: SQL) => sql`case ${value}::text ${sql.join(names, " ")} end`;
    return [{ name, of: itself, codec: { ...TYPES.text, castFromPg } }];
  }
  const { text, int2, int, bigint, boolean, uuid, date } = TYPES;
  const plain: PgCodec[] = [text, int2, int, bigint, boolean, uuid, date];
  return plain.includes(codec) ? [{ name, of: itself, codec: TYPES.text }] : [];
}

/** A group, or all rows, of a select: of PgSelectSingleStep what is used here. */
interface Group extends Step {
  getClassStep(): { getGroupDetails(): Step };
}

/** What the rows of a group have in common, as texts; nothing where there are no groups. */
export function keysPlan($group: Group): Step {
  return lambda([$group.getClassStep().getGroupDetails(), $group], ([details, row]) => {
    const { indicies } = details as { indicies: readonly { index: number; codec: PgCodec }[] };
    const values = row as readonly (string | null)[] | null;
    if (!values) return [];
    return indicies.map(({ index, codec }) => {
      const value = values[index] ?? null;
      return value === null ? null : (codec.fromPg(value) as string);
    });
  });
}
