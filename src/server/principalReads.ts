import type { Request } from "express";
import { isUnrecordedQuery } from "../audit/isUnrecordedQuery.ts";
import type { FindPrincipal } from "../auth/findPrincipal.ts";
import {
  type PrincipalOptions,
  type QueryAsPrincipal,
  makeQueryAsPrincipal,
} from "../auth/queryAsPrincipal.ts";
import { type ReadReplicaAsPrincipal, makeReadReplicaAsPrincipal } from "../auth/queryReplica.ts";
import { explainReads } from "../auth/explainReads.ts";
import type { Config } from "../config.ts";
import { preparedStatements } from "../graphile.config.ts";
import { makeWithRequestClient } from "../postgres/service.ts";
import type { Api } from "./buildSchema.ts";
import type { ServerDatabase } from "./openDatabase.ts";

/** The options of token look-ups. */
export function principalOptions(config: Config): PrincipalOptions {
  return { prepared: preparedStatements(config), idleHours: config.session.idleHours };
}

/** Runs statements of requests with their token's permissions. */
interface PrincipalReads {
  queryAsPrincipal: QueryAsPrincipal;
  /** Null without a replica. */
  readReplica: ReadReplicaAsPrincipal | null;
  /** Whether the replica may serve a GraphQL request, since it writes nothing, not even to the audit log. */
  maySkipPrimary: (request: Request) => boolean;
}

export function makePrincipalReads(
  config: Config,
  { pool, sharedConnections, replica }: ServerDatabase,
  { schema, documents }: Api,
  findPrincipal: FindPrincipal,
): PrincipalReads {
  const options = principalOptions(config);
  const plain = makeQueryAsPrincipal(pool, sharedConnections, options);
  const queryAsPrincipal =
    config.sqlJson === "explain"
      ? explainReads(plain, findPrincipal, makeWithRequestClient(pool, options.prepared))
      : plain;
  if (!replica) return { queryAsPrincipal, readReplica: null, maySkipPrimary: () => false };
  return {
    queryAsPrincipal,
    readReplica: makeReadReplicaAsPrincipal(queryAsPrincipal, findPrincipal, replica.reads),
    maySkipPrimary(request) {
      if (replica.reads.isCircuitOpen()) return false;
      const { query, operationName } = request.body as { query: string; operationName?: string };
      const { document } = documents.read(query);
      return document !== undefined && isUnrecordedQuery(schema, document, operationName);
    },
  };
}
