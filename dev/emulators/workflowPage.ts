import { escapeHtml } from "../../src/html/escapeHtml.ts";
import type { Delivery } from "./workflowDeliveries.ts";
import type { Fault } from "./workflowFaults.ts";

/** An HTML page with the deliveries. */
export function workflowPage(deliveries: readonly Delivery[], fault: Fault | null): string {
  const faultNotice = fault
    ? `<p role="status">The next ${fault.times} call(s) get the fault ${escapeHtml(fault.kind)}.</p>`
    : "";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Product-sync workflow (embedded receiver)</title>
</head>
<body>
<main>
<h1>Product-sync workflow</h1>
<p>This receiver emulates the workflow that syncs products from the ERP. It starts no workflow and shows the calls of
<code>triggerProductSync</code>, also as <a href="/deliveries">JSON</a>.</p>
${faultNotice}
${deliveries.length === 0 ? "<p>No calls yet.</p>" : deliveries.map(article).join("\n")}
</main>
</body>
</html>
`;
}

function article({ webhookId, started, attempts, body }: Delivery): string {
  const calls = attempts.map(
    ({ at, outcome }) => `<li><time>${escapeHtml(at)}</time>: ${escapeHtml(outcome)}</li>`,
  );
  return `<article>
<h2>${escapeHtml(webhookId)}: ${started ? "started" : "not started"}</h2>
<ol>${calls.join("")}</ol>
<pre>${escapeHtml(body === null ? "Not shown: invalid signature" : JSON.stringify(body, null, 2))}</pre>
</article>`;
}
