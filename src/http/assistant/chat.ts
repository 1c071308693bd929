import { pipeUIMessageStreamToResponse } from "ai";
import { Router } from "express";
import type { Response } from "express";
import { setTimeout } from "node:timers/promises";
import type { RunningAnswer } from "../../assistant/answer.ts";
import { startAnswer } from "../../assistant/answer.ts";
import type { Caller } from "../../assistant/caller.ts";
import { readUnfinishedAnswer, endLostAnswer } from "../../assistant/conversations.ts";
import { toModelMessages } from "../../assistant/toModelMessages.ts";
import { HttpError } from "../../errors/HttpError.ts";
import { jsonBody } from "../jsonBody.ts";
import { currentScope } from "../../context/requestScope.ts";
import { attachmentReader } from "./attachmentContent.ts";
import { beginAnswer } from "./beginAnswer.ts";
import { readChatBody } from "./chatBody.ts";
import { resumedStream } from "./resume.ts";
import type { AssistantDependencies } from "./dependencies.ts";
import { assistantOnly, callerOf } from "./dependencies.ts";
import { unavailable } from "../../errors/PublicError.ts";

/** How long a stop request waits for the answer to end, in milliseconds. */
const stopTimeoutMs = 2_000;
const keepAliveMs = 15_000;

/** The chat's routes. `stop` is for the server's shutdown. */
export interface Chat {
  router: Router;
  /** Ends the answers in progress and waits until their results are stored. */
  stop: () => Promise<void>;
}

/**
 * `POST /ai/chat`, `GET /ai/chat/<id>/stream` and `POST /ai/chat/<id>/stop`: the UI-message stream protocol of the AI
 * SDK.
 */
export function chat(dependencies: AssistantDependencies): Chat {
  const { config, pool, model, operations, engine, bodyBytes, log } = dependencies;
  const router = Router();
  const running = new Map<string, RunningAnswer>();
  /** The number of resumed streams by user. */
  const streams = new Map<string, number>();

  router.post(
    "/ai/chat",
    ...assistantOnly(dependencies),
    ...jsonBody(bodyBytes),
    async (request, response) => {
      const caller = callerOf(response.locals, dependencies);
      if (!model) throw unavailable("assistant not configured");
      const asked = readChatBody(request.body, config.messageCharacters);
      await countRequest(response, caller);
      await endLostAnswer(caller, asked.conversationId);
      const begun = await beginAnswer(dependencies, caller, asked);
      const answer = startAnswer({
        config,
        model,
        operations,
        engine,
        caller,
        conversationId: asked.conversationId,
        answerId: begun.answerId,
        messageId: begun.messageId,
        base: begun.base,
        answeredCallIds: begun.answered,
        messages: () =>
          toModelMessages(
            begun.messages,
            begun.base,
            attachmentReader(dependencies, caller),
            config,
          ),
        log: currentScope()?.log ?? log,
      });
      const key = `${caller.requestContext.tenant} ${begun.answerId}`;
      running.set(key, answer);
      answer.done
        .catch(() => undefined)
        .finally(() => running.delete(key))
        .catch(() => undefined);
      await pipe(response, answer.stream());
    },
  );

  router.get("/ai/chat/:id/stream", ...assistantOnly(dependencies), async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const id = request.params["id"] as string;
    const release = takeStream(caller);
    try {
      await endLostAnswer(caller, id);
      const stream = await resumedStream(caller, id);
      if (stream) await pipe(response, stream);
      else response.status(204).end();
    } finally {
      release();
    }
  });

  router.post("/ai/chat/:id/stop", ...assistantOnly(dependencies), async (request, response) => {
    const caller = callerOf(response.locals, dependencies);
    const id = request.params["id"] as string;
    const { rows } = await caller.run((client) =>
      client.query<{ id: string | null }>("select stop_ai_answer($1) as id", [id]),
    );
    const answerId = rows[0]?.id ?? null;
    if (answerId !== null) {
      running.get(`${caller.requestContext.tenant} ${answerId}`)?.end("stopped");
      await waitForEnd(caller, id);
    }
    response.json({ stopped: answerId !== null });
  });

  return {
    router,
    async stop() {
      const answers = [...running.values()];
      for (const answer of answers) answer.end("interrupted");
      await Promise.allSettled(answers.map(({ done }) => done));
    },
  };

  /** Counts a stream that polls the database, until the returned function is called. @throws HttpError beyond the limit */
  function takeStream({ requestContext }: Caller): () => void {
    const key = `${requestContext.tenant} ${requestContext.identity?.userId}`;
    const count = streams.get(key) ?? 0;
    if (count >= config.streamsPerUser)
      throw new HttpError(429, "RATE_LIMITED", "You follow too many answers at a time", {
        retryAfter: 1,
      });
    streams.set(key, count + 1);
    return () => {
      const others = (streams.get(key) ?? 1) - 1;
      if (others > 0) streams.set(key, others);
      else streams.delete(key);
    };
  }

  /** @throws HttpError when the caller's limit per minute is used up */
  async function countRequest(response: Response, { requestContext }: Caller): Promise<void> {
    const { rows } = await pool.query<{ seconds: number }>(
      `select "${requestContext.tenant}".count_attempt('aiChat', null, $1, $2) as seconds`,
      [requestContext.identity?.userId, config.requestsPerMinute],
    );
    const retryAfter = rows[0]?.seconds ?? 0;
    if (retryAfter === 0) return;
    response.setHeader("Retry-After", String(retryAfter));
    throw new HttpError(
      429,
      "RATE_LIMITED",
      `Too many questions to the assistant: try again in ${retryAfter} s`,
      { retryAfter },
    );
  }
}

function pipe(
  response: Response,
  stream: Parameters<typeof pipeUIMessageStreamToResponse>[0]["stream"],
): Promise<void> {
  return pipeUIMessageStreamToResponse({ response, stream, keepAliveMs });
}

async function waitForEnd(caller: Caller, conversationId: string): Promise<void> {
  const until = Date.now() + stopTimeoutMs;
  while (Date.now() < until) {
    if (!(await caller.run((client) => readUnfinishedAnswer(client, conversationId)))) return;
    await setTimeout(50);
  }
}
