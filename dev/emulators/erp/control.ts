import { z } from "zod";
import type { FaultQueue } from "../faultQueue.ts";
import { type Fault, faultSchema } from "./faults.ts";
import { orderFaults } from "./orderMaker.ts";
import { ApiProblem } from "./problem.ts";
import { randomOf } from "./random.ts";
import type { Json, Row, Table } from "./table.ts";
import { textOf } from "./table.ts";
import type { TokenIssuer } from "./tokens.ts";
import type { World } from "./world.ts";

/** A recorded request. */
export interface SeenRequest {
  at: number;
  method: string;
  path: string;
  requestId: string | null;
  prefer: string | null;
  status: number | null;
}

export interface ControlOptions {
  world: World;
  faults: FaultQueue<Fault>;
  tokens: TokenIssuer;
  seen: readonly SeenRequest[];
  count: () => number;
}

const json: z.ZodType<Json> = z.json();
const properties = z.record(z.string().max(200), json);
const newOrders = z.strictObject({
  count: z.int().min(1).max(10_000).default(1),
  fault: z.enum(orderFaults).nullish(),
  properties: properties.default({}),
});
const touch = z.strictObject({
  count: z.int().min(1).max(1_000_000).optional(),
  numbers: z.array(z.string()).optional(),
  /** One time of change for all of them, instead of the current time. */
  at: z.iso.datetime().optional(),
});

/**
 * The control API at `/_emulator`: reads and changes the data, and sets faults.
 * @throws ApiProblem for an unknown path
 */
export function control(
  { world, faults, tokens, seen, count }: ControlOptions,
  method: string,
  path: readonly string[],
  search: URLSearchParams,
  body: unknown,
): unknown {
  const [place = "", key, action] = path;
  const route = `${method} ${[place || "", key && ":key", action].filter(Boolean).join("/")}`;
  switch (route) {
    case "GET ":
      return {
        now: new Date(world.now()).toISOString(),
        companyId: world.companyId,
        records: Object.fromEntries(
          Object.entries(world.tables).map(([set, table]) => [set, table.entries().length]),
        ),
        requests: count(),
        tokens: tokens.issued(),
        faults: faults.pending(),
        orderFaults,
      };
    case "GET requests":
      return seen;
    case "POST faults":
      faults.add(faultSchema.parse(body));
      return { faults: faults.pending() };
    case "DELETE faults":
      faults.clear();
      return { faults: [] };
    case "POST tokens/:key":
      if (key !== "expire") break;
      tokens.expireAll();
      return {};
    case "PUT clock":
      world.skew(z.strictObject({ skewMs: z.int() }).parse(body).skewMs);
      return { now: new Date(world.now()).toISOString() };
    case "POST salesOrders": {
      const { count: wanted, fault = null, properties: given } = newOrders.parse(body ?? {});
      return { numbers: Array.from({ length: wanted }, () => world.addOrder(fault, given)) };
    }
    case "POST salesOrders/:key":
      if (key !== "touch") break;
      return { numbers: touchOrders(world, touch.parse(body ?? {})) };
    case "POST salesOrders/:key/repair":
      return found(key, world.repair(key ?? ""));
    case "DELETE salesOrders/:key":
      return found(key, world.endOrder(key ?? "", search.get("invoiced") === "true"));
    default: {
      const table = world.tables[place];
      if (table === undefined || key === undefined || action !== undefined) break;
      if (method === "PATCH") return patchRecord(table, key, properties.parse(body), world.now());
      if (method === "DELETE") return found(key, table.remove(key));
      if (method === "GET") {
        const entry = table.find(key);
        return entry === undefined ? found(key, false) : table.show(entry);
      }
    }
  }
  throw new ApiProblem(404, "NotFound", `The emulator has no route ${method} /${path.join("/")}`);
}

function found(key: string | undefined, done: boolean): unknown {
  if (!done) throw new ApiProblem(404, "NotFound", `The emulator has no ${key ?? ""}`);
  return { key };
}

/** Sets properties by path, such as `salesOrderLines[0].quantity`. Values are not checked: tests set invalid ones. */
function patchRecord(
  table: Table,
  key: string,
  given: Readonly<Record<string, Json>>,
  now: number,
): Row {
  const entry = table.find(key);
  if (entry === undefined) throw new ApiProblem(404, "NotFound", `The emulator has no ${key}`);
  const { lastModifiedDateTime: at, ...row } = structuredClone(table.show(entry));
  delete row["@odata.etag"];
  for (const [path, value] of Object.entries(given)) setAt(row, path, value);
  const wanted = row["lastModifiedDateTime"];
  // A test may backdate the change.
  const modified = typeof wanted === "string" ? Date.parse(wanted) : now;
  if (!Number.isNaN(modified)) delete row["lastModifiedDateTime"];
  table.put(key, row, Number.isNaN(modified) ? Date.parse(textOf(at)) : modified);
  const after = table.find(key);
  return after === undefined ? row : table.show(after);
}

function setAt(row: Row, path: string, value: Json): void {
  const steps = path.split(/[.[\]]+/).filter(Boolean);
  const last = steps.pop();
  let place: Json | undefined = row;
  for (const step of steps)
    // Own properties only: a path through `__proto__` would change all objects of the process.
    place =
      place !== null && typeof place === "object" && Object.hasOwn(place, step)
        ? (place as Record<string, Json>)[step]
        : null;
  if (last === undefined || last === "__proto__" || place === null || typeof place !== "object")
    throw new ApiProblem(400, "BadRequest", `The record has no ${path}`);
  (place as Record<string, Json>)[last] = value;
}

/** Marks orders as changed: the given ones, or `count` random ones. */
export function touchOrders(
  world: World,
  { count, numbers, at }: z.output<typeof touch>,
): readonly string[] {
  const table = world.tables["salesOrders"];
  if (table === undefined) return [];
  const all = table.entries();
  const random = randomOf("touch", all.at(-1)?.modified ?? 0, count ?? 0);
  const every = count !== undefined && count >= all.length;
  const chosen =
    numbers ??
    (every
      ? all.map(({ key }) => key)
      : Array.from({ length: count ?? 1 }, () => all[random.below(all.length)]?.key ?? ""));
  for (const number of chosen) {
    const entry = table.find(number);
    if (entry === undefined) continue;
    const row = table.show(entry);
    delete row["lastModifiedDateTime"];
    delete row["@odata.etag"];
    table.put(number, row, at === undefined ? world.now() : Date.parse(at));
  }
  return chosen;
}
