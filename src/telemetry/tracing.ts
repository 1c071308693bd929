/** The attributes of a span; never values that users entered. */
export type Attributes = Record<string, string | number | boolean>;

/** A piece of work in a trace. */
export interface Span {
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Ends the span; with an error, as failed. */
  end(error?: unknown): void;
  /** Runs `work` inside this span. */
  within<T>(work: () => T): T;
  /** The id of its trace, 32 hexadecimal digits. */
  traceId: string;
}

/** The kind of a span, as in OpenTelemetry. */
export type SpanKind = "server" | "client" | "consumer" | "internal";

/** Tracing, if a receiver is configured. */
export interface Tracing {
  /** `parent` is a W3C `traceparent` from another process. */
  start(name: string, kind: SpanKind, attributes: Attributes, parent?: string): Span;
  /** The W3C `traceparent` of the current span; undefined outside a span. */
  traceparent(): string | undefined;
  stop(): Promise<void>;
}

let active: Tracing | null = null;

/** The tracing of this process; null when it is off. */
export function tracing(): Tracing | null {
  return active;
}

/** Turns tracing on; called once, before pools are created. */
export function setTracing(made: Tracing): void {
  active = made;
}

/** Runs `work` inside a new span. */
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
