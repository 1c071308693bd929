/** The rules of the migration linter, and what each prevents. An `allow` comment may name only these. */
export const rules = {
  "file-name": "four digits that no other file has, then snake_case: 0004_campaigns.sql",
  syntax: "the file must parse as PostgreSQL",
  allow: "an allow comment names a rule that applies here, and a reason",
  transaction: "a migration runs in one transaction, forward only",
  "create-index": "building an index on an existing table stops writes to it",
  "volatile-default": "a default computed for each row rewrites the table",
  "table-rewrite": "rewriting an existing table stops reads and writes",
  "add-not-null-column": "an existing row has no value for a required column without a default",
  "alter-type": "changing a column's type rewrites the table",
  "set-not-null": "proving `not null` reads the whole table under a full lock",
  "constraint-not-valid": "checking a new constraint reads the whole table under a lock",
  "validate-later": "validating in the transaction that adds the constraint keeps its lock",
  rename: "a rename breaks the servers that still run the old release",
  "drop-table": "drop a table only after a release that no longer reads it",
  "drop-column": "drop a column only after a release that no longer reads it",
  "lock-table": "an explicit lock stops the service for as long as the migration runs",
  truncate: "`truncate` loses rows and takes a full lock",
  "whole-table-write": "writing every row of an existing table locks it for long",
  type: "`text` with a check, `timestamptz` and `uuid` instead of older types",
  "schema-name": "everything is relative to search_path",
  "search-path": "the migrator sets search_path",
  "extension-or-role": "extensions and roles belong to the database, not to the schema",
  "function-in-migration": "functions live in db/logic, where they can be replaced",
  "do-block": "a DO block hides its statements from this linter",
  setting: "a setting also holds for the files that run afterwards",
  trigger: "triggers write the audit log and the times of rows, and are never off",
  "row-level-security": "row-level security is never disabled",
  "on-delete": "every foreign key says what happens when its target is deleted",
  "foreign-key-index": "every foreign key has an index that starts with its column",
  "table-comment":
    "the comment on a table holds its smart tags: policies and grants derive from it",
  "product-table": "a deployment adds to the product's tables and changes nothing of them",
} as const;

export type RuleName = keyof typeof rules;

/** Whether a text is the name of a rule. */
export function isRule(name: string): name is RuleName {
  return Object.hasOwn(rules, name);
}

export interface Problem {
  file: string;
  /** The line, from 1. */
  line: number;
  rule: RuleName;
  /** A warning does not fail the check. */
  severity: "error" | "warning";
  /** The problem and its fix. */
  message: string;
}

/** A problem before lines and allow comments are resolved. */
export interface Finding {
  rule: RuleName;
  /** Byte offset in the file. */
  at: number;
  /** Byte offset of its statement. */
  statementAt: number;
  message: string;
  severity?: "error" | "warning";
}
