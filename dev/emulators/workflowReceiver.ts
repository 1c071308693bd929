import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { z } from "zod";
import { openDeliveries } from "./workflowDeliveries.ts";
import type { Deliveries } from "./workflowDeliveries.ts";
import { faultSchema, makeFaults } from "./workflowFaults.ts";
import type { Fault, Faults } from "./workflowFaults.ts";
import { workflowPage } from "./workflowPage.ts";

/** The emulator of the product-sync workflow. */
export interface WorkflowReceiver {
  /** URL for calls. */
  url: string;
  /** URL of the page with the deliveries. */
  page: string;
  port: number;
  stop(): Promise<void>;
}

export interface WorkflowReceiverOptions {
  /** 0 chooses a free port. */
  port: number;
  /** Secrets that may have signed a call. */
  secrets: readonly string[];
  dataDir: string;
}

const host = "127.0.0.1";
const maxBodyBytes = 1024 * 1024;

/**
 * Starts a receiver of signed webhooks. It accepts a call with a valid signature and a recent timestamp, and starts one run per
 * webhook id. `GET /` shows the deliveries, `GET /deliveries` returns them as JSON; `PUT /fault` sets a fault.
 * @throws when the port is taken
 */
export async function startWorkflowReceiver(
  options: WorkflowReceiverOptions,
): Promise<WorkflowReceiver> {
  const deliveries = await openDeliveries(options.dataDir);
  const webhooks = options.secrets.map((secret) => new Webhook(secret));
  const faults = makeFaults();
  const server = createServer((request, response) => {
    route({ webhooks, deliveries, faults }, request, response).catch((error: unknown) => {
      const problem = error instanceof Error ? error.message : "The request failed";
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, { error: { message: problem } });
    });
  });
  const listening = once(server, "listening");
  server.listen(options.port, host);
  await listening;
  const { port } = server.address() as AddressInfo;
  const origin = `http://${host}:${port}`;
  return {
    url: `${origin}/product-sync`,
    page: `${origin}/`,
    port,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await deliveries.saved();
    },
  };
}

interface Receiver {
  webhooks: readonly Webhook[];
  deliveries: Deliveries;
  faults: Faults;
}

async function route(
  receiver: Receiver,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { deliveries, faults } = receiver;
  switch (`${request.method} ${request.url}`) {
    case "POST /product-sync":
      await receive(receiver, request, response);
      break;
    case "GET /":
      sendPage(response, workflowPage(deliveries.list(), faults.current()));
      break;
    case "GET /deliveries":
      sendJson(response, 200, { deliveries: deliveries.list(), fault: faults.current() });
      break;
    case "PUT /fault":
      faults.set(await readFault(request));
      sendJson(response, 200, { fault: faults.current() });
      break;
    case "DELETE /fault":
      faults.set(null);
      sendJson(response, 200, { fault: null });
      break;
    default:
      sendJson(response, 404, { error: { message: "Not found" } });
  }
}

async function readFault(request: IncomingMessage): Promise<Fault> {
  // A page of another origin needs a CORS preflight for this content type, which this server does not allow.
  if (request.headers["content-type"] !== "application/json")
    throw new Error("Send application/json");
  const fault = faultSchema.safeParse(JSON.parse(await readBody(request)));
  if (!fault.success) throw new Error(z.prettifyError(fault.error));
  return fault.data;
}

async function receive(
  { webhooks, deliveries, faults }: Receiver,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request);
  const id = String(request.headers["webhook-id"] ?? "without an id").slice(0, 100);
  const fault = faults.take();
  if (fault && preventsStart(fault)) {
    deliveries.add(id, `fault: ${fault.kind}`);
    await applyFault(fault, response);
  } else if (!webhooks.some((webhook) => isSigned(webhook, body, request))) {
    deliveries.add(id, "401: invalid signature or old timestamp");
    sendJson(response, 401, { error: { message: "The signature is invalid" } });
  } else {
    const outcome = fault ? `fault after the start: ${fault.kind}` : "202";
    const started = deliveries.add(id, outcome, { value: JSON.parse(body), starts: true });
    if (fault) await applyFault(fault, response);
    else sendJson(response, 202, { runId: id, started });
  }
}

function isSigned(webhook: Webhook, body: string, request: IncomingMessage): boolean {
  try {
    webhook.verify(body, request.headers as Record<string, string>, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

/** The other faults affect only the response: the run has started. */
function preventsStart({ kind }: Fault): boolean {
  return kind === "error" || kind === "busy" || kind === "refuse" || kind === "redirect";
}

const refusals = { error: 500, busy: 429, refuse: 422, redirect: 307 };

async function applyFault(fault: Fault, response: ServerResponse): Promise<void> {
  switch (fault.kind) {
    case "drop":
      response.destroy();
      break;
    case "slow":
      await delay(fault.delayMs, undefined, { ref: false });
      sendJson(response, 202, {});
      break;
    case "flood":
      response.writeHead(202, { "content-type": "text/plain" });
      // Sends until the client disconnects.
      await pipeline(Readable.from(endless()), response).catch(() => undefined);
      break;
    default:
      if (fault.kind === "redirect") response.setHeader("location", "/elsewhere");
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      sendJson(response, refusals[fault.kind], {
        error: { message: `The fault "${fault.kind}" was requested` },
      });
  }
}

function* endless(): Generator<string> {
  for (;;) yield "x".repeat(65_536);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Error("The body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  });
  response.end(html);
}
