import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
} from "cockatiel";
import type { Pool } from "pg";
import { circuitOf } from "../health/circuitOf.ts";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";
import type { Circuit } from "../health/externalSystems.ts";
import { type ClientOptions, prepareConnection, type Rows, runPipelined } from "./requestClient.ts";
import type { Statement } from "./PipelinedQuery.ts";
import { type Settings, setLocalStatement } from "./setLocalStatement.ts";

/** Why a read that a replica might have answered was left to the primary. */
export type LeftBecause = "late" | "away" | "refused";

/** A read, and how fresh its answer has to be. */
export interface ReplicaRead {
  /** From `write_mark()` of the primary, at a moment after the request came. */
  mark: string;
  tenant: string;
  /** Who asks and all other settings of the request, as the primary told. */
  settings: Settings;
  statement: Statement;
}

/** A hot standby that answers what it can answer as freshly as the primary. */
export interface Replica {
  /** Rows as the primary would give them; null where the primary has to be asked. @throws DatabaseError where the read took too long */
  read<Row>(read: ReplicaRead): Promise<Rows<Row> | null>;
  /** Whether it is left in peace at present: nothing needs to be found out for it. */
  rests(): boolean;
  circuit(): Circuit;
  /** How many reads it answered, and how many it left to the primary. */
  counts(): Readonly<Record<LeftBecause | "answered", number>>;
}

interface ReplicaOptions extends ClientOptions {
  /** How long a read waits for the replica to come to its mark, in milliseconds. */
  waitMs: number;
  /** How long a statement may run, in milliseconds. */
  statementTimeoutMs: number;
}

// So many reads that it could not answer, one after the other, and it is left alone for a while.
const failuresToRest = 5;
const restMs = 1_000;
/** How much longer than it should an answer of a replica takes that is given up, in milliseconds. */
const slackMs = 500;

/** The replica does not say that it has come to the mark, or does not answer after that. */
class SilentReplicaError extends Error {
  override name = "SilentReplicaError";
}

/** `pool` acts as `office_server` at the replica; it should not wait long for a connection. */
export function makeReplica(pool: Pool, options: ReplicaOptions): Replica {
  const { waitMs, statementTimeoutMs, prepared } = options;
  const counts = { answered: 0, late: 0, away: 0, refused: 0 };
  const breaker = circuitBreaker(handleWhen(countsAgainst), {
    halfOpenAfter: restMs,
    breaker: new ConsecutiveBreaker(failuresToRest),
  });
  // While one read tries whether it is back, the others would wait for that.
  const isTried = () => breaker.state === CircuitState.HalfOpen;
  let restsUntil = 0;
  breaker.onBreak(() => (restsUntil = performance.now() + restMs));

  async function attempt<Row>({ mark, tenant, settings, statement }: ReplicaRead) {
    const client = await pool.connect();
    let failure: Error | undefined;
    let timer: NodeJS.Timeout | undefined;
    const silence = Promise.withResolvers<never>();
    const expect = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        failure = new SilentReplicaError("The replica is silent");
        silence.reject(failure);
      }, ms + slackMs);
    };
    const prelude = [
      {
        // Where nothing is kept prepared, there are many tenants on one connection.
        ...(prepared > 0 ? { name: "office_wait" } : {}),
        text: `select "${tenant}".wait_for_mark($1, $2)`,
        values: [mark, String(waitMs)],
      },
      setLocalStatement({ ...settings, transaction_read_only: "on" }, null, options.prepared),
    ];
    try {
      expect(waitMs);
      const answer = prepareConnection(client).then(() =>
        // Each statement sees what is there when it begins: the last one what was waited for.
        runPipelined<Row>(client, prelude, [statement], prepared, () => expect(statementTimeoutMs)),
      );
      answer.catch(() => undefined);
      return await Promise.race([answer, silence.promise]);
    } finally {
      clearTimeout(timer);
      // One that is silent is cut, with what it may still say.
      client.release(failure);
    }
  }

  return {
    async read(read) {
      if (isTried()) {
        counts.away++;
        return null;
      }
      const started = performance.now();
      try {
        const rows = await breaker.execute(() => attempt<never>(read));
        counts.answered++;
        return rows;
      } catch (error) {
        // At the primary it would take as long again.
        if (codeOf(error) === "57014" && performance.now() - started >= statementTimeoutMs)
          throw error;
        counts[leftBecause(error)]++;
        return null;
      }
    },
    rests: () =>
      isTried() || (breaker.state === CircuitState.Open && performance.now() < restsUntil),
    circuit: () => circuitOf(breaker),
    counts: () => counts,
  };
}

function codeOf(error: unknown): string {
  return isDatabaseError(error) ? (error.code ?? "") : "";
}

// What `wait_for_mark` raises: another database's mark, and too far behind.
const elsewhere = "OFR01";
const late = "OFR02";

/** Whether it cannot be had, or is not what it should be, rather than having refused one statement. */
function countsAgainst(error: unknown): boolean {
  if (error instanceof SilentReplicaError) return true;
  const code = codeOf(error);
  if (code === elsewhere || code === late) return true;
  // It refuses to write, as it should.
  return code !== "25006" && isOutage(error);
}

function leftBecause(error: unknown): LeftBecause {
  if (codeOf(error) === late) return "late";
  return error instanceof BrokenCircuitError || countsAgainst(error) ? "away" : "refused";
}
