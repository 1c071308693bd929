import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, RequestListener, Server } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { makeProviderClients } from "../../src/auth/oidc/providerClients.ts";
import { readConfig } from "../../src/config.ts";
import { makeErpClient } from "../../src/gateways/makeErpClient.ts";
import { makePictures } from "../../src/gateways/pictures.ts";
import { makeS3Files } from "../../src/gateways/s3Files.ts";
import { makeTypesense } from "../../src/gateways/typesense.ts";
import { makeWorkflowGateway } from "../../src/gateways/makeWorkflowGateway.ts";
import { readEngineVersion } from "../../src/search/engineVersion.ts";
import { makeGateway } from "../helpers/dev/modelTools.ts";
import { localCertificate } from "../helpers/certificate.ts";

// All external systems are hostile in these tests.

const never = new AbortController().signal;
const log = pino({ level: "silent" });
let hostile: Server;
let trap: Server;
let origin: string;
let trapOrigin: string;
let answer: RequestListener;
const trapped: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];

const listen = async (server: Server) => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  hostile = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  trap = createServer((request, response) => {
    trapped.push({ url: request.url, headers: request.headers });
    request.resume();
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  [origin, trapOrigin] = [await listen(hostile), await listen(trap)];
});
afterEach(() => {
  trapped.length = 0;
  hostile.closeAllConnections();
});
afterAll(() => {
  for (const server of [hostile, trap]) {
    server.closeAllConnections();
    server.close();
  }
});

const timeoutMs = 1_000;
const read = (env: Record<string, string>) =>
  readConfig({ NODE_ENV: "test", ...env }, [], {
    search: { timeoutMs },
    files: { timeoutMs },
    erp: { timeoutMs, retries: 0, longestWaitMs: 100 },
    workflow: { timeoutMs },
  });
const search = () => {
  const config = read({
    TYPESENSE_URL: origin,
    TYPESENSE_API_KEY: "administration-key",
  });
  const engine = makeTypesense(config.search);
  if (!engine) throw new Error("the settings name no search engine");
  return engine;
};
const files = () =>
  makeS3Files(
    read({
      S3_ENDPOINT: origin,
      S3_ACCESS_KEY_ID: "id",
      S3_SECRET_ACCESS_KEY: "secret-of-the-store",
      S3_BUCKET: "back-office",
    }).files,
  );
const erp = () => {
  const client = makeErpClient(
    read({
      ERP_TENANT_ID: "t",
      ERP_ENVIRONMENT: "production",
      ERP_COMPANY_ID: "00000000-0000-0000-0000-000000000001",
      ERP_CLIENT_ID: "id",
      ERP_CLIENT_SECRET: "secret-of-the-erp",
      ERP_BASE_URL: `${origin}/v2.0`,
      ERP_TOKEN_URL: `${origin}/token`,
    }),
  );
  if (!client) throw new Error("the settings name no ERP");
  return client;
};
const workflow = () =>
  makeWorkflowGateway(
    read({
      PRODUCT_SYNC_WORKFLOW_URL: `${origin}/run`,
      PRODUCT_SYNC_WORKFLOW_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
    }),
  );
const model = async () => {
  const settings = {
    AI_PROVIDER: "openai-compatible",
    AI_BASE_URL: origin,
    AI_API_KEY: "secret-of-the-model",
    AI_MODEL: "some-model",
  };
  const gateway = makeGateway(settings, { silenceTimeoutMs: timeoutMs });
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];
  const { stream } = await gateway.model.doStream({ prompt });
  // The stream's types leave out that Node.js can iterate it.
  for await (const part of stream as unknown as AsyncIterable<{ type: string }>)
    if (part.type === "error") throw new Error("model request failed");
};
const provider = () =>
  makeProviderClients(timeoutMs)({
    id: "test",
    name: "Test",
    issuer: origin,
    clientId: "id",
    clientSecret: "secret-of-the-provider",
  } as Parameters<ReturnType<typeof makeProviderClients>>[0]);

const calls: [string, () => Promise<unknown>][] = [
  ["search: list", () => search().collections()],
  ["search: write", () => search().put("products", [{ id: "1" }])],
  ["search: remove", () => search().remove("products", ["1"])],
  ["search: make a key", () => search().makeKey({ value: "v", description: "d", collections: [] })],
  ["search: health", () => search().check()],
  ["search: version", () => readEngineVersion(origin, { apiKey: "administration-key", timeoutMs })],
  ["files: read", () => files().read("a", never)],
  ["files: check", () => Promise.resolve(files().check(never))],
  ["ERP", () => erp().check({ signal: never })],
  [
    "workflow",
    () =>
      workflow().start({ runId: "r", requestedAt: new Date() } as never, { signal: never, log }),
  ],
  ["language model", model],
  ["identity provider", provider],
];

describe.each(calls)("a request to an external system (%s)", (_name, call) => {
  test.each([301, 302, 303, 307, 308])(
    "does not follow a redirect with status %i",
    async (status) => {
      answer = (_request, response) =>
        response.writeHead(status, { location: `${trapOrigin}/inside` }).end();
      await expect(call()).rejects.toThrow();
      expect(trapped).toEqual([]);
    },
  );
});

describe("a picture's host", () => {
  let certificate: Awaited<ReturnType<typeof localCertificate>>;
  let inside: ReturnType<typeof createTlsServer>;
  let port: number;
  let asked = 0;
  beforeAll(async () => {
    certificate = await localCertificate();
    inside = createTlsServer(certificate, (_request, response) => {
      asked++;
      response.end();
    });
    inside.on("connection", () => asked++);
    inside.listen(0, "127.0.0.1");
    await once(inside, "listening");
    ({ port } = inside.address() as AddressInfo);
  });
  afterEach(() => {
    asked = 0;
  });
  afterAll(() => void inside.close());

  /** Answers DNS lookups in order and repeats the last answer. */
  function resolve(...answers: string[][]) {
    let turn = 0;
    const lookup: LookupFunction = (_host, options, callback) => {
      const addresses = answers[Math.min(turn++, answers.length - 1)] ?? [];
      const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      const [first] = all;
      if (options.all) callback(null, all);
      else callback(null, first?.address ?? "", first?.family);
    };
    return { lookup, looked: () => turn };
  }

  const reason = (address: string, resolver: { lookup?: LookupFunction } = {}) =>
    makePictures(
      { hosts: [], bytes: 10_000, timeoutMs: 1_000 },
      { ca: certificate.cert, ...resolver },
    )
      .fetch(address, never)
      .then(
        () => "a picture",
        (error: unknown) => (error as Error).message,
      );
  // A documentation network without hosts.
  const external = "192.0.2.1";

  test.each<[string, string[][]]>([
    ["resolves to a private address", [["127.0.0.1"]]],
    ["resolves to a private IPv6 address", [["::1"]]],
    ["resolves to an IPv4 address within IPv6", [["::ffff:127.0.0.1"]]],
    ["has a private address after a public one", [[external, "127.0.0.1"]]],
    ["has a private address before a public one", [["127.0.0.1", external]]],
    ["resolves to a private address the second time", [[external], ["127.0.0.1"]]],
    ["resolves to nothing", [[]]],
    ["resolves to the metadata service", [["169.254.169.254"]]],
    ["resolves to all addresses of this machine", [["0.0.0.0"], ["::"]]],
    ["resolves to an IPv4 address within IPv6, in the old form", [["::7f00:1"]]],
    ["resolves to the host agent of a cloud", [["168.63.129.16"]]],
    ["resolves to an address that NAT64 translates", [["64:ff9b::7f00:1"], ["64:ff9b:1::7f00:1"]]],
    ["resolves to an address in a tunnel", [["2002:7f00:1::"], ["2001:0:7f00:1::1"]]],
    ["resolves to a link-local or local address", [["fe80::1"], ["fec0::1"], ["fd00:ec2::254"]]],
    ["resolves to a carrier's or a test network", [["100.64.0.1"], ["198.18.0.1"]]],
    ["resolves to a group of hosts", [["224.0.0.1"], ["ff02::1"], ["255.255.255.255"]]],
  ])("is not contacted when it %s", async (_name, answers) => {
    const { lookup, looked } = resolve(...answers);
    for (let turn = 0; turn < answers.length; turn++)
      expect(await reason(`https://pictures.example:${port}/a.png`, { lookup })).toMatch(
        answers.flat().includes(external)
          ? /^(its host cannot be reached|it took too long to download)$/
          : "its host cannot be reached",
      );
    expect(looked()).toBeGreaterThan(0);
    expect(asked).toBe(0);
  });

  test.each([
    "localhost.",
    "LOCALHOST",
    "127.0.0.1.",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "0x7f.1",
    "017700000001",
    "0",
    "0177.0.0.1",
    "[::]",
    "[::127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "168.63.129.16",
    "user@127.0.0.1",
  ])("is not contacted in a private network when written as %s", async (host) => {
    expect(await reason(`https://${host}:${port}/a.png`)).toMatch(
      /^(its host cannot be reached|its URL is not a plain https URL)$/,
    );
    expect(asked).toBe(0);
  });

  test.each([
    "ftp:",
    "gopher:",
    "file:",
    "data:",
    "javascript:",
    "blob:https:",
    "ws:",
    "unix:",
    "//",
  ])("is not contacted over %s", async (scheme) => {
    expect(await reason(`${scheme}//127.0.0.1:${port}/a.png`)).toBe(
      "its URL is not a plain https URL",
    );
    expect(asked).toBe(0);
  });
});
