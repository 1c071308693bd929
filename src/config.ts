import { assistantConfig, assistantProblems, assistantSettings } from "./settings/assistant.ts";
import { auditConfig, auditSettings } from "./settings/audit.ts";
import { databaseConfig, databaseSettings } from "./settings/database.ts";
import { erpConfig, erpNeeds, erpProblems, erpSettings } from "./settings/erp.ts";
import { erpImportConfig, erpImportSettings } from "./settings/erpImport.ts";
import { exportsConfig, exportSettings } from "./settings/exports.ts";
import { filesConfig, filesNeeds, filesProblems, fileSettings } from "./settings/files.ts";
import { limitsConfig, limitSettings, loadConfig, uploadsConfig } from "./settings/limits.ts";
import {
  loginConfig,
  loginNeeds,
  loginProblems,
  loginSettings,
  sessionConfig,
} from "./settings/login.ts";
import { invitationConfig, mailConfig, mailNeeds, mailSettings } from "./settings/mail.ts";
import {
  persistedOperationSettings,
  persistedOperationsConfig,
  persistedOperationsProblems,
} from "./settings/persistedOperations.ts";
import { searchConfig, searchNeeds, searchProblems, searchSettings } from "./settings/search.ts";
import { serverConfig, serverProblems, serverSettings } from "./settings/server.ts";
import { metricsConfig, metricsSettings } from "./settings/metrics.ts";
import { sqlJsonConfig, sqlJsonSettings } from "./settings/sqlJson.ts";
import { telemetryConfig, telemetrySettings } from "./settings/telemetry.ts";
import type { ProcessRole, Setting, Value } from "./settings/types.ts";
import { workerConfig, workerSettings } from "./settings/worker.ts";
import {
  workflowConfig,
  workflowNeeds,
  workflowProblems,
  workflowSettings,
} from "./settings/workflow.ts";

/** Everything that is wrong with the configuration, in one report. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n  - ${problems.join("\n  - ")}`);
    this.problems = problems;
  }
}

/**
 * Every environment variable that the service knows. The table in the README and the check of docker-compose.yml are held
 * against this list by tests.
 */
export const settings = {
  ...serverSettings,
  ...metricsSettings,
  ...telemetrySettings,
  ...databaseSettings,
  ...workerSettings,
  ...limitSettings,
  ...sqlJsonSettings,
  ...persistedOperationSettings,
  ...loginSettings,
  ...mailSettings,
  ...erpSettings,
  ...workflowSettings,
  ...fileSettings,
  ...exportSettings,
  ...auditSettings,
  ...erpImportSettings,
  ...assistantSettings,
  ...searchSettings,
};

type Settings = typeof settings;

function read<K extends keyof Settings>(
  env: Record<string, string | undefined>,
  key: K,
  problems: string[],
): Value<Settings[K]> {
  const setting: Setting = settings[key];
  const given = env[key]?.trim();
  const raw = given === undefined || given === "" ? setting.fallback : given;
  if (raw === undefined) return undefined as Value<Settings[K]>;
  const parsed = setting.schema.safeParse(raw);
  if (parsed.success) return parsed.data as Value<Settings[K]>;
  // The value of an address, a provider or a key may hold a secret: it is never repeated.
  const shown = secretive.test(key) ? "" : `, not "${raw.slice(0, 60)}"`;
  problems.push(`${key} ${parsed.error.issues[0]?.message ?? "is wrong"}${shown}`);
  return undefined as Value<Settings[K]>;
}

const secretive = /URL|ENDPOINT|HEADERS|OIDC_PROVIDERS|SECRET|PASSWORD|_KEY$|_TOKEN$/;

/**
 * Reads the settings from the environment once, for the processes that `runs` names; other scripts name none.
 * @throws ConfigError naming all that is wrong
 */
export function readConfig(
  env: Record<string, string | undefined>,
  runs: readonly ProcessRole[] = [],
) {
  const problems: string[] = [];
  const get = <K extends keyof Settings>(key: K) => read(env, key, problems);
  const server = serverConfig(get);
  const { production } = server;
  const config = {
    ...server,
    metrics: metricsConfig(get),
    telemetry: telemetryConfig(get),
    database: databaseConfig(get),
    worker: workerConfig(get),
    limits: limitsConfig(get, production),
    sqlJson: sqlJsonConfig(get),
    load: loadConfig(get),
    uploads: uploadsConfig(get),
    persistedOperations: persistedOperationsConfig(get),
    session: sessionConfig(get),
    login: loginConfig(get),
    ...invitationConfig(get),
    mail: mailConfig(get),
    erp: erpConfig(get),
    workflow: workflowConfig(get),
    files: filesConfig(get),
    exports: exportsConfig(get),
    audit: auditConfig(get),
    erpImport: erpImportConfig(get),
    assistant: assistantConfig(get),
    search: searchConfig(get),
  };
  if (production && !config.database.url && !problems.some((p) => p.startsWith("DATABASE_URL")))
    problems.push("DATABASE_URL is required in production: no embedded PostgreSQL starts there");
  problems.push(
    ...serverProblems(config),
    ...persistedOperationsProblems(config.persistedOperations),
    ...loginProblems(config.login, production),
    ...erpProblems(config.erp, production),
    ...workflowProblems(config.workflow, production),
    ...filesProblems(config.files),
    ...assistantProblems(config.assistant, production),
    ...searchProblems(config.search),
  );
  if (production) {
    // What stands in for these elsewhere is not for production; each is asked of the process that uses it.
    const needs = [
      ...loginNeeds(config.login, config.publicUrl),
      ...mailNeeds(config.mail, config.invitationUrl),
      ...erpNeeds(config.erp),
      ...workflowNeeds(config.workflow),
      ...filesNeeds(config.files),
      ...searchNeeds(config.search),
    ];
    const lacks = runs.flatMap((role) => needs.filter((need) => need.role === role && !need.given));
    const lines = lacks.map(({ name, purpose }) => `${name} is required in production${purpose}`);
    // Both processes may need the same.
    problems.push(...new Set(lines));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

export type Config = ReturnType<typeof readConfig>;
