import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Place, placesOf } from "../audit/auditedPlaces.ts";
import { argumentsOf, storedIdArgument } from "../audit/auditedReads.ts";
import { type RequestValues, requestParameter } from "./statement.ts";
import { UnsupportedSelection } from "./selection.ts";

/** An audit record; each part is SQL over `answer.json` and `seen`. */
interface RecordSql {
  /** Null where nothing is to be recorded. */
  entityType: SQL;
  entityId: SQL;
  metadata: SQL;
}

/** Where nested rows of an audited type can occur. */
interface NestedReads {
  path: string;
  /** The list of their ids, or of other values where ids were not selected. */
  found: SQL;
  hasIds: boolean;
  /** Whether the place exists in the response: an empty page does. */
  isThere: SQL;
}

/**
 * Extends a statement that returns `data` so that it also writes the audit records that `readsOf` makes of a response.
 * @throws UnsupportedSelection for places that cannot be counted this way
 */
export function recordedAnswer(
  answer: SQL,
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): { text: SQL; records: boolean } {
  const operationName = operation.name?.value ?? null;
  const records: RecordSql[] = [];
  const nestedReads = new Map<string, NestedReads[]>();
  const seen: SQL[] = [];

  const seenAt = (path: string): SQL => {
    const column = sql.identifier(Symbol("seen"));
    seen.push(sql`jsonb_path_query_array(answer.json, ${sql.literal(path)}) as ${column}`);
    return sql`seen.${column}`;
  };
  /** The ids of the rows at a path, or one value for each row. */
  const rowsAt = (path: string, idKey: string | null) => ({
    found: seenAt(path + (idKey === null ? ` ? (@.type() == "object").type()` : member(idKey))),
    hasIds: idKey !== null,
  });
  const nestedReadsAt = (place: Place, path: string): Omit<NestedReads, "path"> => {
    const { pageKeys, rows } = place;
    if (pageKeys === null) {
      const found = rowsAt(path, place.idKey);
      return { ...found, isThere: sql`${found.found} <> '[]'` };
    }
    const [list, ...others] = rows;
    // The longest of several lists counts.
    if (others.length > 0 || new Set(pageKeys).size !== rows.length)
      throw new UnsupportedSelection(place.key);
    const isThere = sql`${rowsAt(path, null).found} <> '[]'`;
    if (!list) return { found: sql`'[]'::jsonb`, hasIds: true, isThere };
    return { ...rowsAt(path + list.keys.map(member).join(""), list.idKey), isThere };
  };
  const collect = (place: Place, above: string, recorded: boolean) => {
    const rows = above + member(place.key);
    if (place.entityType !== null && !recorded) {
      const found = nestedReads.get(place.entityType) ?? [];
      nestedReads.set(place.entityType, found);
      found.push({ path: place.path, ...nestedReadsAt(place, rows) });
    }
    for (const child of place.children) collect(child, rows, false);
  };

  for (const place of placesOf(schema, document, operation)) {
    const { entityType, key, pageKeys, idKey } = place;
    const [node] = place.nodes;
    // The row of a mutation counts as nested. Without a selected id, the arguments may name it.
    const isNested = operation.operation !== "query";
    if (entityType !== null && isNested && idKey === null) throw new UnsupportedSelection(key);
    if (entityType !== null && !isNested) {
      const id = ({ variables, nodes }: RequestValues) =>
        storedIdArgument(argumentsOf(nodes.get(key) ?? node, variables));
      const known = ({ variables, nodes }: RequestValues) => {
        const given = argumentsOf(nodes.get(key) ?? node, variables);
        return JSON.stringify({
          operation: operationName,
          field: node.name.value,
          ...(Object.keys(given).length > 0 ? { arguments: given } : {}),
        });
      };
      records.push({
        entityType: sql.literal(entityType),
        entityId: requestParameter(id),
        metadata: metadata(
          requestParameter(known),
          sql`jsonb_build_object('rows', ${countAt(key, pageKeys)})`,
        ),
      });
    }
    collect(place, "$", !isNested);
  }
  for (const [entityType, places] of nestedReads) {
    const all = sql.join(
      places.map(({ found }) => found),
      " || ",
    );
    const paths = places.map(
      ({ path, isThere }) => sql`case when ${isThere} then ${sql.literal(path)} end`,
    );
    const isAny = sql.join(
      places.map(({ isThere }) => isThere),
      " or ",
    );
    records.push({
      entityType: sql`case when ${isAny} then ${sql.literal(entityType)} end`,
      entityId: places.every(({ hasIds }) => hasIds) ? singleId(all) : sql`null`,
      metadata: metadata(
        sql.value(JSON.stringify({ operation: operationName })),
        sql`jsonb_build_object('paths', array_remove(array[${sql.join(paths, ", ")}], null), 'rows', jsonb_array_length(${all}))`,
      ),
    });
  }
  // The offset keeps the planner from computing it at each use.
  const fenced = sql`${answer} offset 0`;
  if (records.length === 0) return { text: fenced, records: false };
  const list = (part: keyof RecordSql) =>
    sql.join(
      records.map((record) => record[part]),
      ", ",
    );
  const places =
    seen.length > 0 ? sql`, lateral (select ${sql.join(seen, ", ")} offset 0) as seen` : sql.blank;
  const text = sql`select answer.data as data, record_reads(array[${list("entityType")}], array[${list("entityId")}]::text[], array[${list("metadata")}])
    from (select data, data::jsonb as json from (${fenced}) as answer offset 0) as answer${places}`;
  return { text, records: true };
}

/** A member of a JSON path. Paths are lax, so that a member of a list is the member of each of its items. */
function member(key: string): string {
  return `.${JSON.stringify(key)}`;
}

function metadata(known: SQL, found: SQL): SQL {
  return sql`${known}::jsonb || ${found}`;
}

/** The number of rows of a root field in the response; for a page, the length of its longest list. */
function countAt(key: string, pageKeys: readonly string[] | null): SQL {
  if (pageKeys === null) return rowsOf(sql`answer.json -> ${sql.literal(key)}`);
  const counts = pageKeys.map((name) =>
    rowsOf(sql`answer.json -> ${sql.literal(key)} -> ${sql.literal(name)}`),
  );
  return counts.length === 0 ? sql`0` : sql`greatest(${sql.join(counts, ", ")})`;
}

function rowsOf(value: SQL): SQL {
  return sql`case jsonb_typeof(${value}) when 'array' then jsonb_array_length(${value}) when 'object' then 1 else 0 end`;
}

/** The id in a list of equal ids; null where they differ. */
function singleId(ids: SQL): SQL {
  return sql`case when (${ids}) <@ jsonb_build_array((${ids}) -> 0) then (${ids}) ->> 0 end`;
}
