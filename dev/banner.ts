/** The text that tells a person where the service is and how to begin. */
export function banner(service: {
  /** The server's address, such as `http://127.0.0.1:4000`. */
  url: string;
  production: boolean;
  /** Where the embedded database keeps its data; undefined with a database of one's own. */
  dataFolder: string | undefined;
  /** The embedded database's address; undefined with a database of one's own. */
  databaseUrl?: string | undefined;
  /** What is amiss with how it is reached; null when nothing is. */
  warning?: string | null;
  /** Whether people can log in through an identity provider. */
  login?: boolean;
  /** What the embedded stand-ins show to people. */
  pages?: readonly { title: string; url: string }[];
}): string {
  const base = service.url.replace(/\/+$/, "");
  const lines = [
    "",
    "The back office is running.",
    "",
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
  if (service.warning != null) lines.push(`  WARNING: ${service.warning}.`, "");
  const kept =
    service.dataFolder === undefined ? "" : ` The data is kept in ${service.dataFolder}.`;
  lines.push(`  Ctrl-C stops everything.${kept}`, "");
  return lines.join("\n");
}

/** The banner may be kept in a log. */
function withoutPassword(url: string): string {
  const address = new URL(url);
  address.password = "";
  return address.href;
}
