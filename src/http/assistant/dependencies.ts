import type { RequestHandler } from "express";
import type { Pool } from "pg";
import type { Logger } from "pino";
import type { Operations } from "../../assistant/operations.ts";
import { type Caller, requireAssistantAccess } from "../../assistant/caller.ts";
import type { FindPrincipal } from "../../auth/findPrincipal.ts";
import type { RequestSettings } from "../../auth/identity.ts";
import { inRequestTransaction } from "../../auth/requestTransaction.ts";
import type { FileStore } from "../../gateways/files.ts";
import type { ModelGateway } from "../../gateways/model.ts";
import type { SearchEngine } from "../../gateways/search.ts";
import type { AssistantConfig } from "../../settings/assistant.ts";
import type { UploadReader } from "../../uploads/uploadReader.ts";
import { requestContextOf } from "../requestInfo.ts";

/** The dependencies of the assistant's routes. */
export interface AssistantDependencies {
  config: AssistantConfig;
  pool: Pool;
  settings: RequestSettings;
  findPrincipal: FindPrincipal;
  bodyBytes: number;
  /** Null when no language model is configured. */
  model: ModelGateway | null;
  operations: Operations;
  /** Null when no search engine is configured. */
  engine: SearchEngine | null;
  files: FileStore;
  uploads: UploadReader;
  readRequestContext: readonly RequestHandler[];
  log: Logger;
}

/** Authenticates the caller and requires the assistant's permission. */
export function assistantOnly({
  readRequestContext,
}: Pick<AssistantDependencies, "readRequestContext">): RequestHandler[] {
  const guard: RequestHandler = (_request, response, next) => {
    requireAssistantAccess(requestContextOf(response.locals));
    response.setHeader("Cache-Control", "no-store");
    next();
  };
  return [...readRequestContext, guard];
}

/** The caller, valid for the length of an answer. */
export function callerOf(
  locals: Express.Locals,
  {
    pool,
    settings,
    findPrincipal,
  }: Pick<AssistantDependencies, "pool" | "settings" | "findPrincipal">,
): Caller {
  const requestContext = requestContextOf(locals);
  const { token } = locals;
  return {
    requestContext,
    run: (work) => inRequestTransaction(pool, requestContext, settings, "caller", work),
    async now() {
      const { identity } = token
        ? await findPrincipal(requestContext.tenant, token)
        : { identity: null };
      const current = { ...requestContext, identity };
      requireAssistantAccess(current);
      return current;
    },
  };
}
