import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { asksAuditIds, auditIdKey } from "../audit/auditIds.ts";
import { type Place, placesOf } from "../audit/auditedPlaces.ts";
import { argumentsOf, askedId } from "../audit/auditedReads.ts";
import { type Given, lateValue } from "./compiledStatement.ts";
import { UnsupportedSelection } from "./selection.ts";

/** A record to be made: each part as the SQL that finds it in `answer.json` and `seen`. */
interface RecordSql {
  /** Null where there is nothing to record. */
  entityType: SQL;
  entityId: SQL;
  metadata: SQL;
}

/** Where rows of a type that came along with others can be. */
interface Along {
  path: string;
  /** The list of their ids or, where those were not asked for, of as many other things. */
  found: SQL;
  hasIds: boolean;
  /** Whether anything is there: of a page, also one without rows. */
  isThere: SQL;
}

/**
 * Makes of a statement that gives an answer's `data` as text one that records as well what of it is to be recorded as read: the
 * records that `readsOf` makes of an answer once it is there. Ids that the document asks for the records' sake do not go out. @throws UnsupportedSelection for what
 * cannot be counted in this way
 */
export function recordedAnswer(
  answer: SQL,
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): { text: SQL; records: boolean } {
  const operationName = operation.name?.value ?? null;
  const records: RecordSql[] = [];
  const along = new Map<string, Along[]>();
  const seen: SQL[] = [];

  const seenAt = (path: string): SQL => {
    const column = sql.identifier(Symbol("seen"));
    seen.push(sql`jsonb_path_query_array(answer.json, ${sql.literal(path)}) as ${column}`);
    return sql`seen.${column}`;
  };
  /** The ids of the rows at a path or, without, something for each. */
  const rowsAt = (path: string, idKey: string | null) => ({
    found: seenAt(path + (idKey === null ? ` ? (@.type() == "object").type()` : member(idKey))),
    hasIds: idKey !== null,
  });
  const alongAt = (place: Place, path: string): Omit<Along, "path"> => {
    const { pageKeys, rows } = place;
    if (pageKeys === null) {
      const found = rowsAt(path, place.idKey);
      return { ...found, isThere: sql`${found.found} <> '[]'` };
    }
    const [list, ...others] = rows;
    // Of several lists the longest counts.
    if (others.length > 0 || new Set(pageKeys).size !== rows.length)
      throw new UnsupportedSelection(place.key);
    const isThere = sql`${rowsAt(path, null).found} <> '[]'`;
    if (!list) return { found: sql`'[]'::jsonb`, hasIds: true, isThere };
    const keys = list.keys.map((key) => `${member(key)}[*]`);
    return { ...rowsAt(path + keys.join(""), list.idKey), isThere };
  };
  const collect = (place: Place, above: string, recorded: boolean) => {
    const rows = `${above}${member(place.key)}[*]`;
    if (place.entityType !== null && !recorded) {
      const found = along.get(place.entityType) ?? [];
      along.set(place.entityType, found);
      found.push({ path: place.path, ...alongAt(place, rows) });
    }
    for (const child of place.children) collect(child, rows, false);
  };

  for (const place of placesOf(schema, document, operation)) {
    const { entityType, key, pageKeys, idKey } = place;
    const [node] = place.nodes;
    // A mutation's own row counts as come along. Where it has no id to ask for, one may be known by the arguments.
    const comesAlong = operation.operation !== "query";
    if (entityType !== null && comesAlong && idKey === null) throw new UnsupportedSelection(key);
    if (entityType !== null && !comesAlong) {
      const id = ({ variables, nodes }: Given) =>
        askedId(argumentsOf(nodes.get(key) ?? node, variables));
      const known = ({ variables, nodes }: Given) => {
        const given = argumentsOf(nodes.get(key) ?? node, variables);
        return JSON.stringify({
          operation: operationName,
          field: node.name.value,
          ...(Object.keys(given).length > 0 ? { arguments: given } : {}),
        });
      };
      records.push({
        entityType: sql.literal(entityType),
        entityId: lateValue(id),
        metadata: metadata(
          lateValue(known),
          sql`jsonb_build_object('rows', ${countAt(key, pageKeys)})`,
        ),
      });
    }
    collect(place, "$", !comesAlong);
  }
  for (const [entityType, places] of along) {
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
      entityId: places.every(({ hasIds }) => hasIds) ? onlyOne(all) : sql`null`,
      metadata: metadata(
        sql.value(JSON.stringify({ operation: operationName })),
        sql`jsonb_build_object('paths', array_remove(array[${sql.join(paths, ", ")}], null), 'rows', jsonb_array_length(${all}))`,
      ),
    });
  }
  // Fenced by offsets: what is written once is used more than once.
  const fenced = sql`${answer} offset 0`;
  if (records.length === 0) return { text: fenced, records: false };
  const list = (part: keyof RecordSql) =>
    sql.join(
      records.map((record) => record[part]),
      ", ",
    );
  const places =
    seen.length > 0 ? sql`, lateral (select ${sql.join(seen, ", ")} offset 0) as seen` : sql.blank;
  const text = sql`select ${asksAuditIds(document) ? withoutIds(sql`answer.data`) : sql`answer.data`} as data, record_reads(array[${list("entityType")}], array[${list("entityId")}]::text[], array[${list("metadata")}])
    from (select data, data::jsonb as json from (${fenced}) as answer offset 0) as answer${places}`;
  return { text, records: true };
}

/** The text of an answer without the ids that nobody but the audit log asked for. Within strings a quote is escaped, so none is there. */
function withoutIds(data: SQL): SQL {
  const id = `"${auditIdKey}":(null|"[^"]*")`;
  return sql`regexp_replace(${data}, ${sql.literal(`,${id}|${id},?`)}, '', 'g')`;
}

/** A member in a JSON path. */
function member(key: string): string {
  return `.${JSON.stringify(key)}`;
}

function metadata(known: SQL, found: SQL): SQL {
  return sql`${known}::jsonb || ${found}`;
}

/** How many rows of a root field an answer shows: of a page, as many as the longest of its lists. */
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

/** The one id in a list of ids, if it is the only one however often it comes. */
function onlyOne(ids: SQL): SQL {
  return sql`case when not jsonb_path_exists(${ids}, '$[*] ? (@ != $first)', jsonb_build_object('first', (${ids}) -> 0)) then (${ids}) ->> 0 end`;
}
