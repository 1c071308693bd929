import type pg from "pg";

/** Has the database tell the plan of each statement of the connections that begin from now on, as notices. */
export async function tellPlans(client: pg.ClientBase): Promise<void> {
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

/** A step of a plan that was run, of which the tests read this. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Parent Relationship"?: string;
  "Index Cond"?: string;
  "Actual Loops": number;
  "Actual Rows": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

/** The steps of each statement that auto_explain has reported, without what they consist of. */
export function readPlans(notices: readonly string[]): PlanNode[][] {
  return notices.flatMap((notice) => {
    const [, json] = /^duration: .* plan:\n(\{[^]*)$/.exec(notice) ?? [];
    return json === undefined ? [] : [flatten((JSON.parse(json) as { Plan: PlanNode }).Plan)];
  });
}

function flatten({ Plans = [], ...node }: PlanNode): PlanNode[] {
  return [node, ...Plans.flatMap(flatten)];
}

/** Whether a step was reached: what was only planned, such as a policy's second thought, cost nothing. */
export function hasRun(node: PlanNode): boolean {
  return node["Actual Loops"] > 0;
}
