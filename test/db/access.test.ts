import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { findEmpty, measureAccess } from "../../dev/access/matrix.ts";
import type { TableAccess } from "../../dev/access/matrix.ts";

const path = join(import.meta.dirname, "../fixtures/db/access.expected.json");
// For an intended change; the file's diff shows it in the review.
const refresh = "`npm run generate` rewrites it";

let database: TestDatabase;
let expected: Record<string, TableAccess>;
let measured: Record<string, TableAccess>;

beforeAll(async () => {
  database = await createDatabase();
  measured = await inTransaction(database.pool, (client) => measureAccess(client));
  expected = JSON.parse(await readFile(path, "utf8")) as Record<string, TableAccess>;
});

afterAll(() => database.drop());

describe("The access of each role and permission to each table", () => {
  test(`is written down for every table, and for no other: ${refresh}`, () => {
    const missing = Object.keys(measured).filter((table) => !(table in expected));
    const gone = Object.keys(expected).filter((table) => !(table in measured));
    expect({ missing, gone }).toEqual({ missing: [], gone: [] });
  });

  test(`is what is written down: ${refresh}`, () => {
    expect(measured).toEqual(expected);
  });

  test("covers every table: add rows that cannot be generated to dev/access/seed.ts", async () => {
    expect(await inTransaction(database.pool, findEmpty)).toEqual([]);
  });
});

describe("The matrix", () => {
  test.each([
    [
      "campaigns",
      "a policy that became true",
      "alter policy campaigns_read on campaigns using (true)",
    ],
    [
      "wine_types",
      "a check that became true",
      "alter policy wine_types_create on wine_types with check (true)",
    ],
    [
      "wine_types",
      "an update that became true",
      "alter policy wine_types_update on wine_types using (true) with check (true)",
    ],
    [
      "wine_types",
      "a deletion that became true",
      "alter policy wine_types_delete on wine_types using (true)",
    ],
    [
      "sessions",
      "a policy that is new",
      "create policy s on sessions for select to office_api using (true)",
    ],
    ["products", "a policy that is gone", "drop policy products_read on products"],
    ["users", "the policy for oneself that is gone", "drop policy users_self on users"],
    [
      "users",
      "the policy for oneself that is for all",
      "alter policy users_self on users using (id is not null)",
    ],
    ["roles", "a policy for PUBLIC", "alter policy roles_read on roles to public"],
    ["audit_log", "a policy for PUBLIC", "alter policy audit_log_read on audit_log to public"],
    [
      "invitations",
      "another permission",
      "alter policy invitations_read on invitations using ((select has_permission('users.read')))",
    ],
    [
      "audit_log",
      "an owner who may change what is written",
      "create policy c on audit_log for update to office_owner using (true) with check (true)",
    ],
    [
      "reviewers",
      "row-level security that is off",
      "alter table reviewers disable row level security",
    ],
    ["products", "a grant", "grant delete on products to office_api"],
    ["order_lines", "a grant on one column", "grant update (amount) on order_lines to office_api"],
    ["users", "a grant to the server's login", "grant select (email) on users to office_server"],
    ["campaigns", "a grant to PUBLIC", "grant select on campaigns to public"],
    [
      "campaign_colors",
      "a grant that is gone",
      "revoke select on campaign_colors from office_api; revoke select (color, created_at, updated_at) on campaign_colors from office_api",
    ],
  ])("%s: detects %s", async (only, _what, change) => {
    const mutant = await inTransaction(database.pool, (client) =>
      measureAccess(client, { change, only }),
    );
    expect(mutant[only]).toBeDefined();
    expect(mutant[only]).not.toEqual(expected[only]);
  });

  test("includes a new view, readable like its table and not writable", async () => {
    const change = `set local role office_owner;
      create view planted with (security_invoker = true) as select * from campaigns;
      comment on view planted is '@read campaigns.read'; select protect_views(); reset role`;
    const { planted } = await inTransaction(database.pool, (client) =>
      measureAccess(client, { change, only: "planted" }),
    );
    const api = (access: TableAccess | undefined) => access?.office_api as Record<string, unknown>;
    expect(api(planted).select).toEqual(api(expected.campaigns).select);
    for (const verb of ["insert", "update", "delete"]) expect(api(planted)[verb]).toBe("no grant");
  });

  test("is the same for an unchanged table measured alone", async () => {
    const alone = await inTransaction(database.pool, (client) =>
      measureAccess(client, { only: "users" }),
    );
    expect(alone).toEqual({ users: expected.users });
  });
});
