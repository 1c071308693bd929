import type { RequestHandler, Response } from "express";
import { type GraphQLSchema, OperationTypeNode, getOperationAST } from "graphql";
import { LRUCache } from "lru-cache";
import { anonymousSettings, requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import { ownTurn } from "../ownTurn.ts";
import { isDatabaseError, isOutage } from "../postgres/databaseErrors.ts";
import type { ReadAs } from "../postgres/readAs.ts";
import type { Asker, RunAs } from "../postgres/runAs.ts";
import type { Text, TextStatement } from "../postgres/textAnswer.ts";
import { type Call, compileCall } from "../reads/compileCall.ts";
import { type CompiledRead, type Read, prepareRead } from "../reads/compileRead.ts";
import { coerceByParts, coerceVariables } from "../reads/variables.ts";
import { withoutSkipped } from "../reads/withoutSkipped.ts";
import { currentScope } from "../requestScope.ts";
import { sendBlocks } from "./sendBlocks.ts";

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
  /** For reads that write nothing, where they have a way of their own. */
  readAs: ReadAs | null;
}

/** What an operation comes to: a mutation's calls, or a read, which may record what is read. */
type Work =
  { call: Call; given: Record<string, unknown> } | { read: TextStatement; records: boolean };

/**
 * Answers operations that SQL alone can do by one message to the database, whose result is the text of the answer: who asks is
 * found out, guards, policies and the audit are done by the same message. Those are queries of rows and mutations that
 * call a function. All others, and whatever is refused or fails, go on to Grafast.
 */
export function directAnswers(options: DirectAnswersOptions): RequestHandler {
  const { config, documents, schema, runAs, readAs } = options;
  const settings = requestSettings(config);
  const { planCache } = config.limits;
  const queries = new LRUCache<string, { read: Read | null }>({
    max: planCache,
    maxSize: planCache * 20_000,
    sizeCalculation: (_read, key) => key.length + 1,
  });
  // One statement serves all requests that differ in values only.
  const reads = new LRUCache<string, { compiled: CompiledRead | null }>({
    max: planCache,
    maxSize: planCache * 20_000,
    // In memory a statement is about twice as much as its text.
    sizeCalculation: ({ compiled }, key) => key.length + 2 * (compiled?.length ?? 0) + 1,
  });
  const calls = new LRUCache<string, { call: Call | null }>({
    max: planCache,
    maxSize: planCache * 20_000,
    sizeCalculation: (_call, key) => key.length + 1,
  });

  const workOf = async (body: GraphqlBody): Promise<Work | null> => {
    const { query: text, operationName, variables } = body;
    const { document: whole } = documents.read(text);
    const operation = whole && getOperationAST(whole, operationName);
    const given = variables ?? {};
    const left = operation && withoutSkipped(whole, operation, given);
    if (!left) return null;
    const key = `${left.key}${operationName ?? ""}\n${text}`;
    if (operation.operation === OperationTypeNode.MUTATION) {
      const compile = () => {
        const document = left.document();
        return { call: document && compileCall(schema(), document, operationName) };
      };
      const { call } = calls.get(key) ?? (await keep(calls, key, compile));
      return call && { call, given };
    }
    const prepare = () => {
      const document = left.document();
      return { read: document && prepareRead(schema(), document, operationName) };
    };
    const query = queries.get(key) ?? (await keep(queries, key, prepare));
    const asked = query.read?.ask(given);
    if (!asked) return null;
    const known = reads.get(asked.key);
    countLookup("reads", known !== undefined);
    const read = known ?? (await keep(reads, asked.key, () => ({ compiled: asked.compile() })));
    if (!read.compiled) return null;
    const { statementFor, records } = read.compiled;
    return { read: statementFor(asked.given), records };
  };

  /** The text of the answer's `data`; null or an empty one where it is left to Grafast. */
  const answer = async (body: GraphqlBody, asker: Asker, { locals }: Response) => {
    if (locals.isLong) await ownTurn();
    const work = await workOf(body);
    if (!work) return null;
    if ("read" in work) {
      const { read, records } = work;
      return readAs && !records ? readAs(asker, read) : runAs.read(asker, read);
    }
    const { call, given } = work;
    const coerced = locals.isLong
      ? await coerceByParts(schema(), call.operation, given, ownTurn)
      : coerceVariables(schema(), call.operation, given);
    if (!coerced) return null;
    if (locals.isLong) await ownTurn();
    const statements = call.statements(given, coerced);
    if (!statements) return null;
    if (locals.isLong) await ownTurn();
    return runAs(asker, statements);
  };

  return (request, response, next) => {
    const { office, token } = response.locals;
    if (!office || !token || office.idempotency) {
      next();
      return;
    }
    const asker = { token, area: office.area, settings: anonymousSettings(office, settings) };
    answer(request.body as GraphqlBody, asker, response).then(
      (data) => {
        if (data) send(response, data);
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

/** Makes what is to be kept under a key in a turn of its own, after what was found out about the document, which took a while as well. */
async function keep<T extends object>(
  kept: LRUCache<string, T>,
  key: string,
  make: () => T,
): Promise<T> {
  await ownTurn();
  // Another request may have been first.
  let made = kept.get(key);
  if (!made) kept.set(key, (made = make()));
  return made;
}

function send(response: Response, data: Text): void {
  const [start, end] = ['{"data":', `${costSuffix()}}`];
  if (typeof data === "string") {
    response.end(start + data + end);
    return;
  }
  void sendBlocks(response, [Buffer.from(start), ...data, Buffer.from(end)]);
}

/** What Grafast's answers have in `extensions`. */
function costSuffix(): string {
  const cost = currentScope()?.cost;
  return cost ? `,"extensions":{"cost":${JSON.stringify(cost)}}` : "";
}
