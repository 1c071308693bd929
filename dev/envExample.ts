import { defaultOf } from "./settingsTable.ts";
import type { Setting } from "../src/settings/types.ts";

const heading = `# The variables of docker-compose.yml. Copy this file to .env and fill it in; .env is never committed.
# Written by \`npm run generate\` from docker-compose.yml and src/settings.
`;

/** Variables of docker-compose.yml that are not settings of the service. */
const composeVariables: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD:
    "password of PostgreSQL's administrator, which only the migration uses; letters and digits, such as from `openssl rand -hex 24`",
  OFFICE_SERVER_LOGIN: "the server's login; another one after a rotation",
  OFFICE_WORKER_LOGIN: "the worker's login; another one after a rotation",
  OFFICE_SERVER_PASSWORD:
    "password of the server's login, set by the migration; letters and digits, such as from `openssl rand -hex 24`",
  OFFICE_WORKER_PASSWORD:
    "password of the worker's login, set by the migration; letters and digits, such as from `openssl rand -hex 24`",
  BACKUP_RETENTION_DAYS: "days after which the daily backups are deleted",
  SERVER_PORT: "port of the server on this machine",
  S3_PORT: "port of the object store on this machine",
  TYPESENSE_PORT: "port of the search engine on this machine",
};

/**
 * .env.example: a line for each variable that docker-compose.yml takes from its environment, the required ones first.
 * @throws when docker-compose.yml takes a variable that is not described
 */
export function envExample(compose: string, settings: Readonly<Record<string, Setting>>): string {
  const found = new Map<string, string | null>();
  for (const [, name = "", kind, value = ""] of compose.matchAll(/\$\{(\w+):([?-])([^}]*)\}/g))
    if (!found.has(name)) found.set(name, kind === "?" ? null : value);
  const lineOf = ([name, fallback]: [string, string | null]) => {
    const meaning = settings[name]?.meaning ?? composeVariables[name];
    if (meaning === undefined)
      throw new Error(`docker-compose.yml uses ${name}, which dev/envExample.ts does not describe`);
    const rule = fallback === "" && settings[name] ? defaultOf(settings[name]) : "";
    const text = rule === "" ? meaning : `${meaning} (default: ${rule})`;
    return `# ${wrap(capitalize(text))}\n${name}=${fallback ?? settings[name]?.example ?? ""}\n`;
  };
  const required = [...found].filter(([, fallback]) => fallback === null).map(lineOf);
  const optional = [...found].filter(([, fallback]) => fallback !== null).map(lineOf);
  return [
    heading,
    "# Required.\n",
    ...required,
    "# Optional, with their defaults.\n",
    ...optional,
  ].join("\n");
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Breaks a comment into lines of at most 118 characters. */
function wrap(text: string): string {
  return text.replace(/(.{1,116})(?: |$)/g, "$1\n# ").slice(0, -3);
}
