import { parsePlPgSQLSync } from "../lint/parser.ts";
import { withoutRows } from "./rows.ts";

/** An SQL expression or statement in a function body, with the line of its PL/pgSQL statement, from 1. */
export type Step = { line: number } & (
  | { kind: "plan"; sql: string }
  /** Sets a record's columns from a query or a composite value. */
  | { kind: "shape"; record: string; sql: string }
  | { kind: "returnQuery"; sql: string }
);

/** A variable; `line` is 0 for a parameter. */
export interface Variable {
  name: string;
  type: string;
  line: number;
}

/** A parsed function body. */
export interface Body {
  steps: Step[];
  variables: Variable[];
  /** Block labels, outermost first. */
  labels: string[];
}

type Fields = Record<string, unknown>;
interface Expression {
  query: string;
  parseMode: number;
}

/** PL/pgSQL's parse modes for expressions. */
const parseModes = { statement: 0, expression: 2 };
/** Fields with nested statements, which run after the statement's own expressions. */
const innerBodies = [
  "then_body",
  "case_when_list",
  "stmts",
  "elsif_list",
  "else_body",
  "else_stmts",
  "body",
  "exceptions",
];
const notWalked = new Set(["var", "target", "datatype", "default_val"]);

/**
 * Parses the definition of a PL/pgSQL function.
 * @throws Error when the parser does not support its syntax
 */
export function readBody(definition: string): Body {
  // The library has no types for the tree of PL/pgSQL.
  const { plpgsql_funcs: functions } = parsePlPgSQLSync(definition) as {
    plpgsql_funcs: { PLpgSQL_function: { datums: Fields[]; action: Fields } }[];
  };
  const parsed = functions[0]?.PLpgSQL_function;
  if (!parsed) throw new Error("The definition holds no function");
  const reader = new BodyReader(parsed.datums);
  reader.readDefaults();
  reader.walk(parsed.action, 1);
  return { steps: reader.steps, variables: reader.variables, labels: reader.labels };
}

class BodyReader {
  readonly steps: Step[] = [];
  readonly labels: string[] = [];
  readonly variables: Variable[];
  readonly #datums: { kind: string; fields: Fields }[];
  /** The values compared by `case`, by the names of their variables. */
  readonly #cases = new Map<string, string>();

  constructor(datums: Fields[]) {
    this.#datums = datums.map((datum) => {
      const [kind = "", fields = {}] = Object.entries(datum)[0] ?? [];
      return { kind, fields: fields as Fields };
    });
    this.variables = this.#datums.flatMap(({ kind, fields }) => {
      const name = typeof fields.refname === "string" ? fields.refname : "";
      const type = (fields.datatype as { PLpgSQL_type?: { typname?: string } } | undefined)
        ?.PLpgSQL_type?.typname;
      if ((kind !== "PLpgSQL_var" && kind !== "PLpgSQL_rec") || type === undefined) return [];
      return /^__Case__|^\$/.test(name) ? [] : [{ name, type, line: Number(fields.lineno ?? 0) }];
    });
  }

  readDefaults(): void {
    for (const { fields } of this.#datums) {
      const line = Number(fields.lineno ?? 0);
      for (const name of ["default_val", "cursor_explicit_expr"])
        if (fields[name]) this.#plan(expressionOf(fields[name]), line);
    }
  }

  walk(node: unknown, line: number): void {
    if (Array.isArray(node)) for (const item of node) this.walk(item, line);
    else if (typeof node === "object" && node !== null)
      for (const [kind, value] of Object.entries(node as Fields))
        this.#visit(kind, value as Fields, line);
  }

  #visit(kind: string, fields: Fields, line: number): void {
    if (kind === "PLpgSQL_expr") {
      // An expression has these two fields.
      this.#plan({ query: String(fields.query), parseMode: Number(fields.parseMode) }, line);
      return;
    }
    if (typeof fields !== "object" || fields === null) return;
    const at = Number(fields.lineno ?? line);
    this.#prepare(kind, fields, at);
    const own = Object.entries(fields).filter(
      ([name]) => !innerBodies.includes(name) && !notWalked.has(name),
    );
    if (kind !== "PLpgSQL_stmt_assign") for (const [, value] of own) this.#walkValue(value, at);
    this.#shape(kind, fields, at);
    for (const name of innerBodies) this.#walkValue(fields[name], at);
  }

  #walkValue(value: unknown, line: number): void {
    if (typeof value === "object" && value !== null) this.walk(value, line);
  }

  #prepare(kind: string, fields: Fields, line: number): void {
    if (kind === "PLpgSQL_stmt_block" && typeof fields.label === "string")
      this.labels.push(fields.label);
    if (kind === "PLpgSQL_stmt_case" && fields.t_expr) {
      const name = this.#datums[Number(fields.t_varno)]?.fields.refname;
      this.#cases.set(`"${String(name)}"`, `(${expressionOf(fields.t_expr).query})`);
    }
    if (kind === "PLpgSQL_stmt_assign") this.#assign(fields, line);
  }

  /** Records what a statement assigns to a variable of type `record`, whose columns later statements name. */
  #shape(kind: string, fields: Fields, line: number): void {
    if (kind === "PLpgSQL_stmt_return_query" && fields.query)
      this.#addRows({ kind: "returnQuery", line }, expressionOf(fields.query));
    const record = recordOf(fields.target ?? fields.var);
    if (record === undefined) return;
    const cursor = this.#datums[Number(fields.curvar)]?.fields.cursor_explicit_expr;
    const query = fields.query ?? (fields.into ? fields.sqlstmt : cursor);
    if (query && kind !== "PLpgSQL_stmt_dynexecute" && kind !== "PLpgSQL_stmt_dynfors")
      this.#addRows({ kind: "shape", line, record }, expressionOf(query));
  }

  #addRows(
    step: { kind: "returnQuery"; line: number } | { kind: "shape"; line: number; record: string },
    { query }: Expression,
  ): void {
    const sql = withoutRows(query);
    if (sql !== undefined) this.steps.push({ ...step, sql });
  }

  #assign(fields: Fields, line: number): void {
    const { query } = expressionOf(fields.expr);
    const [, target = "", value = ""] = /^([^:=]+?)\s*:?=\s*([^]*)$/.exec(query) ?? [];
    if (value === "") return;
    const isWhole = /^\w+$/.test(target);
    this.steps.push({
      kind: "plan",
      line,
      sql: `select ${isWhole ? "" : `${target}, `}${this.#text(value)}`,
    });
    const record = recordOf(this.#datum(Number(fields.varno)));
    if (isWhole && record !== undefined)
      this.steps.push({
        kind: "shape",
        line,
        record,
        sql: `select (q__.v__).* from (select (${value}\n) as v__) as q__ where false`,
      });
  }

  #datum(number: number): unknown {
    const datum = this.#datums[number];
    return datum && { [datum.kind]: datum.fields };
  }

  #plan({ query, parseMode }: Expression, line: number): void {
    const sql = this.#text(query);
    if (parseMode === parseModes.expression)
      this.steps.push({ kind: "plan", line, sql: `select ${sql}` });
    else if (
      /^\s*(?:select|insert|update|delete|merge|values|with|table|\()/i.test(withoutComments(sql))
    )
      this.steps.push({ kind: "plan", line, sql });
  }

  #text(query: string): string {
    return query.replace(/"__Case__Variable_\d+__"/, (name) => this.#cases.get(name) ?? name);
  }
}

function expressionOf(node: unknown): Expression {
  return (node as { PLpgSQL_expr: Expression }).PLpgSQL_expr;
}

function recordOf(node: unknown): string | undefined {
  const record = (
    node as
      | { PLpgSQL_rec?: { refname: string; datatype?: { PLpgSQL_type: { typname: string } } } }
      | undefined
  )?.PLpgSQL_rec;
  return record?.datatype?.PLpgSQL_type.typname === "record" ? record.refname : undefined;
}

function withoutComments(sql: string): string {
  return sql.replace(/^(?:\s+|--[^\n]*\n|\/\*[^]*?\*\/)+/, "");
}
