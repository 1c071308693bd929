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
import type { PartialAnswer } from "../graphql/partialAnswer.ts";
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
import { splitRootFields } from "../sqlJson/splitRootFields.ts";
import { type Call, compileCall } from "../sqlJson/compileCall.ts";
import { LazyCache } from "../sqlJson/LazyCache.ts";
import { missingPermissionsOf } from "../sqlJson/missingPermissions.ts";
import {
  type PartialRead,
  type Query,
  type ReadStatement,
  makePlanCache,
} from "../sqlJson/planCache.ts";
import { coerceByParts, coerceVariables } from "../sqlJson/variables.ts";
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
  readAs: ReadReplicaAsPrincipal | null;
  /** Translates an error for the caller. */
  publicError: (error: GraphQLError) => GraphQLError;
}

/** What an operation is compiled to: the calls of a mutation, or a query. */
type Work = { call: Call; given: Record<string, unknown> } | { query: Query };

/** The JSON of `data`, and the fields hidden in it. */
interface WholeAnswer {
  data: Text;
  hidden: readonly HiddenField[];
}

/** The whole result, or some of its root fields. Null when Grafast executes everything. */
type Answer = WholeAnswer | PartialAnswer | null;

/**
 * Answers an operation with one message to the database whose result is the response's JSON: it authenticates, checks
 * guards and policies, and writes the audit log. It handles queries of rows and mutations that call a function. All
 * other root fields and operations, and everything that is refused or fails, are left to Grafast.
 */
export function sqlJsonExecutor(options: SqlJsonExecutorOptions): RequestHandler {
  const { config, documents, schema, queryAsPrincipal, readAs, publicError } = options;
  const settings = requestSettings(config);
  const { planCache } = config.limits;
  const reads = makePlanCache(schema, planCache);
  const calls = new LazyCache<{ call: Call | null }>(planCache);

  const workOf = async (body: GraphqlBody): Promise<Work | null> => {
    const { query: text, operationName, variables } = body;
    const { document: whole } = documents.read(text);
    const operation = whole && getOperationAST(whole, operationName);
    const given = variables ?? {};
    const left = operation && applySkipInclude(whole, operation, given);
    if (!left) return null;
    const { document } = left;
    const key = `${left.key}${operationName ?? ""}\n${text}`;
    if (operation.operation !== OperationTypeNode.MUTATION) {
      // Coerced once for all root fields.
      let known: Record<string, unknown> | null | undefined;
      const coerced = () =>
        known === undefined ? (known = coerceVariables(schema(), operation, given)) : known;
      return { query: { key, document, operationName, given, coerced } };
    }
    const { call } = await calls.get(key, () => {
      const asked = document();
      return { call: asked && compileCall(schema(), asked, operationName) };
    });
    return call && { call, given };
  };

  const run = (principal: Principal, { read, records }: ReadStatement) =>
    readAs && !records ? readAs(principal, read) : queryAsPrincipal.read(principal, read);

  const answerPart = async (part: PartialRead | null, principal: Principal): Promise<Answer> => {
    if (!part) return null;
    const { text } = await run(principal, part);
    if (text.length === 0) return null;
    const texts = splitRootFields(text);
    return {
      rest: part.rest,
      texts: new Map(part.keys.map((key, index) => [key, texts[index] ?? ""])),
    };
  };

  const answerQuery = async (query: Query, principal: Principal): Promise<Answer> => {
    const whole = await reads.whole(query);
    const found = whole && wholeAnswer(await run(principal, whole), whole.places);
    if (found) return found;
    const part = whole ? null : await reads.partOf(query);
    if (!whole && !part) return null;
    const answer = await answerPart(part, principal);
    if (answer) return answer;
    // A guard refused at least one field: Grafast executes only the refused ones, for their errors.
    const roots = await reads.rootsOf(query);
    if (!roots) return null;
    const refused = JSON.parse(
      String((await queryAsPrincipal.read(principal, roots.refused)).text),
    ) as string[];
    // A refused non-null field makes `data` null: the other fields are neither read nor audited.
    if (refused.some((key) => roots.required.has(key)))
      return {
        rest: await reads.only(query, roots, refused),
        texts: new Map(),
        isRefused: true,
      };
    return answerPart(await reads.partOf(query, new Set(refused)), principal);
  };

  const answerMutation = async (
    { call, given }: { call: Call; given: Record<string, unknown> },
    principal: Principal,
    isLong: boolean,
  ): Promise<Answer> => {
    const coerced = isLong
      ? await coerceByParts(schema(), call.operation, given, yieldToEventLoop)
      : coerceVariables(schema(), call.operation, given);
    if (!coerced) return null;
    if (isLong) await yieldToEventLoop();
    const statements = call.statements(given, coerced);
    if (!statements) return null;
    if (isLong) await yieldToEventLoop();
    return wholeAnswer(await queryAsPrincipal(principal, statements), call.places);
  };

  const answer = async (
    body: GraphqlBody,
    principal: Principal,
    isLong = false,
    hasKey = false,
  ): Promise<Answer> => {
    if (isLong) await yieldToEventLoop();
    const work = await workOf(body);
    if (!work) return null;
    if ("query" in work) return answerQuery(work.query, principal);
    // The response to an Idempotency-Key is stored by Grafast's mutation plugin.
    return hasKey ? null : answerMutation(work, principal, isLong);
  };

  const isQuery = ({ query, operationName }: GraphqlBody) => {
    const { document } = documents.read(query);
    const operation = document && getOperationAST(document, operationName);
    return operation?.operation === OperationTypeNode.QUERY;
  };

  /** Answers a database error. The statement reads all root fields, so the error stands at the first of them. */
  const sendError = (body: GraphqlBody, response: Response, error: DatabaseError) => {
    const { document } = documents.read(body.query);
    const operation = document && getOperationAST(document, body.operationName);
    const nodes = operation ? rootFields(document, operation.selectionSet) : [];
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

  const note = (response: Response, outcome: SqlJsonOutcome) => {
    countSqlJsonOutcome(outcome);
    if (config.production) return;
    const by = { answered: "sql-json", partly: "sql-json, grafast" } as const;
    const name = outcome === "answered" || outcome === "partly" ? by[outcome] : "grafast";
    response.setHeader("X-Answered-By", name);
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
          if (found && "data" in found) {
            note(response, "answered");
            send(response, found);
            return;
          }
          note(response, found ? "partly" : "unsupported");
          if (found) response.locals.answeredPart = found;
          next();
        },
        (error: unknown) => {
          // After a lost connection nobody knows what was done, so nothing runs again.
          if (isOutage(error)) {
            next(error);
            return;
          }
          // Grafast reads again to name the place of the missing value; a mutation is never run again.
          if (isDatabaseError(error) && isMissingValue(error) && isQuery(body)) {
            note(response, "unsupported");
            next();
            return;
          }
          if (isDatabaseError(error) && !isStalePlan(error)) {
            note(response, "answered");
            sendError(body, response, error);
            return;
          }
          const { operation } = response.locals;
          const event = isDatabaseError(error)
            ? "sql-json statement outdated"
            : "sql-json compiler failed";
          currentScope()?.log.error({ err: error, operation }, event);
          note(response, "failed");
          // Grafast answers in production; tests must see the defect.
          next(config.sqlJson === "strict" && !isDatabaseError(error) ? error : undefined);
        },
      );
  };
}

/** Runs a transaction again that lost against concurrent ones, four times in all. */
const collisionRetry = retry(handleWhen(isCollision), {
  maxAttempts: 3,
  backoff: new ExponentialBackoff({ initialDelay: 25, maxDelay: 1_000 }),
});

function wholeAnswer(
  { text, secondColumn }: TextAnswer,
  places: readonly HideablePlace[],
): WholeAnswer | null {
  if (text.length === 0) return null;
  const hidden = secondColumn === "" ? [] : hiddenFrom(places, missingPermissionsOf(secondColumn));
  return { data: text, hidden };
}

function send(response: Response, { data, hidden }: WholeAnswer): void {
  const [start, end] = ['{"data":', `${extensionsOf(hidden)}}`];
  if (typeof data === "string") {
    response.end(start + data + end);
    return;
  }
  void sendBlocks(response, [Buffer.from(start), ...data, Buffer.from(end)]);
}

/** The `extensions` that Grafast's responses have. */
function extensionsOf(hidden: readonly HiddenField[]): string {
  const cost = currentScope()?.cost;
  if (!cost && hidden.length === 0) return "";
  const extensions = { ...(hidden.length > 0 && { hidden }), cost };
  return `,"extensions":${JSON.stringify(extensions)}`;
}
