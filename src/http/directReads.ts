import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import { getOperationAST, type GraphQLSchema } from "graphql";
import { LRUCache } from "lru-cache";
import { requestSettings, settingsOf } from "../auth/identity.ts";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { checkGuard, type Guard } from "../plugins/GuardsPlugin.ts";
import { placesOf } from "../plugins/auditedPlaces.ts";
import { readsOf, recordingOf } from "../plugins/auditedReads.ts";
import type { WithRequestClient } from "../postgres/service.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import { compileRead, type Read } from "../reads/compileRead.ts";

interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

interface DirectReadsOptions {
  config: Pick<Config, "limits" | "database" | "invitationDays" | "exports">;
  documents: Documents;
  schema: () => GraphQLSchema;
  withClient: WithRequestClient;
}

/** A request, with its statement where it has one. */
type Kept =
  | {
      read: Read;
      /** Under which the statement is kept prepared. */
      name: string;
      /** Whether audited types can be among what is read. */
      isAudited: boolean;
    }
  | { read: null };

/**
 * Answers query operations that SQL alone can read by one statement, whose text is the answer; all others, and whatever is refused or
 * fails, go on to Grafast. Guards, policies, limits and the audit are the same.
 */
export function directReads(options: DirectReadsOptions): RequestHandler {
  const { config, documents, schema, withClient } = options;
  const settings = requestSettings(config);
  const kept = new LRUCache<string, Kept>({
    max: config.limits.planCache * 5,
    maxSize: config.limits.planCache * 20_000,
    sizeCalculation: (one, key) => key.length + (one.read?.text.length ?? 0) + 1,
  });

  const compile = ({ query, operationName, variables }: GraphqlBody): Kept => {
    const key = `${operationName ?? ""}\n${JSON.stringify(variables ?? null)}\n${query}`;
    const known = kept.get(key);
    countLookup("reads", known !== undefined);
    if (known) return known;
    const { document } = documents.read(query);
    const operation = document && getOperationAST(document, operationName);
    const read = operation && compileRead(schema(), document, operationName, variables ?? {});
    const made: Kept = read
      ? {
          read,
          name: createHash("sha1").update(read.text).digest("base64url"),
          isAudited: placesOf(schema(), document, operation).length > 0,
        }
      : { read: null };
    if (read?.isLasting !== false) kept.set(key, made);
    return made;
  };

  return (request, response, next) => {
    const { office } = response.locals;
    const body = request.body as GraphqlBody;
    const made = compile(body);
    if (!office || !made.read || !maySee(made.read)) {
      next();
      return;
    }
    const { read, name, isAudited } = made;
    const statement = { text: read.text, values: read.values, name };
    withClient(settingsOf(office, settings), async (client) => {
      const { rows } = await client.query<{ data: string }>(statement);
      const text = rows[0]?.data;
      if (typeof text !== "string") throw new Error("The statement of a read has no answer");
      if (isAudited) {
        const data = JSON.parse(text) as Record<string, unknown>;
        const { query, operationName, variables } = body;
        const { document } = documents.read(query);
        const reads = document
          ? readsOf(schema(), document, operationName, variables ?? {}, { data })
          : [];
        if (reads.length > 0) await client.query(recordingOf(reads));
      }
      return text;
    }).then(
      (text) => response.end(`{"data":${text}}`),
      // Read again by Grafast, which says what is wrong in the usual words.
      () => {
        next();
      },
    );

    function maySee({ fields }: Read): boolean {
      try {
        for (const field of fields) checkGuard(guardOf(field), office?.identity ?? null);
        return true;
      } catch {
        return false;
      }
    }
  };
}

function guardOf(field: Read["fields"][number]): Guard {
  // One without a guard opens nothing.
  return (field.extensions["office"] as { guard?: Guard } | undefined)?.guard ?? [];
}
