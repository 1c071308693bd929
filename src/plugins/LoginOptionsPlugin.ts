import { constant, lambda } from "postgraphile/grafast";
import { extendSchema, gql } from "postgraphile/utils";
import type { Config } from "../config.ts";
import { resource } from "../schema/resource.ts";
import { offersDevLogin } from "../settings/server.ts";

/** The query `loginOptions`: the login methods of the service. */
export function makeLoginOptionsPlugin({
  config,
  publicUrl,
}: {
  config: Pick<Config, "console" | "login" | "production" | "publicUrl">;
  /** The address at which browsers reach the server; known when it listens. */
  publicUrl: () => string;
}): GraphileConfig.Plugin {
  const { login } = config;
  return extendSchema((build) => {
    const { executor } = resource(build, "users");
    const { loadOneWithPgClient } = build.dataplanPg;
    return {
      typeDefs: gql`
        """
        The ways to log in, for a login page.
        """
        type LoginOptions {
          """
          The name of the service.
          """
          title: String!
          """
          The address of a logo for the login page.
          """
          logoUrl: String
          """
          The identity providers, in the order of the settings.
          """
          providers: [LoginProvider!]!
          """
          Whether \`devLogin\` is available.
          """
          devLogin: Boolean!
          """
          Whether the system has no users yet, so that \`bootstrapFirstUser\` is available.
          """
          firstUser: Boolean!
        }

        """
        An identity provider.
        """
        type LoginProvider {
          """
          The id of the provider in the settings.
          """
          id: String!
          """
          The display name of the provider.
          """
          name: String!
          """
          The address that starts the login. A front end adds the parameter \`returnTo\`: the address to which the
          browser returns after the login.
          """
          url: String!
        }

        extend type Query {
          """
          The available ways to log in.
          """
          loginOptions: LoginOptions! @scope(guard: "public")
        }
      `,
      objects: {
        LoginOptions: {
          plans: {
            title: () => constant(config.console.title),
            logoUrl: () => constant(null),
            providers: () => lambda(constant(null), () => providers()),
            devLogin: () => constant(offersDevLogin(config)),
            firstUser: () =>
              loadOneWithPgClient(executor, constant(true), async (client, asked) => {
                const { rows } = await client.query<{ awaits: boolean }>({
                  text: "select awaits_first_user() as awaits",
                });
                return asked.map(() => rows[0]?.awaits === true);
              }),
          },
        },
        Query: { plans: { loginOptions: () => constant({}) } },
      },
    };
  }, "LoginOptionsPlugin");

  /** The addresses are read at each request: the server does not know its own until it listens. */
  function providers() {
    const base = publicUrl();
    return login.providers.map(({ id, name }) => ({
      id,
      name,
      url: `${base}/auth/login?${new URLSearchParams({ provider: id }).toString()}`,
    }));
  }
}
