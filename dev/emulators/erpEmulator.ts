import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { ZodError } from "zod";
import type { Page } from "./erp/api.ts";
import { applyPageFault, readSet } from "./erp/api.ts";
import type { SeenRequest } from "./erp/control.ts";
import { control } from "./erp/control.ts";
import { type Fault, matchesSet } from "./erp/faults.ts";
import { ApiProblem } from "./erp/problem.ts";
import { idOf } from "./erp/random.ts";
import { makeTokenIssuer } from "./erp/tokens.ts";
import { makeWorld } from "./erp/world.ts";
import { makeFaultQueue } from "./faultQueue.ts";

export interface ErpEmulatorOptions {
  /** 0 chooses a free port. */
  port: number;
  seed: string;
  orders: number;
  customers?: number;
  items?: number;
  /** One of this many orders has a fault, of each kind in turn; 0 disables faults. */
  faultEvery?: number;
  /** The lifetime of an access token. */
  tokenSeconds?: number;
}

/** Emulates the part of Business Central's API v2.0 that the service uses, and Entra ID's token endpoint. */
export interface ErpEmulator {
  port: number;
  /** The URL of the control API, which shows and changes data and adds faults. */
  controlUrl: string;
  /** The settings that point the service at the emulator. */
  env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const host = "127.0.0.1";
const tenant = "emulator";
const environment = "sandbox";
const maxBodyBytes = 1024 * 1024;
const maxRecordedRequests = 200;

/** @throws when the port is taken */
export async function startErpEmulator(options: ErpEmulatorOptions): Promise<ErpEmulator> {
  const { seed, orders, customers = 2_000, items = 3_000, faultEvery = 20 } = options;
  const { tokenSeconds = 3600 } = options;
  const world = makeWorld({ seed, orders, customers, items, faultEvery });
  const clientSecret = randomBytes(24).toString("base64url");
  const clientId = idOf(seed, "application");
  const server = createServer({ keepAliveTimeout: 60_000 });
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  const origin = `http://${host}:${port}`;
  const tokens = makeTokenIssuer({ clientId, clientSecret, seconds: tokenSeconds });
  const faults = makeFaultQueue<Fault>();
  const seen: SeenRequest[] = [];
  const previousPages = new Map<string, Page>();
  let requests = 0;

  const root = `/v2.0/${tenant}/${environment}/api/v2.0/companies`;
  const tokenPath = `/${tenant}/oauth2/v2.0/token`;

  /** The response body of a GET below the API's root, for a path such as `(id)/salesOrders`. */
  const read = (url: URL, request: IncomingMessage, fault: Fault | null): unknown => {
    const rest = decodeURIComponent(url.pathname).slice(root.length);
    if (rest === "") return { value: [world.company] };
    const match = /^\(([0-9a-f-]+)\)(?:\/(\w+))?$/i.exec(rest);
    if (match?.[1]?.toLowerCase() !== world.companyId)
      throw new ApiProblem(404, "Internal_CompanyNotFound", "The company was not found.");
    const set = match[2];
    if (set === undefined) return world.company;
    const page = readSet(world, set, url, request.headers.prefer as string | undefined);
    const shown = applyPageFault(world, page, fault, { previous: previousPages.get(set), url });
    // Repeated `duplicate` faults return the same page.
    if (fault?.kind !== "duplicate") previousPages.set(set, page);
    return shown;
  };

  const answerApi = async (url: URL, request: IncomingMessage, response: ServerResponse) => {
    const set = url.pathname.split("/").at(-1) ?? "";
    const fault = faults.take(matchesSet(set));
    if (fault?.kind === "slow") await wait(fault.ms);
    if (applyFault(fault, response)) return;
    tokens.verify(request.headers.authorization);
    if (request.method !== "GET")
      throw new ApiProblem(405, "BadRequest_MethodNotAllowed", "The emulator only reads.");
    send(response, 200, read(url, request, fault), fault);
  };

  const answerToken = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await readBody(request));
    const fault = faults.take(matchesSet("token"));
    if (fault?.kind === "slow") await wait(fault.ms);
    if (applyFault(fault, response)) return;
    const { status, body } = tokens.issue(form, request.headers.authorization);
    send(response, status, body, fault);
  };

  const answerControl = async (url: URL, request: IncomingMessage, response: ServerResponse) => {
    // Web pages must not add faults: the host check blocks DNS rebinding, the content type blocks forms.
    if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? ""))
      throw new ApiProblem(403, "Forbidden", "Unknown host name");
    const text = await readBody(request);
    if (text !== "" && !/^application\/json\b/.test(request.headers["content-type"] ?? ""))
      throw new ApiProblem(415, "BadRequest", "Send JSON with the content type application/json");
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const path = decodeURIComponent(url.pathname).split("/").slice(2).filter(Boolean);
    const parts = { world, faults, tokens, seen, count: () => requests };
    send(response, 200, control(parts, request.method ?? "", path, url.searchParams, body), null);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    // Uses the requested host, so that links to further pages have the same address.
    const url = new URL(request.url ?? "/", `http://${request.headers.host ?? `${host}:${port}`}`);
    response.setHeader("date", new Date(world.now()).toUTCString());
    if (url.pathname.startsWith("/_emulator")) return answerControl(url, request, response);
    requests++;
    const entry: SeenRequest = {
      at: Date.now(),
      method: request.method ?? "",
      path: decodeURIComponent(url.pathname + url.search),
      requestId: (request.headers["client-request-id"] as string | undefined) ?? null,
      prefer: (request.headers.prefer as string | undefined) ?? null,
      status: null,
    };
    seen.push(entry);
    if (seen.length > maxRecordedRequests) seen.shift();
    response.once("close", () => (entry.status = response.statusCode));
    if (url.pathname === tokenPath) return answerToken(request, response);
    if (decodeURIComponent(url.pathname).startsWith(root)) return answerApi(url, request, response);
    throw new ApiProblem(404, "BadRequest_ResourceNotFound", "Resource not found.");
  };

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch((error: unknown) => sendProblem(response, error));
  });
  return {
    port,
    controlUrl: `${origin}/_emulator`,
    env: {
      ERP_BASE_URL: `${origin}/v2.0`,
      ERP_TENANT_ID: tenant,
      ERP_ENVIRONMENT: environment,
      ERP_COMPANY_ID: world.companyId,
      ERP_CLIENT_ID: clientId,
      ERP_CLIENT_SECRET: clientSecret,
      ERP_TOKEN_URL: origin + tokenPath,
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Applies the faults that replace the response. Returns true when the response is complete. */
function applyFault(fault: Fault | null, response: ServerResponse): boolean {
  if (fault?.kind === "redirect") {
    response.writeHead(302, { location: fault.url }).end();
    return true;
  }
  if (fault?.kind !== "status") return false;
  if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
  const code = fault.status === 429 ? "TooManyRequests" : "Internal_ServerError";
  const message = "The emulator returned a requested fault.  CorrelationId:  00000000.";
  send(response, fault.status, { error: { code, message } }, null);
  return true;
}

function send(response: ServerResponse, status: number, body: unknown, fault: Fault | null): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; odata.metadata=minimal; odata.streaming=true",
    "odata-version": "4.0",
  });
  if (fault?.kind === "malformed") return void response.end(text.slice(0, text.length / 2));
  if (fault?.kind === "pad") return void response.end(text + " ".repeat(fault.bytes));
  if (fault?.kind !== "drop") return void response.end(text);
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

function sendProblem(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const problem =
    error instanceof ApiProblem
      ? error
      : error instanceof ZodError || error instanceof SyntaxError
        ? new ApiProblem(400, "BadRequest", error.message)
        : new ApiProblem(500, "Unknown", error instanceof Error ? error.message : String(error));
  const { status, code, message } = problem;
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  send(response, status, { error: { code, message } }, null);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request as AsyncIterable<string>) {
    text += chunk;
    if (text.length > maxBodyBytes)
      throw new ApiProblem(413, "BadRequest", "The body is too large");
  }
  return text;
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
