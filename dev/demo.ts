import pluralize from "pluralize";
import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { readRunningService } from "../src/settings/runningService.ts";
import { type DemoClient, makeDemoClient } from "./demo/client.ts";
import { fillDemo, type OrderImport } from "./demo/fill.ts";
import { administrator, users } from "./demo/staff.ts";

// `npm run demo`: fills the service that `npm start` runs with data to try it out. A second run adds only what is missing.

/** The service has no user whom the demo can log in as. */
class DemoError extends Error {}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { as: { type: "string" } } });
  const { dataDir } = readConfig(process.env);
  const url = readRunningService(dataDir)?.url;
  if (url === undefined)
    throw new DemoError(`No service runs with the data folder ${dataDir}: start it with npm start`);
  const started = performance.now();
  const client = makeDemoClient(url, await logIn(makeDemoClient(url), values.as));
  const filled = await fillDemo(client, new Date(), async (email) =>
    makeDemoClient(url, await devLogin(makeDemoClient(url), email)),
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(await report(client, { ...filled, url, seconds }));
}

/** Opens a session of the first user, or of the Superadmin `email`. */
async function logIn(client: DemoClient, email: string = administrator.email): Promise<string> {
  const first = await client
    .ask<{ session: { token: string } }>(
      "mutation ($email: String!) { session: bootstrapFirstUser(email: $email) { token } }",
      { email },
    )
    .catch(() => null);
  if (first) return first.session.token;
  const again = await devLogin(client, email).catch(() => null);
  if (again !== null) return again;
  throw new DemoError(
    `The service has users, but not ${email}: name a Superadmin by npm run demo -- --as you@example.com`,
  );
}

async function devLogin(client: DemoClient, email: string): Promise<string> {
  const { session } = await client.ask<{ session: { token: string } }>(
    "mutation ($email: String!) { session: devLogin(email: $email) { token } }",
    { email },
  );
  return session.token;
}

interface Counts {
  products: { totalCount: number };
  orders: { totalCount: number };
  campaigns: { id: string }[];
  departments: { id: string }[];
  issues: { orderCount: number }[];
}

/** Describes the data, how to log in and what to try. */
async function report(
  client: DemoClient,
  {
    added,
    orderImport,
    url,
    seconds,
  }: Awaited<ReturnType<typeof fillDemo>> & { url: string; seconds: string },
): Promise<string> {
  const counts = await client.ask<Counts>(`{
    products(first: 0, includeTotalCount: true) { totalCount }
    orders(first: 0, includeTotalCount: true) { totalCount }
    campaigns(first: 250) { id }
    departments(first: 250) { id }
    issues: erpOrderImportIssues { orderCount }
  }`);
  const changes = Object.entries(added).filter(([, count]) => count > 0);
  const people = [administrator, ...users].map(
    ({ email, name, role }) => `  ${email.padEnd(20)} ${name}, ${role}`,
  );
  return [
    "",
    changes.length === 0
      ? "The demo data is complete: nothing was added."
      : `Added in ${seconds} s: ${changes.map(([plural, count]) => `${count} ${count === 1 ? pluralize.singular(plural) : plural}`).join(", ")}.`,
    `The service has ${counts.products.totalCount} products, ${counts.orders.totalCount} orders with ${counts.issues.length} kinds of import issues, ${counts.campaigns.length} campaigns and ${counts.departments.length} departments.`,
    ...describeImport(orderImport),
    "",
    "Log in as one of these, without a password:",
    ...people,
    `  in the playground ${url}/graphql   mutation { devLogin(email: "${administrator.email}") { token } }`,
    `  or in the browser    ${url}/auth/login`,
    "",
    "Then try, with the header  Authorization: Bearer <token>",
    '  { products(query: "country:Italy vintage:>=2021", first: 5) { nodes { name prices { type amount currency } } } }',
    "",
  ].join("\n");
}

/** Says that the import still runs, or why it failed. */
function describeImport(orderImport: OrderImport | null): string[] {
  if (orderImport === null) return [];
  const { status, finishedAt, error } = orderImport;
  if (finishedAt === null)
    return [`The worker is still importing orders${error === null ? "" : `: ${error}`}.`];
  return error === null ? [] : [`The import of orders ended as ${status}: ${error}.`];
}

try {
  await main();
} catch (error) {
  console.error(error instanceof DemoError ? error.message : error);
  process.exitCode = 1;
}
