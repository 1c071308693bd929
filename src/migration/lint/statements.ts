import type { Node } from "libpg-query";
import { indexAdvice } from "./alterTable.ts";
import { report } from "./context.ts";
import type { Context } from "./context.ts";
import { listWords, walk } from "./tree.ts";

/**
 * Rules for statements other than `alter table`: locks, breaking changes, and statements that do not belong in a
 * migration.
 */
export function checkStatement(context: Context) {
  const { node } = context.statement;
  checkTransaction(context, node);
  checkPlace(context, node);
  checkRename(context, node);
  checkDrop(context, node);
  checkWrites(context, node);
  if ("IndexStmt" in node) {
    const { relation, concurrent } = node.IndexStmt;
    const table = relation?.relname ?? "";
    if (!concurrent && !context.created.has(table))
      report(
        context,
        "create-index",
        `Building an index on ${table} stops writes to it. ${indexAdvice("create-index")}`,
      );
  }
  if ("ClusterStmt" in node || "ReindexStmt" in node)
    report(
      context,
      "table-rewrite",
      "This rewrites a table or an index while nobody can use it. Leave it to maintenance outside migrations.",
    );
  if ("AlterDomainStmt" in node) {
    const { subtype, typeName, def } = node.AlterDomainStmt;
    const domain = listWords(typeName?.at(-1)).at(-1) ?? "";
    const unchecked = def && "Constraint" in def && def.Constraint.skip_validation === true;
    if ((subtype === "C" || subtype === "O") && !unchecked && !context.createdTypes.has(domain))
      report(
        context,
        "constraint-not-valid",
        `Checking this reads every table that uses ${domain}. Write \`alter domain ${domain} add constraint … not valid\`, and validate it in the next migration.`,
      );
  }
}

function checkTransaction(context: Context, node: Node) {
  const concurrent =
    ("IndexStmt" in node && node.IndexStmt.concurrent) ||
    ("DropStmt" in node && node.DropStmt.concurrent) ||
    ("ReindexStmt" in node && hasOption(node.ReindexStmt.params, "concurrently"));
  if (concurrent)
    report(
      context,
      "transaction",
      "`concurrently` cannot run in a transaction, and every migration is one. Leave it out; where that locks a table in use, wait for a quiet time and allow it with the reason.",
    );
  if ("TransactionStmt" in node)
    report(
      context,
      "transaction",
      "The migrator begins and commits. Leave transaction commands out; a change that needs a separate commit is a separate migration.",
    );
  if (setsRole(node)) report(context, "transaction", roleMessage);
  else if (changesSetting(node) && !setsSearchPath(node))
    report(context, "setting", settingMessage);
  const outside =
    "AlterSystemStmt" in node ||
    "CreatedbStmt" in node ||
    "DropdbStmt" in node ||
    ("VacuumStmt" in node && node.VacuumStmt.is_vacuumcmd === true);
  if (outside)
    report(
      context,
      "transaction",
      "This cannot run in a transaction, and every migration is one. It belongs to the operation of the database.",
    );
}

export const roleMessage =
  "The migrator acts as office_owner, and the files after this one would run as another role. Leave this out.";

/** Whether a statement changes the role for the statements after it. */
export function setsRole(node: Node): boolean {
  return (
    "VariableSetStmt" in node &&
    ["role", "session_authorization"].includes(node.VariableSetStmt.name ?? "")
  );
}

export const settingMessage =
  "This setting also holds for the files that run after this one. Leave it out; a function has its own by `create function … set name = value`.";

/** Whether a statement changes a setting for the statements after it. */
export function changesSetting(node: Node): boolean {
  return "VariableSetStmt" in node;
}

/** Whether the rule `search-path` reports the statement. */
function setsSearchPath(node: Node): boolean {
  if (!("VariableSetStmt" in node)) return false;
  const { kind, name } = node.VariableSetStmt;
  return kind === "VAR_RESET_ALL" || name === "search_path";
}

function hasOption(params: readonly Node[] | undefined, name: string): boolean {
  return (params ?? []).some((param) => "DefElem" in param && param.DefElem.defname === name);
}

function checkPlace(context: Context, node: Node) {
  const dropsExtension = "DropStmt" in node && node.DropStmt.removeType === "OBJECT_EXTENSION";
  const role =
    "CreateRoleStmt" in node ||
    "AlterRoleStmt" in node ||
    "AlterRoleSetStmt" in node ||
    "DropRoleStmt" in node ||
    "GrantRoleStmt" in node;
  if ("CreateExtensionStmt" in node || "AlterExtensionStmt" in node || dropsExtension || role)
    report(
      context,
      "extension-or-role",
      "Extensions and roles are the same for every schema of the database, and a migration runs once for each. Write this in db/prepare.sql, or in prepare.sql of the folder of DATABASE_EXTRA_SQL_DIR.",
    );
  if ("CreateFunctionStmt" in node)
    report(
      context,
      "function-in-migration",
      "A function in a migration can never be changed again. Write it in db/logic; only a function that a column or an index needs belongs here, with its body as `begin atomic …; end` and an allow comment.",
    );
  if ("DoStmt" in node)
    report(
      context,
      "do-block",
      "The statements in a DO block are checked by nobody. Write them out; where that is impossible, allow it with the reason.",
    );
}

function checkRename(context: Context, node: Node) {
  const advice =
    "Servers of the old release still use the old name. Add the new one beside it, move the code, and drop the old one later.";
  if ("AlterEnumStmt" in node && node.AlterEnumStmt.oldVal !== undefined)
    report(context, "rename", `This renames the value ${node.AlterEnumStmt.oldVal}. ${advice}`);
  if (!("RenameStmt" in node)) return;
  const { renameType, relation, subname, object } = node.RenameStmt;
  const breaking = [
    "OBJECT_TABLE",
    "OBJECT_COLUMN",
    "OBJECT_VIEW",
    "OBJECT_TYPE",
    "OBJECT_ATTRIBUTE",
  ];
  const owner = relation?.relname ?? listWords(object).at(-1) ?? "";
  if (breaking.includes(renameType ?? "") && !context.created.has(owner))
    report(context, "rename", `This renames ${subname ? `${owner}.${subname}` : owner}. ${advice}`);
}

function checkDrop(context: Context, node: Node) {
  if (!("DropStmt" in node) || node.DropStmt.removeType !== "OBJECT_TABLE") return;
  for (const object of node.DropStmt.objects ?? []) {
    const table = listWords(object).at(-1) ?? "";
    if (!context.created.has(table))
      report(
        context,
        "drop-table",
        `Servers of the old release still read ${table}. Mark it deprecated, release, and drop it later with an allow comment that names that release.`,
      );
  }
}

function checkWrites(context: Context, node: Node) {
  if ("LockStmt" in node)
    report(
      context,
      "lock-table",
      "This lock lasts until the migration commits. Leave it out: each statement takes the lock that it needs.",
    );
  if ("TruncateStmt" in node) {
    const used = (node.TruncateStmt.relations ?? []).flatMap((relation) =>
      "RangeVar" in relation ? [relation.RangeVar.relname ?? ""] : [],
    );
    for (const table of used.filter((name) => !context.created.has(name)))
      report(
        context,
        "truncate",
        `This loses every row of ${table}, with no audit and under a full lock. Delete what must go in batches by a job.`,
      );
  }
  walk(node, (fields, kind) => {
    if (kind !== "UpdateStmt" && kind !== "DeleteStmt") return;
    const { relation, whereClause } = fields as {
      relation?: { relname?: string; location?: number };
      whereClause?: Node;
    };
    const table = relation?.relname ?? "";
    if (context.created.has(table) || !isEverything(whereClause)) return;
    const verb = kind === "UpdateStmt" ? "updates" : "deletes";
    report(
      context,
      "whole-table-write",
      `This ${verb} every row of ${table} in one transaction. Name the rows with \`where\`, or do it in batches by a job.`,
      relation?.location,
    );
  });
}

function isEverything(where: Node | undefined): boolean {
  if (where === undefined) return true;
  return "A_Const" in where && where.A_Const.boolval?.boolval === true;
}
