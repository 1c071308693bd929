import type pg from "pg";

/**
 * Counts the statements on tables during `work`, including those in functions and triggers but not foreign-key
 * checks.
 * The client needs superuser privileges.
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
    // Functions without table access, such as those of index expressions, have plans too.
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
