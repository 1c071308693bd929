import pg from "pg";
import type { Body, Step, Variable } from "./body.ts";

/** A function from the catalogue. */
export interface FunctionRow {
  oid: number;
  /** The name with parameter types. */
  signature: string;
  name: string;
  language: string;
  definition: string;
  source: string;
  arguments: string;
  /** The named parameters, also of the result. */
  parameters: { name: string; type: string }[];
  result: string;
  /** A call with nulls: `null::uuid, null::text`. */
  nulls: string;
  returnsNothing: boolean;
  searchPath: string | null;
}

/** A table whose trigger runs a function, with the names of its transition tables. */
export interface TriggerUse {
  table: string;
  transitions: string[];
  oldRows: string | null;
  newRows: string | null;
}

/** SQL that plans the statements of a function without running them. `lines` maps its lines to the original. */
export interface Probe {
  text: string;
  lines: number[];
}

const delimiter = "$office_check$";

/**
 * Writes the probe of a function body: its variables, and an `explain` of each expression, which PostgreSQL parses and
 * plans with the variables. Errors are inserted into `problems`.
 *
 * It is a `do` block where possible: a function would leave its plans in the session, and each later change of the
 * catalogue would look through all of them.
 */
export function writeProbe(
  row: FunctionRow,
  body: Body,
  place: { schema: string; problems: string },
  use?: TriggerUse,
): Probe {
  const writer = new ProbeWriter();
  // A block has no parameters, which a function may name by position, and returns no rows.
  const isFunction =
    !use && (body.steps.some(({ kind }) => kind === "returnQuery") || /\$\d/.test(row.source));
  if (isFunction)
    writer.add(
      0,
      `create or replace function ${nameOf(row, place)}(${row.arguments})${row.result ? ` returns ${row.result}` : ""} language plpgsql as ${delimiter}`,
    );
  else writer.add(0, `do ${delimiter}`);
  const option = /^\s*#\s*variable_conflict\s+\w+/im.exec(row.source)?.[0].trim();
  if (option) writer.add(1, option);
  // The parameters are variables of a block with the function's name.
  const outer = isFunction ? [undefined] : [row.name, undefined];
  for (const [depth, label] of [...outer, ...body.labels].entries()) {
    if (label !== undefined) writer.add(0, `<<${pg.escapeIdentifier(label)}>>`);
    writer.add(0, "declare");
    if (!isFunction && depth === 0) declareParameters(writer, row);
    else declare(writer, row, body, use);
    writer.add(0, "begin");
  }
  for (const step of body.steps) addStep(writer, step, body, place.problems);
  writer.add(0, isFunction && !row.returnsNothing ? "return null;" : "return;");
  for (const _ of [...outer.slice(1), ...body.labels]) writer.add(0, "end;");
  writer.add(0, `end ${delimiter};`);
  if (isFunction) writer.add(0, `select from ${nameOf(row, place)}(${row.nulls});`);
  return writer;
}

function nameOf({ name }: FunctionRow, { schema }: { schema: string }): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

function declareParameters(writer: ProbeWriter, { parameters }: FunctionRow): void {
  for (const { name, type } of parameters) writer.add(0, `${pg.escapeIdentifier(name)} ${type};`);
}

class ProbeWriter implements Probe {
  text = "";
  lines: number[] = [];

  add(line: number, text: string): void {
    this.text += `${text}\n`;
    for (const _ of text.split("\n")) this.lines.push(line);
  }
}

function declare(
  writer: ProbeWriter,
  row: FunctionRow,
  { variables }: Body,
  use?: TriggerUse,
): void {
  const declared = new Set<string>();
  const add = (name: string, type: string, line: number) => {
    if (declared.has(name)) return;
    declared.add(name);
    writer.add(line, `${pg.escapeIdentifier(name)} ${type};`);
  };
  if (use) {
    add("new", `${use.table}%rowtype`, 0);
    add("old", `${use.table}%rowtype`, 0);
  }
  for (const { name, type, line } of variables)
    if (line > 0 || (use && name.startsWith("tg_"))) add(name, type, line);
  for (const name of ["sqlstate", "sqlerrm"]) add(name, "text", 0);
  for (const [, name = "", of = ""] of row.source.matchAll(
    /\b(\w+)\s+alias\s+for\s+([\w$"]+)\s*;/gi,
  ))
    writer.add(0, `${name} alias for ${of};`);
  writer.add(0, "check_message__ text; check_state__ text; check_plan__ record;");
}

function addStep(writer: ProbeWriter, step: Step, body: Body, problems: string): void {
  const shadows = shadowing(step, body.variables);
  if (shadows.length > 0) writer.add(0, `declare ${shadows.join(" ")} begin`);
  writer.add(step.line, `begin ${actionOf(step)}`);
  writer.add(
    0,
    `exception when others then get stacked diagnostics check_message__ = message_text, check_state__ = returned_sqlstate;
${keepsOf(step)} insert into ${problems} values (${step.line}, check_state__, check_message__);${keepsOf(step) && " end if;"} end;`,
  );
  if (shadows.length > 0) writer.add(0, "end;");
}

/** Other steps are checked by the plan of the same query. */
function keepsOf(step: Step): string {
  return step.kind === "plan" ? "" : "if check_state__ = '42804' then";
}

function actionOf(step: Step): string {
  switch (step.kind) {
    case "plan":
      return `for check_plan__ in explain ${step.sql}\nloop end loop;`;
    case "shape":
      return `${step.sql}\ninto ${pg.escapeIdentifier(step.record)};`;
    case "returnQuery":
      return `return query select * from (${step.sql}\n) as q__ where false;`;
  }
}

/** Declarations for a step where several variables share a name: the last one declared before it. */
function shadowing(step: Step, variables: readonly Variable[]): string[] {
  const names = [...new Set(variables.map(({ name }) => name))];
  return names.flatMap((name) => {
    const same = variables.filter((one) => one.name === name);
    const before = same.filter(({ line }) => line <= step.line).at(-1) ?? same[0];
    const first = same.find(({ line }) => line > 0);
    if (!before || !first || before.type === first.type) return [];
    return [`${pg.escapeIdentifier(name)} ${before.type};`];
  });
}
