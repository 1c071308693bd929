import { tracing } from "./tracing.ts";

type Method = (...given: unknown[]) => Promise<unknown>;

/**
 * Records a span for each call of the named methods of a client whose library does not use `fetch`. All of them return
 * promises.
 */
export function traceCalls<Client extends object>(
  system: string,
  client: Client,
  methods: readonly (keyof Client & string)[],
): Client {
  const traced = { ...client };
  for (const name of methods) {
    const call = client[name] as Method;
    const withSpan: Method = (...given) => {
      const span = tracing()?.start(`${system} ${name}`, "client", { "peer.service": system });
      if (!span) return call(...given);
      const answer = span.within(() => call(...given));
      answer.then(
        () => span.end(),
        (error: unknown) => span.end(error),
      );
      return answer;
    };
    traced[name] = withSpan as Client[typeof name];
  }
  return traced;
}
