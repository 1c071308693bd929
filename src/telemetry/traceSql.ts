import type pg from "pg";
import { keepContextOnConnect } from "./poolConnect.ts";
import { tracing } from "./tracing.ts";

type Callback = (error: Error | null, result?: unknown) => void;
type AnyQuery = (...args: unknown[]) => unknown;

/** Records a span for each statement of a pool: its text, never its values. Called only if tracing is on. */
export function traceSql(pool: pg.Pool): void {
  pool.on("connect", traceClient);
  keepContextOnConnect(pool);
}

function traceClient(client: pg.PoolClient): void {
  const query = client.query.bind(client) as AnyQuery;
  client.query = ((...args: unknown[]) => {
    const text = textOf(args[0]);
    const span = tracing()?.start(
      `SQL ${/^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? ""}`,
      "client",
      {
        "db.system.name": "postgresql",
        "db.query.text": text.slice(0, 2_000),
      },
    );
    if (!span) return query(...args);
    const ended =
      (callback: Callback): Callback =>
      (error, result) => {
        span.end(error ?? undefined);
        callback(error, result);
      };
    const submitted = args[0] as { submit?: unknown; callback?: Callback };
    if (typeof submitted === "object" && typeof submitted.submit === "function") {
      // Cursors and streams have no callback: their span ends when they are submitted.
      if (submitted.callback) submitted.callback = ended(submitted.callback);
      else span.end();
      return query(...args);
    }
    const last = args.at(-1);
    if (typeof last === "function") return query(...args.slice(0, -1), ended(last as Callback));
    const result = query(...args) as Promise<unknown>;
    result.then(
      () => span.end(),
      (error: unknown) => span.end(error),
    );
    return result;
  }) as typeof client.query;
}

function textOf(first: unknown): string {
  if (typeof first === "string") return first;
  const { text } = (first ?? {}) as { text?: unknown };
  return typeof text === "string" ? text : "";
}
