import { chooseTool } from "./chooseTool.ts";
import type { Conversation, Done } from "./conversation.ts";
import { asking, readConversation } from "./conversation.ts";
import { fillArguments } from "./fillArguments.ts";
import { addFound, readCall } from "./lookUp.ts";
import { instructedTurn, isExact } from "./obey.ts";
import type { ChatRequest, Tool } from "./protocol.ts";
import type { Facts } from "./facts.ts";
import type { Question, Topic } from "./question.ts";
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

/** The call that is due, a question to the user, or null when all is known. */
function nextCall(
  { question, done, text, attachments }: Conversation,
  tools: readonly Tool[],
): Call | string | null {
  if (isSmallTalk(question, text) || isExact(text)) return null;
  if (
    attachments.length > 0 &&
    /\b(attach\w*|(file|picture|image|pdf|workbook|sheet|document)s?|this|these)\b/i.test(text)
  )
    return null;
  if (question.verb === "read") return readCall(question.topic, question, tools, done);
  const facts: Facts = { ...question.facts };
  for (const topic of lookupsFor(question)) {
    const call = readCall(topic, question, tools, done);
    if (call !== null) return call;
    addFound(facts, topic, question, done, tools);
    if (topic === "product" && facts["productIds"] === undefined && facts["numbers"] === undefined)
      return `I found no product called ${question.words.join(" ")}. ${asking} its name as the catalogue has it.`;
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
      return [...(named ? (["product"] as const) : []), "template"];
    case "trigger":
      return named && !("numbers" in facts) ? ["product"] : [];
    default:
      return [];
  }
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
  if (verb === "change" && !("id" in facts))
    return `I found no ${topic} of that name. ${asking} its title in quotation marks.`;
  if ((verb === "start" || verb === "trigger") && !("numbers" in facts) && !("productIds" in facts))
    return `${asking} which products: tell me their names or numbers.`;
  if (filled.missing.length > 0)
    return `${asking} this before I can ask for it: ${filled.missing.join(", ")}. Tell me in one sentence.`;
  return { name: tool.name, arguments: filled.arguments };
}
