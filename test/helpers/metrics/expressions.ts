import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

/** What an expression of PromQL needs of the metrics: names, the labels that it compares and those that it groups by. */
export interface Needs {
  metrics: { name: string; labels: { name: string; value: string; isPattern: boolean }[] }[];
  groupings: string[];
}

/**
 * Reads an expression of Prometheus.
 * @throws Error where it cannot be parsed
 */
export function needsOf(expression: string): Needs {
  // What Grafana fills in.
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
