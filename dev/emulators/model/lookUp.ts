import { chooseTool } from "./chooseTool.ts";
import { composeQuery } from "./composeQuery.ts";
import type { Done } from "./conversation.ts";
import { fillArguments } from "./fillArguments.ts";
import type { Tool } from "./protocol.ts";
import type { Facts } from "./facts.ts";
import type { Question, Topic } from "./question.ts";
import type { Call } from "./turn.ts";

/** Rows that are asked for at a time. */
const most = 20;

/** A look-up of a topic that was not made yet; after one that failed, a plainer one. */
export function readCall(
  topic: Topic,
  question: Question,
  tools: readonly Tool[],
  done: readonly Done[],
): Call | null {
  const tool =
    chooseTool(tools, "read", topic) ??
    (topic === "product" ? chooseTool(tools, "read", "search") : undefined);
  if (tool === undefined) return null;
  const before = done.filter(({ name }) => name === tool.name);
  if (before.length > 1 || (before.length === 1 && before[0]?.result.problem === null)) return null;
  const plain = before.length === 1;
  const asked: Question =
    topic === question.topic || plain
      ? { ...question, topic }
      : { ...question, topic, facts: topic === "product" ? question.facts : {} };
  // A product that a change is about is looked up by its name; the campaign's own values say nothing about it.
  const own = question.verb === "read" ? asked : { ...asked, ...needed(question, topic) };
  const call = {
    name: tool.name,
    arguments: readArguments(tool, plain ? { ...own, facts: {} } : own),
  };
  return before.some((made) => made.arguments === JSON.stringify(call.arguments)) ? null : call;
}

/** What of a request to change something helps to find what it is about. */
function needed({ facts, words }: Question, topic: Topic): Pick<Question, "facts" | "words"> {
  if (topic === "template") return { facts: {}, words: [] };
  if (topic === "campaign") {
    const called = facts["found"];
    return { facts: {}, words: typeof called === "string" ? [called] : words };
  }
  const conditions = ["wineType", "maxPrice", "minPrice", "vintage", "number"];
  const kept = Object.entries(facts).filter(([name]) => conditions.includes(name));
  return { facts: Object.fromEntries(kept), words };
}

function readArguments(tool: Tool, question: Question): Record<string, unknown> {
  const { topic, facts, words } = question;
  const spoken = topic === "issue" ? [] : words;
  const text = spoken.join(" ");
  const base: Facts = { ...facts, limit: most, topic: about(question) };
  if (text !== "") base["text"] = text;
  if (topic === "schema") base["name"] = identifier(words) ?? about(question);
  // Facts that a parameter takes are left out of the query.
  const { used } = fillArguments(tool, base);
  const rest = Object.fromEntries(Object.entries(facts).filter(([name]) => !used.has(name)));
  const languageless = ["schema", "field", "search", "issue", "template"].includes(topic);
  const query = languageless
    ? text
    : composeQuery({ ...question, facts: rest, words: used.has("text") ? [] : spoken }, tool);
  return fillArguments(tool, query === undefined || query === "" ? base : { ...base, query })
    .arguments;
}

/** A name in code, such as createCampaign, if there is one among the words. */
function identifier(words: readonly string[]): string | undefined {
  return words.find((word) => /[a-z][A-Z]/.test(word)) ?? words[0];
}

/** What a question about documentation or fields is about: one of the lists, in the plural as APIs name them. */
function about({ topic, lists }: Question): string {
  return topic === "schema" || topic === "field" ? (lists[0] ?? "products") : topic;
}

/** Adds what a look-up found to what is known for the write that follows. */
export function addFound(
  facts: Facts,
  topic: Topic,
  question: Question,
  done: readonly Done[],
  tools: readonly Tool[],
): void {
  const tool = chooseTool(tools, "read", topic) ?? chooseTool(tools, "read", "search");
  const rows = done.findLast(({ name }) => name === tool?.name)?.result.rows ?? [];
  const titled = String(facts["found"] ?? facts["template"] ?? "").toLowerCase();
  const isSingle = (facts["productIds"] as readonly string[] | undefined)?.length === 1;
  const suiting = rows.find((one) => one["kind"] === (isSingle ? "FORM" : "TABLE"));
  const row =
    rows.find((one) =>
      [one["title"], one["name"]].some(
        (called) => typeof called === "string" && titled !== "" && called.toLowerCase() === titled,
      ),
    ) ??
    suiting ??
    rows[0];
  if (row === undefined) return;
  const called = row["name"] ?? row["title"];
  if (typeof row["id"] === "string")
    facts[topic === "template" ? "templateId" : `${topic}Id`] = row["id"];
  if (topic === "campaign" && typeof row["id"] === "string") facts["id"] = row["id"];
  if (topic === "template" && typeof called === "string") facts["template"] = called;
  if (topic !== "product") return;
  const texts = (name: string) =>
    rows.map((one) => one[name]).filter((value) => typeof value === "string");
  const wanted = question.verb === "create" ? 1 : most;
  const numbers = texts("erpProductNumber").slice(0, wanted);
  if (question.verb === "trigger" && numbers.length > 0) facts["numbers"] = numbers;
  else facts["productIds"] = texts("id").slice(0, wanted);
  if (question.verb === "create" && facts["title"] === undefined && typeof called === "string")
    facts["title"] = called;
}
