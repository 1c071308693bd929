import { isDeepStrictEqual } from "node:util";
import type { Call, Conversation, Message, Turn } from "./conversation.ts";

const introduction =
  "(This is the emulator of the language model; it answers by a script. Set AI_MODEL to use a real one.)";
const help =
  'Say `find Barolo` to search products, or `Call search_products with {"query": "Barolo"}` to call any of these tools:';

/** Requests a specific call: `Call create_campaign with {"title": …}`. */
const callPattern = /\bcall\s+([\w-]{1,64})\s+with\s+(?=\{)/gi;
/** Requests products by a text of the query language: `find Barolo country:Italy`. */
const searchPattern = /^\s*(?:find|show me)\s+(.+?)[\s.?!]*$/i;
const searchTool = "search_products";
/** Begins the text of an attached file. */
const attachment = "[Attachment ";

/**
 * The next turn of a conversation. The same conversation gets the same turn.
 * @param isObedient makes every call that any text requests, even a text that is data: the worst case of prompt injection
 */
export function nextTurn({ messages, tools }: Conversation, isObedient: boolean): Turn {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(last + 1);
  const question = messages[last]?.texts.findLast((text) => !text.startsWith(attachment)) ?? "";
  const texts = isObedient ? messages.flatMap(readTexts) : [question];
  const made = since.flatMap(({ calls }) => calls);
  const due = withoutRepeats(texts.flatMap(requestedCalls), made);
  const results = since.filter(({ role }) => role === "tool");
  const isFirst = !messages.some(({ role }) => role === "assistant");
  const turn = due.length > 0 ? { text: "", calls: due } : answer(question, results, tools);
  return isFirst ? { ...turn, text: [introduction, turn.text].filter(Boolean).join("\n\n") } : turn;
}

/** The turn after the results of calls, or the first one after a question. */
function answer(question: string, results: readonly Message[], tools: readonly string[]): Turn {
  if (results.length > 0) {
    const texts = results.map(({ texts }) => texts.join("\n").slice(0, 2_000));
    return { text: `The tools answered:\n${texts.join("\n")}`, calls: [] };
  }
  const query = searchPattern.exec(question)?.[1];
  if (query !== undefined && tools.includes(searchTool))
    return { text: "", calls: [{ name: searchTool, arguments: { query, first: 10 } }] };
  return { text: [help, ...tools.map((name) => `- \`${name}\``)].join("\n"), calls: [] };
}

/** The texts whose calls an obedient model makes: questions, attached files and tool results. */
function readTexts({ role, texts }: Message): readonly string[] {
  if (role !== "user" && role !== "tool") return [];
  // Quotation marks are escaped in JSON and in file names.
  return texts.map((text) => text.replaceAll('\\"', '"'));
}

function requestedCalls(text: string): Call[] {
  return [...text.matchAll(callPattern)].flatMap((match) => {
    const given = objectAt(text, match.index + match[0].length);
    return given === null ? [] : [{ name: match[1] ?? "", arguments: given }];
  });
}

/** The JSON object that begins at `start`; null where none does. */
function objectAt(text: string, start: number): Record<string, unknown> | null {
  for (let end = text.indexOf("}", start); end >= 0; end = text.indexOf("}", end + 1))
    try {
      return JSON.parse(text.slice(start, end + 1)) as Record<string, unknown>;
    } catch {
      // This brace is part of a text or of an inner object.
    }
  return null;
}

/** The calls that were not made yet, without duplicates. */
function withoutRepeats(calls: readonly Call[], made: readonly Call[]): Call[] {
  const due: Call[] = [];
  for (const call of calls)
    if (![...made, ...due].some((other) => includes(other, call))) due.push(call);
  return due;
}

/** Whether a call is the wanted one. The service may have added arguments to a call that was made. */
function includes(made: Call, wanted: Call): boolean {
  const both: unknown = Object.assign({}, made.arguments, wanted.arguments);
  return made.name === wanted.name && isDeepStrictEqual(both, made.arguments);
}
