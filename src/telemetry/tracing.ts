/** What a span says of its work; never a value that a user entered. */
export type Attributes = Record<string, string | number | boolean>;

/** A piece of work in a trace. */
export interface Span {
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Ends the span; with an error as failed. */
  end(error?: unknown): void;
  /** Runs `work` so that what it starts belongs to this span. */
  within<T>(work: () => T): T;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  traceId: string;
}

/** Whose work a span is: what came in, what goes out, or something inside. */
export type SpanKind = "server" | "client" | "consumer" | "internal";

/** Traces, where an exporter is configured. */
export interface Tracing {
  /** `parent` is a W3C `traceparent` that came from elsewhere. */
  start(name: string, kind: SpanKind, attributes: Attributes, parent?: string): Span;
  /** The W3C `traceparent` of the work at hand; undefined outside of any. */
  traceparent(): string | undefined;
  stop(): Promise<void>;
}

let active: Tracing | null = null;

/** The traces of this process; null where none are made, which costs nothing more than asking. */
export function tracing(): Tracing | null {
  return active;
}

/** Makes traces from now on; called once, before pools are made. */
export function setTracing(made: Tracing): void {
  active = made;
}

/** Runs `work` as a span of its own. */
export async function inSpan<T>(
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  work: () => T | Promise<T>,
  parent?: string,
): Promise<T> {
  const span = active?.start(name, kind, attributes, parent);
  if (!span) return work();
  try {
    const result = await span.within(work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
