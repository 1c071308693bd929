import type { Node, ScanToken } from "libpg-query";
import { hasSqlDetails, parseSync, scanSync } from "./parser.ts";

export interface Statement {
  node: Node;
  /** Byte offset of the first word. */
  at: number;
}

export interface Source {
  statements: Statement[];
  tokens: ScanToken[];
  /** The line, from 1, of a byte offset. */
  lineAt: (offset: number) => number;
}

/** PostgreSQL cannot parse the file. */
export class SyntaxProblem extends Error {
  override name = "SyntaxProblem";
  readonly line: number;

  constructor(message: string, line: number, cause: unknown) {
    super(message, { cause });
    this.line = line;
  }
}

/** Parses a migration. @throws SyntaxProblem when PostgreSQL would reject it */
export function readSource(sql: string): Source {
  const lineAt = lineFinder(sql);
  try {
    return {
      statements: (parseSync(sql).stmts ?? []).flatMap(({ stmt, stmt_location }) =>
        stmt ? [{ node: stmt, at: stmt_location ?? 0 }] : [],
      ),
      tokens: scanSync(sql).tokens,
      lineAt,
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const cursor = hasSqlDetails(error) ? (error.sqlDetails?.cursorPosition ?? 0) : 0;
    // The cursor counts characters; all other offsets count bytes.
    const line = lineAt(Buffer.byteLength(sql.slice(0, cursor)));
    throw new SyntaxProblem(error.message, line, error);
  }
}

function lineFinder(sql: string): (offset: number) => number {
  const bytes = Buffer.from(sql);
  const starts = [0];
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
