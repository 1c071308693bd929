import type { SpanOptions } from "@opentelemetry/api";
import {
  SpanKind as Kinds,
  ROOT_CONTEXT,
  SpanStatusCode,
  context,
  propagation,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import type { TelemetryConfig } from "../settings/telemetry.ts";
import { setTracing } from "./tracing.ts";

const kinds = {
  server: Kinds.SERVER,
  client: Kinds.CLIENT,
  consumer: Kinds.CONSUMER,
  internal: Kinds.INTERNAL,
} as const;

/**
 * Sends the spans of this process to the configured receiver; an unavailable receiver loses spans and stops nothing. The libraries
 * read OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG themselves.
 */
export function startTracing(
  { endpoint }: TelemetryConfig & { endpoint: string },
  process: "server" | "worker",
): void {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": `back-office-${process}` }),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }), {
        scheduledDelayMillis: 1_000,
      }),
    ],
  });
  provider.register();
  // Calls by `fetch` get a span and the header `traceparent`, if they belong to a span of ours.
  const outgoing = new UndiciInstrumentation({ requireParentforSpans: true });
  outgoing.setTracerProvider(provider);
  outgoing.enable();
  const tracer = provider.getTracer("back-office");

  setTracing({
    start(name, kind, attributes, parent) {
      const options: SpanOptions = { kind: kinds[kind], attributes };
      const from =
        parent === undefined
          ? context.active()
          : propagation.extract(ROOT_CONTEXT, { traceparent: parent });
      const span = tracer.startSpan(name, options, from);
      const inside = trace.setSpan(from, span);
      return {
        set: (more) => void span.setAttributes(more),
        rename: (to) => void span.updateName(to),
        end(error) {
          if (error !== undefined) {
            // Without the message, which can repeat user input; the log has it under the same correlation id.
            const { name: type, code } = error as { name?: string; code?: string };
            span.setAttribute("error.type", code ?? type ?? "unknown");
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
        within: (work) => context.with(inside, work),
        traceId: span.spanContext().traceId,
      };
    },
    traceparent() {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent;
    },
    async stop() {
      outgoing.disable();
      // A receiver that is down must not delay the exit.
      const { promise, resolve } = Promise.withResolvers<undefined>();
      setTimeout(resolve, 2_000, undefined).unref();
      await Promise.race([provider.shutdown().catch(() => undefined), promise]);
    },
  });
}
