import type { Setting, SettingGroup } from "../src/settings/types.ts";

const heading = `# Settings

For operators: every environment variable that the service reads, with its default, its meaning and the processes that use it.
Nothing needs to be set on a developer's machine. A wrong or unknown setting keeps a process from starting, and one report names all of
them. Variables that may be meant for other software only cause the log line \`unknown setting\`, which names the nearest
setting: those with a prefix that others use as well, such as \`DATABASE_\` or \`MAX_\`, that are more than two letters away
from a setting, and those that misspell a setting without the prefix of one, such as \`LOGLEVEL\`. \`npm run doctor\` prints both.

Node reads some variables itself: \`NODE_EXTRA_CA_CERTS\` names a file with the certificates of an internal certificate authority,
for servers, workers and commands that call systems below it.

Written by \`npm run generate\` from \`src/settings\`: change the settings there.
`;

/** docs/settings.md: one table for each group of settings. */
export function settingsPage(groups: readonly SettingGroup[]): string {
  const sections = groups.map(({ title, usedBy, settings }) => {
    const rows = Object.entries(settings).map(
      ([name, setting]) =>
        `| \`${name}\` | ${defaultOf(setting)} | ${setting.meaning} | ${(setting.usedBy ?? usedBy).join(", ")} |`,
    );
    const table = [
      "| variable | default | meaning | used by |",
      "| --- | --- | --- | --- |",
      ...rows,
    ];
    return `\n## ${title}\n\n${table.join("\n")}\n`;
  });
  return heading + sections.join("");
}

/** The default of a setting, or its rule; empty without either. */
export function defaultOf({ fallback, defaultNote }: Setting): string {
  if (defaultNote !== undefined) return defaultNote;
  return fallback === undefined || fallback === "" ? "" : `\`${fallback}\``;
}
