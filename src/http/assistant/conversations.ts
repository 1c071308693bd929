import { Router } from "express";
import type { PoolClient } from "pg";
import { readMessages, endLostAnswer } from "../../assistant/conversations.ts";
import { badRequest } from "../../errors/HttpError.ts";
import { jsonBody } from "../jsonBody.ts";
import type { AssistantDependencies } from "./dependencies.ts";
import { assistantOnly, callerOf } from "./dependencies.ts";
import { notFound } from "../../errors/PublicError.ts";

interface Conversation {
  id: string;
  title: string;
  createdAt: Date;
  updatedAt: Date;
}

const columns = `id, title, created_at as "createdAt", updated_at as "updatedAt"`;
const pageSize = 100;

/**
 * `GET /ai/conversations`, `GET`, `PATCH` and `DELETE /ai/conversations/<id>`, `GET /ai/usage`: the caller's
 * conversations for chat clients. GraphQL has them as `aiConversations`.
 */
export function conversations(dependencies: AssistantDependencies): Router {
  const { config } = dependencies;
  const router = Router();
  const guard = assistantOnly(dependencies);

  router.get("/ai/conversations", ...guard, async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const offset = Number(request.query["offset"] ?? 0);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw badRequest("offset must be a whole number from 0", {
        path: ["offset"],
      });
    const { rows } = await caller.run((client) =>
      client.query<Conversation>(
        `select ${columns} from ai_conversations order by updated_at desc, id desc limit $1 offset $2`,
        [pageSize + 1, offset],
      ),
    );
    response.json({
      conversations: rows.slice(0, pageSize),
      nextOffset: rows.length > pageSize ? offset + pageSize : null,
    });
  });

  router.get("/ai/conversations/:id", ...guard, async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const id = String(request.params["id"]);
    await endLostAnswer(caller, id);
    const shown = await caller.run(async (client) => ({
      ...(await readConversation(client, id)),
      messages: await readMessages(client, id),
    }));
    response.json(shown);
  });

  router.patch(
    "/ai/conversations/:id",
    ...guard,
    ...jsonBody(10_000),
    async (request, response) => {
      const caller = callerOf(response.locals, dependencies);
      const { title } = request.body as { title?: unknown };
      if (typeof title !== "string") throw badRequest("title must be a text", { path: ["title"] });
      const { rows } = await caller.run((client) =>
        client.query<Conversation>(`select ${columns} from rename_ai_conversation($1, $2)`, [
          ...[request.params["id"], title],
        ]),
      );
      response.json(rows[0]);
    },
  );

  router.delete("/ai/conversations/:id", ...guard, async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const { id } = request.params;
    await caller.run((client) => client.query("select delete_ai_conversation($1)", [id]));
    response.status(204).end();
  });

  router.get("/ai/usage", ...guard, async (_request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const { rows } = await caller.run((client) =>
      client.query<{ usage: Record<string, number> }>("select ai_usage_today() as usage"),
    );
    response.json({ today: rows[0]?.usage, dailyCost: config.dailyCost });
  });
  return router;
}

async function readConversation(client: PoolClient, id: string): Promise<Conversation> {
  const { rows } = await client.query<Conversation>(
    `select ${columns} from ai_conversations where id = $1`,
    [id],
  );
  const [row] = rows;
  if (!row)
    throw notFound("You have no conversation with this id", {
      path: ["id"],
    });
  return row;
}
