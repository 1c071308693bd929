import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { buildApi } from "../../src/migration/printApi.ts";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { allPermissions } from "../helpers/apiToken.ts";
import { type AnswerError, type Service, startService } from "../helpers/service.ts";
import { type RootField, rootFields } from "../helpers/graphql/rootFields.ts";

/** A caller: anonymous, a session, or an API token, with its permissions. */
interface Principal {
  name: string;
  kind: "none" | "session" | "api";
  /** The user's permissions. */
  held: readonly string[];
  /** Null for a token without scopes. */
  scopes: readonly string[] | null;
}

interface Cell {
  field: RootField;
  principal: Principal;
  token: string | null;
}

const loginRefusal = "You are not logged in";
const scopedRefusal = "This needs a full login: a scoped token is not enough";
const tokenRefusal =
  "This needs a session: log in; an API token is not enough, with or without scopes";

let service: Service;
let keys: string[];
let fields: RootField[];
const users = new Map<string, string>();

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "error" } });
  await service.ask(`mutation { bootstrapFirstUser(email: "first@example.com") { token } }`);
  keys = await allPermissions(service.database);
  fields = rootFields(await buildApi(service.database.pool, "backoffice"));
});
afterAll(async () => {
  await service.stop();
});

/**
 * The callers of a field. A token with every other scope stands for all tokens that lack what is needed, because no scope
 * takes rights away. `single` are scopes of tokens that have only one.
 */
function principalsFor(field: RootField, single: readonly string[]): Principal[] {
  const needed =
    typeof field.guard === "string"
      ? []
      : field.guard.filter((word) => !["login", "session"].includes(word));
  const token = (name: string, scopes: readonly string[] | null): Principal => ({
    name,
    kind: "api",
    held: keys,
    scopes,
  });
  return [
    { name: "nobody", kind: "none", held: [], scopes: null },
    { name: "a session without permissions", kind: "session", held: [], scopes: null },
    { name: "a session with exactly what is needed", kind: "session", held: needed, scopes: null },
    token("an unlimited token", null),
    token(
      "a token with every other scope",
      keys.filter((key) => !needed.includes(key)),
    ),
    token("a token whose scopes are gone", ["gone.away"]),
    ...[...new Set([...needed, ...single])].map((key) => token(`a token of ${key} alone`, [key])),
  ];
}

/** The expected result of a guard for a principal: the error message, or null. */
function refusalFor(guard: RootField["guard"], { kind, held, scopes }: Principal): string | null {
  if (guard === "public") return null;
  if (kind === "none") return loginRefusal;
  if (guard === "principal") return null;
  const words = typeof guard === "string" ? [guard] : guard;
  if (words[0] === "login" && scopes !== null) return scopedRefusal;
  if (words[0] === "session" && kind === "api") return tokenRefusal;
  const wanted = words.filter((word) => !["login", "session"].includes(word));
  const may = held.filter((key) => scopes === null || scopes.includes(key));
  const missing = wanted.find((key) => !may.includes(key));
  return missing === undefined ? null : `Missing required permission: ${missing}`;
}

/** The problem of a response, or null. */
function judge({ field, principal }: Cell, errors: readonly AnswerError[]): string | null {
  const wanted = refusalFor(field.guard, principal);
  const got =
    errors.map((error) => `${error.extensions.code}: ${error.message}`).join("; ") || "no error";
  const cell = `${field.name} by ${principal.name}`;
  if (wanted !== null) {
    const code = wanted === loginRefusal ? "UNAUTHENTICATED" : "FORBIDDEN";
    return errors.length === 1 &&
      errors[0]?.message === wanted &&
      errors[0].extensions.code === code
      ? null
      : `${cell}: wanted "${wanted}", got ${got}`;
  }
  // A function behind `principal` may require more, such as a permission for rows of other users.
  const refusals =
    field.guard === "principal"
      ? /^You are not/
      : /^You are not|^Missing|^This needs a (full|session)/;
  const refused = errors.some(
    ({ message, extensions }) => refusals.test(message) || extensions.code === "INTERNAL",
  );
  return refused ? `${cell}: wanted to pass the guard, got ${got}` : null;
}

/** The name of a cell's user. Cells with the same permissions share one, except for mutations that end all sessions. */
const ownerOf = ({ field, principal }: Cell) =>
  `${field.name === "logoutEverywhere" ? field.name : ""}:${principal.held.join()}`;

async function userWho(name: string): Promise<string> {
  const known = users.get(name);
  if (known) return known;
  const held = name.slice(name.indexOf(":") + 1).split(",");
  const { userId } = await service.login(held.filter(Boolean));
  users.set(name, userId);
  return userId;
}

/** A separate credential for each cell, because mutations may revoke it. */
async function makeCells(
  asked: readonly RootField[],
  singleOf: (place: number) => readonly string[],
): Promise<Cell[]> {
  const cells: Cell[] = asked.flatMap((field, place) =>
    principalsFor(field, singleOf(place)).map((principal) => ({
      field,
      principal,
      token: principal.kind === "none" ? null : makeToken(principal.kind),
    })),
  );
  const rows = await Promise.all(
    [...new Set(cells.map(ownerOf))].map(async (name) => {
      const userId = await userWho(name);
      return cells
        .filter((cell) => ownerOf(cell) === name)
        .map(({ principal, token }) => ({
          kind: principal.kind,
          user_id: userId,
          hash: token === null ? "" : hashToken(token).toString("hex"),
          scopes: principal.scopes,
        }));
    }),
  );
  await service.database.pool.query(
    `with given as (
       select * from jsonb_to_recordset($1) as g(kind text, user_id uuid, hash text, scopes text[])
     ), made as (
       insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
       select user_id, decode(hash, 'hex'), now() + interval '1 hour', now() + interval '1 hour'
       from given where kind = 'session'
     )
     insert into api_tokens (user_id, name, token_hash, is_scoped, scopes, expires_at, created_by_user_id)
     select user_id, 'cell', decode(hash, 'hex'), scopes is not null, coalesce(scopes, '{}'), now() + interval '1 hour', user_id
     from given where kind = 'api'`,
    [JSON.stringify(rows.flat())],
  );
  return cells;
}

/**
 * Calls every field as every principal; returns the problems, one line per cell.
 * @param singleOf the scopes of tokens that have only one, for the field at a place of `asked`
 */
async function runMatrix(
  asked: readonly RootField[],
  singleOf: (place: number) => readonly string[] = () => keys,
): Promise<{ cells: number; wrong: string[] }> {
  const cells = await makeCells(asked, singleOf);
  const left = [...cells];
  const wrong: string[] = [];
  const work = async () => {
    for (let cell = left.shift(); cell; cell = left.shift()) {
      const { field, token } = cell;
      const { errors } = await service.ask(field.document, { token, variables: field.variables });
      const complaint = judge(cell, errors ?? []);
      if (complaint !== null) wrong.push(complaint);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return { cells: cells.length, wrong };
}

describe("every root field, called by every principal", () => {
  test("rejects and accepts as its guard declares", async () => {
    // Another scope for each field, so that every scope is tried on several fields.
    const { cells, wrong } = await runMatrix(fields, (place) => [keys[place % keys.length] ?? ""]);
    expect(wrong).toEqual([]);
    expect(cells).toBeGreaterThanOrEqual(fields.length * 7);
    expect(fields.length).toBeGreaterThan(keys.length);
    expect(keys.length).toBeGreaterThanOrEqual(30);
  });
});

describe("the matrix", () => {
  const lying = (name: string, guard: RootField["guard"]) =>
    fields.filter((field) => field.name === name).map((field) => ({ ...field, guard }));

  test("detects a field that requires another permission than it declares", async () => {
    const { wrong } = await runMatrix(lying("permissions", ["orders.read"]));
    expect(wrong).toContain(
      'permissions by a token of permissions.read alone: wanted "Missing required permission: orders.read", got no error',
    );
    expect(wrong).toContain(
      "permissions by a token of orders.read alone: wanted to pass the guard, got FORBIDDEN: Missing required permission: permissions.read",
    );
  });

  test.each<[string, RootField["guard"], string]>([
    [
      "public",
      "public",
      "me by nobody: wanted to pass the guard, got UNAUTHENTICATED: You are not logged in",
    ],
    [
      "closed to scoped tokens",
      "login",
      `me by a token of ai.use alone: wanted "${scopedRefusal}", got no error`,
    ],
    [
      "closed to all tokens",
      "session",
      `me by an unlimited token: wanted "${tokenRefusal}", got no error`,
    ],
  ])("detects that `me` is not %s", async (_what, guard, complaint) => {
    const { wrong } = await runMatrix(lying("me", guard));
    expect(wrong).toContain(complaint);
  });
});
