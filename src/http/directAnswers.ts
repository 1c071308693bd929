import type { RequestHandler } from "express";
import { type GraphQLSchema, OperationTypeNode, getOperationAST } from "graphql";
import { LRUCache } from "lru-cache";
import { anonymousSettings, requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import { isDatabaseError, isOutage } from "../graphql/databaseErrors.ts";
import type { RunAs, Statements } from "../postgres/runAs.ts";
import { type Call, compileCall } from "../reads/compileCall.ts";
import { type Read, compileRead } from "../reads/compileRead.ts";
import { currentScope } from "./requestScope.ts";

interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

interface DirectAnswersOptions {
  config: Pick<Config, "limits" | "database" | "invitationDays" | "exports" | "search">;
  documents: Documents;
  schema: () => GraphQLSchema;
  runAs: RunAs;
}

/**
 * Answers operations that SQL alone can do by one message to the database, whose result is the text of the answer: who asks is
 * found out, guards, policies and the audit are done by the same message. Those are queries of rows and mutations that
 * call a function. All others, and whatever is refused or fails, go on to Grafast.
 */
export function directAnswers(options: DirectAnswersOptions): RequestHandler {
  const { config, documents, schema, runAs } = options;
  const settings = requestSettings(config);
  const { planCache } = config.limits;
  // What a query is compiled to holds its values; a mutation's are those of each request.
  const reads = new LRUCache<string, { statement: Read["statement"] | null }>({
    max: planCache * 5,
    maxSize: planCache * 20_000,
    // The statement is some times as long as what it was made of.
    sizeCalculation: (_read, key) => key.length * 8 + 1,
  });
  // Those variables of a query that its statement is the same for.
  const frees = new LRUCache<string, readonly string[]>({
    max: planCache,
    maxSize: planCache * 20_000,
    sizeCalculation: (_names, key) => key.length + 1,
  });
  const calls = new LRUCache<string, { call: Call | null }>({
    max: planCache,
    maxSize: planCache * 20_000,
    sizeCalculation: (_call, key) => key.length + 1,
  });

  const statementsOf = ({ query, operationName, variables }: GraphqlBody): Statements | null => {
    const { document } = documents.read(query);
    const operation = document && getOperationAST(document, operationName);
    if (!operation) return null;
    const key = `${operationName ?? ""}\n${query}`;
    const given = variables ?? {};
    if (operation.operation === OperationTypeNode.MUTATION) {
      let known = calls.get(key);
      if (!known)
        calls.set(key, (known = { call: compileCall(schema(), document, operationName) }));
      return known.call?.(given) ?? null;
    }
    const free = frees.get(key) ?? [];
    const bound = free.length === 0 ? given : { ...given };
    for (const name of free) Reflect.deleteProperty(bound, name);
    const readKey = `${JSON.stringify(bound)}\n${key}`;
    let known = reads.get(readKey);
    countLookup("reads", known !== undefined);
    if (!known) {
      const read = compileRead(schema(), document, operationName, given);
      known = { statement: read?.statement ?? null };
      // What was refused for the free ones can be right for others.
      if (read ? read.isLasting : free.length === 0) {
        if (read && read.free.length > free.length) frees.set(key, read.free);
        else reads.set(readKey, known);
      }
    }
    const statement = known.statement?.(given);
    return statement ? [statement] : null;
  };

  return (request, response, next) => {
    const { office, token } = response.locals;
    if (!office || !token || office.idempotency) {
      next();
      return;
    }
    const statements = statementsOf(request.body as GraphqlBody);
    if (!statements) {
      next();
      return;
    }
    const asker = { token, area: office.area, settings: anonymousSettings(office, settings) };
    runAs(asker, statements).then(
      (text) => {
        if (typeof text === "string") response.end(`{"data":${text}${costSuffix()}}`);
        else next();
      },
      (error: unknown) => {
        // What the database refused has changed nothing: Grafast does it again and says what is wrong in the usual words. Where the
        // connection broke, nobody knows what was done.
        if (isDatabaseError(error) && !isOutage(error)) next();
        else next(error);
      },
    );
  };
}

/** What Grafast's answers have in `extensions`. */
function costSuffix(): string {
  const cost = currentScope()?.cost;
  return cost ? `,"extensions":{"cost":${JSON.stringify(cost)}}` : "";
}
