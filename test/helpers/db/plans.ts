import type pg from "pg";

/** Makes auto_explain log the plan of each statement of later connections as a notice. */
export async function logPlans(client: pg.ClientBase): Promise<void> {
  const [name] = (await client.query<{ name: string }>("select current_database() as name")).rows;
  await client.query("load 'auto_explain'");
  for (const [setting, value] of Object.entries({
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_level": "notice",
    "auto_explain.log_format": "json",
    "auto_explain.log_analyze": "on",
  }))
    await client.query(`alter database ${name?.name} set ${setting} = '${value}'`);
}

/** A node of an executed plan, with the fields that tests read. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Parent Relationship"?: string;
  "Index Cond"?: string;
  "Actual Loops": number;
  "Actual Rows": number;
  "Rows Removed by Filter"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: PlanNode[];
  /** The rows that it read from its plans. */
  inputRows?: number;
}

/** The plan nodes of each statement that auto_explain logged, without nested plans. */
export function readPlans(notices: readonly string[]): PlanNode[][] {
  return notices.flatMap((notice) => {
    const [, json] = /^duration: .* plan:\n(\{[^]*)$/.exec(notice) ?? [];
    return json === undefined ? [] : [flatten((JSON.parse(json) as { Plan: PlanNode }).Plan)];
  });
}

function flatten({ Plans = [], ...node }: PlanNode): PlanNode[] {
  const inputRows = Plans.reduce(
    (sum, plan) => sum + plan["Actual Rows"] * plan["Actual Loops"],
    0,
  );
  return [{ ...node, inputRows }, ...Plans.flatMap(flatten)];
}

/** Whether the node was executed; a plan can contain alternatives that never run. */
export function hasRun(node: PlanNode): boolean {
  return node["Actual Loops"] > 0;
}
