import { setTimeout } from "node:timers/promises";
import { type ExecutionResult, type FieldNode, GraphQLError, getOperationAST } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import type { IdempotencyKey, RequestInfo } from "../auth/identity.ts";
import { conflict, type PublicError } from "../errors/PublicError.ts";
import { isCollision, isDatabaseError, isOutage } from "../errors/databaseErrors.ts";
import { toStoredAnswer, claimKey, storeAnswer, resultOf } from "../graphql/idempotency.ts";
import { makeOperationTransaction } from "../graphql/operationTransaction.ts";
import { hiddenIn } from "../graphql/hiddenInAnswer.ts";
import { rootFields } from "../graphql/rootFields.ts";
import type { WithRequestClient } from "../postgres/service.ts";
import { currentScope } from "../context/requestScope.ts";
import { recordReads } from "./ReadAuditPlugin.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** Set for a mutation that runs outside of the request's transaction and could deadlock with it. */
      outsideTransaction?: boolean;
    }
  }
}

interface Context {
  requestContext: RequestInfo;
  pgSettings: Record<string, string>;
  withPgClient: WithRequestClient;
}

type Execute = () => Promise<ExecutionResult>;

/** Attempts of an operation that loses against concurrent ones. */
const attempts = 4;
/** How long a request waits for another with the same key, and the pause between checks, in milliseconds. */
const maxWaitMs = 10_000;
const firstPauseMs = 25;

/**
 * Runs each mutation operation in one transaction, from its first field to the last value of its response. An operation
 * that fails as a whole (`data` is null, or the database is unavailable) has changed nothing; deadlocks and
 * serialisation failures are retried; a repeated `Idempotency-Key` returns the stored response.
 *
 * Logins differ: records of refused ones are committed, and attempts are counted outside of the transaction.
 */
export function makeMutationTransactionPlugin(
  publicError: (error: GraphQLError) => GraphQLError,
): GraphileConfig.Plugin {
  return {
    name: "MutationTransactionPlugin",
    version: "1.0.0",
    grafast: {
      middleware: {
        execute(next, { args }) {
          const fields = fieldsOf(args);
          const execute = async () => requireSingleResult(await next());
          return fields ? executeInTransaction(execute, args, fields, publicError) : next();
        },
      },
    },
  };
}

function requireSingleResult(result: object): ExecutionResult {
  if (Symbol.asyncIterator in result)
    throw new Error("The answer to a mutation comes in parts, which nothing here asks for");
  return result;
}

/** The root fields of a mutation that runs in one transaction; null for other operations. */
function fieldsOf({ schema, document, operationName }: GrafastExecutionArgs): FieldNode[] | null {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== "mutation") return null;
  const known = schema.getMutationType()?.getFields() ?? {};
  const asked = rootFields(document, operation);
  const outside = asked.some((node) => {
    const office = known[node.name.value]?.extensions.office as
      { outsideTransaction?: boolean } | undefined;
    return office?.outsideTransaction === true;
  });
  return outside ? null : asked;
}

async function executeInTransaction(
  execute: Execute,
  args: GrafastExecutionArgs,
  fields: readonly FieldNode[],
  publicError: (error: GraphQLError) => GraphQLError,
): Promise<ExecutionResult> {
  const context = args.contextValue as Context;
  const { withPgClient } = context;
  const { identity, idempotency } = context.requestContext;
  const settings = { ...context.pgSettings };
  // A key belongs to a caller. A request that logs in has none yet, and each login is separate.
  const key = identity && idempotency ? idempotency : null;
  const waitsUntil = Date.now() + maxWaitMs;
  let pause = firstPauseMs;

  for (let attempt = 1; ;) {
    const outcome = await inTransaction(attempt);
    if (typeof outcome === "object") return outcome;
    if (outcome === "collided") attempt++;
    else if (Date.now() > waitsUntil) throw keyInUseError();
    await setTimeout(pause * (0.5 + Math.random()));
    pause = Math.min(pause * 2, 1_000);
  }

  async function inTransaction(attempt: number): Promise<ExecutionResult | "busy" | "collided"> {
    Object.assign(context.pgSettings, settings);
    const transaction = makeOperationTransaction(withPgClient, settings, fields.length > 1);
    context.withPgClient = transaction.withPgClient;
    let done = false;
    try {
      const claim = key && (await claimKey(context.withPgClient, settings, key));
      if (claim?.state === "busy") return "busy";
      const storedResult = claim?.state === "done" ? resultOf(claim.answer, args.document) : null;
      if (storedResult) {
        const scope = currentScope();
        if (scope) scope.replayed = true;
        await recordReads(args, storedResult);
      }
      const result = storedResult ?? (await execute());
      const causes = (result.errors ?? []).map(rootCause);
      if (causes.some(isCollision) && attempt < attempts) return "collided";
      const outage = causes.find(isOutage);
      if (outage instanceof Error) throw outage;
      if (transaction.isBroken()) return failedResult(result);
      if (result.data == null) return result;
      const answer = key && !storedResult ? await storeResult(key, result) : result;
      done = true;
      await transaction.commit();
      return answer;
    } finally {
      if (!done) await transaction.rollback();
      context.withPgClient = withPgClient;
    }
  }

  async function storeResult(
    under: IdempotencyKey,
    result: ExecutionResult,
  ): Promise<ExecutionResult> {
    const answer = toStoredAnswer(result, hiddenIn(args, result), publicError);
    await storeAnswer(context.withPgClient, settings, under, answer);
    return resultOf(answer, args.document);
  }
}

/** The result of an operation whose transaction failed: no data, and the errors that caused it. */
function failedResult({ errors = [] }: ExecutionResult): ExecutionResult {
  const first = errors.filter((error) => !isInFailedTransaction(rootCause(error)));
  return { data: null, errors: first.length > 0 ? first : errors };
}

function keyInUseError(): PublicError {
  return conflict(
    "A request with this Idempotency-Key is still running: send it again in a moment",
    { header: "Idempotency-Key" },
  );
}

function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** Whether a statement failed only because an earlier one of the transaction had failed. */
function isInFailedTransaction(cause: unknown): boolean {
  return isDatabaseError(cause) && cause.code === "25P02";
}
