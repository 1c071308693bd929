import {
  type FieldArgs,
  type ObjectStep,
  type Step,
  context,
  lambda,
  object,
  sideEffect,
} from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import type { Areas } from "../areas.ts";
import { hashToken, makeToken } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { OfficeError } from "../errors.ts";
import { resource } from "./resource.ts";

type LoginFunction = "bootstrap_first_user" | "dev_login";

type LoginStep = ObjectStep<{ login: Step<{ token: string; id: string }> }>;

/** Logging in and out, and the test runs' cleaning up: what a caller does without a permission. */
export function makeAuthPlugin(options: {
  session: Config["session"];
  /** Whether `devLogin` exists at all. */
  devLogin: boolean;
  /** Null when test mode is off. */
  areas: Areas | null;
}): GraphileConfig.Plugin {
  const { session, devLogin, areas } = options;
  return extendSchema((build) => {
    const users = resource(build, "users");
    const { executor } = users;
    const { sideEffectWithPgClientTransaction } = build.dataplanPg;

    const login = (name: LoginFunction) => (_$root: Step, args: FieldArgs) => {
      const $request = object({
        email: args.getRaw("email") as Step<string>,
        pgSettings: context().get("pgSettings") as Step<Record<string, string>>,
      });
      const $login = sideEffectWithPgClientTransaction(
        executor,
        $request,
        async (client, request) => {
          const { email, pgSettings } = request;
          const token = makeToken("session");
          const { rows } = await client.query<{ user_id: string; permissions: string[] }>({
            text: `select user_id, permissions from ${name}($1, $2, $3, $4)`,
            values: [email, hashToken(token), session.idleHours, session.maxDays],
          });
          const { user_id: id, permissions } = rows[0] ?? { user_id: "", permissions: [] };
          // What follows in this operation runs for the user who has just logged in, so that the answer can show them.
          // Guards still see a caller without a login: further fields of the same operation are refused.
          pgSettings["office.user_id"] = id;
          pgSettings["office.permissions"] = permissions.join(",");
          return { token, id };
        },
      );
      return object({ login: $login });
    };

    return {
      typeDefs: [
        gql`
          """
          A login: the token to send with every request, and whose it is.
          """
          type AuthPayload {
            """
            The session token: send it as \`Authorization: Bearer <token>\`. It is shown this once.
            """
            token: String
            """
            Who is logged in.
            """
            user: User
          }

          extend type Query {
            """
            The user who asks; null, with an error, without a login.
            """
            me: User @scope(guard: "principal")
          }

          extend type Mutation {
            """
            Makes the first user, a Superadmin, and logs them in. Works only while the system has no users at all.
            """
            bootstrapFirstUser(
              """
              The first user's e-mail address.
              """
              email: String!
            ): AuthPayload! @scope(guard: "public")

            """
            Ends the session at hand. False when the request came with an API token, which is no session.
            """
            logout: Boolean! @scope(guard: "principal")

            """
            Removes the isolated test run named by the header \`X-Test-run-id\`, with all its data. Needs
            \`ENABLE_E2E_TEST_MODE=true\`; can be repeated.
            """
            cleanupTestRun: Boolean! @scope(guard: "public")
          }
        `,
        ...(devLogin
          ? [
              gql`
                extend type Mutation {
                  """
                  Logs an active user in without a password. Exists outside production only.
                  """
                  devLogin(
                    """
                    The user's e-mail address.
                    """
                    email: String!
                  ): AuthPayload! @scope(guard: "public")
                }
              `,
            ]
          : []),
      ],
      objects: {
        AuthPayload: {
          plans: {
            token($payload: LoginStep) {
              return lambda($payload.get("login"), (made) => made.token);
            },
            user($payload: LoginStep) {
              const $id = lambda($payload.get("login"), (made) => made.id);
              return users.get({ id: $id });
            },
          },
        },
        Query: {
          plans: {
            me() {
              const $office = context().get("office");
              const $id = lambda($office, (office) => office.identity?.userId ?? null);
              return users.get({ id: $id });
            },
          },
        },
        Mutation: {
          plans: {
            bootstrapFirstUser: login("bootstrap_first_user"),
            ...(devLogin ? { devLogin: login("dev_login") } : {}),
            logout() {
              return sideEffectWithPgClientTransaction(executor, null, async (client) => {
                const { rows } = await client.query<{ ended: boolean }>({
                  text: "select end_session() as ended",
                });
                return rows[0]?.ended ?? false;
              });
            },
            cleanupTestRun() {
              return sideEffect(context().get("office"), async (office) => {
                if (!areas)
                  throw new OfficeError(
                    "TEST_MODE_DISABLED",
                    "Test mode is not enabled: set ENABLE_E2E_TEST_MODE=true",
                  );
                if (office.testRunId === null)
                  throw new OfficeError(
                    "BAD_USER_INPUT",
                    "Name the test run in the header X-Test-run-id",
                    {
                      header: "X-Test-run-id",
                    },
                  );
                return areas.remove(office.testRunId);
              });
            },
          },
        },
      },
    };
  }, "AuthPlugin");
}
