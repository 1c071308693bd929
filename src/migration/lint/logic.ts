import type { Node } from "libpg-query";
import { readSource, SyntaxProblem } from "./source.ts";

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

/**
 * Finds statements that change tables, types or sequences, and policies and triggers that would lock their table at
 * each migration. None for a file that does not parse: PostgreSQL reports its mistake when it runs.
 */
export function misplacedStatements(sql: string): MisplacedStatement[] {
  try {
    const { statements, lineAt } = readSource(sql);
    return statements.flatMap(({ node, at }) => {
      const message = messageAbout(node);
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
  if ("CreateTrigStmt" in node)
    return `A trigger is made by \`select ensure_trigger(...)\`, which locks the table only when the trigger differs.`;
  return undefined;
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
