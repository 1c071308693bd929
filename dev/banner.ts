/** The text that `npm start` prints when the service is ready: its addresses and the first steps. */
export function banner(service: {
  /** The server's address, such as `http://127.0.0.1:4000`. */
  url: string;
  production: boolean;
  /** The folder of the embedded database; undefined without one. */
  dataFolder: string | undefined;
  databaseUrl?: string | undefined;
  /** A warning about the address; null without one. */
  warning?: string | null;
  /** Whether people can log in through an identity provider. */
  login?: boolean;
  /** Whether the database has no users and products. */
  isEmpty?: boolean;
  /** The pages of the emulators. */
  pages?: readonly { title: string; url: string }[];
}): string {
  const base = service.url.replace(/\/+$/, "");
  const lines = [
    "",
    "The back office is running.",
    "",
    `  Console        ${base}/admin`,
    `  Start page     ${base}/`,
    `  GraphQL        POST ${base}/graphql`,
    ...(service.production ? [] : [`  Playground     ${base}/graphql`]),
    `  Health         ${base}/healthz`,
    ...(service.login ? [`  Log in         ${base}/auth/login`] : []),
    ...(service.pages ?? []).map(({ title, url }) => `  ${title.padEnd(14)} ${url}`),
    ...(service.databaseUrl === undefined
      ? []
      : [`  Database       ${withoutPassword(service.databaseUrl)} (npm run db:psql opens it)`]),
    "",
  ];
  if (!service.production) {
    lines.push(
      "  The first time, make yourself the first user; later, log in:",
      '    mutation { bootstrapFirstUser(email: "you@example.com") { token } }',
      '    mutation { devLogin(email: "you@example.com") { token } }',
      "  and send the token with every request:  Authorization: Bearer <token>",
      "",
    );
  }
  if (service.isEmpty)
    lines.push(
      "  The system is empty. Fill it with wines, users, campaigns and orders to try out:",
      "    npm run demo",
      "",
    );
  if (service.warning != null) lines.push(`  WARNING: ${service.warning}.`, "");
  const data =
    service.dataFolder === undefined ? "" : ` The data is kept in ${service.dataFolder}.`;
  lines.push(`  Ctrl-C stops everything.${data}`, "");
  return lines.join("\n");
}

/** The banner may end up in a log. */
function withoutPassword(url: string): string {
  const address = new URL(url);
  address.password = "";
  return address.href;
}
