import type { Node } from "libpg-query";
import { readSource, SyntaxProblem } from "./source.ts";

/** A statement of a `logic` file that belongs in a migration. */
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
 * Finds statements that change tables, types or sequences. None for a file that does not parse: PostgreSQL reports its
 * mistake when it runs.
 */
export function misplacedStatements(sql: string): MisplacedStatement[] {
  try {
    const { statements, lineAt } = readSource(sql);
    return statements.flatMap(({ node, at }) => {
      const command = schemaCommand(node);
      return command === undefined
        ? []
        : [
            {
              line: lineAt(at),
              message: `\`${command}\` belongs in a file of \`migrations\`, which runs once. Files of \`logic\` run again at each migration: functions, views, triggers and policies, which can be replaced.`,
            },
          ];
    });
  } catch (error) {
    if (error instanceof SyntaxProblem) return [];
    throw error;
  }
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
