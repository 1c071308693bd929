import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import type { GraphQLSchema } from "graphql";
import { LRUCache } from "lru-cache";
import { anonymousSettings, requestSettings } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import type { ReadAs } from "../postgres/readAs.ts";
import { compileRead } from "../reads/compileRead.ts";
import { currentScope } from "./requestScope.ts";

interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

interface DirectReadsOptions {
  config: Pick<Config, "limits" | "database" | "invitationDays" | "exports">;
  documents: Documents;
  schema: () => GraphQLSchema;
  readAs: ReadAs;
}

/** A request's statement with the name under which it is kept prepared; null where it has none. */
type Kept = { statement: { text: string; values: readonly unknown[]; name: string } | null };

/**
 * Answers query operations that SQL alone can read by one statement, whose text is the answer: who asks is found out, guards,
 * policies and the audit are done by the same message to the database. All other operations, and whatever is refused or fails,
 * go on to Grafast.
 */
export function directReads(options: DirectReadsOptions): RequestHandler {
  const { config, documents, schema, readAs } = options;
  const settings = requestSettings(config);
  const kept = new LRUCache<string, Kept>({
    max: config.limits.planCache * 5,
    maxSize: config.limits.planCache * 20_000,
    sizeCalculation: ({ statement }, key) => key.length + (statement?.text.length ?? 0) + 1,
  });

  const compile = ({ query, operationName, variables }: GraphqlBody): Kept => {
    const key = `${operationName ?? ""}\n${JSON.stringify(variables ?? null)}\n${query}`;
    const known = kept.get(key);
    countLookup("reads", known !== undefined);
    if (known) return known;
    const { document } = documents.read(query);
    const read = document && compileRead(schema(), document, operationName, variables ?? {});
    const made: Kept = { statement: null };
    if (read) {
      const name = createHash("sha1").update(read.text).digest("base64url");
      made.statement = { text: read.text, values: read.values, name };
    }
    if (read?.isLasting !== false) kept.set(key, made);
    return made;
  };

  return (request, response, next) => {
    const { office, token } = response.locals;
    const { statement } = compile(request.body as GraphqlBody);
    if (!office || !token || !statement) {
      next();
      return;
    }
    const asker = { token, area: office.area, settings: anonymousSettings(office, settings) };
    readAs(asker, statement).then(
      (text) => {
        if (typeof text === "string") response.end(`{"data":${text}${costSuffix()}}`);
        else next();
      },
      // Read again by Grafast, which says what is wrong in the usual words.
      () => {
        next();
      },
    );
  };
}

/** What Grafast's answers have in `extensions`. */
function costSuffix(): string {
  const cost = currentScope()?.cost;
  return cost ? `,"extensions":{"cost":${JSON.stringify(cost)}}` : "";
}
