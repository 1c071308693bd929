import type { RequestHandler, Response } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { HttpError } from "../errors/HttpError.ts";
import { type CountedCost, currentScope } from "../context/requestScope.ts";

const windowSeconds = 60;

/** What one sender may ask of one server process in a minute; null for no bound. */
export interface RateLimits {
  requestsPerMinute: number | null;
  costPerMinute: number | null;
  /** The most that a single operation may cost. */
  cost: number;
}

/**
 * Counts each request for who sends it, which is the session or API token that it comes with, and, where that is nobody's, the
 * address. How much is used and left stands in the headers `RateLimit-Policy` and `RateLimit` of the IETF's draft. `byToken` needs
 * no look-up in the database and comes before it; `byAddress` comes after it. Both throw HttpError 429 RATE_LIMITED with
 * `retryAfter`, when the minute's requests or cost are used up.
 */
export function limitRate(limits: RateLimits): {
  byToken: RequestHandler;
  byAddress: RequestHandler;
} {
  const { requestsPerMinute, costPerMinute, cost: limit } = limits;
  const limiters = [
    { name: "requests", perMinute: requestsPerMinute },
    { name: "cost", perMinute: costPerMinute },
  ].flatMap(({ name, perMinute }) =>
    perMinute === null
      ? []
      : [
          {
            name,
            perMinute,
            limiter: new RateLimiterMemory({ points: perMinute, duration: windowSeconds }),
          },
        ],
  );
  const policy = limiters
    .map(({ name, perMinute }) => `"${name}";q=${perMinute};w=${windowSeconds}`)
    .join(", ");

  async function count(principal: string, response: Response): Promise<void> {
    const requested = (response.locals.cost ?? 0) + 1;
    const counted: CountedCost = { requested, limit, perMinute: costPerMinute, remaining: null };
    const left: string[] = [];
    let refused: { name: string; seconds: number } | undefined;
    for (const { name, limiter } of limiters) {
      const state = await taken(limiter.consume(principal, name === "cost" ? requested : 1));
      const seconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
      left.push(`"${name}";r=${state.remainingPoints};t=${seconds}`);
      if (name === "cost") counted.remaining = state.remainingPoints;
      if (state.isRefused) refused ??= { name, seconds };
    }
    if (left.length > 0)
      response.setHeader("RateLimit-Policy", policy).setHeader("RateLimit", left.join(", "));
    if (refused) throw tooMuch(refused);
    const scope = currentScope();
    if (scope) scope.cost = counted;
  }

  return {
    async byToken(_request, response, next) {
      const { token } = response.locals;
      if (token) await count(token.hash.toString("base64"), response);
      next();
    },
    async byAddress(_request, response, next) {
      const { requestContext } = response.locals;
      if (requestContext && !requestContext.identity)
        await count(`address ${requestContext.ipAddress}`, response);
      next();
    },
  };
}

function tooMuch({ name, seconds: retryAfter }: { name: string; seconds: number }): HttpError {
  const what = name === "cost" ? "Too much was asked for" : "Too many requests";
  const message = `${what} within a minute: try again in ${retryAfter} s`;
  return new HttpError(429, "RATE_LIMITED", message, { limit: name, retryAfter });
}

/** The library refuses by rejecting with the state. */
async function taken(consumed: Promise<RateLimiterRes>) {
  const { state, isRefused } = await consumed.then(
    (result) => ({ state: result, isRefused: false }),
    (result: unknown) => {
      if (!(result instanceof RateLimiterRes)) throw result;
      return { state: result, isRefused: true };
    },
  );
  return { msBeforeNext: state.msBeforeNext, remainingPoints: state.remainingPoints, isRefused };
}
