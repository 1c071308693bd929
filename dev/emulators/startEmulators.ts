import { randomBytes } from "node:crypto";
import path from "node:path";
import type { Config } from "../../src/config.ts";
import type { Page } from "../../src/process/lifecycle.ts";
import { keepPort } from "./keepPort.ts";

/** A server that stands in for an external system outside production, for as long as none is configured. */
interface StandIn {
  /** What it is called in messages; also, with hyphens, its folder. */
  name: string;
  /** The setting that names the real one: with it, this one is not started. */
  setting: string;
  /** Whether it is started beside the real one, for isolated test runs. */
  isForTestRuns?: (config: Config) => boolean;
  start: (options: StandInOptions) => Promise<RunningStandIn | null>;
}

interface StandInOptions {
  config: Config;
  /** A folder of its own for what it keeps. */
  dataDir: string;
  /** Orders of the ERP emulator. */
  erpOrders: number;
  log: (line: string) => void;
}

/** A stand-in that runs. */
interface RunningStandIn {
  /** The settings with which server and worker reach it as they would the real one. */
  env: Readonly<Record<string, string>>;
  /** A page of its own for people, if it has one. */
  page?: Page;
  stop(): Promise<void>;
}

// Each is loaded only when it starts: production never needs it.
const emulators: readonly StandIn[] = [
  {
    name: "identity provider",
    setting: "OIDC_PROVIDERS",
    start: async ({ config, dataDir, log }) => {
      const { startIdentityProvider } = await import("./identityProvider.ts");
      const provider = await keepPort({
        dataDir,
        log,
        start: (port) => startIdentityProvider({ port, publicUrl: config.publicUrl }),
      });
      if (provider === null) return null;
      const env = { OIDC_PROVIDERS: JSON.stringify([provider.settings]) };
      return { env, stop: () => provider.stop() };
    },
  },
  {
    name: "product-sync workflow",
    setting: "PRODUCT_SYNC_WORKFLOW_URL",
    isForTestRuns: ({ testMode, workflow }) => testMode && workflow.recorderUrl === undefined,
    start: async ({ config, dataDir, log }) => {
      const { startWorkflowReceiver } = await import("./workflowReceiver.ts");
      const { secrets: given, url, recorderUrl } = config.workflow;
      const secrets = given.length > 0 ? given : [`whsec_${randomBytes(32).toString("base64")}`];
      const receiver = await keepPort({
        dataDir,
        log,
        start: (port) => startWorkflowReceiver({ port, secrets, dataDir }),
      });
      if (receiver === null) return null;
      return {
        env: {
          ...(url === undefined && {
            PRODUCT_SYNC_WORKFLOW_URL: receiver.url,
            PRODUCT_SYNC_WORKFLOW_SECRET: secrets.join(","),
          }),
          ...(recorderUrl === undefined && { PRODUCT_SYNC_RECORDER_URL: receiver.url }),
        },
        page: { title: "Product sync", url: receiver.page },
        stop: () => receiver.stop(),
      };
    },
  },
  {
    name: "ERP",
    setting: "ERP_CLIENT_ID",
    start: async ({ erpOrders, dataDir, log }) => {
      const { startErpSimulator } = await import("./erpSimulator.ts");
      const simulator = await keepPort({
        dataDir,
        log,
        start: (port) => startErpSimulator({ port, orders: erpOrders, seed: "wine" }),
      });
      if (simulator === null) return null;
      const page = { title: "ERP", url: simulator.controlUrl };
      return { env: simulator.env, page, stop: () => simulator.stop() };
    },
  },
  {
    name: "search engine",
    setting: "TYPESENSE_URL",
    start: async ({ dataDir, log }) => {
      const { startSearchEngine } = await import("./searchEngine.ts");
      const apiKey = randomBytes(32).toString("base64url");
      const engine = await keepPort({
        dataDir,
        log,
        start: (port) => startSearchEngine({ port, apiKey, dataDir }),
      });
      if (engine === null) return null;
      const env = { TYPESENSE_URL: engine.url, TYPESENSE_API_KEY: apiKey };
      return { env, stop: () => engine.stop() };
    },
  },
  {
    name: "language model",
    setting: "AI_MODEL",
    start: async ({ config, dataDir, log }) => {
      const { startModelServer } = await import("./modelServer.ts");
      const { provider } = config.assistant;
      const model = await keepPort({
        dataDir,
        log,
        start: (port) => startModelServer({ port, provider, chunkMs: 10 }),
      });
      if (model === null) return null;
      const page = { title: "Language model", url: model.controlUrl };
      return { env: model.env, page, stop: () => model.stop() };
    },
  },
  {
    name: "file store",
    setting: "S3_ENDPOINT",
    start: async ({ dataDir, log }) => {
      const { startFileServer } = await import("./fileServer.ts");
      return keepPort({
        dataDir,
        log,
        start: (port) => startFileServer({ port, dataDir }),
      });
    },
  },
];

const folderOf = (name: string) => name.replaceAll(" ", "-");

/** The folders below the data folder that emulators write to, the one for mail included. */
export const emulatorFolders = [...emulators.map(({ name }) => folderOf(name)), "mail"];

/** Stand-ins that run. */
export interface RunningEmulators {
  /** The settings with which server and worker reach them as they would the real ones. */
  env: Readonly<Record<string, string>>;
  pages: readonly Page[];
  stop(): Promise<void>;
}

/** What is to be stood in for: outside production, each external system that is not configured, or that test runs must not call. */
function wanted(config: Config, env: NodeJS.ProcessEnv): readonly StandIn[] {
  if (config.production) return [];
  return emulators.filter(
    ({ setting, isForTestRuns }) => !env[setting]?.trim() || isForTestRuns?.(config) === true,
  );
}

/** The folders below the data folder that the emulators of this configuration write to, the one for mail included. */
export function emulatorFoldersOf(config: Config, env: NodeJS.ProcessEnv): string[] {
  const folders = wanted(config, env).map(({ name }) => folderOf(name));
  return config.production || env["SMTP_URL"]?.trim() ? folders : [...folders, "mail"];
}

/** Whether {@link startEmulators} would start any. */
export function needsEmulators(config: Config, env: NodeJS.ProcessEnv): boolean {
  return wanted(config, env).length > 0;
}

/**
 * Outside production, starts what stands in for each external system that is not configured. One that cannot start says why and is left
 * out.
 */
export async function startEmulators(
  config: Config,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  erpOrders: number,
): Promise<RunningEmulators> {
  const started = await Promise.all(
    wanted(config, env).map(({ name, start }) =>
      start({
        config,
        erpOrders,
        dataDir: path.join(config.dataDir, folderOf(name)),
        log: (line) => say(`${name}: ${line}`),
      }),
    ),
  );
  const running = started.filter((standIn) => standIn !== null);
  return {
    env: Object.assign({}, ...running.map((standIn) => standIn.env)) as Record<string, string>,
    pages: running.flatMap(({ page }) => page ?? []),
    stop: async () => {
      await Promise.all(running.map((standIn) => standIn.stop()));
    },
  };
}
