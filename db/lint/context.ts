import type { Facts } from "./facts.ts";
import type { Finding, RuleName } from "./rules.ts";
import type { Statement } from "./source.ts";

/** What a rule may look at, and where it reports. */
export interface Context {
  statement: Statement;
  /** Tables that this migration creates: nobody uses them yet, so nothing waits for their locks. */
  created: ReadonlySet<string>;
  /** Types and domains that this migration creates. */
  createdTypes: ReadonlySet<string>;
  /** Constraints that this migration adds to existing tables, as `table.constraint`. */
  added: ReadonlySet<string>;
  /** What stands just before the statement. */
  before: Facts;
  /** What stands once the migration has run. */
  after: Facts;
  findings: Finding[];
}

/** Notes a problem at a byte offset; without one, at the start of the statement. */
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
