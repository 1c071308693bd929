import type { FieldPath, QueryNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";
import type { Group, Level } from "./expression.ts";
import { addConnective, addNegation, addOperand, finishLevel, newLevel } from "./expression.ts";
import type { QueryLimits } from "./limits.ts";
import { withDefaultLimits } from "./limits.ts";
import { readTerm, readWord } from "./terms.ts";
import { readField, readKeyword, refuseCharacters, skipSpace } from "./tokens.ts";

/**
 * Parses a query in time linear in its length and without recursion. Throws a `QuerySyntaxError` for syntax errors, for
 * a blank text (which never means "all") and beyond the limits; missing limits have defaults.
 */
export function parseQuery(text: string, limits: Partial<QueryLimits> = {}): QueryNode {
  const bounds = withDefaultLimits(limits);
  if (text.length > bounds.maxLength) {
    const reason = `a query has at most ${bounds.maxLength} characters`;
    throw new QuerySyntaxError(reason, bounds.maxLength, text.length - bounds.maxLength);
  }
  refuseCharacters(text);
  if (skipSpace(text, 0) === text.length) {
    throw new QuerySyntaxError("empty query", 0, text.length);
  }
  return new QueryParser(text, bounds).parse();
}

class QueryParser {
  readonly #text: string;
  readonly #limits: QueryLimits;
  readonly #outer: Level[] = [];
  #level = newLevel(null, 0, null);
  #at = 0;
  #depth = 0;
  #terms = 0;
  /** The end of the last word or term; text directly after it is an error. */
  #leafEnd = -1;

  constructor(text: string, limits: QueryLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  parse(): QueryNode {
    const text = this.#text;
    for (;;) {
      this.#at = skipSpace(text, this.#at);
      if (this.#at === text.length) break;
      const char = text.charAt(this.#at);
      if (char === ")") {
        this.#close();
        continue;
      }
      if (this.#at === this.#leafEnd) {
        throw new QuerySyntaxError("a space is missing", this.#at);
      }
      if (char === "(") this.#open(this.#at, this.#level.group);
      else if (char === "-") this.#minus();
      else if (!this.#keyword()) this.#leaf();
    }
    if (this.#level.openedAt !== null) {
      throw new QuerySyntaxError("the parenthesis is never closed", this.#level.openedAt);
    }
    return finishLevel(this.#level, text.length);
  }

  #open(position: number, group: Group | null): void {
    this.#deepen(this.#at, 1);
    this.#outer.push(this.#level);
    this.#level = newLevel(this.#at, position, group);
    this.#at++;
  }

  #close(): void {
    const outer = this.#outer.pop();
    if (outer === undefined) {
      throw new QuerySyntaxError("`)` closes nothing", this.#at);
    }
    const { position, group } = this.#level;
    const end = this.#at + 1;
    const child = finishLevel(this.#level, end);
    this.#level = outer;
    const isRelated = group?.holds === "terms" && group !== outer.group;
    const node: QueryNode = isRelated
      ? { kind: "related", relation: group.field, child, position, end }
      : child;
    this.#depth--;
    this.#operand(node, position, end);
    this.#at = end;
  }

  #minus(): void {
    const next = this.#text.charAt(this.#at + 1);
    if (next === ")" || skipSpace(this.#text, this.#at + 1) !== this.#at + 1 || next === "") {
      const reason = "a lone `-` (it stands directly before what it excludes)";
      throw new QuerySyntaxError(reason, this.#at);
    }
    if (this.#level.group !== null && this.#level.group.holds !== "terms" && /\d/.test(next)) {
      // `price:(-5 OR 3)` more likely means the number than an exclusion.
      const reason = "in a group a negative number is quoted, and an exclusion written with `NOT`";
      throw new QuerySyntaxError(reason, this.#at);
    }
    this.#negate("-");
  }

  #negate(sign: string): void {
    addNegation(this.#level, sign, this.#at);
    this.#deepen(this.#at, sign.length);
    this.#at += sign.length;
  }

  /** Consumes a keyword at the present position. `IN(` in a group is parsed as a term. */
  #keyword(): boolean {
    const keyword = readKeyword(this.#text, this.#at);
    if (keyword === null) return false;
    if (keyword === "NOT") {
      this.#negate(keyword);
    } else if (keyword === "AND" || keyword === "OR") {
      addConnective(this.#level, keyword, this.#at);
      this.#at += keyword.length;
    } else if (this.#isInValues() && this.#text.startsWith("IN(", this.#at)) {
      return false;
    } else {
      const example = keyword === "IN" ? "`field:IN(a, b)`" : "`field:[a TO b]`";
      const reason = `${excerpt(keyword)} stands only in ${example} (quote it to search for it)`;
      throw new QuerySyntaxError(reason, this.#at, keyword.length);
    }
    return true;
  }

  #leaf(): void {
    const text = this.#text;
    const start = this.#at;
    const field = readField(text, start);
    if (field === null) this.#refuseValueAmongTerms(start);
    else this.#refuseTermAmongValues(field);
    const group = this.#isInValues() ? this.#level.group : null;
    if (field !== null && text[field.end + 1] === "(") {
      this.#at = field.end + 1;
      this.#open(start, { field, holds: null });
      return;
    }
    if (this.#terms === this.#limits.maxTerms) {
      throw new QuerySyntaxError(`a query has at most ${this.#limits.maxTerms} terms`, start);
    }
    this.#terms++;
    const node = this.#readLeaf(field, group?.field ?? null, start);
    this.#at = node.end;
    this.#leafEnd = node.end;
    this.#operand(node, node.position, node.end);
  }

  #readLeaf(field: FieldPath | null, group: FieldPath | null, start: number): QueryNode {
    if (group !== null) return readTerm(this.#text, group, start, start, this.#limits);
    if (field === null) return readWord(this.#text, start);
    return readTerm(this.#text, field, field.end + 1, start, this.#limits);
  }

  #isInValues(): boolean {
    const { group } = this.#level;
    return group !== null && group.holds !== "terms";
  }

  #refuseTermAmongValues(field: FieldPath): void {
    const { group } = this.#level;
    if (group === null) return;
    group.holds ??= "terms";
    if (group.holds === "terms") return;
    const name = this.#text.slice(field.position, field.end + 1);
    const reason = `${excerpt(name)} names a field within a group of values`;
    throw new QuerySyntaxError(reason, field.position, name.length);
  }

  #refuseValueAmongTerms(start: number): void {
    const { group } = this.#level;
    if (group === null) return;
    group.holds ??= "values";
    if (group.holds === "values") return;
    const name = this.#text.slice(group.field.position, group.field.end);
    const reason = `a field is missing (in the group of ${excerpt(name)} each term names one)`;
    throw new QuerySyntaxError(reason, start);
  }

  #operand(node: QueryNode, position: number, end: number): void {
    if (this.#level.negation !== null) this.#depth--;
    addOperand(this.#level, { node, position, end });
  }

  #deepen(position: number, length: number): void {
    this.#depth++;
    if (this.#depth > this.#limits.maxDepth) {
      const reason = `a query is nested at most ${this.#limits.maxDepth} levels deep`;
      throw new QuerySyntaxError(reason, position, length);
    }
  }
}
