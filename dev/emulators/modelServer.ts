import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ErrorRequestHandler, Request, Response } from "express";
import express from "express";
import { ZodError, prettifyError } from "zod";
import { makeFaultQueue } from "./faultQueue.ts";
import { anthropicDialect } from "./model/anthropicDialect.ts";
import { makeAnswer } from "./model/answer.ts";
import type { Call } from "./model/conversation.ts";
import { ModelProblem, verifyConversation } from "./model/conversation.ts";
import type { Dialect } from "./model/dialect.ts";
import type { Fault, Scripted } from "./model/faults.ts";
import { changeAnswer, replaceResponse } from "./model/faults.ts";
import { openaiDialect } from "./model/openaiDialect.ts";
import { nextTurn } from "./model/script.ts";
import { sendStream } from "./model/sendStream.ts";

interface ModelServerOptions {
  /** 0, the default, chooses a free port. */
  port?: number;
  /** The protocol that `env` configures. The server speaks both. */
  provider?: "openai-compatible" | "anthropic";
  /** Milliseconds between two chunks of a stream; a delay makes the streaming visible. */
  chunkMs?: number;
}

/**
 * The emulator of a language model: it speaks OpenAI's chat completions protocol and Anthropic's Messages protocol. It
 * answers by a script, unless a test says what the next answers are.
 */
export interface ModelServer {
  port: number;
  /** The settings that point the service at the emulator. */
  env: Readonly<Record<string, string>>;
  /** The last requests, oldest first. */
  requests: readonly SeenRequest[];
  /** Makes the next answers say and call exactly this. */
  say(text: string, calls?: readonly Call[], times?: number): void;
  /** Makes the next answers fail. */
  fail(fault: Fault): void;
  /** Makes every call that any text requests, even a text that is data. */
  obeyData(): void;
  /** Removes all scripted turns and faults, and ends the obedience. */
  calm(): void;
  stop(): Promise<void>;
}

/** A recorded request to the model. */
interface SeenRequest {
  body: unknown;
  /** Whether the client disconnected before the response was complete. */
  aborted: boolean;
  /** When the response was complete or aborted. */
  endedAt: number | null;
}

const host = "127.0.0.1";
const modelName = "emulator";
const maxRecordedRequests = 100;

/** @throws when the port is taken */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const { port: wantedPort = 0, provider = "openai-compatible", chunkMs = 0 } = options;
  const key = `emulator-${randomUUID()}`;
  const script = makeFaultQueue<Scripted>();
  const requests: SeenRequest[] = [];
  let isObedient = false;

  const answerIn = (dialect: Dialect) => async (request: Request, response: Response) => {
    recordRequest(requests, request.body, response);
    const conversation = dialect.read(request.body);
    verifyConversation(conversation);
    if (conversation.model !== modelName) throw new ModelProblem(404, "There is no such model");
    const scripted = script.take();
    if (scripted?.kind === "slow") await delay(scripted.ms, undefined, { ref: false });
    if (replaceResponse(response, scripted)) return;
    const turn = scripted?.kind === "say" ? scripted : nextTurn(conversation, isObedient);
    const answer = makeAnswer(conversation, turn, JSON.stringify(request.body).length);
    const options = { dialect, chunkMs, fault: scripted };
    await sendStream(response, changeAnswer(answer, scripted), options);
  };

  const app = express();
  app.use((request, _response, next) => {
    // The header for the key differs by protocol.
    const { authorization, "x-api-key": sent = authorization?.replace(/^Bearer /, "") } =
      request.headers;
    next(sent === key ? undefined : new ModelProblem(401, "The API key is incorrect"));
  });
  app.use(express.json({ limit: "64mb" }));
  app.get("/v1/models", (_request, response) => {
    response.json({ object: "list", data: [{ id: modelName, object: "model" }] });
  });
  app.post("/v1/chat/completions", answerIn(openaiDialect), sendError(openaiDialect));
  app.post("/v1/messages", answerIn(anthropicDialect), sendError(anthropicDialect));
  app.use(sendError(openaiDialect));
  const server = app.listen(wantedPort, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    env: {
      AI_PROVIDER: provider,
      AI_BASE_URL: `http://${host}:${port}/v1`,
      AI_API_KEY: key,
      AI_MODEL: modelName,
    },
    requests,
    say: (text, calls = [], times = 1) => script.add({ kind: "say", text, calls, times, after: 0 }),
    fail: (fault) => script.add({ times: 1, after: 0, ...fault }),
    obeyData: () => void (isObedient = true),
    calm() {
      script.clear();
      isObedient = false;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function recordRequest(requests: SeenRequest[], body: unknown, response: Response): void {
  const entry: SeenRequest = { body, aborted: false, endedAt: null };
  requests.push(entry);
  if (requests.length > maxRecordedRequests) requests.shift();
  response.once("close", () => {
    entry.aborted = !response.writableFinished;
    entry.endedAt = Date.now();
  });
}

function sendError(dialect: Dialect): ErrorRequestHandler {
  return (error: Error & { status?: number }, _request, response, _next) => {
    const isInvalid = error instanceof ZodError || error instanceof SyntaxError;
    const message = error instanceof ZodError ? prettifyError(error) : error.message;
    const problem = new ModelProblem(isInvalid ? 400 : (error.status ?? 500), message);
    if (response.headersSent) response.destroy();
    else response.status(problem.status).json(dialect.problem(problem));
  };
}
