import { chooseTool, nameWords, reads } from "./chooseTool.ts";
import type { Conversation, Done } from "./conversation.ts";
import type { Tool } from "./protocol.ts";
import type { Facts } from "./facts.ts";
import type { Question } from "./question.ts";
import { isSmallTalk } from "./question.ts";
import type { Row } from "./results.ts";
import { describeRow } from "./results.ts";
import type { Turn } from "./turn.ts";

const introduction =
  "(I am a stand-in that follows fixed rules, not a language model: set AI_MODEL to have a real one.)";

/** The first words of a conversation say who speaks. */
export function introduce({ isFirst }: Conversation, turn: Turn): Turn {
  return isFirst ? { ...turn, text: [introduction, turn.text].filter(Boolean).join("\n\n") } : turn;
}

/** Says in plain words what the tools gave. */
export function summarise(conversation: Conversation, tools: readonly Tool[]): string {
  const { question, done, text, attachments } = conversation;
  const seen = attachments.map((told) => `${told}\n\n`).join("");
  if (done.length === 0 && attachments.length > 0) return seen.trimEnd();
  if (done.length === 0 && isSmallTalk(question, text)) return seen + abilities(tools);
  if (done.length === 0) {
    const tool = chooseTool(tools, question.verb, question.topic);
    return `${seen}I have no tool ${tool === undefined ? `for that (${question.verb} ${question.topic})` : "that helps here"}. ${abilities(tools)}`;
  }
  const wrote = done.findLast(({ name }) => !reads({ name, parameters: {} }));
  if (wrote !== undefined) return seen + written(wrote);
  const told = done.filter(mattering).map((one) => found(one, question));
  return seen + told.join("\n\n") + leftOut(done);
}

/** Leaves out a failed look-up when a later one of the same kind succeeded. */
function mattering(one: Done, index: number, all: readonly Done[]): boolean {
  return (
    one.result.problem === null ||
    !all.slice(index + 1).some(({ name, result }) => name === one.name && result.problem === null)
  );
}

/** A plainer look-up was made in the place of one that failed: what it gives is more than was asked for. */
function leftOut(done: readonly Done[]): string {
  const failed = done.find(
    ({ name, result }, index) =>
      result.problem !== null &&
      done.slice(index + 1).some((later) => later.name === name && later.result.problem === null),
  );
  return failed === undefined
    ? ""
    : `\nI had to leave conditions out: ${failed.result.problem ?? ""}`;
}

function abilities(tools: readonly Tool[]): string {
  if (tools.length === 0) return "I was given no tools, so that I can look nothing up.";
  const lines = tools.map((tool) => {
    const [sentence = ""] = (tool.description ?? "").split(/(?<=\.)\s/);
    return `- ${nameWords(tool.name).join(" ")}${sentence === "" ? "" : `: ${sentence}`}`;
  });
  return `This is what I can do:\n${lines.join("\n")}`;
}

function written({ name, result }: Done): string {
  const what = nameWords(name).join(" ");
  if (result.problem !== null) return `Nothing was changed (${what}): ${result.problem}`;
  const [row] = result.rows;
  return row === undefined
    ? `Done (${what}): ${result.text.slice(0, 500)}`
    : `Done (${what}): ${describeRow(row)}.`;
}

const shown = 10;

function found({ name, arguments: given, result }: Done, { facts, words }: Question): string {
  const what = nameWords(name).join(" ");
  const asked = `Looked up with ${name} ${given}`;
  if (result.problem !== null) return `The look-up failed (${what}): ${result.problem}`;
  const rows = narrowed(result.rows, facts);
  if (rows.length === 0)
    return result.text.length > 0 && result.rows.length === 0 && !/^[[{]/.test(result.text)
      ? `${result.text.slice(0, 2_000)}\n\n${asked}.`
      : `Nothing was found. ${asked}.`;
  const total = rows === result.rows ? (result.total ?? rows.length) : rows.length;
  const key = facts["key"];
  const others =
    key !== undefined &&
    rows === result.rows &&
    !rows.some((row) => Object.values(row).includes(key));
  // When all rows are here, rows that match only by their producer's name are listed separately.
  const apart = total === rows.length ? rows.filter((row) => isByProducer(row, words)) : [];
  const [count, meant] =
    apart.length === rows.length
      ? [total, rows]
      : [total - apart.length, rows.filter((row) => !apart.includes(row))];
  const head = others
    ? `Nothing about ${String(key)} is among them. ${count} found:`
    : `${count} found:`;
  const told = [`${head}\n${listed(meant, count)}`];
  if (meant !== rows && apart.length > 0)
    told.push(`By the name of the producer alone:\n${listed(apart, apart.length)}`);
  return `${told.join("\n\n")}\n\n${asked}.`;
}

function listed(rows: readonly Row[], count: number): string {
  const lines = rows.slice(0, shown).map((row) => `- ${describeRow(row)}`);
  const more = count > lines.length ? `\nand ${count - lines.length} more.` : "";
  return lines.join("\n") + more;
}

/** Whether a word that was asked for stands nowhere in a row but in its producer's name, as a Barbera of the Marchesi di Barolo. */
function isByProducer(row: Row, words: readonly string[]): boolean {
  const { producer, ...rest } = row;
  if (typeof producer !== "string" || producer === "") return false;
  const own = producer.toLowerCase();
  const others = JSON.stringify(rest).toLowerCase().replaceAll(own, "");
  return words.some((word) => {
    const wanted = word.toLowerCase();
    // Someone who asks for the producer means what it makes.
    return own.includes(wanted) && own !== wanted && words.length === 1 && !others.includes(wanted);
  });
}

/** Of rows that all have a key, those with the one that was asked about, if there are any. */
function narrowed(rows: readonly Row[], facts: Facts): readonly Row[] {
  const key = facts["key"];
  if (key === undefined) return rows;
  const matching = rows.filter((row) => Object.values(row).includes(key));
  return matching.length === 0 ? rows : matching;
}
