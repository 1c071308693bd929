import type { Request, RequestHandler } from "express";
import type { Pool } from "pg";
import type { Logger } from "pino";
import type { Operations } from "../../assistant/operations.ts";
import { type Caller, checkAssistant } from "../../assistant/caller.ts";
import { authenticate, bearerCredential } from "../../auth/authenticate.ts";
import type { RequestInfo, RequestSettings } from "../../auth/identity.ts";
import { inRequestTransaction } from "../../auth/requestTransaction.ts";
import type { FileStore } from "../../gateways/files.ts";
import type { ModelGateway } from "../../gateways/model.ts";
import type { SearchEngine } from "../../gateways/search.ts";
import type { AssistantConfig } from "../../settings/assistant.ts";
import type { UploadReader } from "../../uploads/uploadReader.ts";
import { officeOf } from "../requestInfo.ts";

/** What the assistant's routes work with. */
export interface Surroundings {
  config: AssistantConfig;
  pool: Pool;
  settings: RequestSettings;
  idleHours: number;
  bodyBytes: number;
  /** Null where none is configured. */
  model: ModelGateway | null;
  operations: Operations;
  /** Null where none is configured. */
  engine: SearchEngine | null;
  files: FileStore;
  uploads: UploadReader;
  requestInfo: readonly RequestHandler[];
  log: Logger;
}

/** Finds out who asks, and lets pass whoever may use the assistant. */
export function assistantOnly({
  requestInfo,
}: Pick<Surroundings, "requestInfo">): RequestHandler[] {
  const guard: RequestHandler = (_request, response, next) => {
    checkAssistant(officeOf(response.locals));
    response.setHeader("Cache-Control", "no-store");
    next();
  };
  return [...requestInfo, guard];
}

/** The one who asks, for as long as their answer takes. */
export function callerOf(
  request: Request,
  locals: { office?: RequestInfo },
  { pool, settings, idleHours }: Pick<Surroundings, "pool" | "settings" | "idleHours">,
): Caller {
  const office = officeOf(locals);
  const { token } = bearerCredential(request.rawHeaders);
  return {
    office,
    run: (work) => inRequestTransaction(pool, office, settings, "caller", work),
    async now() {
      const identity = token ? await authenticate(pool, office.area, token, idleHours) : null;
      const current = { ...office, identity };
      checkAssistant(current);
      return current;
    },
  };
}
