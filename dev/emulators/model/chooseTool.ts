import type { JsonSchema, Tool } from "./protocol.ts";
import type { Topic, Verb } from "./question.ts";

const subjects: Readonly<Record<Topic, readonly string[]>> = {
  product: ["product", "wine"],
  order: ["order"],
  customer: ["customer"],
  campaign: ["campaign"],
  issue: ["issue", "problem", "failure"],
  export: ["export"],
  template: ["template"],
  sync: ["sync", "synchronisation", "synchronise"],
  rule: ["rule", "mapping"],
  schema: ["schema", "documentation", "doc", "describe", "help"],
  field: ["field"],
  search: ["search", "everywhere"],
};

const reading = [
  "find",
  "list",
  "get",
  "read",
  "show",
  "search",
  "look",
  "query",
  "count",
  "describe",
];
const doing: Readonly<Record<Exclude<Verb, "read">, readonly string[]>> = {
  create: ["create", "add", "make", "new", "plan"],
  change: ["change", "update", "edit", "set", "reschedule"],
  start: ["start", "create", "run", "begin", "make"],
  trigger: ["trigger", "start", "run", "request"],
  add: ["add", "create", "make"],
};
const anyDoing = new Set([
  ...Object.values(doing).flat(),
  "delete",
  "remove",
  "cancel",
  "revoke",
  "write",
]);

/** The words of a tool's name, in the singular: `findImportIssues` gives find, import and issue. */
export function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_-]+/)
    .map((word) => (word.endsWith("s") && !/(ss|us|is)$/.test(word) ? word.slice(0, -1) : word));
}

/** Whether a tool only reads, as far as its name tells. */
export function reads({ name }: Tool): boolean {
  return !nameWords(name).some((word) => anyDoing.has(word));
}

/** The tool that suits best, by its name and then its description; undefined when none does. */
export function chooseTool(tools: readonly Tool[], verb: Verb, topic: Topic): Tool | undefined {
  const scored = tools
    .map((tool) => ({ tool, score: scoreOf(tool, verb, topic) }))
    .filter(({ score }) => score > 0);
  scored.sort((a, b) => b.score - a.score);
  return scored[0]?.tool;
}

function scoreOf(tool: Tool, verb: Verb, topic: Topic): number {
  if (reads(tool) !== (verb === "read")) return 0;
  const words = nameWords(tool.name);
  const wanted = new Set<string>(subjects[topic]);
  const verbs = new Set(verb === "read" ? reading : doing[verb]);
  const named = words.filter((word) => wanted.has(word)).length;
  const described = subjects[topic].some((word) => tool.description?.toLowerCase().includes(word));
  if (named === 0 && !(described && verb === "read")) return 0;
  const fitting = words.filter((word) => verbs.has(word)).length;
  if (verb !== "read" && fitting === 0) return 0;
  // Of two that look the same up, the one that needs no id comes first.
  const isForOne = tool.parameters.required?.includes("id") === true;
  const other = words.filter((word) => !wanted.has(word) && !verbs.has(word)).length;
  return (
    named * 10 +
    fitting * 3 +
    (described ? 1 : 0) -
    other * 2 -
    (named === 0 ? 0.5 : 0) -
    (isForOne ? 1 : 0)
  );
}

/** A schema without the wrapping that makes it optional. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const inner = schema.anyOf?.find(({ type }) => type !== "null");
  return inner === undefined
    ? schema
    : { ...inner, description: schema.description ?? inner.description };
}

export function typeOf(schema: JsonSchema): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? ""];
  return types.find((type) => type !== "null") ?? "";
}
