import { type Storage, diskFullAt } from "./diskFull.ts";

/** The state of a circuit breaker: `open` fails calls at once, `half-open` lets one call try. */
export type Circuit = "closed" | "half-open" | "open";

/** A system that the process depends on. */
export interface ExternalSystem {
  name: string;
  /** The state of its circuit breaker, if it has one. */
  circuit?: () => Circuit;
  /** The disk that the system writes to. */
  storage?: Storage;
  /**
   * The cheapest call that shows that the system responds; resolves with a detail for operators, if any. Absent when
   * every call has an effect.
   */
  check?: (signal: AbortSignal) => Promise<string | undefined>;
}

/** The result of a check. */
export interface SystemState {
  name: string;
  /**
   * `full`: it responds, and a recent write found its disk full. `unknown`: it has no check, and its circuit is not
   * open.
   */
  state: "up" | "full" | "down" | "unknown";
  circuit?: Circuit;
  /** For operators, without secrets. */
  detail?: string;
  ms?: number;
}

/** The external systems of one process. */
export interface ExternalSystems {
  /** Replaces a system of the same name. */
  add(system: ExternalSystem): void;
  all(): readonly ExternalSystem[];
  /**
   * Checks all systems at the same time. Results are cached for a few seconds, so that reloading the page causes no
   * load.
   */
  check(): Promise<readonly SystemState[]>;
}

const responseTimeoutMs = 3_000;
const cacheMs = 5_000;

export function makeExternalSystems(): ExternalSystems {
  const systems = new Map<string, ExternalSystem>();
  let last: { at: number; found: Promise<readonly SystemState[]> } | undefined;
  return {
    add: (system) => void systems.set(system.name, system),
    all: () => [...systems.values()],
    check() {
      if (!last || performance.now() - last.at > cacheMs)
        last = {
          at: performance.now(),
          found: Promise.all([...systems.values()].map(checkSystem)),
        };
      return last.found;
    },
  };
}

async function checkSystem(system: ExternalSystem): Promise<SystemState> {
  const found = await checkNow(system);
  const fullAt = system.storage && diskFullAt(system.storage);
  if (!fullAt) return found;
  const detail = `${found.detail ? `${found.detail}; ` : ""}disk full at ${fullAt.toISOString()}`;
  return { ...found, state: found.state === "down" ? "down" : "full", detail };
}

async function checkNow({ name, circuit, check }: ExternalSystem): Promise<SystemState> {
  const started = performance.now();
  const shown = circuit ? { circuit: circuit() } : {};
  if (!check) return { name, state: shown.circuit === "open" ? "down" : "unknown", ...shown };
  const signal = AbortSignal.timeout(responseTimeoutMs);
  try {
    const detail = await Promise.race([check(signal), timeoutOf(signal)]);
    const ms = Math.round(performance.now() - started);
    return { name, state: "up", ...shown, ...(detail === undefined ? {} : { detail }), ms };
  } catch (error) {
    const ms = Math.round(performance.now() - started);
    const detail = signal.aborted ? `no answer within ${responseTimeoutMs} ms` : messageOf(error);
    return { name, state: "down", ...shown, detail, ms };
  }
}

/** For checks that ignore their signal. */
function timeoutOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("late")), { once: true });
  });
}

/** An error's message for operators, without credentials in URLs. */
export function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).replace(/\/\/[^/\s@]*@/g, "//").slice(0, 300);
}
