import { create as contentDisposition } from "content-disposition";
import express, { Router } from "express";
import type { RequestHandler } from "express";
import { isUuid } from "../../postgres/uuid.ts";
import { badRequest, tooLarge } from "../../errors/HttpError.ts";
import { findAttachment } from "./attachmentContent.ts";
import { storeAttachment } from "./storeAttachment.ts";
import type { AssistantDependencies } from "./dependencies.ts";
import { assistantOnly, callerOf } from "./dependencies.ts";
import { type PublicError, notFound } from "../../errors/PublicError.ts";

/**
 * `POST /ai/attachments?name=Prices.xlsx` with the file as the body, `GET` and `DELETE /ai/attachments/<id>`: the
 * caller's files for the assistant. A message refers to one by its `url`.
 */
export function attachments(dependencies: AssistantDependencies): Router {
  const { config, files } = dependencies;
  const router = Router();

  const checkHead: RequestHandler = (request, _response, next) => {
    // The body reader would answer only after the whole body.
    if (Number(request.headers["content-length"]) > config.attachmentBytes) throw tooLarge();
    next();
  };

  router.post(
    "/ai/attachments",
    ...assistantOnly(dependencies),
    checkHead,
    express.raw({ type: () => true, limit: config.attachmentBytes, inflate: false }),
    async (request, response) => {
      const caller = callerOf(response.locals, dependencies);
      const body: unknown = request.body;
      if (!Buffer.isBuffer(body) || body.length === 0)
        throw badRequest("The body is empty: send the file's bytes");
      const { name } = request.query;
      const kept = await storeAttachment(
        dependencies,
        caller,
        typeof name === "string" ? name : "",
        body,
      );
      response.status(201).json(kept);
    },
  );

  router.get("/ai/attachments/:id", ...assistantOnly(dependencies), async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const id = idIn(request.params);
    const file = await findAttachment(caller, id);
    if (!file) throw missing();
    const bytes = await files.read(file.file_key, AbortSignal.timeout(30_000));
    response
      .setHeader("Content-Type", file.media_type)
      .setHeader("X-Content-Type-Options", "nosniff")
      .setHeader("Content-Security-Policy", "default-src 'none'; sandbox")
      .setHeader("Content-Disposition", contentDisposition(file.file_name))
      .end(bytes);
  });

  router.delete(
    "/ai/attachments/:id",
    ...assistantOnly(dependencies),
    async (request, response) => {
      const caller = callerOf(response.locals, dependencies);
      const id = idIn(request.params);
      await caller.run((client) => client.query("select delete_ai_attachment($1)", [id]));
      response.status(204).end();
    },
  );
  return router;
}

function idIn({ id }: Record<string, unknown>): string {
  if (!isUuid(id)) throw missing();
  return id;
}

/** The same error for an unknown attachment and for another user's. */
function missing(): PublicError {
  return notFound("You have no attachment with this id");
}
