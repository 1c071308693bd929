import { expect } from "@jest/globals";
import type { Service } from "../service.ts";

/** Enables test mode with few connections, so that test runs share them. */
export const testMode = { ENABLE_E2E_TEST_MODE: "true", DATABASE_POOL_SIZE: "3" };

/** The header that names a test run. */
export const run = (id: string) => ({ "x-test-run-id": id });

/** Removes a test run. */
export const cleanUp = (service: Service, id: string) =>
  service.ask("mutation { cleanupTestRun }", { headers: run(id) });

/** The ids of the test runs that have a tenant schema. */
export async function tenantsOf(service: Service): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ name: string }>(
    "select nspname as name from pg_namespace where nspname like 'backoffice\\_e2e\\_%' order by 1",
  );
  return rows.map((row) => row.name.slice("backoffice_e2e_".length));
}

/** Creates the first user of a tenant. */
export async function bootstrap(
  service: Service,
  headers: Record<string, string>,
  email: string,
): Promise<{ token: string; id: string }> {
  const answer = await service.ask(
    `mutation ($e: String!) { bootstrapFirstUser(email: $e) { token user { id } } }`,
    { headers, variables: { e: email } },
  );
  expect(answer.errors).toBeUndefined();
  const { token, user } = answer.data.bootstrapFirstUser;
  return { token, id: user.id };
}
