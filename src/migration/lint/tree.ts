import type { ColumnDef, Constraint, Node } from "libpg-query";

type Visit = (fields: Record<string, unknown>, kind: string) => void;

/**
 * Calls `visit` for every object of a parse tree, parents first, with its node type ("RangeVar") or, when that is
 * implied, its field ("relation").
 */
export function walk(tree: unknown, visit: Visit, kind = ""): void {
  if (Array.isArray(tree)) for (const item of tree) walk(item, visit, kind);
  else if (typeof tree === "object" && tree !== null) {
    const fields = tree as Record<string, unknown>;
    visit(fields, kind);
    for (const [name, value] of Object.entries(fields)) walk(value, visit, name);
  }
}

/** The words of a dotted name: `[{String: {sval: "a"}}, …]` as `["a", …]`; other nodes are `*`. */
export function words(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).map((node) => ("String" in node ? (node.String.sval ?? "") : "*"));
}

/** The words of a name in a list, as in `comment on table a.b`. */
export function listWords(node: Node | undefined): string[] {
  if (!node) return [];
  if ("List" in node) return words(node.List.items);
  if ("TypeName" in node) return words(node.TypeName.names);
  if ("ObjectWithArgs" in node) return words(node.ObjectWithArgs.objname);
  return words([node]);
}

/** The columns and table constraints of a table. */
export function elements(nodes: readonly Node[] | undefined) {
  const columns: ColumnDef[] = [];
  const constraints: Constraint[] = [];
  for (const node of nodes ?? []) {
    if ("ColumnDef" in node) columns.push(node.ColumnDef);
    if ("Constraint" in node) constraints.push(node.Constraint);
  }
  return { columns, constraints };
}

/** The constraints of a column. */
export function constraintsOf(column: ColumnDef): Constraint[] {
  return elements(column.constraints).constraints;
}

/** The column of an expression such as `price is not null`. */
export function notNullColumn(expression: Node | undefined): string | undefined {
  if (!expression || !("NullTest" in expression)) return undefined;
  const { arg, nulltesttype } = expression.NullTest;
  if (nulltesttype !== "IS_NOT_NULL" || !arg || !("ColumnRef" in arg)) return undefined;
  return words(arg.ColumnRef.fields).at(-1);
}
