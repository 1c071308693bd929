import { isRule } from "./rules.ts";
import type { Finding, RuleName } from "./rules.ts";
import type { Source } from "./source.ts";

const minReasonLength = 10;

interface Allow {
  at: number;
  line: number;
  rule: RuleName;
  used: boolean;
}

/**
 * Removes findings that a comment allows: `-- lint: allow <rule> because <reason>` directly above the finding or its
 * statement. A malformed or unused comment is itself a finding.
 */
export function applyAllows(source: Source, findings: readonly Finding[]): Finding[] {
  const { allows, malformed } = readAllows(source);
  const comments = commentLines(source);
  const useAllow = (rule: RuleName, offset: number) => {
    for (let line = source.lineAt(offset) - 1; comments.has(line); line--) {
      const allow = allows.find((one) => one.line === line && one.rule === rule);
      if (allow) {
        allow.used = true;
        return true;
      }
    }
    return false;
  };
  const left = findings.filter(
    ({ rule, at, statementAt }) => !useAllow(rule, at) && !useAllow(rule, statementAt),
  );
  const unused = allows
    .filter((allow) => !allow.used)
    .map(({ at, rule }) =>
      allowProblem(
        at,
        `Nothing here breaks the rule "${rule}". Take the comment out, or put it directly above what it allows.`,
      ),
    );
  return [...left, ...malformed, ...unused];
}

function allowProblem(at: number, message: string): Finding {
  return { rule: "allow", at, statementAt: at, message };
}

function readAllows({ tokens, lineAt }: Source) {
  const allows: Allow[] = [];
  const malformed: Finding[] = [];
  for (const { tokenName, text, start } of tokens) {
    if (tokenName !== "SQL_COMMENT" || !/^--\s*lint\b/i.test(text)) continue;
    const [, rule = "", reason = ""] =
      /^--\s*lint:\s*allow\s+(\S+)(?:\s+because\s+(.*))?$/i.exec(text.trim()) ?? [];
    if (rule === "")
      malformed.push(allowProblem(start, "Write `-- lint: allow <rule> because <reason>`."));
    else if (!isRule(rule)) malformed.push(allowProblem(start, `There is no rule "${rule}".`));
    else if (reason.length < minReasonLength)
      malformed.push(
        allowProblem(
          start,
          `Say why in at least ${minReasonLength} characters: \`-- lint: allow ${rule} because <reason>\`.`,
        ),
      );
    else allows.push({ at: start, line: lineAt(start), rule, used: false });
  }
  return { allows, malformed };
}

/** The lines that contain only a comment. */
function commentLines({ tokens, lineAt }: Source): Set<number> {
  const lines = new Set<number>();
  const code = new Set<number>();
  for (const { tokenName, start, end } of tokens)
    for (let line = lineAt(start); line <= lineAt(Math.max(start, end - 1)); line++)
      (tokenName === "SQL_COMMENT" ? lines : code).add(line);
  return new Set([...lines].filter((line) => !code.has(line)));
}
