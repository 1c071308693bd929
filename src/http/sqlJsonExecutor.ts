import { ExponentialBackoff, handleWhen, retry } from "cockatiel";
import type { RequestHandler, Response } from "express";
import {
  GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
  getOperationAST,
  isNonNullType,
} from "graphql";
import type { DatabaseError } from "pg";
import { anonymousSettings, requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import { compressAnswer, isCompressible } from "../graphql/compressAnswer.ts";
import type { Documents } from "../graphql/documents.ts";
import { rootFields } from "../graphql/rootFields.ts";
import { type SqlJsonOutcome, countSqlJsonOutcome } from "../health/sqlJsonOutcomes.ts";
import { type HiddenField, type HideablePlace, hiddenFrom } from "../graphql/hiddenFields.ts";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";
import {
  isCollision,
  isDatabaseError,
  isMissingValue,
  isOutage,
  isStalePlan,
} from "../errors/databaseErrors.ts";
import type { ReadReplicaAsPrincipal } from "../auth/queryReplica.ts";
import type { Principal, QueryAsPrincipal } from "../auth/queryAsPrincipal.ts";
import type { Text, TextAnswer } from "../postgres/textAnswer.ts";
import type { Call } from "../sqlJson/compileCall.ts";
import { rightsOf } from "../sqlJson/statement.ts";
import { type ReadStatement, makePlanCache } from "../sqlJson/planCache.ts";
import { coerceByParts, coerceVariables } from "../graphql/coerceVariables.ts";
import { applySkipInclude } from "../graphql/applySkipInclude.ts";
import { currentScope } from "../context/requestScope.ts";
import { sendBlocks } from "./sendBlocks.ts";

interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

interface SqlJsonExecutorOptions {
  config: Pick<
    Config,
    "limits" | "database" | "invitationDays" | "exports" | "search" | "sqlJson" | "production"
  >;
  documents: Documents;
  schema: () => GraphQLSchema;
  queryAsPrincipal: QueryAsPrincipal;
  /** For reads that write nothing; null without a replica. */
  readReplica: ReadReplicaAsPrincipal | null;
  /** Translates an error for the caller. */
  publicError: (error: GraphQLError) => GraphQLError;
}

/** The JSON of `data`, and the fields hidden in it. */
interface Answer {
  data: Text;
  hidden: readonly HiddenField[];
}

/**
 * Answers an operation with one message to the database whose result is the response's JSON: it authenticates, checks
 * guards and policies, and writes the audit log. It handles queries of rows and mutations that call a function. All
 * other operations, and those that a guard refuses, are left to Grafast.
 */
export function sqlJsonExecutor(options: SqlJsonExecutorOptions): RequestHandler {
  const { config, documents, schema, queryAsPrincipal, readReplica, publicError } = options;
  const settings = requestSettings(config);
  const plans = makePlanCache(schema, config.limits.planCache);

  const run = (principal: Principal, { read, records }: ReadStatement) =>
    readReplica && !records ? readReplica(principal, read) : queryAsPrincipal.read(principal, read);

  const answerMutation = async (
    { call, given }: { call: Call; given: Record<string, unknown> },
    principal: Principal,
    isLong: boolean,
  ): Promise<Answer | null> => {
    const coerced = isLong
      ? await coerceByParts(schema(), call.operation, given, yieldToEventLoop)
      : coerceVariables(schema(), call.operation, given);
    if (!coerced) return null;
    if (isLong) await yieldToEventLoop();
    const statements = call.statements(given, coerced);
    if (!statements) return null;
    if (isLong) await yieldToEventLoop();
    return answerOf(await queryAsPrincipal(principal, statements), call.places);
  };

  const answer = async (
    body: GraphqlBody,
    principal: Principal,
    isLong = false,
    hasKey = false,
  ): Promise<Answer | null> => {
    if (isLong) await yieldToEventLoop();
    const { query: text, operationName, variables } = body;
    const { document: whole } = documents.read(text);
    const operation = whole && getOperationAST(whole, operationName);
    const given = variables ?? {};
    const pruned = operation && applySkipInclude(whole, operation, given);
    if (!pruned) return null;
    const { document } = pruned;
    const operationRequest = {
      key: `${pruned.key}${operationName ?? ""}\n${text}`,
      document,
      operationName,
    };
    if (operation.operation === OperationTypeNode.MUTATION) {
      // The response to an Idempotency-Key is stored by Grafast's mutation plugin.
      const call = hasKey ? null : await plans.call(operationRequest);
      return call && answerMutation({ call, given }, principal, isLong);
    }
    const coerced = coerceVariables(schema(), operation, given);
    const found = coerced && (await plans.read(operationRequest, given, coerced));
    return found && answerOf(await run(principal, found), found.places);
  };

  const isQuery = ({ query, operationName }: GraphqlBody) => {
    const { document } = documents.read(query);
    const operation = document && getOperationAST(document, operationName);
    return operation?.operation === OperationTypeNode.QUERY;
  };

  /** Answers a database error. The statement reads all root fields, so the error is reported at the first one. */
  const sendError = (body: GraphqlBody, response: Response, error: DatabaseError) => {
    const { document } = documents.read(body.query);
    const operation = document && getOperationAST(document, body.operationName);
    const nodes = operation ? rootFields(document, operation) : [];
    const fields = operation && schema().getRootType(operation.operation)?.getFields();
    const keys = nodes.map(({ alias, name }) => alias?.value ?? name.value);
    const shown = publicError(
      new GraphQLError(error.message, { nodes, path: keys.slice(0, 1), originalError: error }),
    );
    const isRequired = nodes.some(({ name }) => isNonNullType(fields?.[name.value]?.type));
    const data = isRequired ? null : Object.fromEntries(keys.map((key) => [key, null]));
    const cost = currentScope()?.cost;
    response.json({ errors: [shown.toJSON()], data, ...(cost && { extensions: { cost } }) });
  };

  const reportOutcome = (response: Response, outcome: SqlJsonOutcome) => {
    countSqlJsonOutcome(outcome);
    if (config.production) return;
    response.setHeader("X-Answered-By", outcome === "answered" ? "sql-json" : "grafast");
  };

  return (request, response, next) => {
    const { requestContext, token, isLong } = response.locals;
    if (!requestContext || !token || config.sqlJson === "off") {
      next();
      return;
    }
    const principal = {
      token,
      tenant: requestContext.tenant,
      settings: anonymousSettings(requestContext, settings),
    };
    const hasKey = requestContext.idempotency != null;
    const body = request.body as GraphqlBody;
    collisionRetry
      .execute(() => answer(body, principal, isLong, hasKey))
      .then(
        (found) => {
          reportOutcome(response, found ? "answered" : "unsupported");
          if (found) send(response, found).catch(next);
          else next();
        },
        (error: unknown) => {
          // After a lost connection the outcome is unknown, so nothing is retried.
          if (isOutage(error)) {
            next(error);
            return;
          }
          // Grafast reads again to name the place of the missing value; a mutation is never run again.
          if (isDatabaseError(error) && isMissingValue(error) && isQuery(body)) {
            reportOutcome(response, "unsupported");
            next();
            return;
          }
          if (isDatabaseError(error) && !isStalePlan(error)) {
            reportOutcome(response, "answered");
            sendError(body, response, error);
            return;
          }
          const { operation } = response.locals;
          const event = isDatabaseError(error)
            ? "sql-json statement outdated"
            : "sql-json compiler failed";
          currentScope()?.log.error({ err: error, operation }, event);
          reportOutcome(response, "failed");
          // Grafast answers in production; tests must see the defect.
          next(config.sqlJson === "strict" && !isDatabaseError(error) ? error : undefined);
        },
      );
  };
}

/** Retries a transaction that failed because of concurrent changes, up to three times. */
const collisionRetry = retry(handleWhen(isCollision), {
  maxAttempts: 3,
  backoff: new ExponentialBackoff({ initialDelay: 25, maxDelay: 1_000 }),
});

/** Null where a guard refused the caller. */
function answerOf(
  { text, secondColumn }: TextAnswer,
  places: readonly HideablePlace[],
): Answer | null {
  if (text.length === 0) return null;
  const hidden = secondColumn === "" ? [] : hiddenFrom(places, rightsOf(secondColumn));
  return { data: text, hidden };
}

async function send(response: Response, { data, hidden }: Answer): Promise<void> {
  const { encoding } = response.locals;
  const [start, end] = ['{"data":', `${extensionsOf(hidden)}}`];
  const isText = typeof data === "string";
  const length = isText ? data.length : data.reduce((sum, block) => sum + block.length, 0);
  if (encoding && isCompressible(length)) {
    const body = isText
      ? Buffer.from(start + data + end)
      : Buffer.concat([Buffer.from(start), ...data, Buffer.from(end)]);
    const compressed = await compressAnswer(body, encoding);
    response.setHeader("Content-Encoding", encoding).vary("Accept-Encoding").end(compressed);
  } else if (isText) response.end(start + data + end);
  else await sendBlocks(response, [Buffer.from(start), ...data, Buffer.from(end)]);
}

/** The `extensions` that Grafast's responses have. */
function extensionsOf(hidden: readonly HiddenField[]): string {
  const cost = currentScope()?.cost;
  if (!cost && hidden.length === 0) return "";
  const extensions = { ...(hidden.length > 0 && { hidden }), cost };
  return `,"extensions":${JSON.stringify(extensions)}`;
}
