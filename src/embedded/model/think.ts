import { chooseTool } from "./chooseTool.ts";
import { composeQuery } from "./composeQuery.ts";
import type { Conversation, Done } from "./conversation.ts";
import { asking, readConversation } from "./conversation.ts";
import { fillArguments } from "./fillArguments.ts";
import { instructedTurn, isExact } from "./obey.ts";
import type { ChatRequest, Tool } from "./protocol.ts";
import type { Facts, Question, Topic } from "./question.ts";
import { isSmallTalk } from "./question.ts";
import { introduce, summarise } from "./summary.ts";
import type { Call, Manner, Turn } from "./turn.ts";

/** The next turn of a conversation, by rules alone: the same request gives the same turn on the same day. */
export function think(request: ChatRequest, manner: Manner, now: Date): Turn {
  const tools = (request.tools ?? []).map((tool) => tool.function);
  const conversation = readConversation(request, now);
  const instructed = instructedTurn(request, tools, manner, now);
  if (instructed !== null) return introduce(conversation, instructed);
  const next = nextCall(conversation, tools);
  if (next === null)
    return introduce(conversation, { text: summarise(conversation, tools), calls: [] });
  if (typeof next === "string") return introduce(conversation, { text: next, calls: [] });
  const first = conversation.done.length === 0;
  return introduce(conversation, { text: first ? "Let me look that up." : "", calls: [next] });
}

const most = 20;

/** The call that is due, a question to the user, or null when all is known. */
function nextCall(
  { question, done, text }: Conversation,
  tools: readonly Tool[],
): Call | string | null {
  if (isSmallTalk(question, text) || isExact(text)) return null;
  if (question.verb === "read") return readCall(question.topic, question, tools, done);
  const facts: Facts = { ...question.facts };
  for (const topic of lookupsFor(question)) {
    const call = readCall(topic, question, tools, done);
    if (call !== null) return call;
    addFound(facts, topic, question, done, tools);
  }
  return writeCall(question, facts, tools, done);
}

function lookupsFor({ verb, facts, words }: Question): Topic[] {
  const named =
    words.length > 0 || "wineType" in facts || "maxPrice" in facts || "minPrice" in facts;
  switch (verb) {
    case "create":
      return named ? ["product"] : [];
    case "change":
      return "id" in facts ? [] : ["campaign"];
    case "start":
      return ["template", ...(named ? (["product"] as const) : [])];
    case "trigger":
      return named && !("numbers" in facts) ? ["product"] : [];
    default:
      return [];
  }
}

/** A look-up of a topic that was not made yet; after one that failed, a plainer one. */
function readCall(
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
  const own =
    question.verb === "read" ? asked : { ...asked, facts: lookupFacts(asked.facts, topic) };
  const call = {
    name: tool.name,
    arguments: readArguments(tool, plain ? { ...own, facts: {} } : own),
  };
  return before.some((made) => made.arguments === JSON.stringify(call.arguments)) ? null : call;
}

function lookupFacts(facts: Facts, topic: Topic): Facts {
  const wanted =
    topic === "product" ? ["wineType", "maxPrice", "minPrice", "vintage", "number"] : [];
  return Object.fromEntries(Object.entries(facts).filter(([name]) => wanted.includes(name)));
}

function readArguments(tool: Tool, question: Question): Record<string, unknown> {
  const { topic, facts, words } = question;
  const spoken = topic === "schema" || topic === "search" ? words : topic === "issue" ? [] : words;
  const text = spoken.join(" ");
  const base: Facts = { ...facts, limit: most, topic: about(question) };
  if (text !== "") base["text"] = text;
  // What has a parameter of its own need not stand in the query.
  const { used } = fillArguments(tool, base);
  const rest = Object.fromEntries(Object.entries(facts).filter(([name]) => !used.has(name)));
  const languageless =
    topic === "schema" || topic === "search" || topic === "issue" || topic === "template";
  const query = languageless
    ? text
    : composeQuery({ ...question, facts: rest, words: used.has("text") ? [] : spoken }, tool);
  return fillArguments(tool, query === undefined || query === "" ? base : { ...base, query })
    .arguments;
}

/** What a question about documentation is about. */
function about({ topic, words }: Question): string {
  return topic === "schema" ? (words[0] ?? "product") : topic;
}

/** Adds what a look-up found to what is known for the write that follows. */
function addFound(
  facts: Facts,
  topic: Topic,
  question: Question,
  done: readonly Done[],
  tools: readonly Tool[],
): void {
  const tool = chooseTool(tools, "read", topic) ?? chooseTool(tools, "read", "search");
  const rows = done.findLast(({ name }) => name === tool?.name)?.result.rows ?? [];
  const titled = String(facts["found"] ?? facts["template"] ?? "").toLowerCase();
  const row =
    rows.find((one) =>
      [one["title"], one["name"]].some(
        (called) => typeof called === "string" && titled !== "" && called.toLowerCase() === titled,
      ),
    ) ?? rows[0];
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
  facts["productIds"] = texts("id").slice(0, wanted);
  const numbers = texts("erpProductNumber").slice(0, wanted);
  if (numbers.length > 0) facts["numbers"] = numbers;
  if (question.verb === "create" && facts["title"] === undefined && typeof called === "string")
    facts["title"] = called;
}

function writeCall(
  { verb, topic }: Question,
  facts: Facts,
  tools: readonly Tool[],
  done: readonly Done[],
): Call | string | null {
  const tool = chooseTool(tools, verb, topic);
  if (tool === undefined) return null;
  if (done.some(({ name }) => name === tool.name)) return null;
  const filled = fillArguments(tool, facts);
  if (filled.missing.length > 0)
    return `${asking} this before I can ask for it: ${filled.missing.join(", ")}. Tell me in one sentence.`;
  if (
    verb === "change" &&
    filled.arguments["id"] === undefined &&
    filled.arguments["campaignId"] === undefined
  )
    return `I found nothing of that name to change. ${asking} its title in quotation marks.`;
  return { name: tool.name, arguments: filled.arguments };
}
