import type { KnownSchema, ProductTables } from "./knownSchema.ts";
import type { Finding, RuleName } from "./rules.ts";
import type { Statement } from "./source.ts";

/** The input of a rule, and where it reports. */
export interface Context {
  statement: Statement;
  /** Tables created by this migration; no other session uses them yet. */
  created: ReadonlySet<string>;
  /** Types and domains created by this migration. */
  createdTypes: ReadonlySet<string>;
  /** Constraints that this migration adds to existing tables, as `table.constraint`. */
  added: ReadonlySet<string>;
  /** The facts before the statement. */
  before: KnownSchema;
  /** The facts after the migration. */
  after: KnownSchema;
  /** The tables of the product, for a migration of a deployment. */
  product: ProductTables;
  findings: Finding[];
}

/** Reports a problem at a byte offset, by default the start of the statement. */
export function report(
  context: Context,
  rule: RuleName,
  message: string,
  at?: number,
  severity?: "error" | "warning",
) {
  const statementAt = context.statement.at;
  const place = at === undefined || at < statementAt ? statementAt : at;
  context.findings.push({ rule, at: place, statementAt, message, severity });
}
