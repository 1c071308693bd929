import { mkdtemp, rm } from "node:fs/promises";
import { randomBytes, randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConstantOverrides } from "../../src/settings/constants.ts";
import { startErpEmulator } from "../../dev/emulators/erpEmulator.ts";
import { startModelServer } from "../../dev/emulators/modelServer.ts";
import { startSearchEngine } from "../../dev/emulators/searchEngine.ts";
import { startWorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import type { MailServer } from "./workers/mailServer.ts";
import { startMailServer } from "./workers/mailServer.ts";
import type { FakeProvider } from "./fakeProvider.ts";
import { startFakeProvider } from "./fakeProvider.ts";
import type { TestFiles } from "./fileServer.ts";
import { startTestFiles } from "./fileServer.ts";
import type { Proxy } from "./proxy.ts";
import { startProxy } from "./proxy.ts";

/** The external systems of the service, except the database. */
export type ExternalSystemName = "files" | "search" | "ERP" | "workflow" | "mail" | "model";

/** The emulators of external systems, each behind a proxy. */
export interface ExternalSystems {
  /** The environment of servers and workers. */
  env: Record<string, string>;
  /** Short timeouts for tests. */
  constants: ConstantOverrides;
  proxies: Record<ExternalSystemName, Proxy>;
  files: TestFiles;
  mail: MailServer;
  provider: FakeProvider;
  erp: { controlUrl: string };
  workflow: { page: string };
  stop(): Promise<void>;
}

/**
 * Starts all emulators.
 * @param orders the number of orders in the ERP emulator
 * @param filesFolder the object store's data directory
 */
export async function startExternalSystems(
  orders: number,
  filesFolder?: string,
): Promise<ExternalSystems> {
  const dataDir = await mkdtemp(join(tmpdir(), "outside-"));
  const folder = (name: string) => mkdtemp(join(dataDir, `${name}-`));
  const apiKey = randomUUID();
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const [files, engine, erp, workflow, mail, model, provider] = await Promise.all([
    startTestFiles(filesFolder),
    startSearchEngine({ port: 0, apiKey, dataDir: await folder("search") }),
    startErpEmulator({ port: 0, seed: "fleet", orders, customers: 40, items: 60 }),
    startWorkflowReceiver({ port: 0, secrets: [secret], dataDir: await folder("workflow") }),
    startMailServer(),
    startModelServer(),
    startFakeProvider(),
  ]);
  const proxies = {
    files: await startProxy(files.url),
    search: await startProxy(engine.url),
    ERP: await startProxy(erp.env["ERP_BASE_URL"] ?? ""),
    workflow: await startProxy(workflow.url),
    mail: await startProxy(mail.url),
    model: await startProxy(model.env["AI_BASE_URL"] ?? ""),
  };
  const through = (name: ExternalSystemName, address = "") => {
    const url = new URL(address);
    url.host = new URL(proxies[name].url).host;
    return url.href.replace(/\/$/, "");
  };
  return {
    env: {
      ...files.env(through("files", files.url)),
      TYPESENSE_URL: new URL(proxies.search.url).origin,
      TYPESENSE_PUBLIC_URL: new URL(engine.url).origin,
      TYPESENSE_API_KEY: apiKey,
      ...erp.env,
      ERP_BASE_URL: through("ERP", erp.env["ERP_BASE_URL"]),
      ERP_TOKEN_URL: through("ERP", erp.env["ERP_TOKEN_URL"]),
      PRODUCT_SYNC_WORKFLOW_URL: through("workflow", workflow.url),
      PRODUCT_SYNC_WORKFLOW_SECRET: secret,
      SMTP_URL: through("mail", mail.url),
      MAIL_FROM: "Back office <office@wine.example>",
      INVITATION_URL: "https://office.example/login",
      ...model.env,
      AI_BASE_URL: through("model", model.env["AI_BASE_URL"]),
      OIDC_PROVIDERS: JSON.stringify([provider.settings("fleet")]),
    },
    constants: {
      search: { timeoutMs: 2_000 },
      erp: { retries: 1, longestWaitMs: 100, timeoutMs: 2_000, breakerMs: 1_000 },
      workflow: { timeoutMs: 2_000 },
      mail: { timeoutMs: 2_000 },
      files: { timeoutMs: 3_000 },
    },
    proxies,
    files,
    mail,
    provider,
    erp,
    workflow,
    async stop() {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
      await Promise.all([
        ...[files.stop(), engine.stop(), erp.stop(), workflow.stop()],
        ...[mail.close(), model.stop(), provider.stop()],
      ]);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
