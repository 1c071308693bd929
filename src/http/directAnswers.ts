import { pipeline, Readable } from "node:stream";
import type { RequestHandler, Response } from "express";
import { type GraphQLSchema, OperationTypeNode, getOperationAST } from "graphql";
import { LRUCache } from "lru-cache";
import { anonymousSettings, requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import { isDatabaseError, isOutage } from "../postgres/databaseErrors.ts";
import type { ReadAs } from "../postgres/readAs.ts";
import type { Asker, Pieces, RunAs, TextStatement } from "../postgres/runAs.ts";
import { type Call, compileCall } from "../reads/compileCall.ts";
import { type CompiledRead, type Read, prepareRead } from "../reads/compileRead.ts";
import { coerceByParts, coerceVariables } from "../reads/variables.ts";
import { withoutSkipped } from "../reads/withoutSkipped.ts";
import { currentScope } from "../requestScope.ts";
import { ownTurn } from "./ownTurn.ts";

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
    // The statement is some times as long as what it was made of.
    sizeCalculation: (_read, key) => key.length * 8 + 1,
  });
  const calls = new LRUCache<string, { call: Call | null }>({
    max: planCache,
    maxSize: planCache * 20_000,
    sizeCalculation: (_call, key) => key.length + 1,
  });

  const workOf = ({ query: text, operationName, variables }: GraphqlBody): Work | null => {
    const { document: whole } = documents.read(text);
    const operation = whole && getOperationAST(whole, operationName);
    const given = variables ?? {};
    const left = operation && withoutSkipped(whole, operation, given);
    if (!left) return null;
    const key = `${left.key}${operationName ?? ""}\n${text}`;
    if (operation.operation === OperationTypeNode.MUTATION) {
      let known = calls.get(key);
      if (!known) {
        const document = left.document();
        const call = document && compileCall(schema(), document, operationName);
        calls.set(key, (known = { call }));
      }
      return known.call && { call: known.call, given };
    }
    let query = queries.get(key);
    if (!query) {
      const document = left.document();
      const read = document && prepareRead(schema(), document, operationName);
      queries.set(key, (query = { read }));
    }
    const asked = query.read?.ask(given);
    if (!asked) return null;
    let read = reads.get(asked.key);
    countLookup("reads", read !== undefined);
    if (!read) reads.set(asked.key, (read = { compiled: asked.compile() }));
    if (!read.compiled) return null;
    const { statementFor, records } = read.compiled;
    return { read: statementFor(asked.given), records };
  };

  /** The text of the answer's `data`; null or nothing where it is left to Grafast. */
  const answer = async (body: GraphqlBody, asker: Asker, { locals }: Response) => {
    if (locals.isLong) await ownTurn();
    const work = workOf(body);
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
      (pieces) => {
        if (pieces && pieces.length > 0) send(response, pieces);
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

/** About how much of a long answer is written at once, in characters: so much fits into memory that is there from the one before. */
const blockSize = 32_768;

function send(response: Response, data: Pieces): void {
  const end = `${costSuffix()}}`;
  if (data.length === 1) response.end(`{"data":${data[0]}${end}`);
  // What goes wrong from here on is that nobody takes it any more.
  else pipeline(Readable.from(blocks(['{"data":', ...data, end])), response, () => undefined);
}

function* blocks(pieces: Pieces): Iterable<string> {
  let block = "";
  for (const piece of pieces) {
    block += piece;
    if (block.length < blockSize) continue;
    yield block;
    block = "";
  }
  yield block;
}

/** What Grafast's answers have in `extensions`. */
function costSuffix(): string {
  const cost = currentScope()?.cost;
  return cost ? `,"extensions":{"cost":${JSON.stringify(cost)}}` : "";
}
