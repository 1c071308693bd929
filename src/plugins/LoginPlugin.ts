import { context, object, sideEffect } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import type { CountAttempt } from "../auth/attempts.ts";
import { challengeOf, isLoginCode } from "../auth/oidc/loginCode.ts";
import { hashToken, makeToken } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { PublicError } from "../errors/PublicError.ts";
import { refuseSecondLogin } from "../auth/refuseSecondLogin.ts";
import { moveTokenToCookie } from "./moveTokenToCookie.ts";
import { resource } from "../schema/resource.ts";

interface ExchangeRequest {
  code: string;
  returnTo: string;
  verifier: string | null | undefined;
  pgSettings: Record<string, string>;
}

/** The last step of a login through an identity provider: exchanges the code for a session. */
export function makeLoginPlugin(options: {
  session: Config["session"];
  countAttempt: CountAttempt;
}): GraphileConfig.Plugin {
  const { session, countAttempt } = options;
  return extendSchema((build) => {
    const users = resource(build, "users");
    const { sideEffectWithPgClientTransaction } = build.dataplanPg;
    return {
      typeDefs: gql`
        extend type Mutation {
          """
          Exchanges a login code for a session token. A login through an identity provider adds the code to the front
          end's address. The code is valid once, for 60 seconds; a failed attempt invalidates it.
          """
          exchangeLoginCode(
            """
            The code from the address, \`bol_...\`.
            """
            code: String!
            """
            The return address of the login, exactly as sent to \`/auth/login\`.
            """
            returnTo: String!
            """
            The verifier whose SHA-256 was sent as \`challenge\` at the start of the login. Omit it for a login without
            a \`challenge\`.
            """
            verifier: String
          ): AuthPayload! @scope(guard: "public", outsideTransaction: true)
        }
      `,
      objects: {
        Mutation: {
          plans: {
            exchangeLoginCode(_$root: Step, args: FieldArgs) {
              const $code = args.getRaw("code") as Step<string>;
              sideEffect(
                [context().get("requestContext"), $code] as const,
                ([requestContext, code]) => {
                  refuseSecondLogin(requestContext);
                  return countAttempt(requestContext, "exchangeLoginCode", {
                    address: requestContext.ipAddress,
                    code,
                  });
                },
              );
              const $request = object({
                code: $code,
                returnTo: args.getRaw("returnTo") as Step<string>,
                verifier: args.getRaw("verifier") as Step<string | null | undefined>,
                pgSettings: context().get("pgSettings") as Step<Record<string, string>>,
              });
              const $exchanged = sideEffectWithPgClientTransaction(
                users.executor,
                $request,
                async (client, request: ExchangeRequest) => {
                  const { code, returnTo, verifier, pgSettings } = request;
                  if (!isLoginCode(code)) return null;
                  const token = makeToken("session");
                  const { rows } = await client.query<{ user_id: string; permissions: string[] }>({
                    text: "select user_id, permissions from exchange_login_code($1, $2, $3, $4, $5, $6)",
                    values: [
                      hashToken(code),
                      returnTo,
                      verifier == null ? null : challengeOf(verifier),
                      hashToken(token),
                      session.idleHours,
                      session.maxDays,
                    ],
                  });
                  const [row] = rows;
                  if (!row) return null;
                  // As with other logins: the response can show the user, and guards still see a caller without a
                  // login.
                  pgSettings["office.user_id"] = row.user_id;
                  pgSettings["office.permissions"] = row.permissions.join(",");
                  return { token, id: row.user_id };
                },
              );
              // Thrown after the transaction, which records the refusal and invalidates the code.
              sideEffect($exchanged, (exchanged) => {
                if (!exchanged)
                  throw new PublicError(
                    "UNAUTHENTICATED",
                    "This login code is unknown, used, expired or meant for another address: log in again",
                    { path: ["code"] },
                  );
              });
              return object({ login: moveTokenToCookie($exchanged) });
            },
          },
        },
      },
    };
  }, "LoginPlugin");
}
