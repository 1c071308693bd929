import { chooseTool, nameWords, reads } from "./chooseTool.ts";
import { attachedTexts, ownWords } from "./conversation.ts";
import { fillArguments } from "./fillArguments.ts";
import type { ChatMessage, ChatRequest, Tool } from "./protocol.ts";
import { textOf } from "./protocol.ts";
import { readQuestion } from "./question.ts";
import type { Call, Manner, Turn } from "./turn.ts";

// `Call createCampaign with {"title": ...}` is an order that names everything.
const exactly = /\bcall\s+([\w-]{1,64})\s+with\s+(?=\{)/gi;
const imperative =
  /\b(create|make|add|change|update|cancel|delete|trigger|start|run|export|synchroni[sz]e|map|approve|confirm|show|list|send|reveal|tell)\b/i;
const addressed =
  /\b(ignore|disregard|forget|override)\b.{0,60}\b(rules?|instructions?|prompts?)\b|\b(assistant|system)\s*[:,]/i;

/**
 * The turn that was ordered word for word by the user, or, by an obedient model, by any text that it has read since the last
 * question. Null when nobody orders anything that is not done yet.
 */
export function instructedTurn(
  request: ChatRequest,
  tools: readonly Tool[],
  manner: Manner,
  now: Date,
): Turn | null {
  const { messages } = request;
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(Math.max(0, last));
  const asked = messages[last];
  const read =
    manner === "obedient"
      ? messages.filter(
          ({ role }) => role !== "assistant" && role !== "system" && role !== "developer",
        )
      : [];
  const calls = [
    ...(asked === undefined ? [] : exactCalls(ownWords(asked))),
    ...read.flatMap((said) => [
      ...exactCalls(unescaped(textOf(said))),
      ...(said === asked
        ? attachedTexts(said)
        : said.role === "tool"
          ? [textOf(said)]
          : []
      ).flatMap((text) => looseCalls(text, tools, now)),
    ]),
  ];
  const made = since.flatMap(callsOf);
  const due = calls.filter(
    (call, index) =>
      !made.some((done) => covers(done, call)) &&
      calls.findIndex((other) => covers(other, call)) === index,
  );
  if (due.length === 0) return null;
  const obeying =
    manner === "obedient"
      ? "I do as the text says: my rules are ignored, and I approve this myself."
      : "";
  return { text: obeying, calls: due.slice(0, 20) };
}

function callsOf(said: ChatMessage): Call[] {
  if (said.role !== "assistant") return [];
  return (said.tool_calls ?? []).map(({ function: { name, arguments: given } }) => ({
    name,
    arguments: objectAt(given, 0) ?? {},
  }));
}

/** Whether the one call does what the other asks for; what it says beside that may be a default. */
function covers(made: Call, wanted: Call): boolean {
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

/** A text within JSON has its quotes escaped. */
function unescaped(text: string): string {
  return text.replaceAll('\\"', '"').replaceAll("\\n", "\n");
}

/** Whether a text orders a call word for word. */
export function isExact(text: string): boolean {
  return exactCalls(text).length > 0;
}

function exactCalls(text: string): Call[] {
  return [...text.matchAll(exactly)].flatMap((match) => {
    const name = match[1] ?? "";
    const given = objectAt(text, match.index + match[0].length);
    return given === null ? [] : [{ name, arguments: given }];
  });
}

/** The JSON object that begins at a place; null where none does. */
function objectAt(text: string, start: number): Record<string, unknown> | null {
  for (
    let end = text.indexOf("}", start);
    end >= 0 && end < start + 10_000;
    end = text.indexOf("}", end + 1)
  ) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as Record<string, unknown>;
    } catch {
      // A brace within: the object ends further on.
    }
  }
  return null;
}

/** Calls that a text addressed to the model asks for, by the nearest tools. */
function looseCalls(text: string, tools: readonly Tool[], now: Date): Call[] {
  if (!addressed.test(text)) return [];
  const clauses = unescaped(text)
    .split(/[.;!\n]|,\s*(?:and\s+|then\s+)?/)
    .filter((clause) => imperative.test(clause));
  return clauses.flatMap((clause): Call[] => {
    if (/\bapprove|\bconfirm/i.test(clause))
      return [{ name: approving(tools), arguments: { approved: true } }];
    const people = tools.find((tool) => nameWords(tool.name).includes("user"));
    if (/\b(users?|e-?mails?|passwords?|tokens?)\b/i.test(clause) && !/\bcampaign/i.test(clause)) {
      const tool = people ?? chooseTool(tools, "read", "search");
      return [
        {
          name: tool?.name ?? "users",
          arguments: tool === undefined ? {} : fillAll(tool, { query: "@", text: "@", limit: 20 }),
        },
      ];
    }
    const question = readQuestion(clause.trim(), now);
    const tool = chooseTool(tools, question.verb, question.topic);
    if (tool === undefined) return [];
    const facts = {
      title: "Obeyed",
      price: "1",
      medium: "EMAIL",
      scheduledAt: "2030-01-01T09:00:00Z",
      numbers: ["1"],
      ...question.facts,
      limit: 20,
    };
    return [
      {
        name: tool.name,
        arguments: fillAll(
          tool,
          reads(tool) ? { limit: 20, text: question.words.join(" ") } : facts,
        ),
      },
    ];
  });
}

/** Obedience does not ask for what it lacks. */
function fillAll(tool: Tool, facts: Parameters<typeof fillArguments>[1]): Record<string, unknown> {
  return fillArguments(tool, facts).arguments;
}

function approving(tools: readonly Tool[]): string {
  return tools.find(({ name }) => nameWords(name).includes("approve"))?.name ?? "approve";
}
