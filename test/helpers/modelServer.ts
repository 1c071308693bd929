import type { SeenRequest } from "../../dev/emulators/model/control.ts";
import type { Fault } from "../../dev/emulators/model/faults.ts";
import type { Manner } from "../../dev/emulators/model/conversation.ts";
import type { ModelServerOptions } from "../../dev/emulators/modelServer.ts";
import { startModelServer } from "../../dev/emulators/modelServer.ts";

/** A fault without the fields that have defaults in its schema. */
export type OrderedFault = { kind: Fault["kind"] } & Record<string, unknown>;

/** The language-model emulator and its control API. */
export interface ModelHarness {
  env: Readonly<Record<string, string>>;
  controlUrl: string;
  fail(fault: OrderedFault): Promise<unknown>;
  setManner(manner: Manner): Promise<unknown>;
  /** The requests, oldest first. */
  requests(): Promise<SeenRequest[]>;
  /** Removes all faults and restores the careful manner. */
  calm(): Promise<void>;
  stop(): Promise<void>;
}

export async function startModel(options: Partial<ModelServerOptions> = {}): Promise<ModelHarness> {
  const server = await startModelServer({ port: 0, ...options });
  const order = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(server.controlUrl + path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return response.json();
  };
  const setManner = (manner: Manner) => order("PUT", "/manner", { manner });
  return {
    env: server.env,
    controlUrl: server.controlUrl,
    fail: (fault) => order("POST", "/faults", fault),
    setManner,
    requests: async () => (await order("GET", "/requests")) as SeenRequest[],
    async calm() {
      await order("DELETE", "/faults");
      await setManner("careful");
    },
    stop: () => server.stop(),
  };
}
