import { badUserInput, type PublicError } from "../errors/PublicError.ts";
import type { QueryNode, QueryValue, TermNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { parseQuery } from "./parse.ts";
import { didYouMean } from "../text/suggest.ts";
import { refusedCharacter } from "./tokens.ts";

/** Characters of all bound values together, counted at each place that refers to them. */
const maxCharacters = 50_000;
/** Values of one list, and of all lists of `IN` in a query together: each row is compared with all of them. */
const maxListItems = 1_000;

const reference = /^\$([A-Za-z_]\w*)$/;

/** A bound value: one text, or the texts of a list. */
type Bound = string | readonly string[];

/** The place of a value in the arguments of a field, for errors; without a name that of all values. */
type PathOf = (name?: string) => string[];

const inQueryValues: PathOf = (name) => ["queryValues", ...(name === undefined ? [] : [name])];

/**
 * Parses a query in which `$name` refers to a value of `given`, so that callers need no escaping. A bound value is
 * literal: none of its characters is an operator.
 * @throws QuerySyntaxError for the text, PublicError for the values
 */
export function parseBoundQuery(
  text: string,
  given: unknown,
  pathOf: PathOf = inQueryValues,
): QueryNode {
  const values = readValues(given, pathOf);
  const used = new Set<string>();
  const node = bindNode(parseQuery(text), { text, values, used, listItems: 0, characters: 0 });
  for (const name of values.keys())
    if (!used.has(name)) throw refused(`\`$${name}\` does not stand in the query`, pathOf(name));
  return node;
}

/** @throws PublicError for values without a query */
export function requireQueryForValues(values: unknown): void {
  if (values != null) throw refused("goes with query", inQueryValues());
}

interface Binding {
  text: string;
  values: ReadonlyMap<string, Bound>;
  used: Set<string>;
  /** The values of all lists so far. */
  listItems: number;
  /** The characters of all references so far. */
  characters: number;
}

function readValues(given: unknown, pathOf: PathOf): Map<string, Bound> {
  if (given == null) return new Map();
  if (typeof given !== "object" || Array.isArray(given))
    throw refused('must be an object such as {"name": "Barolo"}', pathOf());
  const values = new Map<string, Bound>();
  let characters = 0;
  for (const [name, value] of Object.entries(given)) {
    const bound = readValue(value, pathOf(name));
    characters += name.length;
    for (const text of [bound].flat()) characters += text.length;
    if (characters > maxCharacters)
      throw refused(`all values together have at most ${maxCharacters} characters`, pathOf());
    values.set(name, bound);
  }
  return values;
}

function readValue(value: unknown, path: string[]): Bound {
  if (!Array.isArray(value)) return readText(value, path);
  if (value.length === 0 || value.length > maxListItems)
    throw refused(`a list has 1 to ${maxListItems} values`, path);
  return value.map((item) => readText(item, path));
}

function readText(value: unknown, path: string[]): string {
  const isText = typeof value === "string" || typeof value === "boolean";
  if (!isText && !(typeof value === "number" && Number.isFinite(value)))
    throw refused("must be a text, a number, true or false, or a list of these", path);
  const text = String(value);
  const character = refusedCharacter(text);
  if (character !== null) throw refused(`the character ${character.name} is not allowed`, path);
  return text;
}

function refused(reason: string, path: string[]): PublicError {
  return badUserInput(`${path.join(".")}: ${reason}`, { path });
}

/** The tree is at most as deep as the parser allows. */
function bindNode(node: QueryNode, binding: Binding): QueryNode {
  switch (node.kind) {
    case "and":
    case "or":
      return { ...node, children: node.children.map((child) => bindNode(child, binding)) };
    case "not":
    case "related":
      return { ...node, child: bindNode(node.child, binding) };
    case "word": {
      if (node.phrase) return node;
      const text = textOf(node, binding);
      if (text === null) return node;
      if (text.trim() === "") throw new QuerySyntaxError("the bound text is empty", node.position);
      return { ...node, text, phrase: true };
    }
    case "term":
      return bindTerm(node, binding);
  }
}

function bindTerm(term: TermNode, binding: Binding): TermNode {
  const one = (value: QueryValue): QueryValue => {
    const text = value.quoted ? null : textOf(value, binding);
    return text === null ? value : { ...value, text, quoted: true };
  };
  switch (term.operator) {
    case "exists":
      return term;
    case "in": {
      const values = term.values.flatMap((value) => listOf(value, binding) ?? [value]);
      binding.listItems += values.length;
      if (binding.listItems > maxListItems)
        throw new QuerySyntaxError(
          `all lists of \`IN\` in a query have at most ${maxListItems} values together`,
          term.position,
        );
      return { ...term, values };
    }
    case "range": {
      const [lower, upper] = term.values;
      return { ...term, values: [lower && one(lower), upper && one(upper)] };
    }
    case "prefix": {
      const value = one(term.values[0]);
      // An empty prefix would match everything.
      if (value.text.trim() === "")
        throw new QuerySyntaxError("`*` has no text before it", value.position);
      return { ...term, values: [value] };
    }
    default:
      return { ...term, values: [one(term.values[0])] };
  }
}

/** The text bound to a bare `$name`; null for other texts. */
function textOf(at: { text: string; position: number; end: number }, binding: Binding) {
  const bound = find(at, binding);
  if (bound === null || typeof bound === "string") return bound;
  const reason = `\`${at.text}\` is a list, which stands only in \`field:IN(${at.text})\``;
  throw new QuerySyntaxError(reason, at.position, at.end - at.position);
}

function listOf(value: QueryValue, binding: Binding): QueryValue[] | null {
  const bound = value.quoted ? null : find(value, binding);
  if (bound === null) return null;
  return [bound].flat().map((text) => ({ ...value, text, quoted: true }));
}

function find(at: { text: string; position: number; end: number }, binding: Binding): Bound | null {
  const { text, values, used } = binding;
  // After a backslash the sign is literal.
  const name = text.startsWith("$", at.position) ? reference.exec(at.text)?.[1] : undefined;
  if (name === undefined) return null;
  const bound = values.get(name);
  if (bound === undefined) {
    const reason = `\`$${name}\` has no value in queryValues${didYouMean(name, [...values.keys()])}; quote it to search for it`;
    throw new QuerySyntaxError(reason, at.position, at.end - at.position);
  }
  used.add(name);
  for (const value of [bound].flat()) binding.characters += value.length;
  if (binding.characters > maxCharacters)
    throw new QuerySyntaxError(
      `the values of a query have at most ${maxCharacters} characters, counted wherever the query refers to them`,
      at.position,
      at.end - at.position,
    );
  return bound;
}
