import { settings } from "../src/config.ts";

const marked = /(<!-- settings -->\n)[\s\S]*?(<!-- \/settings -->)/;

/** The README with its table of settings as the configuration knows them. */
export function withSettingsTable(readme: string): string {
  const rows = Object.entries(settings).map(
    ([name, { fallback, meaning }]) =>
      `| \`${name}\` | ${fallback === undefined || fallback === "" ? "" : `\`${fallback}\``} | ${meaning} |`,
  );
  const table = ["| variable | default | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
  return readme.replace(marked, (_all, open: string, close: string) => open + table + close);
}
