import { type Storage, diskFullAt } from "./diskFull.ts";

/** Whether calls are let through at present: `open` means that they fail at once, `half-open` that one call tries. */
export type Circuit = "closed" | "half-open" | "open";

/** A system that the process needs and does not own. */
export interface ExternalSystem {
  name: string;
  /** The circuit breaker's state, where calls go through one. */
  circuit?: () => Circuit;
  /** What the system writes to, where a full disk is noted. */
  storage?: Storage;
  /**
   * Asks for as little as shows that the system answers; resolves with a few words about it, if there are any.
   * Absent where nothing can be asked without doing something.
   */
  check?: (signal: AbortSignal) => Promise<string | undefined>;
}

/** How a system was found. */
export interface SystemState {
  name: string;
  /** `full` where it answers, and a write found its disk full; `unknown` where it cannot be asked and its circuit is closed. */
  state: "up" | "full" | "down" | "unknown";
  circuit?: Circuit;
  /** In words for operators, without secrets. */
  detail?: string;
  ms?: number;
}

/** The outside systems of one process. */
export interface ExternalSystems {
  /** One of the same name takes the place of an earlier one. */
  add(system: ExternalSystem): void;
  all(): readonly ExternalSystem[];
  /** Asks all of them at once. Those who ask within a few seconds get the same answer: looking at a page is no load. */
  look(): Promise<readonly SystemState[]>;
}

const answerMs = 3_000;
const freshMs = 5_000;

export function makeExternalSystems(): ExternalSystems {
  const systems = new Map<string, ExternalSystem>();
  let last: { at: number; found: Promise<readonly SystemState[]> } | undefined;
  return {
    add: (system) => void systems.set(system.name, system),
    all: () => [...systems.values()],
    look() {
      if (!last || performance.now() - last.at > freshMs)
        last = {
          at: performance.now(),
          found: Promise.all([...systems.values()].map(lookAt)),
        };
      return last.found;
    },
  };
}

async function lookAt(system: ExternalSystem): Promise<SystemState> {
  const found = await answerOf(system);
  const fullAt = system.storage && diskFullAt(system.storage);
  if (!fullAt) return found;
  const detail = `${found.detail ? `${found.detail}; ` : ""}disk full at ${fullAt.toISOString()}`;
  return { ...found, state: found.state === "down" ? "down" : "full", detail };
}

async function answerOf({ name, circuit, check }: ExternalSystem): Promise<SystemState> {
  const started = performance.now();
  const shown = circuit ? { circuit: circuit() } : {};
  if (!check) return { name, state: shown.circuit === "open" ? "down" : "unknown", ...shown };
  const signal = AbortSignal.timeout(answerMs);
  try {
    const detail = await Promise.race([check(signal), late(signal)]);
    const ms = Math.round(performance.now() - started);
    return { name, state: "up", ...shown, ...(detail === undefined ? {} : { detail }), ms };
  } catch (error) {
    const ms = Math.round(performance.now() - started);
    const detail = signal.aborted ? `no answer within ${answerMs} ms` : messageOf(error);
    return { name, state: "down", ...shown, detail, ms };
  }
}

/** For checks that take no notice of their signal. */
function late(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("late")), { once: true });
  });
}

/** What an error says, for operators. Addresses can hold logins: what looks like one is left out. */
export function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).replace(/\/\/[^/\s@]*@/g, "//").slice(0, 300);
}
