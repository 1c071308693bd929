import { escapeHtml } from "../html/escapeHtml.ts";
import type { SystemState } from "../health/externalSystems.ts";

/** The content of a process's health page. */
export interface Health {
  /** `down`: the process cannot work at all. `degraded`: an external system is down or its disk full. */
  status: "ok" | "degraded" | "down";
  process: "server" | "worker";
  systems: readonly SystemState[];
}

/** The health of a process, from its systems. Nothing works without the database. */
export function healthOf(process: Health["process"], systems: readonly SystemState[]): Health {
  const down = systems.filter(({ state, circuit }) => state === "down" || circuit === "open");
  const status = down.some(({ name }) => name === "database")
    ? "down"
    : down.length > 0 || systems.some(({ state }) => state === "full")
      ? "degraded"
      : "ok";
  return { status, process, systems };
}

/** The health page as HTML. */
export function healthHtml({ status, process, systems }: Health): string {
  const rows = systems.map(
    ({ name, state, circuit = "", detail = "", ms }) =>
      `<tr class="${state}"><td>${escapeHtml(name)}</td><td>${state}</td><td>${circuit}</td><td>${ms === undefined ? "" : `${ms} ms`}</td><td>${escapeHtml(detail)}</td></tr>`,
  );
  return `<!doctype html>
<meta charset="utf-8"><title>${process}: ${status}</title>
<style>body{font:16px system-ui;margin:2rem}td,th{padding:.3rem 1rem;text-align:left}.down,.full{background:#fdd}.up{background:#dfd}</style>
<h1>The ${process} is ${status}</h1>
<table><tr><th>system</th><th>state</th><th>breaker</th><th>answered in</th><th></th></tr>
${rows.join("\n")}
</table>
`;
}
