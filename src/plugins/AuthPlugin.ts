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
import type { Tenants } from "../tenants/tenants.ts";
import type { CountAttempt, LoginStep } from "../auth/attempts.ts";
import { hashToken, makeToken } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { badUserInput, conflict, PublicError } from "../errors/PublicError.ts";
import type { SqlJsonField } from "../sqlJson/sqlJsonField.ts";
import { refuseSecondLogin } from "../auth/refuseSecondLogin.ts";
import { type OpenedSession, moveTokenToCookie } from "./moveTokenToCookie.ts";
import { resource } from "../schema/resource.ts";

/** A way to log in: its SQL function, and the error when that returns no row. */
interface Login {
  step: LoginStep;
  functionName: "bootstrap_first_user" | "dev_login";
  refusal: () => PublicError;
}

const bootstrap: Login = {
  step: "bootstrapFirstUser",
  functionName: "bootstrap_first_user",
  refusal: () =>
    conflict("The system has users already: log in, or ask a colleague for an invitation"),
};

const devLogin: Login = {
  step: "devLogin",
  functionName: "dev_login",
  // The same for all refusals, so that the message does not reveal who has an account.
  refusal: () =>
    new PublicError("UNAUTHENTICATED", "No active user has this e-mail address", {
      path: ["email"],
    }),
};

type PayloadStep = ObjectStep<{ login: Step<OpenedSession> }>;

/** How the SQL-JSON path reads `me`. */
export const SqlJsonMePlugin: GraphileConfig.Plugin = {
  name: "SqlJsonMePlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (!scope.isRootQuery || scope.fieldName !== "me") return field;
        const sqlJson: SqlJsonField = {
          kind: "rootOne",
          resource: resource(build, "users"),
          arguments: [],
          matches: (user) => build.sql`${user.column("id")} = current_user_id()`,
        };
        return {
          ...field,
          extensions: { ...field.extensions, sqlJson } as typeof field.extensions,
        };
      },
    },
  },
};

/** Login, logout and `cleanupTestRun`: operations without a permission. */
export function makeAuthPlugin(options: {
  session: Config["session"];
  /** Whether `devLogin` exists. */
  offersDevLogin: boolean;
  countAttempt: CountAttempt;
  /** Null when test mode is off. */
  tenants: Tenants | null;
}): GraphileConfig.Plugin {
  const { session, offersDevLogin, countAttempt, tenants } = options;
  return extendSchema((build) => {
    const users = resource(build, "users");
    const { executor } = users;
    const { sideEffectWithPgClientTransaction } = build.dataplanPg;

    const logIn = (login: Login) => (_$root: Step, args: FieldArgs) => {
      const $email = args.getRaw("email") as Step<string>;
      sideEffect([context().get("requestContext"), $email] as const, ([requestContext, email]) => {
        refuseSecondLogin(requestContext);
        return countAttempt(requestContext, login.step, {
          address: requestContext.ipAddress,
          account: email,
        });
      });
      const $request = object({
        email: $email,
        pgSettings: context().get("pgSettings") as Step<Record<string, string>>,
      });
      const $login = sideEffectWithPgClientTransaction(
        executor,
        $request,
        async (client, request) => {
          const { email, pgSettings } = request;
          const token = makeToken("session");
          const { rows } = await client.query<{ user_id: string; permissions: string[] }>({
            text: `select user_id, permissions from ${login.functionName}($1, $2, $3, $4)`,
            values: [email, hashToken(token), session.idleHours, session.maxDays],
          });
          const [row] = rows;
          if (!row) return null;
          // The rest of the operation runs as the new user, so that the response can show them. Guards still see a
          // caller without a login and refuse other fields.
          pgSettings["office.user_id"] = row.user_id;
          pgSettings["office.permissions"] = row.permissions.join(",");
          return { token, id: row.user_id };
        },
      );
      // Thrown after the transaction, which records the refusal.
      sideEffect($login, (made) => {
        if (!made) throw login.refusal();
      });
      return object({ login: moveTokenToCookie($login) });
    };

    return {
      typeDefs: [
        gql`
          """
          The result of a login: the session token for further requests and its user.
          """
          type AuthPayload {
            """
            The session token: send it as \`Authorization: Bearer <token>\`. Only this response contains it. Null with
            the header \`X-Session: cookie\`: the session is then stored in a cookie that scripts cannot read.
            """
            token: String @scope(secret: true)
            """
            The logged-in user.
            """
            user: User @scope(auditReads: "own")
          }

          extend type Query {
            """
            The user of the request; null with an error for a request without a login.
            """
            me: User @scope(guard: "principal", auditReads: "own")
          }

          extend type Mutation {
            """
            Creates the first user, a Superadmin, and logs the user in. Available only while the system has no users.
            """
            bootstrapFirstUser(
              """
              The first user's e-mail address.
              """
              email: String!
            ): AuthPayload! @scope(guard: "public", outsideTransaction: true)

            """
            Ends the session of the request. With an API token, it returns true and changes nothing;
            \`revokeCurrentApiToken\` revokes the token.
            """
            logout: Boolean! @scope(guard: "principal")

            """
            Removes the isolated test run named by the header \`X-Test-run-id\`, with all its data. Needs
            \`ENABLE_E2E_TEST_MODE=true\`. The call can be repeated.
            """
            cleanupTestRun: Boolean! @scope(guard: "public", outsideTransaction: true)
          }
        `,
        ...(offersDevLogin
          ? [
              gql`
                extend type Mutation {
                  """
                  Logs in an active user without a password. Not available in production.
                  """
                  devLogin(
                    """
                    The user's e-mail address.
                    """
                    email: String!
                  ): AuthPayload! @scope(guard: "public", outsideTransaction: true)
                }
              `,
            ]
          : []),
      ],
      objects: {
        AuthPayload: {
          plans: {
            token($payload: PayloadStep) {
              return lambda($payload.get("login"), (made) => made.token);
            },
            user($payload: PayloadStep) {
              const $id = lambda($payload.get("login"), (made) => made.id);
              return users.get({ id: $id });
            },
          },
        },
        Query: {
          plans: {
            me() {
              const $office = context().get("requestContext");
              const $id = lambda(
                $office,
                (requestContext) => requestContext.identity?.userId ?? null,
              );
              return users.get({ id: $id });
            },
          },
        },
        Mutation: {
          plans: {
            bootstrapFirstUser: logIn(bootstrap),
            ...(offersDevLogin ? { devLogin: logIn(devLogin) } : {}),
            logout() {
              const $requestContext = context().get("requestContext");
              return sideEffectWithPgClientTransaction(
                executor,
                $requestContext,
                async (client, { sessionCookie }) => {
                  const { rows } = await client.query<{ ended: boolean }>({
                    text: "select end_session() as ended",
                  });
                  sessionCookie?.clear();
                  return rows[0]?.ended === true;
                },
              );
            },
            cleanupTestRun() {
              return sideEffect(context().get("requestContext"), async (requestContext) => {
                if (!tenants)
                  throw new PublicError(
                    "TEST_MODE_DISABLED",
                    "Test mode is not enabled: set ENABLE_E2E_TEST_MODE=true",
                  );
                if (requestContext.testRunId === null)
                  throw badUserInput("Name the test run in the header X-Test-run-id", {
                    header: "X-Test-run-id",
                  });
                return tenants.remove(requestContext.testRunId);
              });
            },
          },
        },
      },
    };
  }, "AuthPlugin");
}
