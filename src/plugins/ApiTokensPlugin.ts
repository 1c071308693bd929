import { type FieldArgs, type Step, constant, context, lambda, object } from "postgraphile/grafast";
import type { PgSelectSingleStep } from "postgraphile/@dataplan/pg";
import { extendSchema, gql } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { makeCreatedSecrets } from "../auth/createdSecrets.ts";
import { hashToken, makeToken } from "../auth/tokens.ts";
import { resource } from "../schema/resource.ts";

interface Input {
  name: string;
  isScoped?: boolean | null;
  scopes?: string[] | null;
  expiresAt?: string | null;
}

interface Request {
  input: Input;
  /** The owner; null for the caller. */
  userId: string | null;
  requestContext: RequestInfo;
}

const secrets = makeCreatedSecrets();

/**
 * API tokens: created here, since their secrets are random bytes of this process, and listed; the database decides what
 * is allowed.
 */
export const ApiTokensPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const apiTokens = resource(build, "api_tokens");
  const { executor } = apiTokens;
  const { sideEffectWithPgClientTransaction, TYPES } = build.dataplanPg;

  const create = (args: FieldArgs, $userId: Step<string> | null) => {
    const $request = object({
      input: args.getRaw("input") as Step<Input>,
      userId: $userId ?? constant(null),
      requestContext: context().get("requestContext"),
    });
    const $id = sideEffectWithPgClientTransaction(
      executor,
      $request,
      async (client, { input, userId, requestContext }: Request) => {
        const secret = makeToken("api");
        // The database rejects null and empty lists: only an omitted list means an unscoped token.
        const values = [
          hashToken(secret),
          input.name,
          input.isScoped ?? input.scopes !== undefined,
          input.scopes ?? [],
          input.expiresAt ?? null,
        ];
        const { rows } = await client.query<{ id: string }>(
          userId === null
            ? { text: "select create_my_api_token($1, $2, $3, $4, $5) as id", values }
            : {
                text: "select create_user_api_token($6, $1, $2, $3, $4, $5) as id",
                values: [...values, userId],
              },
        );
        const id = rows[0]?.id ?? "";
        secrets.add(requestContext, id, secret);
        return id;
      },
    );
    return apiTokens.get({ id: $id });
  };

  const listOf = ($userId: Step<string | null>) => {
    const $tokens = apiTokens.find({ user_id: $userId });
    for (const attribute of ["created_at", "id"] as const)
      $tokens.orderBy({
        fragment: build.sql`${$tokens.alias}.${build.sql.identifier(attribute)}`,
        codec: attribute === "id" ? TYPES.uuid : TYPES.timestamptz,
        direction: "DESC",
      });
    return $tokens;
  };

  return {
    typeDefs: gql`
      """
      The values of a new API token.
      """
      input CreateApiTokenInput {
        """
        A name that states the purpose of the token.
        """
        name: String!
        """
        Whether the token is limited; by default whether \`scopes\` is given. A front end that sends it makes no unlimited
        token by an empty field.
        """
        isScoped: Boolean
        """
        The permissions to which the token is limited, at least one. The owner of the token and the caller must hold
        them. If omitted, the token is unlimited: it has all permissions of its owner.
        """
        scopes: [String!]
        """
        When the token expires: by default in one year, in five years at the latest, and not later than the token that
        creates it.
        """
        expiresAt: DateTime
      }

      extend type ApiToken {
        """
        The secret: send it as \`Authorization: Bearer <token>\`. Only the response of the mutation that creates the
        token contains it.
        """
        token: String @scope(secret: true)
      }

      extend type Query {
        """
        The caller's own API tokens, newest first, including expired and revoked ones.
        """
        myApiTokens: [ApiToken!]! @scope(guard: "login", auditReads: "ApiToken")

        """
        A user's API tokens, newest first, including expired and revoked ones.
        """
        userApiTokens(
          """
          The owner of the tokens.
          """
          userId: ID!
        ): [ApiToken!]! @scope(guard: "users.update", auditReads: "ApiToken")
      }

      extend type Mutation {
        """
        Creates an API token that acts for the caller. A scoped token can create tokens only within its own scopes.
        """
        createMyApiToken(input: CreateApiTokenInput!): ApiToken! @scope(guard: "principal")

        """
        Creates an API token that acts for a user. The caller must hold all permissions of the token: its scopes or, for
        an unlimited token, all permissions of the user. Permissions that the user gets later are effective only if the
        caller holds them too.
        """
        createUserApiToken(
          """
          The owner of the token, for whom it acts.
          """
          userId: ID!
          input: CreateApiTokenInput!
        ): ApiToken! @scope(guard: "users.update", action: "of users if is_active")
      }
    `,
    objects: {
      ApiToken: {
        plans: {
          token($token: PgSelectSingleStep) {
            return secrets.get($token);
          },
        },
      },
      Query: {
        plans: {
          myApiTokens() {
            return listOf(
              lambda(
                context().get("requestContext"),
                (requestContext) => requestContext.identity?.userId ?? null,
              ),
            );
          },
          userApiTokens(_$root: Step, args: FieldArgs) {
            return listOf(args.getRaw("userId") as Step<string>);
          },
        },
      },
      Mutation: {
        plans: {
          createMyApiToken(_$root: Step, args: FieldArgs) {
            return create(args, null);
          },
          createUserApiToken(_$root: Step, args: FieldArgs) {
            return create(args, args.getRaw("userId") as Step<string>);
          },
        },
      },
    },
  };
}, "ApiTokensPlugin");
