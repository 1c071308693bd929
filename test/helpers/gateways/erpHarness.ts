import { readConfig } from "../../../src/config.ts";
import type { ConstantOverrides } from "../../../src/settings/constants.ts";
import type { SeenRequest } from "../../../dev/emulators/erp/control.ts";
import type { ErpEmulatorOptions } from "../../../dev/emulators/erpEmulator.ts";
import { startErpEmulator } from "../../../dev/emulators/erpEmulator.ts";
import type {
  ErpClient,
  ErpOrder,
  ErpPage,
  UnreadableErpRecord,
} from "../../../src/gateways/erp.ts";
import { makeErpClient } from "../../../src/gateways/makeErpClient.ts";

/** Overrides of the ERP client's constants. */
type ErpConstants = NonNullable<ConstantOverrides["erp"]>;

/** The ERP emulator, with a client that is built from settings as in production. */
export interface Harness {
  erp: ErpClient;
  env: Readonly<Record<string, string>>;
  /** Creates another client of the same emulator, with other settings and constants. */
  client(env: Record<string, string>, erp?: ErpConstants): ErpClient;
  /** Sends a request below `/_emulator`; throws on an error response. */
  control(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** The requests to the emulator, oldest first. */
  requests(): Promise<SeenRequest[]>;
  fault(fault: Record<string, unknown>): Promise<void>;
  stop(): Promise<void>;
}

// The shortest delays that the settings allow.
const fastConstants: ErpConstants = { longestWaitMs: 100, breakerFailures: 100 };

export async function startHarness(
  options: Partial<ErpEmulatorOptions> = {},
  erp: ErpConstants = {},
): Promise<Harness> {
  const emulator = await startErpEmulator({ port: 0, seed: "test", orders: 50, ...options });
  const client = (env: Record<string, string>, own: ErpConstants = erp) => {
    const made = makeErpClient(
      readConfig({ ...emulator.env, ...env }, [], { erp: { ...fastConstants, ...own } }),
    );
    if (made === null) throw new Error("the settings name no ERP");
    return made;
  };
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${emulator.controlUrl}/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const control: Harness["control"] = async (method, path, body) =>
    (await ask(method, path, body)) as Record<string, unknown>;
  return {
    erp: client({}),
    env: emulator.env,
    client,
    control,
    requests: async () => (await ask("GET", "requests")) as SeenRequest[],
    async fault(fault) {
      await control("POST", "faults", fault);
    },
    stop: () => emulator.stop(),
  };
}

export interface Walk {
  orders: ErpOrder[];
  unreadable: UnreadableErpRecord[];
  cursor: string;
  pages: number;
}

/** Reads pages of orders until the last one, and calls `between` after each other page. */
export async function walkOrders(
  erp: ErpClient,
  cursor: string | null = null,
  between: (page: ErpPage<ErpOrder>) => Promise<void> | void = () => {},
): Promise<Walk> {
  const walk: Walk = { orders: [], unreadable: [], cursor: cursor ?? "", pages: 0 };
  for (let place = cursor; ;) {
    const page = await erp.changedOrders(place);
    walk.orders.push(...page.records);
    walk.unreadable.push(...page.unreadable);
    walk.pages++;
    walk.cursor = place = page.cursor;
    if (page.done) return walk;
    await between(page);
  }
}

/** The number of the emulator's order at an index. */
export const orderNumber = (index: number) => `S-ORD${100_001 + index}`;

export const numbersOf = (orders: readonly { number: string }[]) =>
  [...new Set(orders.map(({ number }) => number))].toSorted();
