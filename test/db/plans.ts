/** A step of a plan that was run, of which the tests read this. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Parent Relationship"?: string;
  "Index Cond"?: string;
  "Actual Loops": number;
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
