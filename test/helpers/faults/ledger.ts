import { setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";
import { type Random, randomOf } from "../../../dev/emulators/erp/random.ts";
import { faultSeed } from "../environment.ts";
import type { RawAnswer } from "../http.ts";
import { send } from "../http.ts";
import type { Author, Mutation, Promised } from "./mutations.ts";
import { nextMutation, nothingPromised } from "./mutations.ts";

/** One try of a mutation, as the client saw it. */
export interface Try {
  /** By `Date.now()`, when it was over. */
  at: number;
  ms: number;
  /** `ok`, an HTTP status that asks to come again, or `network`. */
  outcome: string;
  retryAfter: string | undefined;
}

/** Clients that change things all the time, and what was acknowledged to them. */
export interface Ledger {
  seed: string;
  promised: readonly Promised[];
  /** All tries so far, oldest first. */
  tries: readonly Try[];
  /** Answers that no fault explains; there must be none. */
  surprises: readonly string[];
  /** Mutations that were acknowledged. */
  acknowledged(): number;
  /** Waits until so many more were acknowledged. */
  more(count: number): Promise<void>;
  /** Lets each client end what it has begun, which it sends until it is acknowledged; then none begins another. */
  stop(): Promise<void>;
}

export interface LedgerOptions {
  /** Of the servers, or of what stands before them. */
  url: string;
  token: string;
  author: Omit<Author, "prefix">;
  /** Names the ledger within its database. */
  name: string;
  clients?: number;
  /** The longest pause between two mutations of a client, in milliseconds. */
  pauseMs?: number;
}

const answerMs = 40_000;
const lastMs = 90_000;

/**
 * Starts clients that make mutations, each with an `Idempotency-Key` that it sends again until it is acknowledged. What they do
 * follows from the seed alone; when they do it, from the machine.
 */
export function startLedger(options: LedgerOptions): Ledger {
  const { url, token, author, name, clients = 4, pauseMs = 40 } = options;
  const tries: Try[] = [];
  const surprises: string[] = [];
  const promised: Promised[] = [];
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
    // The first answer was lost, and held a secret: it says no more than that it was done.
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
    const own = nothingPromised();
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
    async more(count) {
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
    const timer = setTimeout(() => reject(new Error("no answer")), answerMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
