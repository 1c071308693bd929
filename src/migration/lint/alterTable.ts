import type { AlterTableCmd, ColumnDef, Constraint, Node } from "libpg-query";
import { report } from "./context.ts";
import type { Context } from "./context.ts";
import { constraintsOf, walk, words } from "./tree.ts";

/** Functions that PostgreSQL evaluates once for a new column's default; any other may be volatile. */
const stableFunctions = new Set([
  "now",
  "transaction_timestamp",
  "statement_timestamp",
  "current_setting",
  "to_jsonb",
  "jsonb_build_object",
  "jsonb_build_array",
]);

/** `disable trigger`, `enable trigger` and their forms. */
const switchesTrigger = /^AT_(Enable|Disable)(Always|Replica)?Trig/;

/** Rules for `alter table` on a table in use. */
export function checkAlterTable(context: Context) {
  const { node } = context.statement;
  if (!("AlterTableStmt" in node)) return;
  const { relation, cmds, objtype } = node.AlterTableStmt;
  if (objtype !== "OBJECT_TABLE") return;
  const table = relation?.relname ?? "";
  for (const item of cmds ?? []) {
    if (!("AlterTableCmd" in item)) continue;
    const command = item.AlterTableCmd;
    checkProtection(context, table, command);
    if (context.created.has(table)) continue;
    checkRewrite(context, table, command);
    const { def } = command;
    if (def && "ColumnDef" in def && command.subtype === "AT_AddColumn")
      checkColumn(context, table, def.ColumnDef);
    if (def && "Constraint" in def) checkConstraint(context, table, def.Constraint);
  }
}

function checkProtection(context: Context, table: string, { subtype, def }: AlterTableCmd) {
  if (subtype === "AT_DisableRowSecurity" || subtype === "AT_NoForceRowSecurity")
    report(
      context,
      "row-level-security",
      `This takes row-level security off ${table}. Keep it enabled and forced, and write a policy that admits more.`,
    );
  if (switchesTrigger.test(subtype ?? ""))
    report(
      context,
      "trigger",
      `This changes when triggers of ${table} run. They write the audit log and the times of rows, and a new schema does not have them yet when its migrations run. Leave it out.`,
    );
  if (
    subtype === "AT_DetachPartition" &&
    def &&
    "PartitionCmd" in def &&
    def.PartitionCmd.concurrent
  )
    report(
      context,
      "transaction",
      "`detach partition concurrently` cannot run in a transaction. Leave `concurrently` out.",
    );
}

function checkRewrite(context: Context, table: string, { subtype, name, def }: AlterTableCmd) {
  switch (subtype) {
    case "AT_AlterColumnType":
      report(
        context,
        "alter-type",
        `Changing the type of ${table}.${name} rewrites the table while nobody can read it. Add a new column, fill it in batches by a job, switch the code, and drop the old one later.`,
        def && "ColumnDef" in def ? def.ColumnDef.location : undefined,
      );
      break;
    case "AT_DropColumn":
      report(
        context,
        "drop-column",
        `Servers of the old release still read ${table}.${name}. Mark it deprecated, release, and drop it later with an allow comment that names that release.`,
      );
      break;
    case "AT_SetNotNull": {
      const proof = context.before.notNull;
      const proven = [...proof].some(
        ([key, { column, valid }]) => valid && column === name && key.startsWith(`${table}.`),
      );
      if (!proven)
        report(
          context,
          "set-not-null",
          `This reads all of ${table} under a full lock. ${notNullAdvice(table, name ?? "")}`,
        );
      break;
    }
    case "AT_ValidateConstraint":
      if (context.added.has(`${table}.${name}`))
        report(
          context,
          "validate-later",
          `${name} is added and validated in one transaction, so the lock of adding it lasts for the whole check. Validate it in the next migration.`,
          undefined,
          "warning",
        );
      break;
    case "AT_SetLogged":
    case "AT_SetUnLogged":
    case "AT_SetAccessMethod":
    case "AT_SetTableSpace":
    case "AT_SetExpression":
    case "AT_AddIdentity":
      report(
        context,
        "table-rewrite",
        `This rewrites or rereads all of ${table} while nobody can use it. Build a new table or column beside it and move over.`,
      );
      break;
    default:
  }
}

function checkColumn(context: Context, table: string, column: ColumnDef) {
  const name = `${table}.${column.colname}`;
  const constraints = constraintsOf(column);
  const filled = constraints.find(({ contype }) => contype === "CONSTR_DEFAULT");
  const hasDefault = filled !== undefined && !isNull(filled.raw_expr);
  const computed = constraints.some(({ contype }) => contype === "CONSTR_GENERATED");
  for (const constraint of constraints) {
    const at = constraint.location;
    switch (constraint.contype) {
      case "CONSTR_DEFAULT":
        if (mayBeVolatile(constraint.raw_expr))
          report(
            context,
            "volatile-default",
            `The default of ${name} is computed for each row, which rewrites the table. Add the column without it, then \`alter column … set default\`, and fill old rows in batches by a job.`,
            at,
          );
        break;
      case "CONSTR_GENERATED":
        if (constraint.generated_kind === "s")
          report(
            context,
            "table-rewrite",
            `The stored generated column ${name} rewrites the table. Make it \`virtual\`, or compute it in a query.`,
            at,
          );
        break;
      case "CONSTR_IDENTITY":
        report(
          context,
          "table-rewrite",
          `The identity column ${name} rewrites the table. Use \`uuid\`, filled in batches by a job.`,
          at,
        );
        break;
      case "CONSTR_NOTNULL":
        if (!hasDefault && !computed)
          report(
            context,
            "add-not-null-column",
            `Existing rows have no value for ${name}. Give it a constant default, or add it without \`not null\`, fill it by a job, and prove it later.`,
            at,
          );
        break;
      case "CONSTR_FOREIGN":
        // Without a default, the new column is null everywhere and PostgreSQL checks nothing.
        if (hasDefault) checkConstraint(context, table, constraint);
        break;
      default:
        checkConstraint(context, table, constraint);
    }
  }
}

/** Rules for a new constraint on a table in use. */
function checkConstraint(context: Context, table: string, constraint: Constraint) {
  const { contype, skip_validation: unchecked, indexname, location } = constraint;
  if ((contype === "CONSTR_FOREIGN" || contype === "CONSTR_CHECK") && !unchecked)
    report(
      context,
      "constraint-not-valid",
      `Checking this constraint reads all of ${table} under a lock. Write \`alter table ${table} add constraint … not valid\`, and \`validate constraint\` in the next migration.`,
      location,
    );
  if (contype === "CONSTR_NOTNULL" && !unchecked)
    report(
      context,
      "set-not-null",
      `This reads all of ${table} under a full lock. ${notNullAdvice(table, words(constraint.keys)[0] ?? "")}`,
      location,
    );
  const builds =
    contype === "CONSTR_PRIMARY" || contype === "CONSTR_UNIQUE" || contype === "CONSTR_EXCLUSION";
  if (builds && !indexname)
    report(
      context,
      "create-index",
      `This builds an index on ${table} while nobody can use it. ${indexAdvice("create-index")}`,
      location,
    );
}

/** Advice for a new index on a table in use. */
export function indexAdvice(rule: string): string {
  return `\`concurrently\` cannot run in a migration, which is one transaction. While the table is small, put \`-- lint: allow ${rule} because …\` above and give its size.`;
}

function notNullAdvice(table: string, column: string): string {
  return `Write \`alter table ${table} add constraint ${table}_${column}_not_null not null ${column} not valid\`, and \`validate constraint\` in the next migration.`;
}

function isNull(expression: Node | undefined): boolean {
  return expression !== undefined && "A_Const" in expression && expression.A_Const.isnull === true;
}

function mayBeVolatile(expression: Node | undefined): boolean {
  let found = false;
  walk(expression, ({ funcname }) => {
    if (!Array.isArray(funcname)) return;
    const name = words(funcname as Node[]).at(-1) ?? "";
    if (!stableFunctions.has(name)) found = true;
  });
  return found;
}
