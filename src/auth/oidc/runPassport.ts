import type { Request, Response } from "express";
import { Passport } from "passport";
import type { Strategy } from "passport";
import { LoginProblem } from "./LoginProblem.ts";
import type { Tokens } from "./LoginStrategy.ts";

const passport = new Passport();

/**
 * Lets passport's strategy answer a request: with the checked tokens when the request is a provider's answer, or not at all
 * when it sent the browser to the provider.
 * @throws LoginProblem when the person refused at the provider; what the strategy throws otherwise
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
