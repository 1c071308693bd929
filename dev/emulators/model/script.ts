import type { Call, Conversation, Manner, Message, Tool, Turn } from "./conversation.ts";
import type { Fault } from "./faults.ts";

const introduction =
  "(This is the emulator of the language model; it answers by a script. Set AI_MODEL to use a real one.)";

/** Requests a specific call: `Call create_campaign with {"title": …}`. */
const callPattern = /\bcall\s+([\w-]{1,64})\s+with\s+(?=\{)/gi;
/** Requests products by a text of the query language: `find Barolo country:Italy`. */
const searchPattern = /^\s*(?:find|search(?: for)?|show me)\s+(.+?)[\s.?!]*$/i;
const searchTool = "search_products";
/** Begins the text of an attached file. */
const attachment = "[Attachment ";
const maxArgumentsLength = 10_000;
const maxCalls = 20;

/** The next turn of a conversation. The same conversation gets the same turn. */
export function nextTurn({ messages, tools }: Conversation, manner: Manner): Turn {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(last + 1);
  const question = messages[last]?.texts.findLast((text) => !text.startsWith(attachment)) ?? "";
  const texts = manner === "obedient" ? messages.flatMap(readTexts) : [question];
  const made = since.flatMap(({ calls }) => calls);
  const due = withoutRepeats(texts.flatMap(requestedCalls), made).slice(0, maxCalls);
  const results = since.filter(({ role }) => role === "tool");
  const isFirst = !messages.some(({ role }) => role === "assistant");
  const turn = due.length > 0 ? { text: "", calls: due } : answer(question, results, tools);
  return isFirst ? { ...turn, text: [introduction, turn.text].filter(Boolean).join("\n\n") } : turn;
}

/** The turn after the results of calls, or the first one after a question. */
function answer(question: string, results: readonly Message[], tools: readonly Tool[]): Turn {
  if (results.length > 0) {
    const texts = results.map(({ texts }) => texts.join("\n").slice(0, 2_000));
    return { text: `The tools answered:\n${texts.join("\n")}`, calls: [] };
  }
  const query = searchPattern.exec(question)?.[1];
  if (query !== undefined && tools.some(({ name }) => name === searchTool))
    return { text: "", calls: [{ name: searchTool, arguments: { query, first: 10 } }] };
  const names = tools.map(({ name, description = "" }) => {
    const [sentence = ""] = description.split(/(?<=\.)\s/);
    return `- \`${name}\` ${sentence}`;
  });
  return {
    text: [
      'Say `find Barolo` to search products, or `Call search_products with {"query": "Barolo"}` to call any of these tools:',
      ...names,
    ].join("\n"),
    calls: [],
  };
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
  let end = text.indexOf("}", start);
  for (; end >= 0 && end < start + maxArgumentsLength; end = text.indexOf("}", end + 1))
    try {
      return JSON.parse(text.slice(start, end + 1)) as Record<string, unknown>;
    } catch {
      // This brace is part of a text or of an inner object.
    }
  return null;
}

/**
 * The calls that were not made yet, without duplicates. The service may have added arguments to a call that was
 * made.
 */
function withoutRepeats(calls: readonly Call[], made: readonly Call[]): Call[] {
  return calls.filter(
    (call, index) =>
      !made.some((other) => includes(other, call)) &&
      calls.findIndex((other) => includes(other, call)) === index,
  );
}

function includes(made: Call, wanted: Call): boolean {
  const given = new Map(
    Object.entries(made.arguments).map(([name, value]) => [name, JSON.stringify(value)]),
  );
  return (
    made.name === wanted.name &&
    Object.entries(wanted.arguments).every(
      ([name, value]) => given.get(name) === JSON.stringify(value),
    )
  );
}

/** Applies a fault to a turn. */
export function withFault(turn: Turn, fault: Fault | null, tools: readonly Tool[]): Turn {
  const tool = tools.find(({ name }) => /^(search|find|list|get)/.test(name)) ?? tools[0];
  const call = (given: Call["arguments"]): Turn => ({
    text: "",
    calls: [{ name: tool?.name ?? "tool", arguments: given }],
  });
  switch (fault?.kind) {
    case "silence":
      return { text: "", calls: [] };
    case "endless":
      return { ...turn, calls: [] };
    case "say":
      return { text: fault.text, calls: fault.calls };
    case "unknownTool":
      return { text: "", calls: [{ name: "missing_tool", arguments: { of: "nothing" } }] };
    case "wrongArguments":
      return call(fault.form === "json" ? '{"half": ' : wrongArguments(tool));
    case "toolLoop":
      return call(requiredArguments(tool));
    default:
      return turn;
  }
}

const plainValues: Readonly<Record<string, unknown>> = {
  integer: 1,
  number: 1,
  boolean: false,
  array: ["wine"],
};

function requiredArguments({ properties = {}, required = [] }: Partial<Tool> = {}) {
  return Object.fromEntries(
    required.map((name) => {
      const { type, enum: values } = properties[name] ?? {};
      return [name, values?.[0] ?? plainValues[String(type)] ?? "wine"];
    }),
  );
}

/** A value of the wrong type for every argument, and an argument that the tool does not have. */
function wrongArguments({ properties = {} }: Partial<Tool> = {}) {
  const names = ["wrong", ...Object.keys(properties)];
  return Object.fromEntries(names.map((name) => [name, { wrong: [[]] }]));
}
