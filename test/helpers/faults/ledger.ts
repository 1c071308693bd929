import { setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";
import { type Random, randomOf } from "../../../dev/emulators/erp/random.ts";
import { faultSeed } from "../environment.ts";
import type { RawAnswer } from "../http.ts";
import { send } from "../http.ts";
import type { Author, Mutation, ExpectedRows } from "./mutations.ts";
import { nextMutation, noExpectedRows } from "./mutations.ts";

/** One try of a mutation as the client saw it. */
export interface Try {
  /** The end of the try, from `Date.now()`. */
  at: number;
  ms: number;
  /** `ok`, a retryable HTTP status, or `network`. */
  outcome: string;
  retryAfter: string | undefined;
}

/** Clients that continuously send mutations, and a record of the acknowledged ones. */
export interface Ledger {
  seed: string;
  promised: readonly ExpectedRows[];
  /** All tries so far, oldest first. */
  tries: readonly Try[];
  /** Responses that no fault explains; there must be none. */
  surprises: readonly string[];
  /** The number of acknowledged mutations. */
  acknowledged(): number;
  /** Waits until this many more were acknowledged. */
  waitForMore(count: number): Promise<void>;
  /** Lets each client repeat its current mutation until it is acknowledged, then stops it. */
  stop(): Promise<void>;
}

export interface LedgerOptions {
  /** The URL of the servers or of a proxy. */
  url: string;
  token: string;
  author: Omit<Author, "prefix">;
  /** Identifies the ledger within its database. */
  name: string;
  clients?: number;
  /** The longest pause between two mutations of a client. */
  pauseMs?: number;
}

const responseTimeoutMs = 40_000;
const lastMs = 90_000;

/**
 * Starts clients that make mutations with an `Idempotency-Key`, repeated until acknowledged. The seed determines the
 * mutations, but not their timing.
 */
export function startLedger(options: LedgerOptions): Ledger {
  const { url, token, author, name, clients = 4, pauseMs = 40 } = options;
  const tries: Try[] = [];
  const surprises: string[] = [];
  const promised: ExpectedRows[] = [];
  let acknowledged = 0;
  let stopping = false;

  const attempt = async (mutation: Mutation, key: string) => {
    const began = Date.now();
    const note = (outcome: string, retryAfter?: string) => {
      const at = Date.now();
      tries.push({ at, ms: at - began, outcome, retryAfter });
    };
    let answer: RawAnswer;
    try {
      answer = await withTimeout(
        send(url, {
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${token}`,
            "Idempotency-Key": key,
          },
          body: JSON.stringify({ query: mutation.document, variables: mutation.variables }),
        }),
      );
    } catch {
      note("network");
      return false;
    }
    const [error] = answer.json?.errors ?? [];
    if (answer.status === 503 || answer.status === 429) {
      note(String(answer.status), String(answer.headers["retry-after"] ?? ""));
      return false;
    }
    if (/^A request with this Idempotency-Key is still/.test(error?.message ?? "")) {
      note("busy");
      return false;
    }
    note("ok");
    // The first response was lost and contained a secret, so this one only confirms the mutation.
    const doneBefore = /^This request was completed before; its response contained a secret/.test(
      error?.message,
    );
    try {
      if (answer.status !== 200 || (error && !doneBefore))
        throw new Error(`${answer.status} ${JSON.stringify(error ?? answer.text)}`);
      mutation.acknowledge(doneBefore ? null : answer.json.data);
    } catch (problem) {
      surprises.push(`${mutation.kind} ${key}: ${String(problem)}`);
    }
    return true;
  };

  const perform = async (random: Random, mutation: Mutation, key: string) => {
    let stoppedAt: number | null = null;
    while (!(await attempt(mutation, key))) {
      if (stopping) stoppedAt ??= Date.now();
      if (stoppedAt !== null && Date.now() - stoppedAt > lastMs) {
        surprises.push(`${mutation.kind} ${key} was never acknowledged`);
        return;
      }
      await delay(50 + random.below(100));
    }
    acknowledged++;
  };

  const client = async (index: number) => {
    const own = noExpectedRows();
    promised.push(own);
    const random = randomOf(faultSeed, name, index);
    const prefix = `${name}${index}`;
    for (let count = 1; !stopping; count++) {
      const mutation = nextMutation(random, own, { ...author, prefix }, count);
      await perform(random, mutation, `${name}-${index}-${count}`);
      await delay(random.below(pauseMs) + 1);
    }
  };

  const running = Promise.all(Array.from({ length: clients }, (_, index) => client(index + 1)));
  return {
    seed: faultSeed,
    promised,
    tries,
    surprises,
    acknowledged: () => acknowledged,
    async waitForMore(count) {
      const wanted = acknowledged + count;
      const deadline = Date.now() + lastMs;
      while (acknowledged < wanted) {
        if (Date.now() > deadline)
          throw new Error(`only ${acknowledged} of ${wanted} mutations were acknowledged`);
        await delay(10);
      }
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no response")), responseTimeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
