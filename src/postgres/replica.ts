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

/** Why the primary answered a read that the replica could have answered. */
export type FallbackReason = "late" | "away" | "refused";

/** A read and its required freshness. */
export interface ReplicaRead {
  /** From `write_mark()` of the primary, after the request arrived. */
  mark: string;
  tenant: string;
  /** Identity and settings of the request, from the primary. */
  settings: Settings;
  statement: Statement;
}

/** A hot standby that answers as freshly as the primary. */
export interface Replica {
  /** The rows; null where the primary has to answer. @throws DatabaseError where the read took too long */
  read<Row>(read: ReplicaRead): Promise<Rows<Row> | null>;
  /** Whether the circuit breaker is open. */
  isCircuitOpen(): boolean;
  circuit(): Circuit;
  /** The numbers of reads answered here and left to the primary. */
  counts(): Readonly<Record<FallbackReason | "answered", number>>;
}

interface ReplicaOptions extends ClientOptions {
  /** How long a read waits for the replica to replay its mark, in milliseconds. */
  waitMs: number;
  /** Statement time-out in milliseconds. */
  statementTimeoutMs: number;
}

// Consecutive failures that open the circuit breaker.
const failuresToOpen = 5;
const halfOpenAfterMs = 1_000;
/** How long a response may be overdue before the connection is destroyed, in milliseconds. */
const slackMs = 500;

/** The replica did not confirm the mark, or did not respond after it. */
class SilentReplicaError extends Error {
  override name = "SilentReplicaError";
}

/** @param pool acts as `office_server` at the replica and should not wait long for a connection */
export function makeReplica(pool: Pool, options: ReplicaOptions): Replica {
  const { waitMs, statementTimeoutMs, prepared } = options;
  const counts = { answered: 0, late: 0, away: 0, refused: 0 };
  const breaker = circuitBreaker(handleWhen(isReplicaFailure), {
    halfOpenAfter: halfOpenAfterMs,
    breaker: new ConsecutiveBreaker(failuresToOpen),
  });
  // While one read probes the replica, others go to the primary.
  const isProbing = () => breaker.state === CircuitState.HalfOpen;
  let openUntil = 0;
  breaker.onBreak(() => (openUntil = performance.now() + halfOpenAfterMs));

  async function attempt<Row>({ mark, tenant, settings, statement }: ReplicaRead) {
    const client = await pool.connect();
    let failure: Error | undefined;
    let timer: NodeJS.Timeout | undefined;
    const silence = Promise.withResolvers<never>();
    const startTimeout = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        failure = new SilentReplicaError("The replica is silent");
        silence.reject(failure);
      }, ms + slackMs);
    };
    const prelude = [
      {
        // Without prepared statements one connection serves many tenant schemas.
        ...(prepared > 0 ? { name: "office_wait" } : {}),
        text: `select "${tenant}".wait_for_mark($1, $2)`,
        values: [mark, String(waitMs)],
      },
      setLocalStatement({ ...settings, transaction_read_only: "on" }, null, options.prepared),
    ];
    try {
      startTimeout(waitMs);
      const answer = prepareConnection(client).then(() =>
        // Each statement has its own snapshot, so the last one sees the changes up to the mark.
        runPipelined<Row>(client, prelude, [statement], prepared, () =>
          startTimeout(statementTimeoutMs),
        ),
      );
      answer.catch(() => undefined);
      return await Promise.race([answer, silence.promise]);
    } finally {
      clearTimeout(timer);
      // Destroys a connection that timed out.
      client.release(failure);
    }
  }

  return {
    async read(read) {
      if (isProbing()) {
        counts.away++;
        return null;
      }
      const started = performance.now();
      try {
        const rows = await breaker.execute(() => attempt<never>(read));
        counts.answered++;
        return rows;
      } catch (error) {
        // The primary would take as long again.
        if (codeOf(error) === "57014" && performance.now() - started >= statementTimeoutMs)
          throw error;
        counts[fallbackReason(error)]++;
        return null;
      }
    },
    isCircuitOpen: () =>
      isProbing() || (breaker.state === CircuitState.Open && performance.now() < openUntil),
    circuit: () => circuitOf(breaker),
    counts: () => counts,
  };
}

function codeOf(error: unknown): string {
  return isDatabaseError(error) ? (error.code ?? "") : "";
}

// Raised by `wait_for_mark`: a mark of another database, and a replica too far behind.
const foreignMarkCode = "OFR01";
const replicaBehindCode = "OFR02";

/** Whether the replica is unavailable or wrong, rather than having rejected one statement. */
function isReplicaFailure(error: unknown): boolean {
  if (error instanceof SilentReplicaError) return true;
  const code = codeOf(error);
  if (code === foreignMarkCode || code === replicaBehindCode) return true;
  // A rejected write is correct.
  return code !== "25006" && isOutage(error);
}

function fallbackReason(error: unknown): FallbackReason {
  if (codeOf(error) === replicaBehindCode) return "late";
  return error instanceof BrokenCircuitError || isReplicaFailure(error) ? "away" : "refused";
}
