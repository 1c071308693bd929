import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

/** The metrics, compared labels and grouping labels of a PromQL expression. */
export interface Needs {
  metrics: { name: string; labels: { name: string; value: string; isPattern: boolean }[] }[];
  groupings: string[];
}

/**
 * Parses a PromQL expression.
 * @throws Error if it cannot be parsed
 */
export function needsOf(expression: string): Needs {
  // Grafana replaces this variable.
  const text = expression.replaceAll("$__rate_interval", "5m");
  const needs: Needs = { metrics: [], groupings: [] };
  const textOf = (node: SyntaxNode | null) => (node ? text.slice(node.from, node.to) : "");
  parser.parse(text).iterate({
    enter({ type, node }) {
      if (type.isError) throw new Error(`cannot be read at ${node.from}: ${expression}`);
      if (type.name === "VectorSelector")
        needs.metrics.push({
          name: textOf(node.getChild("Identifier")),
          labels: (node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? []).map(
            (matcher) => ({
              name: textOf(matcher.getChild("LabelName")),
              value: textOf(matcher.getChild("StringLiteral")).slice(1, -1),
              isPattern: textOf(matcher.getChild("MatchOp")).includes("~"),
            }),
          ),
        });
      if (type.name === "GroupingLabels")
        needs.groupings.push(...node.getChildren("LabelName").map(textOf));
    },
  });
  return needs;
}
