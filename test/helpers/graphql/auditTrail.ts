import { randomUUID } from "node:crypto";
import type { GraphQLSchema } from "graphql";
import { hashToken, makeToken } from "../../../src/auth/tokens.ts";
import { textCandidates } from "../../../dev/access/fillTables.ts";
import { own } from "../../../dev/access/seed.ts";
import { insertApiToken } from "../apiToken.ts";
import { makeTableDigests } from "../db/tableDigests.ts";
import type { Answer, AnswerError, Service } from "../service.ts";
import { run } from "../http/testRuns.ts";
import { type Preparation, preparations } from "./auditCalls.ts";
import { makeWithIds } from "./knownIds.ts";
import { type RootField, fieldOf, selection } from "./rootFields.ts";

/** A service on seeded tables, with the schema facts that the checks need. */
export interface Trail {
  service: Service;
  schema: GraphQLSchema;
  /** The audit log's entity type by table name; null for an unaudited table. */
  tables: ReadonlyMap<string, string | null>;
  /** The object types whose reads are recorded. */
  readTypes: ReadonlySet<string>;
  /** Reads a digest of each of the tables. */
  digests: ReturnType<typeof makeTableDigests>;
}

/** An audit log row of a call. */
interface AuditRow {
  actor: string | null;
  operation: string;
  type: string;
  correlation: string | null;
}

/** A call and its effects. */
interface Made {
  answer: Answer;
  changed: string[];
  rows: AuditRow[];
  correlation: string;
  /** The user whom the audit log must name. */
  actor: string;
}

/** The file for variables of fields whose generated ones fail. */
const preparationsFile = "test/helpers/graphql/auditCalls.ts";

const tablesQuery = `
  select c.relname as name, substring(t.tags ->> 'audit' from '^[A-Z]\\w*') as entity, t.tags ? 'auditReads' as reads
  from pg_class c, backoffice.table_tags(c.oid) as t(tags)
  where c.relnamespace = 'backoffice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname !~ '^(audit_|.*schema_migrations$)'
  order by 1`;

/** Marker values. A response contains one only if it reads a row of that type. */
const marks: Readonly<Record<string, string>> = {
  users: "name = 'mark-User-' || substr(id::text, 30)",
  roles: "name = 'mark-Role-' || substr(id::text, 30) where not is_system",
  customers: "name = 'mark-Customer-' || substr(id::text, 30)",
  orders: "erp_order_number = 'mark-Order-' || substr(id::text, 30)",
  api_tokens: "name = 'mark-ApiToken-' || substr(id::text, 30)",
  export_jobs: "source = 'mark-ExportJob-' || substr(id::text, 30)",
  sessions: "user_agent = 'mark-Session-' || substr(id::text, 30)",
};

/** Reads the tables' tags and marks the rows of audited types. */
export async function makeTrail(service: Service, schema: GraphQLSchema): Promise<Trail> {
  const { pool } = service.database;
  const { rows } = await pool.query<{ name: string; entity: string | null; reads: boolean }>(
    tablesQuery,
  );
  for (const [table, mark] of Object.entries(marks))
    await pool.query(`update ${table} set ${mark}`);
  return {
    service,
    schema,
    tables: new Map(rows.map(({ name, entity }) => [name, entity])),
    digests: makeTableDigests(pool, `(to_jsonb(t) ${withoutVolatileColumns})::text`),
    readTypes: new Set([
      // The server and functions provide these types, so no table has their tag.
      "AuditLog",
      "Session",
      ...rows.flatMap(({ entity, reads }) => (reads && entity ? [entity] : [])),
    ]),
  };
}

/** Returns the problems of the audit trail as `field: problem`, and the names of the called fields. */
export async function checkTrail(
  trail: Trail,
  fields: readonly RootField[],
): Promise<{ problems: string[]; made: string[] }> {
  const problems: string[] = [];
  const made: string[] = [];
  for (const field of fields) {
    const call = await makeCall(trail, field).catch(
      (error: unknown) => `was not called: ${String(error)}`,
    );
    if (typeof call === "string") {
      problems.push(`${field.name}: ${call}; set its variables in ${preparationsFile}`);
      continue;
    }
    made.push(field.name);
    const found = [
      ...wrongRows(call),
      ...missingWrites(trail, field, call),
      ...missingReads(trail, call),
    ];
    problems.push(...found.map((problem) => `${field.name}: ${problem}`));
  }
  return { problems, made };
}

/** Tries the input variants until a call succeeds and, for a mutation, changes a table. */
async function makeCall(trail: Trail, field: RootField): Promise<Made | string> {
  const { pool } = trail.service.database;
  const preparation = preparations[field.name];
  let prepared = field;
  if (preparation?.sql !== undefined) {
    const { rows } = await pool.query<{ variables: Record<string, unknown> }>(preparation.sql);
    prepared = { ...field, variables: { ...field.variables, ...rows[0]?.variables } };
  }
  const variants = preparation?.sql ? [prepared] : await makeWithIds(pool, trail.schema)(field);
  let problem = "changed nothing";
  for (const variant of variants) {
    const call = await attemptWithTexts(trail, variant, preparation);
    const [error] = call.answer.errors ?? [];
    if (error) problem = `was refused: ${error.message}`;
    else if (field.kind === "query" && isEmptyResult(call.answer.data[field.name]))
      problem = "returned nothing";
    else if (field.kind === "query" || call.changed.length > 0) return call;
  }
  return problem;
}

/** Repeats the call with other texts while a check constraint rejects a generated one. */
async function attemptWithTexts(
  trail: Trail,
  field: RootField,
  preparation?: Preparation,
): Promise<Made> {
  const call = await attempt(trail, field, preparation);
  const next = preparation ? undefined : withNextText(field, call.answer.errors?.[0]);
  return next ? attemptWithTexts(trail, next) : call;
}

/** Rows 1 and 2 exist already; an update must differ from a create. */
const textNumbers = { create: 3, update: 4, bulk: 5 };

/** The field with the next candidate for the input text that the error names; undefined when there is none. */
function withNextText(field: RootField, error?: AnswerError): RootField | undefined {
  const path = error?.extensions.path;
  const input = field.variables["input"] as Record<string, unknown> | undefined;
  const name = Array.isArray(path) && path.length === 2 ? String(path[1]) : "";
  const value = input?.[name];
  if (typeof value !== "string" || /Id$/.test(name)) return undefined;
  const update = field.variables["ids"] === undefined ? textNumbers.update : textNumbers.bulk;
  const number = field.name.startsWith("update") ? update : textNumbers.create;
  const candidates = textCandidates.map((candidate) => candidate(number));
  const next = candidates[candidates.indexOf(value) + 1];
  if (next === undefined) return undefined;
  return { ...field, variables: { ...field.variables, input: { ...input, [name]: next } } };
}

async function attempt(
  trail: Trail,
  field: RootField,
  { by = "session", testRun }: Preparation = {},
): Promise<Made> {
  const { service, schema } = trail;
  const { pool } = service.database;
  const correlation = randomUUID();
  const headers = { "x-correlation-id": correlation, ...(testRun && run(testRun)) };
  const tenant = testRun === undefined ? "backoffice" : `backoffice_e2e_${testRun}`;
  // Creates the tenant of a test run.
  if (testRun !== undefined)
    await service.ask(`mutation { devLogin(email: "nobody@example.com") { token } }`, {
      headers: run(testRun),
    });
  const token = by === "nobody" ? null : await tokenOf(service, by);
  const asked = selection(fieldOf(schema, field).type, 2, "__typename");
  const tables = [...trail.tables.keys()].map((name) => `${tenant}.${name}`);
  const before = await trail.digests(tables);
  const { rows: last } = await pool.query<{ id: string | null }>(
    `select max(id::text) as id from ${tenant}.audit_log`,
  );
  const answer = await service.ask(field.document.replace("{ __typename }", asked), {
    token,
    variables: field.variables,
    headers,
  });
  const after = await trail.digests(tables);
  const { rows } = await pool.query<AuditRow>(
    `select actor_user_id as actor, operation, entity_type as type, correlation_id as correlation
     from ${tenant}.audit_log where id::text > $1 order by id`,
    [last[0]?.id ?? ""],
  );
  const changed = [...trail.tables.keys()].filter(
    (name) => after.get(`${tenant}.${name}`) !== before.get(`${tenant}.${name}`),
  );
  const { [field.name]: payload } = (answer.data ?? {}) as Record<
    string,
    { user?: { id: string } }
  >;
  const actor = testRun === undefined ? own.user : (payload?.user?.id ?? "");
  return { answer, changed, rows, correlation, actor };
}

/** Creates a credential for each call, because some calls revoke it. */
async function tokenOf(service: Service, by: "session" | "token"): Promise<string> {
  if (by === "token") return (await insertApiToken(service.database, own.user)).token;
  const token = makeToken("session");
  await service.database.pool.query(
    `insert into sessions (user_id, token_hash, idle_expires_at, expires_at, user_agent)
     values ($1, $2, now() + interval '1 hour', now() + interval '1 hour', 'mark-Session-own')`,
    [own.user, hashToken(token)],
  );
  return token;
}

/** Drops the columns that change with every request or with another row. */
const withoutVolatileColumns = "- 'last_used_at' - 'idle_expires_at' - 'updated_at'";

function isEmptyResult(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** Audit rows with a wrong actor or correlation id. */
function wrongRows({ rows, correlation, actor }: Made): string[] {
  return rows.flatMap(({ actor: named, operation, type, correlation: stored }) => [
    ...(named === actor ? [] : [`${operation} of ${type} has no actor`]),
    ...(stored === correlation ? [] : [`${operation} of ${type} has no correlation id`]),
  ]);
}

function missingWrites({ tables }: Trail, { kind }: RootField, { changed, rows }: Made): string[] {
  const writes = rows.filter(({ operation }) => operation !== "READ");
  const lacking = changed.flatMap((table) => {
    const entity = tables.get(table);
    return entity && !writes.some(({ type }) => type === entity)
      ? [`changed ${table} without a row of ${entity}`]
      : [];
  });
  // A table that is bookkeeping for one mutation is the whole effect of another.
  const silent = kind === "mutation" && changed.length > 0 && writes.length === 0;
  return silent ? [`changed ${changed.join(", ")} without any row`] : lacking;
}

/** Audited types that a response shows without a READ row. */
function missingReads({ readTypes }: Trail, { answer, rows }: Made): string[] {
  const recorded = new Set(
    rows.flatMap(({ operation, type }) => (operation === "READ" ? type : [])),
  );
  const text = JSON.stringify(answer.data);
  const shown = new Set<string>();
  for (const [, type = ""] of text.matchAll(/"__typename":"(\w+)"/g))
    if (readTypes.has(type)) shown.add(type);
  for (const [, type = ""] of text.matchAll(/mark-(\w+)-/g)) shown.add(type);
  if (/"scopedApiKey":"[^"]/.test(text)) shown.add("SearchKey");
  return [...shown].filter((type) => !recorded.has(type)).map((type) => `shows ${type} unrecorded`);
}
