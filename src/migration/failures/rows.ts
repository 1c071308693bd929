import type { Constraint, Node } from "libpg-query";
import type { DatabaseError } from "pg";
import type pg from "pg";
import type { Source, Statement } from "../lint/source.ts";
import { words } from "../lint/tree.ts";

/** A statement with its file's text and tokens. */
export interface Place {
  source: Source;
  statement: Statement;
  bytes: Buffer;
  /** Byte offset of the end. */
  end: number;
}

/** A query for the rows that prevent a statement. */
interface Violation {
  /** A query with the columns `rows` and `example`. */
  query: string;
  description: (rows: string, example: string | null) => string;
  recipe: string;
}

/**
 * Advice about rows that violate a new rule: their number, one example, and how to add the rule nevertheless. The
 * client's transaction is at the state before the statement; all changes are rolled back.
 */
export async function adviseOnRows(
  client: pg.ClientBase,
  error: DatabaseError,
  place: Place,
): Promise<string[]> {
  if (!error.code?.startsWith("23") || isDataStatement(place.statement.node)) return [];
  await client.query("savepoint office_rows");
  try {
    const violation = await findViolation(client, error, place);
    if (!violation) return [];
    const { rows } = await client.query<{ rows: string; example: string | null }>(violation.query);
    const [found] = rows;
    return found && found.rows !== "0"
      ? [violation.description(found.rows, found.example), violation.recipe]
      : [];
  } catch {
    // The advice is optional; PostgreSQL's own message is shown in any case.
    await client.query("rollback to savepoint office_rows");
    return [];
  }
}

function isDataStatement(node: Node): boolean {
  return ["InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "CopyStmt"].some(
    (kind) => kind in node,
  );
}

async function findViolation(
  client: pg.ClientBase,
  error: DatabaseError,
  place: Place,
): Promise<Violation | undefined> {
  const table = error.table ?? "";
  if (error.code === "23502") return nullViolation(client, table, error.column ?? "");
  if (error.code === "23505") return duplicateViolation(client, error, place);
  if (error.code !== "23514" && error.code !== "23503") return undefined;
  const added = addedConstraint(place, error.constraint);
  if (added) await client.query(unchecked(place, added));
  return constraintViolation(client, table, error.constraint ?? "", added !== undefined);
}

async function nullViolation(
  client: pg.ClientBase,
  table: string,
  column: string,
): Promise<Violation> {
  const { rows } = await client.query(
    "select from pg_attribute where attrelid = to_regclass(quote_ident($1)) and attname = $2 and not attisdropped",
    [table, column],
  );
  const isNew = rows.length === 0;
  const where = isNew ? "true" : `r.${quoted(column)} is null`;
  return {
    query: await countQuery(client, table, where),
    description: (count, example) =>
      `${count} ${count === "1" ? "row" : "rows"} of ${table} would have no ${column}${exampleText(example)}.`,
    recipe: isNew
      ? `Give the new column a default: \`add column ${column} … not null default …\`.`
      : `Fill it in a migration before this one, as with \`update ${table} set ${column} = … where ${column} is null;\`. Or add the rule for new rows, \`alter table ${table} add constraint ${table}_${column}_not_null not null ${column} not valid;\`, repair the old rows, and write \`validate constraint\` into a later migration.`,
  };
}

async function duplicateViolation(
  client: pg.ClientBase,
  { table = "", constraint = "" }: DatabaseError,
  place: Place,
): Promise<Violation | undefined> {
  const { keys, where } = await uniqueKeys(client, constraint, place);
  if (keys.length === 0) return undefined;
  const condition = [...keys.map((key) => `${key} is not null`), ...(where ? [where] : [])].join(
    " and ",
  );
  const key = await keyOf(client, table);
  return {
    query: `select coalesce(sum(g.rows), 0)::text as rows, (array_agg(g.example))[1] as example from (
        select count(*) as rows, array_to_string((array_agg(${key} order by ${key}))[1:2], ' and ') as example
        from ${quoted(table)} as r where ${condition} group by ${keys.join(", ")} having count(*) > 1) as g`,
    description: (count, example) =>
      `${count} rows of ${table} share ${keys.join(", ")} with another row${example === null ? "" : `, such as those with ${example}`}.`,
    recipe: `Change or remove the duplicates in a migration before this one: \`select ${keys.join(", ")}, count(*) from ${table}${where ? ` where ${where}` : ""} group by ${keys.map((_, at) => at + 1).join(", ")} having count(*) > 1;\` lists them.`,
  };
}

/** The unique expressions; those of an index are read from one created without `unique`. */
async function uniqueKeys(client: pg.ClientBase, name: string, place: Place) {
  const added = addedConstraint(place, name);
  if (added) return { keys: words(added.keys).map(quoted), where: null };
  await client.query(withoutUnique(place));
  const { rows } = await client.query<{ keys: string[]; where: string | null }>(
    `select array(select pg_get_indexdef(indexrelid, n, true) from generate_series(1, indnkeyatts) as n) as keys,
       pg_get_expr(indpred, indrelid) as where
     from pg_index where indexrelid = to_regclass(quote_ident($1))`,
    [name],
  );
  return rows[0] ?? { keys: [], where: null };
}

async function constraintViolation(
  client: pg.ClientBase,
  table: string,
  name: string,
  isNew: boolean,
): Promise<Violation | undefined> {
  const { rows } = await client.query<{ where: string; target: string | null }>(
    `with keys as (
       select c.*, (select string_agg(format('r.%I', a.attname), ', ' order by k.n) from unnest(conkey) with ordinality as k(num, n)
           join pg_attribute a on a.attrelid = conrelid and a.attnum = k.num) as own,
         (select string_agg(format('r.%I is not null', a.attname), ' and ' order by k.n) from unnest(conkey) with ordinality as k(num, n)
           join pg_attribute a on a.attrelid = conrelid and a.attnum = k.num) as given,
         (select string_agg(format('o.%I', a.attname), ', ' order by k.n) from unnest(confkey) with ordinality as k(num, n)
           join pg_attribute a on a.attrelid = confrelid and a.attnum = k.num) as others
       from pg_constraint c where conrelid = to_regclass(quote_ident($1)) and conname = $2 and contype in ('c', 'f')
     )
     select case contype when 'c' then format('not %s', pg_get_expr(conbin, conrelid))
         else format('%s and not exists (select from %s as o where (%s) = (%s))', given, confrelid::regclass, others, own) end as where,
       case contype when 'f' then confrelid::regclass::text end as target
     from keys`,
    [table, name],
  );
  const [found] = rows;
  if (!found) return undefined;
  const repair = `update ${table} set … where ${found.target === null ? found.where : "…"};`;
  return {
    query: await countQuery(client, table, found.where),
    description: (count, example) =>
      found.target === null
        ? `${count} ${count === "1" ? "row" : "rows"} of ${table} ${count === "1" ? "breaks" : "break"} ${name}${exampleText(example)}.`
        : `${count} ${count === "1" ? "row" : "rows"} of ${table} ${count === "1" ? "refers" : "refer"} to rows that ${found.target} does not have${exampleText(example)}.`,
    recipe: isNew
      ? `Write \`not valid\` at the end of the constraint, which then holds for new rows only. Repair the old rows, as with \`${repair}\`, and write \`alter table ${table} validate constraint ${name};\` into a later migration.`
      : `Repair these rows in a migration before this one, as with \`${repair}\`.`,
  };
}

async function countQuery(client: pg.ClientBase, table: string, where: string): Promise<string> {
  const key = await keyOf(client, table);
  return `select count(*)::text as rows, (array_agg(${key} order by ${key}))[1] as example from ${quoted(table)} as r where ${where}`;
}

/** An expression that shows the primary key of row `r`, such as `id 0190…`. */
async function keyOf(client: pg.ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ key: string | null }>(
    `select string_agg(format('%L || r.%I::text', a.attname || ' ', a.attname), ' || '', '' || ' order by k.n) as key
     from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k(num, n)
       join pg_attribute a on a.attnum = k.num
     where i.indrelid = to_regclass(quote_ident($1)) and i.indisprimary and a.attrelid = i.indrelid`,
    [table],
  );
  return rows[0]?.key ?? "null::text";
}

/** The constraint that PostgreSQL's error names; without a name, the only one of the statement. */
function addedConstraint({ statement }: Place, name: string | undefined): Constraint | undefined {
  if (!("AlterTableStmt" in statement.node)) return undefined;
  const added = (statement.node.AlterTableStmt.cmds ?? []).flatMap((command) => {
    const def = "AlterTableCmd" in command ? command.AlterTableCmd.def : undefined;
    return def && "Constraint" in def ? [def.Constraint] : [];
  });
  return (
    added.find(({ conname }) => conname === name) ?? (added.length === 1 ? added[0] : undefined)
  );
}

/** The statement with `not valid` after one of its constraints. */
function unchecked({ source, statement, bytes, end }: Place, { location = 0 }: Constraint): string {
  let depth = 0;
  const stop = source.tokens.find(({ start, text }) => {
    if (start < location || start >= end) return false;
    if (text === "(") depth++;
    if (text === ")") depth--;
    return depth === 0 && (text === "," || text === ";");
  });
  const at = stop?.start ?? end;
  return `${bytes.toString("utf8", statement.at, at)}\n not valid ${bytes.toString("utf8", at, end)}`;
}

function withoutUnique({ source, statement, bytes, end }: Place): string {
  const word = source.tokens.find(
    ({ start, text }) => start >= statement.at && start < end && text.toLowerCase() === "unique",
  );
  if (!word) return bytes.toString("utf8", statement.at, end);
  return bytes.toString("utf8", statement.at, word.start) + bytes.toString("utf8", word.end, end);
}

function exampleText(example: string | null): string {
  return example === null ? "" : `, such as the one with ${example}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
