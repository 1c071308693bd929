import pg from "pg";
import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type FieldArgs, type Step, context, object } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import { shortened } from "../audit/changedValues.ts";
import { checkGuard, passesGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput, notFound } from "../errors/PublicError.ts";
import { fitsType } from "../paging/cursorValues.ts";
import { storedId } from "../postgres/uuid.ts";
import { auditedKey, auditedType } from "../schema/auditedType.ts";
import { isHidden } from "../schema/columns.ts";
import { relations } from "../schema/consoleReferences.ts";
import { type Table, labelColumns, nounOfRow, titleOfRow } from "../schema/labels.ts";
import { historyGuard, readableTables, tableGuard, tableNamed } from "../schema/listedTables.ts";
import { hasOwnRows, ownerColumns } from "../schema/ownerTags.ts";
import { nameOfUnlabelled } from "../schema/rowNames.ts";
import { recordHistoryTypeDefs } from "../schema/recordHistoryTypeDefs.ts";

/** The longest page of a history. */
const maxFirst = 100;
/** Ids of referred rows whose names are looked up for one page. */
const maxNames = 500;

interface HistoryRequest {
  entity: string;
  id: string;
  first: number;
  after: string | null | undefined;
  includeReads: boolean;
  caller: Pick<RequestInfo, "identity" | "hasToken">;
}

/** A row of the SQL function `record_history`. */
interface HistoryRow {
  id: string;
  created_at: string;
  operation: string;
  correlation_id: string | null;
  source: string | null;
  token_name: string | null;
  user_id: string | null;
  user_name: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  also_changed: number;
}

/** A table with a history. */
interface AuditedTable {
  resource: PgResource;
  entityType: string;
  /** The column that identifies a row. */
  key: string;
  /** The column that identifies it in the audit log. */
  recordedBy: string;
  /** The fields that the API shows, with the table that each refers to. */
  fields: ReadonlyMap<string, PgResource | null>;
  /** The field with the owner of the row; null if rows have none. */
  owner: string | null;
  /** The names of columns that the API does not show. */
  hidden: ReadonlySet<string>;
}

/** The changes of one row, for callers who may read the row. */
export const RecordHistoryPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const { loadOneWithPgClient } = build.dataplanPg;
  const tables = new Map<string, AuditedTable>();
  for (const [name, resource] of readableTables(build)) {
    const entityType = auditedType(resource);
    const { key } = labelColumns(build, resource);
    const recordedBy = key === null ? null : auditedKey(resource, key);
    if (entityType !== null && key !== null && recordedBy !== null)
      tables.set(name, {
        resource,
        entityType,
        key,
        recordedBy,
        fields: shownFields(build, resource),
        owner: ownerField(build, resource),
        hidden: hiddenFields(build, resource),
      });
  }
  const executor = [...tables.values()][0]?.resource.executor;
  if (!executor) throw new Error("The schema has no audited table");

  const read = async (client: PgClient, wanted: HistoryRequest) => {
    const { entity, id, first, after, includeReads, caller } = wanted;
    const table = tableNamed(tables, entity, "entity");
    checkGuard(tableGuard(table.resource), caller);
    const readsLog = caller.identity?.permissions.has("audit.read") === true;
    const guard = historyGuard(table.resource);
    const mayReadAll = readsLog || passesGuard(guard, caller);
    if (!mayReadAll && !hasOwnRows(table.resource.extensions?.tags)) checkGuard(guard, caller);
    if (includeReads) checkGuard(["audit.read"], caller);
    if (first < 1 || first > maxFirst)
      throw badUserInput(`first is between 1 and ${maxFirst}`, { path: ["first"] });
    const [seen] = await rowsByKey(client, table.resource, [id], {
      columns: [table.recordedBy],
    });
    // The values of a deleted row are shown only to callers who may read the whole audit log.
    const missing = () =>
      notFound(`There is no ${nounOfRow(build, table.resource as Table)} with this id`, {
        path: ["id"],
      });
    if (!seen && !readsLog) throw missing();
    if (!mayReadAll && !(await isOwn(client, table, id))) checkGuard(guard, caller);
    const start = after == null ? null : readCursor(after);
    const { rows } = await client.query<HistoryRow>({
      text: `select h.*, to_char(h.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at
        from record_history($1, $2, $3, $4, $5, $6, $7) as h`,
      values: [
        table.entityType,
        seen?.name ?? storedId(id),
        ["CREATE", "UPDATE", "DELETE", ...(includeReads ? ["READ"] : [])],
        start?.at ?? null,
        start?.id ?? null,
        first + 1,
        mayReadAll ? null : table.owner,
      ],
    });
    const page = rows.slice(0, first);
    if (!seen && rows.length === 0 && start === null) throw missing();
    const isOfLog = !seen || includeReads;
    if (isOfLog || table.resource.extensions?.tags?.auditReads !== undefined)
      await client.query({
        text: "select record_read($1, $2, $3)",
        values: [
          isOfLog ? "AuditLog" : table.entityType,
          isOfLog ? null : id,
          JSON.stringify({ field: "recordHistory", arguments: { entity, id }, rows: page.length }),
        ],
      });
    const names = await namesOf(client, table, page);
    const restorable = restorableFields(build, entity, caller);
    const last = page.at(-1);
    return {
      nodes: page.map((row) =>
        toChange({ table, restorable, names, isAuditor: passesGuard(["audit.read"], caller) }, row),
      ),
      hasNextPage: rows.length > first,
      endCursor: last ? cursorOf(last) : null,
    };
  };

  /**
   * Selects rows that the caller may read by key, with the first of the columns that is not null as text. Skips values of
   * another type than the key.
   */
  const rowsByKey = async (
    client: PgClient,
    resource: PgResource,
    ids: readonly string[],
    { columns, condition = "true" }: { columns: readonly string[]; condition?: string },
  ) => {
    const { key } = labelColumns(build, resource);
    if (key === null) return [];
    const codec = (resource.codec as PgCodecWithAttributes).attributes[key]?.codec;
    const values = codec ? ids.filter((id) => fitsType(codec, id)) : [];
    if (!codec || values.length === 0) return [];
    const [relation, type] = [resource.codec, codec].map(
      ({ sqlType }) => build.sql.compile(sqlType).text,
    );
    const texts = columns.map((name) => `r.${pg.escapeIdentifier(name)}::text`);
    const { rows } = await client.query<{ id: string; name: string | null }>({
      text: `select r.${pg.escapeIdentifier(key)}::text as id, coalesce(${texts.join(", ")}) as name from ${relation} as r where r.${pg.escapeIdentifier(key)} = any ($1::${type}[]) and ${condition}`,
      values: [values],
    });
    return rows;
  };

  /** Whether a row belongs to the caller, as the policy of its table says. */
  const isOwn = async (client: PgClient, { resource, key }: AuditedTable, id: string) => {
    const [user, token] = ownerColumns(resource.extensions?.tags).map((column) =>
      pg.escapeIdentifier(column),
    );
    const ofToken =
      token === undefined
        ? ""
        : ` and (current_token_id() is null or r.${token} = current_token_id())`;
    const found = await rowsByKey(client, resource, [id], {
      columns: [key],
      condition: `r.${user} = current_user_id()${ofToken}`,
    });
    return found.length > 0;
  };

  /** The names of the rows that the page's ids refer to, without rows that the caller may not read. */
  const namesOf = async (client: PgClient, table: AuditedTable, page: readonly HistoryRow[]) => {
    const wanted = new Map<PgResource, Set<string>>();
    for (const { before, after } of page)
      for (const [field, value] of [
        ...Object.entries(before ?? {}),
        ...Object.entries(after ?? {}),
      ]) {
        const referred = table.fields.get(field);
        if (!referred || typeof value !== "string") continue;
        wanted.set(referred, (wanted.get(referred) ?? new Set<string>()).add(value));
      }
    const names = new Map<string, string>();
    for (const [resource, ids] of wanted) {
      const { name, detail } = labelColumns(build, resource);
      // A row without a name, such as a user who has not entered one, is named by its detail.
      const found = await rowsByKey(client, resource, [...ids].slice(0, maxNames), {
        columns: [name, ...(detail === null ? [] : [detail])],
      });
      const titleOne = titleOfRow(build, resource as Table);
      for (const row of found) names.set(row.id, row.name ?? nameOfUnlabelled(titleOne, row.id));
    }
    return names;
  };

  return {
    typeDefs: recordHistoryTypeDefs,
    objects: {
      Query: {
        plans: {
          recordHistory(_$root: Step, args: FieldArgs) {
            const $wanted = object({
              entity: args.getRaw("entity"),
              id: args.getRaw("id"),
              first: args.getRaw("first"),
              after: args.getRaw("after"),
              includeReads: args.getRaw("includeReads"),
              caller: context().get("requestContext"),
            }) as Step<HistoryRequest>;
            return loadOneWithPgClient(executor, $wanted, (client, all) =>
              Promise.all(all.map((wanted) => read(client, wanted))),
            );
          },
        },
      },
    },
  };
}, "RecordHistoryPlugin");

/** The field with the user of the tag `@owner`. */
function ownerField(build: GraphileBuild.Build, resource: PgResource): string | null {
  const [attributeName] = ownerColumns(resource.extensions?.tags);
  const codec = resource.codec as PgCodecWithAttributes;
  return attributeName === undefined ? null : build.inflection.attribute({ attributeName, codec });
}

/** The API's fields of a table by the names that the audit log uses, with the tables that they refer to. */
function shownFields(
  build: GraphileBuild.Build,
  resource: PgResource,
): ReadonlyMap<string, PgResource | null> {
  const codec = resource.codec as PgCodecWithAttributes;
  const found = relations(build, resource).map(([, relation]) => relation);
  return new Map(
    Object.entries(codec.attributes)
      .filter(([, attribute]) => !isHidden(attribute))
      .map(([attributeName]) => {
        const relation = found.find(
          ({ localAttributes, isReferencee }) =>
            isReferencee !== true &&
            localAttributes.length === 1 &&
            localAttributes[0] === attributeName,
        );
        return [
          build.inflection.attribute({ attributeName, codec }),
          (relation?.remoteResource as PgResource | undefined) ?? null,
        ];
      }),
  );
}

function hiddenFields(build: GraphileBuild.Build, resource: PgResource): ReadonlySet<string> {
  const codec = resource.codec as PgCodecWithAttributes;
  return new Set(
    Object.entries(codec.attributes)
      .filter(([, attribute]) => isHidden(attribute))
      .map(([attributeName]) => build.inflection.attribute({ attributeName, codec })),
  );
}

/** The fields that the caller may change. */
function restorableFields(
  build: GraphileBuild.Build,
  entity: string,
  caller: HistoryRequest["caller"],
): ReadonlySet<string> {
  const known = build.consoleMetadata.entities.find(({ name }) => name === entity);
  const update = known?.mutations.update;
  if (!known || !update || !passesGuard(update.guard, caller)) return new Set();
  return new Set(known.fields.filter(({ onUpdate }) => onUpdate !== "NO").map(({ name }) => name));
}

interface ShownHistory {
  table: AuditedTable;
  restorable: ReadonlySet<string>;
  /** The names of rows by their ids. */
  names: ReadonlyMap<string, string>;
  /** Whether the caller may read the audit log. */
  isAuditor: boolean;
}

function toChange({ table, restorable, names, isAuditor }: ShownHistory, row: HistoryRow) {
  // Nobody knows who could read a column that was renamed or dropped, so only the audit log's readers see it.
  const isShown = (field: string) =>
    table.fields.has(field) || (isAuditor && !table.hidden.has(field));
  const shown = (field: string, value: unknown): unknown => {
    if (!table.fields.get(field) || typeof value !== "string") return value ?? null;
    return { id: value, name: names.get(value) ?? null };
  };
  const fields = [...new Set([...Object.keys(row.before ?? {}), ...Object.keys(row.after ?? {})])];
  return {
    id: row.id,
    at: row.created_at,
    operation: row.operation,
    correlationId: row.correlation_id,
    source: row.source ?? "db",
    by: row.user_id === null ? null : { id: row.user_id, name: row.user_name },
    byToken: row.token_name,
    alsoChanged: row.also_changed,
    changes: fields.filter(isShown).map((field) => {
      const whole = row.before?.[field];
      const [before, after] = shortened(whole, row.after?.[field]);
      const isRestorable = row.operation === "UPDATE" && restorable.has(field) && before === whole;
      return { field, before: shown(field, before), after: shown(field, after), isRestorable };
    }),
  };
}

function cursorOf({ created_at: at, id }: HistoryRow): string {
  return Buffer.from(JSON.stringify([at, id])).toString("base64url");
}

/** @throws PublicError for a malformed cursor */
function readCursor(cursor: string): { at: string; id: string } {
  const match = /^\["(\d{4}-[\d:T.-]+Z)","([\da-f-]{36})"\]$/.exec(
    Buffer.from(cursor.slice(0, 200), "base64url").toString(),
  );
  if (match?.[1] === undefined || match[2] === undefined)
    throw badUserInput("after is not a cursor that an answer gave", { path: ["after"] });
  return { at: match[1], id: match[2] };
}
