import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { asksAuditIds, auditIdKey } from "../plugins/auditIds.ts";
import { type Place, placesOf } from "../plugins/auditedPlaces.ts";
import { argumentsOf, askedId } from "../plugins/auditedReads.ts";
import { type Given, lateValue } from "./namedStatement.ts";
import { IndirectError } from "./selection.ts";

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
  /** What `seen` calls the list of their ids or, where those were not asked for, of as many other things. */
  column: SQL;
  hasIds: boolean;
}

/**
 * Makes of a statement that gives an answer's `data` as text one that records as well what of it is to be recorded as read: the
 * records that `readsOf` makes of an answer once it is there. Ids that the document asks for the records' sake do not go out. @throws IndirectError for what
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

  const collect = (place: Place, above: string, recorded: boolean) => {
    const rows = `${above}.${JSON.stringify(place.key)}[*]`;
    if (place.entityType !== null && !recorded) {
      if (place.pageKeys !== null) throw new IndirectError(place.key);
      const column = sql.identifier(Symbol("seen"));
      const what =
        place.idKey === null
          ? ` ? (@.type() == "object").type()`
          : `.${JSON.stringify(place.idKey)}`;
      seen.push(sql`jsonb_path_query_array(answer.json, ${sql.literal(rows + what)}) as ${column}`);
      const found = along.get(place.entityType) ?? [];
      along.set(place.entityType, found);
      found.push({ path: place.path, column, hasIds: place.idKey !== null });
    }
    for (const child of place.children) collect(child, rows, false);
  };

  for (const place of placesOf(schema, document, operation)) {
    const { entityType, key, pageKeys, idKey } = place;
    const [node] = place.nodes;
    // A mutation's own row counts as come along. Where it has no id to ask for, one may be known by the arguments.
    const comesAlong = operation.operation !== "query";
    if (entityType !== null && comesAlong && idKey === null) throw new IndirectError(key);
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
          sql`jsonb_build_object('rows', ${rowsAt(key, pageKeys)})`,
        ),
      });
    }
    collect(place, "$", !comesAlong);
  }
  for (const [entityType, places] of along) {
    const all = sql.join(
      places.map(({ column }) => sql`seen.${column}`),
      " || ",
    );
    const paths = places.map(
      ({ path, column }) => sql`case when seen.${column} <> '[]' then ${sql.literal(path)} end`,
    );
    records.push({
      entityType: sql`case when ${all} <> '[]' then ${sql.literal(entityType)} end`,
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
  const member = `"${auditIdKey}":(null|"[^"]*")`;
  return sql`regexp_replace(${data}, ${sql.literal(`,${member}|${member},?`)}, '', 'g')`;
}

function metadata(known: SQL, found: SQL): SQL {
  return sql`${known}::jsonb || ${found}`;
}

/** How many rows of a root field an answer shows: of a page, as many as the longest of its lists. */
function rowsAt(key: string, pageKeys: readonly string[] | null): SQL {
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
