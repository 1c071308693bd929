import type { Node } from "libpg-query";
import type { ProductTables } from "./knownSchema.ts";
import { readSource, SyntaxProblem } from "./source.ts";
import { changesSetting, roleMessage, setsRole, settingMessage } from "./statements.ts";
import { listWords } from "./tree.ts";

/** A statement of a `logic` file that does not belong there. */
export interface MisplacedStatement {
  /** The line, from 1. */
  line: number;
  /** The problem and its fix. */
  message: string;
}

const objects: Partial<Record<string, string>> = {
  OBJECT_TABLE: "table",
  OBJECT_COLUMN: "column",
  OBJECT_TYPE: "type",
  OBJECT_DOMAIN: "domain",
  OBJECT_SEQUENCE: "sequence",
};

/** What a deployment's `logic` leaves as it is. */
export interface KeptObjects {
  /** The tables of the product and of the deployment, whose comments are part of migrations. */
  tables: ProductTables;
  /** The names of the product's functions. */
  functions: ReadonlySet<string>;
}

/** The names of the functions that files create. */
export function functionsOf(files: readonly string[]): Set<string> {
  const names = files.flatMap((sql) =>
    readSource(sql).statements.flatMap(({ node }) => createdFunction(node) ?? []),
  );
  return new Set(names);
}

/**
 * Finds statements that change tables, types or sequences, policies and triggers that would lock their table at each
 * migration, and transaction commands; in a deployment's file also changes of the kept objects. None for a file that does
 * not parse: PostgreSQL reports its mistake when it runs.
 */
export function misplacedStatements(sql: string, kept?: KeptObjects): MisplacedStatement[] {
  try {
    const { statements, lineAt } = readSource(sql);
    return statements.flatMap(({ node, at }) => {
      const message = messageAbout(node) ?? (kept && changeOfKept(node, kept));
      return message === undefined ? [] : [{ line: lineAt(at), message }];
    });
  } catch (error) {
    if (error instanceof SyntaxProblem) return [];
    throw error;
  }
}

function messageAbout(node: Node): string | undefined {
  const command = schemaCommand(node);
  if (command !== undefined)
    return `\`${command}\` belongs in a file of \`migrations\`, which runs once. Files of \`logic\` run again at each migration: functions, views, triggers and policies, which can be replaced.`;
  if ("CreatePolicyStmt" in node || "AlterPolicyStmt" in node)
    return `A policy is made by \`select ensure_policy(...)\`, which locks the table only when the policy differs; a restrictive one with \`restrictive => true\`.`;
  if ("TransactionStmt" in node)
    return "The migrator begins and commits. Leave transaction commands out.";
  if (setsRole(node)) return roleMessage;
  if (changesSetting(node)) return settingMessage;
  if ("CreateTrigStmt" in node)
    return `A trigger is made by \`select ensure_trigger(...)\`, which locks the table only when the trigger differs.`;
  return undefined;
}

/** The tags of comments are applied before a deployment's `logic` runs, and the product relies on its functions. */
function changeOfKept(node: Node, { tables, functions }: KeptObjects): string | undefined {
  if ("CommentStmt" in node) {
    const { objtype, object } = node.CommentStmt;
    const names = listWords(object);
    const table = names.at(objtype === "OBJECT_COLUMN" ? -2 : -1) ?? "";
    const isOfTable = objtype === "OBJECT_TABLE" || objtype === "OBJECT_COLUMN";
    if (isOfTable && (objtype === "OBJECT_TABLE" || tables.has(table)))
      return `The comment of ${objtype === "OBJECT_TABLE" ? "a table" : "a column of a table"} has its tags, which are applied before this file runs. Write it in a migration.`;
  }
  const name = createdFunction(node);
  return name !== undefined && functions.has(name)
    ? `${name} is a function of the product, which relies on it. Give yours another name.`
    : undefined;
}

function createdFunction(node: Node): string | undefined {
  if (!("CreateFunctionStmt" in node)) return undefined;
  const [name] = (node.CreateFunctionStmt.funcname ?? []).slice(-1);
  return name && "String" in name ? name.String.sval : undefined;
}

function schemaCommand(node: Node): string | undefined {
  if ("CreateStmt" in node) return "create table";
  if ("CreateTableAsStmt" in node)
    return node.CreateTableAsStmt.objtype === "OBJECT_TABLE" ? "create table" : undefined;
  if ("AlterTableStmt" in node)
    return node.AlterTableStmt.objtype === "OBJECT_TABLE" ? "alter table" : undefined;
  if ("CreateEnumStmt" in node || "CompositeTypeStmt" in node || "CreateRangeStmt" in node)
    return "create type";
  if ("AlterEnumStmt" in node || "AlterTypeStmt" in node) return "alter type";
  if ("CreateDomainStmt" in node) return "create domain";
  if ("AlterDomainStmt" in node) return "alter domain";
  if ("CreateSeqStmt" in node) return "create sequence";
  const [verb, object] =
    "DropStmt" in node
      ? ["drop", node.DropStmt.removeType]
      : "RenameStmt" in node
        ? ["rename", node.RenameStmt.renameType]
        : [];
  const kind = objects[object ?? ""];
  return kind === undefined ? undefined : `${verb} ${kind}`;
}
