import type { GraphQLSchema } from "graphql";
import type pg from "pg";

const marked = /(<!-- permissions -->\n)[\s\S]*?(<!-- \/permissions -->)/;

/**
 * Returns docs/access.md with regenerated tables: the queries and mutations that each kind of caller and each
 * permission may use, from the declared guards.
 */
export async function withPermissionTables(
  page: string,
  schema: GraphQLSchema,
  pool: pg.Pool,
): Promise<string> {
  const { rows } = await pool.query<{ key: string; description: string }>(
    'select key, description from permissions order by key collate "C"',
  );
  const line = (name: string, meaning: string, guard: string) => {
    const [queries, mutations] = allowedFields(schema, guard);
    return `| ${name} | ${meaning} | ${queries || mutations ? queries : "nothing yet"} | ${mutations} |`;
  };
  const tables = [
    "",
    "| who | what for | queries | mutations |",
    "| --- | --- | --- | --- |",
    line("anyone", "Logging in", "public"),
    line("any credential", "What everyone may do; data of others needs a permission", "principal"),
    line("a session or unscoped token", "The caller's own data", "login"),
    "",
    "| permission | what for | queries | mutations |",
    "| --- | --- | --- | --- |",
    ...rows.map(({ key, description }) => line(`\`${key}\``, description, key)),
    "",
    "",
  ].join("\n");
  return page.replace(marked, (_all, open: string, close: string) => open + tables + close);
}

/** The names of the queries and of the mutations that a guard allows. */
function allowedFields(schema: GraphQLSchema, guard: string): [string, string] {
  const names = (type: ReturnType<GraphQLSchema["getQueryType"]>) =>
    Object.values(type?.getFields() ?? {})
      .filter(({ extensions }) => {
        const { guard: declared } = extensions.office as { guard: string | readonly string[] };
        return typeof declared === "string" ? declared === guard : declared.includes(guard);
      })
      .map(({ name }) => name)
      .sort()
      .map((name) => `\`${name}\``)
      .join(", ");
  return [names(schema.getQueryType()), names(schema.getMutationType())];
}
