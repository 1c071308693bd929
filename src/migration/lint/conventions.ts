import type { Node, TypeName } from "libpg-query";
import { report } from "./context.ts";
import type { Context } from "./context.ts";
import { listWords, walk, words } from "./tree.ts";

const foreignSchemas = new Set([
  "pg_catalog",
  "extensions",
  "information_schema",
  "graphile_worker",
  "office_jobs",
  "pg_temp",
]);

const oldTypes: Record<string, string> = {
  varchar: "Write `text`, with `check (length(…) <= n)` where a limit is a rule.",
  bpchar: "Write `text` with a check of its form: `char` pads with blanks.",
  timestamp: "Write `timestamptz`: a time without its zone means another moment in each session.",
  timetz: "Write `time`: a zone without a date has no offset where clocks change.",
  money:
    "Write `numeric(12, 2)`: `money` takes currency and decimals from a setting of the server.",
  serial: "Write `uuid primary key default uuidv7()`.",
  serial2: "Write `uuid primary key default uuidv7()`.",
  serial4: "Write `uuid primary key default uuidv7()`.",
  serial8: "Write `uuid primary key default uuidv7()`.",
  smallserial: "Write `uuid primary key default uuidv7()`.",
  bigserial: "Write `uuid primary key default uuidv7()`.",
};

/** Conventions for names, types and search_path, checked in all statements. */
export function checkConventions(context: Context) {
  const { node } = context.statement;
  checkSchemaStatement(context, node);
  walk(node, (fields, kind) => {
    checkType(context, fields, kind);
    checkSearchPath(context, fields, kind);
    const at = typeof fields.location === "number" ? fields.location : undefined;
    for (const schema of schemasOf(fields, kind))
      if (!foreignSchemas.has(schema))
        report(
          context,
          "schema-name",
          `The schema ${schema} is written out, and the same file must build every schema. Leave it out: search_path finds the name.`,
          at,
        );
  });
}

/** The schemas that an object of the parse tree names. */
function schemasOf(fields: Record<string, unknown>, kind: string): string[] {
  const found: string[] = [];
  if (typeof fields.schemaname === "string" && kind !== "CreateSchemaStmt")
    found.push(fields.schemaname);
  for (const key of [
    "funcname",
    "names",
    "typeName",
    "domainname",
    "objname",
    "defnames",
    "collname",
  ]) {
    const value = fields[key];
    if (!Array.isArray(value) || value.length < 2) continue;
    // In this field, only types and collations have qualified `names`.
    found.push(words(value as Node[])[0] ?? "");
  }
  if (kind === "ColumnRef" && Array.isArray(fields.fields) && fields.fields.length > 2)
    found.push(words(fields.fields as Node[])[0] ?? "");
  if (kind === "TypeCast") found.push(...schemaInLiteral(fields));
  return found;
}

/** The schema in a literal such as `'office.users'::regclass`. */
function schemaInLiteral({ arg, typeName }: { arg?: Node; typeName?: TypeName }): string[] {
  const type = words(typeName?.names).at(-1) ?? "";
  if (!type.startsWith("reg") || !arg || !("A_Const" in arg)) return [];
  const [schema = "", rest] = (arg.A_Const.sval?.sval ?? "").split(".");
  return rest === undefined ? [] : [schema.replaceAll('"', "")];
}

function checkSchemaStatement(context: Context, node: Node) {
  const reportSchemaName = (message: string) => report(context, "schema-name", message);
  const renames = "RenameStmt" in node && node.RenameStmt.renameType === "OBJECT_SCHEMA";
  const drops = "DropStmt" in node && node.DropStmt.removeType === "OBJECT_SCHEMA";
  const grants = "GrantStmt" in node && node.GrantStmt.objtype === "OBJECT_SCHEMA";
  if ("CreateSchemaStmt" in node || renames || drops || grants)
    reportSchemaName("The migrator makes schemas and grants their use. Leave this out.");
  if ("AlterObjectSchemaStmt" in node)
    reportSchemaName(
      "All objects belong to the one schema in search_path. Leave the schema name out.",
    );
  if ("CommentStmt" in node) {
    const { objtype, object } = node.CommentStmt;
    const owned = [
      "OBJECT_COLUMN",
      "OBJECT_TABCONSTRAINT",
      "OBJECT_DOMCONSTRAINT",
      "OBJECT_TRIGGER",
      "OBJECT_POLICY",
      "OBJECT_RULE",
    ];
    reportQualifiedNames(context, object ? [object] : [], owned.includes(objtype ?? "") ? 2 : 1);
  }
  if ("DropStmt" in node && !drops) {
    const owned = ["OBJECT_TRIGGER", "OBJECT_POLICY", "OBJECT_RULE"];
    const length = owned.includes(node.DropStmt.removeType ?? "") ? 2 : 1;
    reportQualifiedNames(context, node.DropStmt.objects ?? [], length);
  }
}

/** Reports qualified names in a list; functions and types are checked elsewhere. */
function reportQualifiedNames(context: Context, objects: readonly Node[], length: number) {
  for (const object of objects) {
    const name = "List" in object ? listWords(object) : [];
    const [schema = ""] = name;
    if (name.length > length && !foreignSchemas.has(schema))
      report(
        context,
        "schema-name",
        `The schema ${schema} is written out, and the same file must build every schema. Leave it out: search_path finds the name.`,
      );
  }
}

function checkType(context: Context, fields: Record<string, unknown>, kind: string) {
  if (kind !== "ColumnDef" && kind !== "CreateDomainStmt") return;
  const type = fields.typeName as TypeName | undefined;
  const [name = "", schema = "pg_catalog"] = words(type?.names).toReversed();
  const advice = oldTypes[name];
  if (advice !== undefined && schema === "pg_catalog")
    report(
      context,
      "type",
      `The type ${name === "bpchar" ? "char" : name} is not used here. ${advice}`,
      type?.location,
    );
}

function checkSearchPath(context: Context, fields: Record<string, unknown>, kind: string) {
  const sets =
    kind === "VariableSetStmt" &&
    (fields.kind === "VAR_RESET_ALL" ||
      (fields.name === "search_path" && fields.kind !== "VAR_SET_CURRENT"));
  const calls =
    kind === "FuncCall" &&
    words(fields.funcname as Node[]).at(-1) === "set_config" &&
    (fields.args as Node[] | undefined)?.some(
      (arg) => "A_Const" in arg && arg.A_Const.sval?.sval === "search_path",
    );
  if (sets || calls)
    report(
      context,
      "search-path",
      "The migrator sets search_path to the schema that it builds. Leave this out; a function may say `set search_path from current`.",
    );
}
