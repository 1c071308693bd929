import { EngineProblem } from "./problem.ts";
import type { Field, Schema } from "./schema.ts";
import { isStringField, scalarOf } from "./schema.ts";
import { type StoredDocument, numbersOf, valuesOf } from "./storedDocument.ts";
import type { Tokeniser } from "./tokens.ts";

/** Whether a document matches a filter. */
export type Accept = (stored: StoredDocument) => boolean;

/** The context in which a filter is compiled. */
export interface FilterContext {
  schema: Schema;
  tokeniser: Tokeniser;
  /** Whether an unknown field is an error; otherwise its condition holds for no document. */
  checkNames: boolean;
}

/**
 * Compiles one condition of a filter, such as `price:>10` or `` country:=[`United States`, France] ``.
 * @throws EngineProblem naming the field
 */
export function compileClause(text: string, context: FilterContext): Accept {
  const colon = text.indexOf(":");
  if (colon === -1) throw new EngineProblem(400, "Could not parse the filter query.");
  const name = text.slice(0, colon).trim();
  const value = text.slice(colon + 1).trim();
  if (name.startsWith("$"))
    throw new EngineProblem(
      400,
      "Filters on joined collections are not supported by the Typesense emulator.",
    );
  if (name === "id") return compileId(value);
  const field = context.schema.fields.find((one) => one.name === name);
  if (field === undefined) {
    if (!context.checkNames) return () => false;
    throw new EngineProblem(404, `Could not find a filter field named \`${name}\` in the schema.`);
  }
  if (!field.index) throw new EngineProblem(400, `Cannot filter on non-indexed field \`${name}\`.`);
  if (isStringField(field)) return compileText(field, value, context);
  return scalarOf(field) === "bool" ? compileBool(field, value) : compileNumber(field, value);
}

const empty = (field: string) =>
  new EngineProblem(400, `Error with filter field \`${field}\`: Filter value cannot be empty.`);

interface Operator {
  not: boolean;
  whole: boolean;
  rest: string;
}

/** Splits a leading `=`, `!=` or `!` from the value. */
function readOperator(value: string): Operator {
  const match = /^(!=|=|!)?\s*(.*)$/su.exec(value);
  const sign = match?.[1];
  return {
    not: sign?.startsWith("!") === true,
    whole: sign?.endsWith("=") === true,
    rest: match?.[2] ?? "",
  };
}

const withNot = (not: boolean, accept: Accept): Accept =>
  not ? (stored) => !accept(stored) : accept;

function isList(value: string): boolean {
  return value.startsWith("[") && value.endsWith("]") && value.length > 1;
}

/** The values of `[a, b]`, or the one value. Text in backticks is literal. */
function readValues(value: string): { text: string; quoted: boolean }[] {
  if (!isList(value)) return [readOne(value)];
  const pieces: string[] = [];
  let quoted = false;
  let piece = "";
  for (const letter of value.slice(1, -1)) {
    if (letter === "`") quoted = !quoted;
    if (letter === "," && !quoted) {
      pieces.push(piece);
      piece = "";
    } else piece += letter;
  }
  pieces.push(piece);
  return pieces.map(readOne).filter(({ text }) => text !== "");
}

function readOne(piece: string): { text: string; quoted: boolean } {
  const text = piece.trim();
  const quoted = text.startsWith("`");
  return { text: text.replaceAll("`", ""), quoted };
}

function compileId(value: string): Accept {
  const { not, rest } = readOperator(value);
  if (rest === "") throw empty("id");
  const ids = new Set(readValues(rest).map(({ text }) => text));
  return withNot(not, ids.has("*") ? () => true : ({ id }) => ids.has(id));
}

function compileText(field: Field, value: string, { tokeniser }: FilterContext): Accept {
  const { not, whole, rest } = readOperator(value);
  if (rest === "") throw empty(field.name);
  const tests = readValues(rest).map(({ text, quoted }) => {
    const isPhrase = !quoted && text.length > 1 && text.startsWith('"') && text.endsWith('"');
    const isPrefix = !quoted && text.length > 1 && text.endsWith("*");
    const wanted = tokeniser.folded(text);
    if (isPhrase) return (folded: string) => ` ${folded} `.includes(` ${wanted} `);
    if (whole) {
      return isPrefix
        ? (folded: string) => folded.startsWith(wanted)
        : (folded: string) => folded === wanted;
    }
    // A value without letters or digits matches nothing.
    if (wanted === "") return () => false;
    const words = wanted.split(" ");
    return (folded: string) => {
      const spaced = ` ${folded} `;
      return words.every((word, place) =>
        spaced.includes(isPrefix && place === words.length - 1 ? ` ${word}` : ` ${word} `),
      );
    };
  });
  return withNot(not, ({ folded }) =>
    (folded.get(field.name) ?? []).some((one) => tests.some((test) => test(one))),
  );
}

function compileBool(field: Field, value: string): Accept {
  const { not, rest } = readOperator(value);
  if (rest === "") throw empty(field.name);
  const list = isList(rest);
  const wanted = new Set(readValues(rest).map(({ text }) => text));
  for (const text of wanted) {
    if (text === "true" || text === "false") continue;
    throw new EngineProblem(
      400,
      list
        ? `Values of filter field \`${field.name}\`: must be \`true\` or \`false\`.`
        : `Value of filter field \`${field.name}\` must be \`true\` or \`false\`.`,
    );
  }
  return withNot(not, ({ document }) =>
    valuesOf(document[field.name]).some((one) => wanted.has(String(one))),
  );
}

type TestNumber = (value: number) => boolean;

function compileNumber(field: Field, value: string): Accept {
  const { not, rest } = readOperator(value);
  if (rest === "") throw empty(field.name);
  const tests = readValues(rest).map(({ text }) => compileComparison(field, text));
  return withNot(not, ({ document }) =>
    numbersOf(field, document).some((one) => tests.some((test) => test(one))),
  );
}

const comparisons: Readonly<Record<string, (wanted: number) => TestNumber>> = {
  "<": (wanted) => (value) => value < wanted,
  "<=": (wanted) => (value) => value <= wanted,
  ">": (wanted) => (value) => value > wanted,
  ">=": (wanted) => (value) => value >= wanted,
  "": (wanted) => (value) => value === wanted,
};

function compileComparison(field: Field, text: string): TestNumber {
  const range = text.split("..");
  if (range.length === 2) {
    const [from, to] = range.map((end) => readNumber(field, end.trim()));
    return (value) => value >= (from ?? Infinity) && value <= (to ?? -Infinity);
  }
  const match = /^(<=|>=|<|>)?\s*(.*)$/su.exec(text);
  const sign = match?.[1] ?? "";
  const number = match?.[2] ?? "";
  if (sign === "" && !/^-?[\d.]/.test(number))
    throw new EngineProblem(
      400,
      `Error with filter field \`${field.name}\`: Numerical field has an invalid comparator.`,
    );
  const compare = comparisons[sign];
  return compare ? compare(readNumber(field, number)) : () => false;
}

const largestInt32 = 2 ** 31;

function readNumber(field: Field, text: string): number {
  const scalar = scalarOf(field);
  const isWhole = /^-?\d+$/.test(text);
  const fits = scalar === "float" ? /^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) : isWhole;
  if (!fits) {
    const noun = scalar === "float" ? "a float" : `an ${scalar}`;
    throw new EngineProblem(400, `Error with filter field \`${field.name}\`: Not ${noun}.`);
  }
  const number = Number(text);
  if (scalar === "int32" && (number >= largestInt32 || number < -largestInt32))
    throw new EngineProblem(
      400,
      `Error with filter field \`${field.name}\`: \`${text}\` exceeds the range of an int32.`,
    );
  return number;
}
