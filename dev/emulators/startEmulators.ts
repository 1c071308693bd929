import { randomBytes } from "node:crypto";
import path from "node:path";
import type { Config } from "../../src/config.ts";
import type { Page } from "../../src/process/lifecycle.ts";
import { startOnPreviousPort } from "./startOnPreviousPort.ts";

/** Emulates an external system outside production while the real one is not configured. */
interface Emulator {
  /** Its name in messages; with hyphens, the name of its folder. */
  name: string;
  /** The setting that names the real system; the emulator does not start when it is set. */
  setting: string;
  /** Whether it starts beside the real system, for isolated test runs. */
  isForTestRuns?: (config: Config) => boolean;
  start: (options: EmulatorOptions) => Promise<RunningEmulator | null>;
}

interface EmulatorOptions {
  config: Config;
  /** The folder for its data. */
  dataDir: string;
  /** Orders of the ERP emulator. */
  erpOrders: number;
  log: (line: string) => void;
}

interface RunningEmulator {
  /** The settings that point the server and the worker at it. */
  env: Readonly<Record<string, string>>;
  /** The page that `npm start` names. */
  page?: Page;
  stop(): Promise<void>;
}

// Each module is loaded only when it starts: production never needs it.
const emulators: readonly Emulator[] = [
  {
    name: "identity provider",
    setting: "OIDC_PROVIDERS",
    start: async ({ config, dataDir, log }) => {
      const { startIdentityProvider } = await import("./identityProvider.ts");
      const provider = await startOnPreviousPort({
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
      const receiver = await startOnPreviousPort({
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
      const { startErpEmulator } = await import("./erpEmulator.ts");
      const emulator = await startOnPreviousPort({
        dataDir,
        log,
        start: (port) => startErpEmulator({ port, orders: erpOrders, seed: "wine" }),
      });
      if (emulator === null) return null;
      const page = { title: "ERP", url: emulator.controlUrl };
      return { env: emulator.env, page, stop: () => emulator.stop() };
    },
  },
  {
    name: "search engine",
    setting: "TYPESENSE_URL",
    start: async ({ dataDir, log }) => {
      const { startSearchEngine } = await import("./searchEngine.ts");
      const apiKey = randomBytes(32).toString("base64url");
      const engine = await startOnPreviousPort({
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
      const model = await startOnPreviousPort({
        dataDir,
        log,
        start: (port) => startModelServer({ port, provider, chunkMs: 10 }),
      });
      if (model === null) return null;
      return { env: model.env, stop: () => model.stop() };
    },
  },
  {
    name: "file store",
    setting: "S3_ENDPOINT",
    start: async ({ dataDir, log }) => {
      const { startFileServer } = await import("./fileServer.ts");
      return startOnPreviousPort({
        dataDir,
        log,
        start: (port) => startFileServer({ port, dataDir }),
      });
    },
  },
];

const folderOf = (name: string) => name.replaceAll(" ", "-");

/** The subfolders of the data folder that emulators write to, including the one for mail. */
export const emulatorFolders = [...emulators.map(({ name }) => folderOf(name)), "mail"];

export interface RunningEmulators {
  /** The settings that point the server and the worker at them. */
  env: Readonly<Record<string, string>>;
  pages: readonly Page[];
  stop(): Promise<void>;
}

/** Outside production, the emulators of systems that are not configured or that test runs must not call. */
function selectEmulators(config: Config, env: NodeJS.ProcessEnv): readonly Emulator[] {
  if (config.production) return [];
  return emulators.filter(
    ({ setting, isForTestRuns }) => !env[setting]?.trim() || isForTestRuns?.(config) === true,
  );
}

/** The subfolders of the data folder that this configuration's emulators write to, including the one for mail. */
export function emulatorFoldersOf(config: Config, env: NodeJS.ProcessEnv): string[] {
  const folders = selectEmulators(config, env).map(({ name }) => folderOf(name));
  return config.production || env["SMTP_URL"]?.trim() ? folders : [...folders, "mail"];
}

/** Whether {@link startEmulators} would start any. */
export function needsEmulators(config: Config, env: NodeJS.ProcessEnv): boolean {
  return selectEmulators(config, env).length > 0;
}

/**
 * Outside production, starts an emulator for each external system that is not configured. An emulator that cannot
 * start logs the reason and is left out.
 */
export async function startEmulators(
  config: Config,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  erpOrders: number,
): Promise<RunningEmulators> {
  const started = await Promise.all(
    selectEmulators(config, env).map(({ name, start }) =>
      start({
        config,
        erpOrders,
        dataDir: path.join(config.dataDir, folderOf(name)),
        log: (line) => say(`${name}: ${line}`),
      }),
    ),
  );
  const running = started.filter((emulator) => emulator !== null);
  return {
    env: Object.assign({}, ...running.map((emulator) => emulator.env)) as Record<string, string>,
    pages: running.flatMap(({ page }) => page ?? []),
    stop: async () => {
      await Promise.all(running.map((emulator) => emulator.stop()));
    },
  };
}
