import type pg from "pg";

/**
 * Counts the statements on tables that PostgreSQL runs during `work`, those inside functions and triggers too, without its own
 * checks of foreign keys. The client must be a superuser's.
 */
export async function countStatements(
  client: pg.ClientBase,
  work: () => Promise<unknown>,
): Promise<number> {
  await client.query("load 'auto_explain'");
  for (const [name, value] of [
    ["auto_explain.log_min_duration", "0"],
    ["auto_explain.log_nested_statements", "on"],
    ["auto_explain.log_level", "notice"],
    ["auto_explain.log_parameter_max_length", "0"],
  ])
    await client.query("select set_config($1, $2, false)", [name, value]);
  let count = 0;
  const listen = ({ message = "" }: { message?: string }) => {
    // Functions that only compute, as in an indexed expression, have a plan too, but touch no table.
    if (!/Scan|(Insert|Update|Delete) on/.test(message)) return;
    if (message.includes("SELECT 1 FROM ONLY")) return;
    count++;
  };
  client.on("notice", listen);
  try {
    await work();
  } finally {
    client.off("notice", listen);
    await client.query("select set_config('auto_explain.log_min_duration', '-1', false)");
  }
  return count;
}
