import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ZodError } from "zod";
import { makeFaultQueue } from "./faultQueue.ts";
import { anthropicDialect } from "./model/anthropicDialect.ts";
import { complete } from "./model/completion.ts";
import type { Controlled, SeenRequest } from "./model/control.ts";
import { control } from "./model/control.ts";
import type { Dialect } from "./model/dialect.ts";
import type { Fault } from "./model/faults.ts";
import { openaiDialect } from "./model/openaiDialect.ts";
import { ModelProblem } from "./model/problem.ts";
import { applyFault, refuse, sendJson, sendStream, sendWhole } from "./model/sendAnswer.ts";
import { nextTurn, withFault } from "./model/script.ts";

export interface ModelServerOptions {
  /** 0 chooses a free port. */
  port: number;
  /** The protocol that `env` configures. The server speaks both. */
  provider?: Provider;
  /** Milliseconds between two chunks of a stream; a delay makes the streaming visible. */
  chunkMs?: number;
}

type Provider = "openai-compatible" | "anthropic";

/**
 * The emulator of a language model: it speaks OpenAI's chat completions protocol and Anthropic's Messages protocol, and answers by a
 * script.
 */
export interface ModelServer {
  port: number;
  /** The URL of the control API, which lists requests and adds faults. */
  controlUrl: string;
  /** The settings that point the service at the emulator. */
  env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const host = "127.0.0.1";
const modelName = "emulator";
const maxBodyBytes = 64 * 1024 * 1024;
const maxRecordedRequests = 100;

/** @throws when the port is taken */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { provider = "openai-compatible", chunkMs = 0 } = options;
  const key = `emulator-${randomBytes(24).toString("base64url")}`;
  const faults = makeFaultQueue<Fault>();
  const seen: SeenRequest[] = [];
  const state: Controlled = { faults, seen, manner: "careful" };
  let answers = 0;

  const answerChat = async (
    request: IncomingMessage,
    response: ServerResponse,
    dialect: Dialect,
  ) => {
    const text = await readBody(request);
    const chat = dialect.read(text);
    const entry = recordRequest(seen, JSON.parse(text), response);
    const fault = faults.take();
    if (fault?.kind === "slow") await delay(fault.ms, undefined, { ref: false });
    entry.status = fault?.kind === "status" ? fault.status : 200;
    if (chat.model !== modelName)
      throw new ModelProblem(404, `The model '${chat.model.slice(0, 100)}' does not exist`, {
        code: "model_not_found",
      });
    if (applyFault(fault, response, dialect) || response.destroyed) return;
    const turn = withFault(nextTurn(chat, state.manner), fault, chat.tools);
    const answer = complete(chat, turn, { number: ++answers, ids: dialect.ids });
    if (!chat.isStream) {
      sendWhole(response, answer, { dialect, fault });
      return;
    }
    const { withUsage } = chat;
    return sendStream(response, answer, { dialect, withUsage, chunkMs, fault });
  };

  const answerControl = async (
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    // Web pages must not add faults: the host check blocks DNS rebinding, the content type blocks forms.
    if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? ""))
      throw new ModelProblem(403, "Unknown host name");
    const text = await readBody(request);
    if (text !== "" && !/^application\/json\b/.test(request.headers["content-type"] ?? ""))
      throw new ModelProblem(415, "Send JSON with the content type application/json");
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    sendJson(response, 200, control(state, request.method ?? "", path, body));
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string) => {
    if (path.startsWith("/_model")) return answerControl(path, request, response);
    verifyKey(key, request);
    switch (`${request.method} ${path}`) {
      case "POST /v1/chat/completions":
        return answerChat(request, response, openaiDialect);
      case "POST /v1/messages":
        if (request.headers["anthropic-version"] !== "2023-06-01")
          throw new ModelProblem(400, "anthropic-version: header is required");
        return answerChat(request, response, anthropicDialect);
      case "GET /v1/models": {
        sendJson(response, 200, {
          object: "list",
          data: [{ id: modelName, object: "model", created: 0, owned_by: "emulator" }],
        });
        return;
      }
      default:
        throw new ModelProblem(404, `Invalid URL (${request.method} ${path})`);
    }
  };

  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const dialect = path === "/v1/messages" ? anthropicDialect : openaiDialect;
    answer(request, response, path).catch((error: unknown) => sendError(response, error, dialect));
  });
  const listening = once(server, "listening");
  server.listen(options.port, host);
  await listening;
  const { port } = server.address() as AddressInfo;
  const origin = `http://${host}:${port}`;
  return {
    port,
    controlUrl: `${origin}/_model`,
    env: {
      AI_PROVIDER: provider,
      AI_BASE_URL: `${origin}/v1`,
      AI_API_KEY: key,
      AI_MODEL: modelName,
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function recordRequest(seen: SeenRequest[], body: unknown, response: ServerResponse): SeenRequest {
  const entry: SeenRequest = { at: Date.now(), body, status: null, aborted: false, endedAt: null };
  seen.push(entry);
  if (seen.length > maxRecordedRequests) seen.shift();
  response.once("close", () => {
    entry.aborted = !response.writableFinished;
    entry.endedAt = Date.now();
  });
  return entry;
}

/** The header for the key differs by dialect. */
function verifyKey(key: string, { headers }: IncomingMessage): void {
  const sent = headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, "") ?? "";
  const [given, right] = [Buffer.from(String(sent)), Buffer.from(key)];
  if (given.length === right.length && timingSafeEqual(given, right)) return;
  throw new ModelProblem(401, "Incorrect API key provided.", { code: "invalid_api_key" });
}

function sendError(response: ServerResponse, error: unknown, dialect: Dialect): void {
  if (response.headersSent) return void response.destroy();
  if (error instanceof ModelProblem) return refuse(response, error, dialect);
  const isInput = error instanceof ZodError || error instanceof SyntaxError;
  const message = error instanceof Error ? error.message : String(error);
  refuse(response, new ModelProblem(isInput ? 400 : 500, message), dialect);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new ModelProblem(413, "The request is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
