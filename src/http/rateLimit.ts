import type { RequestHandler, Response } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { HttpError } from "../errors/HttpError.ts";
import { type CountedCost, currentScope } from "../context/requestScope.ts";

const windowSeconds = 60;

/** The limits per caller, minute and server process; null for no limit. */
export interface RateLimits {
  requestsPerMinute: number | null;
  costPerMinute: number | null;
  /** The highest cost of a single operation. */
  cost: number;
}

/**
 * Counts requests and cost per session or API token and, for anonymous requests, per address. Sets the headers
 * `RateLimit-Policy` and `RateLimit` (IETF draft). `byToken` runs before the look-up of the caller and needs none,
 * `byAddress` after it. Both throw HttpError 429 RATE_LIMITED with `retryAfter` beyond a limit.
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
      const state = await readConsumed(limiter.consume(principal, name === "cost" ? requested : 1));
      const seconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
      left.push(`"${name}";r=${state.remainingPoints};t=${seconds}`);
      if (name === "cost") counted.remaining = state.remainingPoints;
      if (state.isRefused) refused ??= { name, seconds };
    }
    if (left.length > 0)
      response.setHeader("RateLimit-Policy", policy).setHeader("RateLimit", left.join(", "));
    if (refused) throw limitExceededError(refused);
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

function limitExceededError({
  name,
  seconds: retryAfter,
}: {
  name: string;
  seconds: number;
}): HttpError {
  const what = name === "cost" ? "Too much was asked for" : "Too many requests";
  const message = `${what} within a minute: try again in ${retryAfter} s`;
  return new HttpError(429, "RATE_LIMITED", message, { limit: name, retryAfter });
}

/** The library rejects with the state when the limit is exceeded. */
async function readConsumed(consumed: Promise<RateLimiterRes>) {
  const { state, isRefused } = await consumed.then(
    (result) => ({ state: result, isRefused: false }),
    (result: unknown) => {
      if (!(result instanceof RateLimiterRes)) throw result;
      return { state: result, isRefused: true };
    },
  );
  return { msBeforeNext: state.msBeforeNext, remainingPoints: state.remainingPoints, isRefused };
}
