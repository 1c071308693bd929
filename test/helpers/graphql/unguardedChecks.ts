import { randomUUID } from "node:crypto";
import type { Identity } from "../../../src/auth/identity.ts";
import { settingsOf } from "../../../src/auth/identity.ts";
import { checkGuard } from "../../../src/auth/guards.ts";
import { nobody } from "../../../dev/access/matrix.ts";
import { own } from "../../../dev/access/seed.ts";
import type { TestDatabase } from "../database.ts";
import { makeTableDigests } from "../db/tableDigests.ts";
import { requestOf } from "../requestOf.ts";
import type { Hiding, Visible } from "./hiddenRows.ts";
import type { RootField } from "./rootFields.ts";
import type { Unguarded } from "./withoutGuards.ts";

/** A caller, and its names in the expectations of the tables. */
export interface Principal {
  name: string;
  expectedAs: readonly string[];
  identity: Identity | null;
}

/** The dependencies of the checks. */
export interface Stage {
  database: TestDatabase;
  api: Unguarded;
  hiding: Hiding;
  /** All permission keys. */
  keys: readonly string[];
  /** An API token of the caller. */
  tokenId: string;
}

/** Callers with all permissions or none. */
function generalPrincipals({ keys, tokenId }: Stage): Principal[] {
  const identity = (permissions: readonly string[], scoped: boolean, byToken: boolean) => ({
    userId: own.user,
    sessionId: byToken ? null : randomUUID(),
    tokenId: byToken ? tokenId : null,
    permissions: new Set(permissions),
    scoped,
  });
  const all = "every permission";
  const powerless = "a scoped token without permissions";
  return [
    { name: "nobody", expectedAs: ["no login"], identity: null },
    {
      name: "a session without permissions",
      expectedAs: [nobody, `${nobody}, but a department`],
      identity: identity([], false, false),
    },
    { name: "a session", expectedAs: [all], identity: identity(keys, false, false) },
    {
      name: "an unlimited token",
      expectedAs: [`an unlimited token of ${all}`],
      identity: identity(keys, false, true),
    },
    { name: powerless, expectedAs: [nobody, powerless], identity: identity([], true, true) },
  ];
}

/** All kinds of callers, as in the access matrix with guards. */
function principals(stage: Stage): Principal[] {
  const { keys, tokenId } = stage;
  return [
    ...generalPrincipals(stage),
    ...keys.map((key) => ({
      name: `a token of ${key} alone`,
      expectedAs: [key],
      identity: tokenOf(tokenId, [key]),
    })),
  ];
}

/** An API token of the caller with these scopes. */
export const tokenOf = (tokenId: string, permissions: readonly string[]): Identity => ({
  userId: own.user,
  sessionId: null,
  tokenId,
  permissions: new Set(permissions),
  scoped: true,
});

function passes({ guard }: RootField, identity: Identity | null): boolean {
  try {
    checkGuard(guard as Parameters<typeof checkGuard>[0], { identity, hasToken: true });
    return true;
  } catch {
    return false;
  }
}

/** Whether a response contains any value: a row, a number or a text. */
function hasContent(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasContent);
  if (typeof value === "object" && value !== null) return Object.values(value).some(hasContent);
  return ![null, undefined, false, 0, "0", ""].includes(value as never);
}

interface Cell {
  field: RootField;
  guarded: boolean;
  answer: string;
}

/**
 * Calls every field as every principal, then again without the rows that the principal may not read. A different
 * response is a leak.
 * If the guard accepts the principal, closed tables keep their rows, because a guarded function may show them.
 */
export async function findLeaks(
  stage: Stage,
  asked: readonly RootField[],
  only = principals(stage),
): Promise<string[]> {
  const { api, hiding } = stage;
  const leaks: string[] = [];
  const variants = (await Promise.all(asked.map((field) => api.withIds(field)))).flat();
  const settings = only.map(({ identity, expectedAs }) => ({
    names: expectedAs,
    settings: settingsOf(requestOf(identity), {
      statementTimeoutMs: 15_000,
      invitationDays: 7,
      exportMaxProducts: 1,
      searchPrefix: "",
    }),
  }));
  const visible = await hiding.see(settings);
  for (const [index, principal] of only.entries()) {
    const answers = await inParallel(variants, async (field): Promise<Cell[]> => {
      const { data } = await api.run(field, principal.identity);
      const guarded = !passes(field, principal.identity);
      return hasContent(data) ? [{ field, guarded, answer: JSON.stringify(data) }] : [];
    });
    const cells = answers.flat();
    for (const guarded of [true, false]) {
      const some = cells.filter((cell) => cell.guarded === guarded);
      if (some.length > 0)
        leaks.push(...(await changedWithout(stage, visible[index] ?? new Map(), some, principal)));
    }
  }
  return [...new Set(leaks)];
}

async function changedWithout(
  { api, hiding }: Stage,
  visible: Visible,
  cells: readonly Cell[],
  { name, identity }: Principal,
): Promise<string[]> {
  return hiding.without(visible, cells[0]?.guarded === false, async () => {
    const changed = await inParallel(cells, async ({ field, answer }) => {
      const { data } = await api.run(field, identity);
      return JSON.stringify(data) === answer ? [] : [`${field.name} by ${name}`];
    });
    return changed.flat();
  });
}

/** Processes four items at a time, one per connection. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const left = items.entries();
  const results: Result[] = [];
  const worker = async () => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return results;
}

/**
 * The principals that may not call a mutation and hold as much as possible: all permissions but one that the guard
 * requires. No permission takes rights away, so that a caller with fewer of them can do no more.
 * If the guard names no permission, the function decides, and the token lacks the keys that the description names.
 */
function lacking({ api, keys, tokenId }: Stage, field: RootField): Principal[] {
  const allBut = (missing: readonly string[], scoped: boolean): Principal => ({
    name: `a ${scoped ? "token" : "session"} of all but ${missing.join(" and ") || "nothing"}`,
    expectedAs: [],
    identity: {
      ...tokenOf(
        tokenId,
        keys.filter((key) => !missing.includes(key)),
      ),
      sessionId: scoped ? null : randomUUID(),
      tokenId: scoped ? tokenId : null,
      scoped,
    },
  });
  if (typeof field.guard === "string") return [allBut(api.keysInDescription(field), true)];
  return field.guard.flatMap((missing) => [allBut([missing], false), allBut([missing], true)]);
}

/** Calls each mutation as the callers that its guard rejects, with no permission or with as many as possible. */
export async function findWrites(stage: Stage, mutations: readonly RootField[]): Promise<string[]> {
  const { api, hiding } = stage;
  const written: string[] = [];
  const prints = makeTableDigests(stage.database.pool, "t::text");
  let before = await prints(hiding.tables);
  for (const field of mutations) {
    // Usually one row of the caller and one of another user.
    const variants = await api.withIds(field);
    const some = [...new Set([variants[0] ?? field, variants.at(-1) ?? field])];
    const trying = [...generalPrincipals(stage), ...lacking(stage, field)].filter(({ identity }) =>
      typeof field.guard === "string" ? !identity || identity.scoped : !passes(field, identity),
    );
    const tries = trying.flatMap((principal) => some.map((variant) => ({ principal, variant })));
    const answered = await inParallel(tries, async ({ principal: { name, identity }, variant }) =>
      (await api.run(variant, identity)).errors ? [] : [name],
    );
    const after = await prints(hiding.tables);
    const changed = hiding.tables.filter((table) => after.get(table) !== before.get(table));
    before = after;
    if (changed.length > 0)
      written.push(
        `${field.name} wrote ${changed.join(", ")} for ${[...new Set(answered.flat())].join(", ")}`,
      );
  }
  return written;
}
