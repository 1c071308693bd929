import type { Request, Response } from "express";
import { Passport } from "passport";
import type { Strategy } from "passport";
import { LoginProblem } from "./LoginProblem.ts";
import type { Tokens } from "./LoginStrategy.ts";

const passport = new Passport();

/**
 * Runs passport's strategy for a request: resolves with the validated tokens of a callback, or never when it redirected
 * the browser.
 * @throws LoginProblem when the person refused at the provider; errors of the strategy otherwise
 */
export function runPassport(
  strategy: Strategy,
  request: Request,
  response: Response,
  name: string,
): Promise<Tokens | null> {
  return new Promise((resolve, reject) => {
    response.once("close", () => resolve(null));
    const settle = (error: unknown, user?: { tokens: Tokens } | false) => {
      if (error)
        reject(error instanceof Error ? error : new Error("the strategy failed", { cause: error }));
      else if (user) resolve(user.tokens);
      else
        reject(
          new LoginProblem(
            403,
            "You are not logged in",
            `The login at ${name} was cancelled or refused there.`,
          ),
        );
    };
    const authenticate = passport.authenticate(strategy, { session: false }, settle) as (
      request: Request,
      response: Response,
      next: (error?: unknown) => void,
    ) => void;
    authenticate(request, response, settle);
  });
}
