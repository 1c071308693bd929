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
import { isUnique } from "./lookUpKey.ts";

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

/** Units to which timestamps are truncated in UTC. */
const spans = ["hour", "day", "week", "month", "quarter", "year"] as const;

/** A key for grouping: a column, or an expression of it. */
interface GroupKey {
  name: string;
  /** The expression that the rows of a group share. */
  of: (column: SQL) => SQL;
  /** Converts the value to text for the API. */
  codec: PgCodec;
}

type Builder = Pick<PgSelectQueryBuilder, "alias" | "groupBy">;

/** A key of a table's rows. */
export interface TableKey {
  /** The expression of the key for a row. */
  of: (row: SQL) => SQL;
  /** Converts the value to text for the API. */
  codec: PgCodec;
}

/** The keys of each table by API name. */
const keysByResource = new WeakMap<PgResource, ReadonlyMap<string, TableKey>>();

/** The key of a table by API name. */
export function groupKey(resource: PgResource, name: string): TableKey | undefined {
  return keysByResource.get(resource)?.get(name);
}

/**
 * The values of the groupBy enumeration of a table: timestamps by unit, and columns that are neither hidden nor unique
 * nor decimal.
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

/** Orders groups by their keys, nulls last. */
export function orderGroups($groups: PgSelectStep, $names: Step): void {
  const { resource, alias } = $groups;
  // The library drops orders that are added once the keys are known, so this one is added before.
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

/** A group, or all rows, of a select: the part of PgSelectSingleStep used here. */
interface Group extends Step {
  getClassStep(): { getGroupDetails(): Step };
}

/** The keys of a group as texts; empty where there are no groups. */
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
