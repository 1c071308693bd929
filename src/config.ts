import { OperatorError } from "./text/OperatorError.ts";
import { assistantConfig, assistantProblems, assistantSettings } from "./settings/assistant.ts";
import { type ConstantOverrides, constants, withOverrides } from "./settings/constants.ts";
import { auditConfig, auditSettings } from "./settings/audit.ts";
import { consoleConfig, consoleProblems, consoleSettings } from "./settings/console.ts";
import { databaseConfig, databaseSettings } from "./settings/database.ts";
import { erpConfig, erpNeeds, erpProblems, erpSettings } from "./settings/erp.ts";
import { erpImportConfig, erpImportSettings } from "./settings/erpImport.ts";
import { exportsConfig, exportSettings } from "./settings/exports.ts";
import { filesConfig, filesNeeds, filesProblems, fileSettings } from "./settings/files.ts";
import { limitsConfig, limitSettings, loadConfig } from "./settings/limits.ts";
import {
  loginConfig,
  loginNeeds,
  loginProblems,
  loginSettings,
  sessionConfig,
} from "./settings/login.ts";
import { mailConfig, mailNeeds, mailSettings } from "./settings/mail.ts";
import {
  persistedOperationSettings,
  persistedOperationsConfig,
  persistedOperationsProblems,
} from "./settings/persistedOperations.ts";
import { searchConfig, searchNeeds, searchProblems, searchSettings } from "./settings/search.ts";
import { serverConfig, serverProblems, serverSettings } from "./settings/server.ts";
import { metricsConfig, metricsSettings } from "./settings/metrics.ts";
import { sqlJsonConfig, sqlJsonProblems, sqlJsonSettings } from "./settings/sqlJson.ts";
import { telemetryConfig, telemetrySettings } from "./settings/telemetry.ts";
import type { ProcessRole, Setting, SettingGroup, SettingValue } from "./settings/types.ts";
import { findUnknownSettings } from "./settings/unknownSettings.ts";
import { workerConfig, workerSettings } from "./settings/worker.ts";
import {
  workflowConfig,
  workflowNeeds,
  workflowProblems,
  workflowSettings,
} from "./settings/workflow.ts";

/** All problems of the configuration in one report. */
export class ConfigError extends OperatorError {
  override name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n  - ${problems.join("\n  - ")}`);
    this.problems = problems;
  }
}

const processes = ["server", "worker"] as const;

/** All settings, in the groups of docs/settings.md. */
export const settingGroups = [
  { title: "Process and addresses", usedBy: ["server"], settings: serverSettings },
  { title: "Database", usedBy: processes, settings: databaseSettings },
  { title: "Login and sessions", usedBy: ["server"], settings: loginSettings },
  {
    title: "Limits of requests",
    usedBy: ["server"],
    settings: { ...limitSettings, ...sqlJsonSettings },
  },
  { title: "Persisted operations", usedBy: ["server"], settings: persistedOperationSettings },
  { title: "Jobs", usedBy: ["worker"], settings: workerSettings },
  { title: "Mail", usedBy: ["worker"], settings: mailSettings },
  { title: "ERP", usedBy: ["worker"], settings: { ...erpSettings, ...erpImportSettings } },
  { title: "Product-sync workflow", usedBy: ["worker"], settings: workflowSettings },
  { title: "Files", usedBy: processes, settings: fileSettings },
  { title: "Exports", usedBy: ["worker"], settings: exportSettings },
  { title: "Search", usedBy: processes, settings: searchSettings },
  { title: "Console", usedBy: ["server"], settings: consoleSettings },
  { title: "Assistant", usedBy: ["server"], settings: assistantSettings },
  { title: "Audit log", usedBy: ["worker"], settings: auditSettings },
  { title: "Metrics", usedBy: processes, settings: metricsSettings },
  { title: "Traces", usedBy: processes, settings: telemetrySettings },
] as const satisfies readonly SettingGroup[];

/** Every environment variable that the service reads, by name. */
export const settings = Object.assign(
  {},
  ...settingGroups.map((group) => group.settings),
) as Intersection<(typeof settingGroups)[number]["settings"]>;

/** The intersection of the types of a union. */
type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

type Settings = typeof settings;

function read<K extends keyof Settings>(
  env: Record<string, string | undefined>,
  key: K,
  problems: string[],
): SettingValue<Settings[K]> {
  const setting: Setting = settings[key];
  const value = env[key]?.trim();
  const raw = value === undefined || value === "" ? setting.fallback : value;
  if (raw === undefined) return undefined as SettingValue<Settings[K]>;
  const parsed = setting.schema.safeParse(raw);
  if (parsed.success) return parsed.data as SettingValue<Settings[K]>;
  // The value of an address, a provider or a key may hold a secret.
  const shown = secretSettingPattern.test(key) ? "" : `, not "${raw.slice(0, 60)}"`;
  problems.push(`${key} ${parsed.error.issues[0]?.message ?? "is wrong"}${shown}`);
  return undefined as SettingValue<Settings[K]>;
}

const secretSettingPattern = /URL|ENDPOINT|HEADERS|OIDC_PROVIDERS|SECRET|PASSWORD|_KEY$|_TOKEN$/;

/**
 * Reads the settings once. `runs` names the processes whose required settings are checked; commands name none.
 * @param overrides constants that a test replaces
 * @throws ConfigError that names all problems
 */
export function readConfig(
  env: Record<string, string | undefined>,
  runs: readonly ProcessRole[] = [],
  overrides: ConstantOverrides = {},
) {
  const fixed = withOverrides(constants, overrides);
  const problems: string[] = [];
  const get = <K extends keyof Settings>(key: K) => read(env, key, problems);
  const server = serverConfig(get);
  const { production } = server;
  const unknown = findUnknownSettings(env, Object.keys(settings));
  const config = {
    ...server,
    eventLoopTimeoutMs: fixed.eventLoopTimeoutMs,
    metrics: metricsConfig(get),
    telemetry: telemetryConfig(get),
    database: databaseConfig(get, fixed.database),
    worker: workerConfig(get, fixed.worker),
    limits: limitsConfig(get, fixed.limits, production),
    sqlJson: sqlJsonConfig(get),
    load: loadConfig(get, fixed.load),
    uploads: fixed.uploads,
    persistedOperations: persistedOperationsConfig(get),
    session: sessionConfig(get),
    login: loginConfig(get, fixed.login),
    console: consoleConfig(get, fixed.console),
    invitationDays: fixed.invitationDays,
    invitationUrl: get("INVITATION_URL"),
    mail: mailConfig(get, fixed.mail),
    erp: erpConfig(get, fixed.erp),
    workflow: workflowConfig(get, fixed.workflow),
    files: filesConfig(get, fixed.files),
    exports: exportsConfig(get, fixed.exports),
    audit: auditConfig(get),
    erpImport: erpImportConfig(get),
    assistant: assistantConfig(get, fixed.assistant),
    search: searchConfig(get, fixed.search),
    /** Variables with a shared prefix that are no settings; a process warns of them at its start. */
    unknownSettings: unknown.filter(({ isOurs }) => !isOurs),
  };
  for (const { name, nearest } of unknown.filter(({ isOurs }) => isOurs))
    problems.push(
      `${name} is not a setting${nearest === null ? "" : `: did you mean ${nearest}?`}`,
    );
  if (production && !config.database.url && !problems.some((p) => p.startsWith("DATABASE_URL")))
    problems.push("DATABASE_URL is required in production: no embedded PostgreSQL starts there");
  problems.push(
    ...serverProblems(config),
    ...sqlJsonProblems(config.sqlJson, production),
    ...persistedOperationsProblems(config.persistedOperations),
    ...loginProblems(config.login, production),
    ...erpProblems(config.erp, production),
    ...workflowProblems(config.workflow, production),
    ...filesProblems(config.files),
    ...assistantProblems(config.assistant, production),
    ...searchProblems(config.search),
    ...consoleProblems(config.console),
  );
  // Both processes may require the same setting.
  const missing = new Set(runs.flatMap((role) => missingSettings(config, role)));
  // A setting with a wrong value is named already.
  problems.push(
    ...[...missing].filter((text) => !problems.some((p) => firstWord(p) === firstWord(text))),
  );
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

const firstWord = (text: string): string => text.split(" ", 1)[0] ?? "";

export type Config = ReturnType<typeof readConfig>;

function needsOf(config: Config) {
  return [
    ...loginNeeds(config.login, config.publicUrl),
    ...mailNeeds(config.mail, config.invitationUrl),
    ...erpNeeds(config.erp),
    ...workflowNeeds(config.workflow),
    ...filesNeeds(config.files),
    ...searchNeeds(config.search),
  ];
}

/** What a process requires in production, which has no emulators, and is not set: a sentence for each setting. */
export function missingSettings(config: Config, role: ProcessRole): string[] {
  if (!config.production) return [];
  return needsOf(config)
    .filter((need) => need.role === role && !need.isSet)
    .map(({ name, purpose }) => `${name} is required in production${purpose}`);
}
