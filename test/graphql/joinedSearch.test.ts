import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

// Searches of rows that a join table leads to, such as the roles of users through `user_roles`.
let service: Service;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(`
    insert into users (email, is_active) select n || '@example.com', true from unnest(array['anna', 'bo', 'carl']) n;
    insert into roles (name, is_system) values ('Buyer', false), ('Seller', false), ('Boss', true);
    insert into user_roles (user_id, role_id)
    select u.id, r.id from users u, roles r
    where (u.email, r.name) in (values ('anna@example.com', 'Buyer'), ('anna@example.com', 'Boss'), ('bo@example.com', 'Seller'));
    insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r, permissions p where r.name = 'Buyer' and p.key = 'products.update';
    insert into products (erp_product_number, name) values ('1', 'Wine');
    insert into campaigns (product_id, title, price, author_user_id, medium, scheduled_at)
    select p.id, 'By ' || u.email, '1', u.id, 'EMAIL', now() + interval '1 day' from products p, users u
    where u.email in ('anna@example.com', 'bo@example.com')`);
});
afterAll(() => service.stop());

/** The values of a field of the rows that a search finds for a caller with these permissions. */
async function found(
  permissions: readonly string[],
  pages: string,
  field: string,
  query: string,
): Promise<string[]> {
  const { token } = await service.login(permissions, `caller-${randomUUID()}@example.org`);
  const { data, errors } = await service.ask(
    `query ($query: String) { found: ${pages}(query: $query) { nodes { ${field} } } }`,
    { token, variables: { query } },
  );
  expect(errors).toBeUndefined();
  const { nodes } = data.found as { nodes: Record<string, string>[] };
  return nodes.map((node) => node[field]!).toSorted();
}
describe("a search through a join table", () => {
  const anna = "anna@example.com";
  test.each<[string, string[]]>([
    ["roles.name:buyer", [anna]],
    ["roles.name:IN(Buyer, Seller)", [anna, "bo@example.com"]],
    ["roles:(name:Buyer isSystem:true)", []],
    ["roles:(name:Buyer isSystem:false)", [anna]],
    ["roles.name:Buyer roles.isSystem:true", [anna]],
    ["roles.permissions.key:products.update", [anna]],
    ["example.com -roles.id:*", ["carl@example.com"]],
    ["example.com -roles.name:Buyer", ["bo@example.com", "carl@example.com"]],
  ])("finds users by %s", async (query, expected) => {
    expect(await found(["users.read"], "userPages", "email", query)).toEqual(expected);
  });

  test("finds the rows of the other side", async () => {
    expect(
      await found(
        ["roles.read", "users.read"],
        "rolePages",
        "name",
        "users.email:anna@example.com",
      ),
    ).toEqual(["Boss", "Buyer"]);
    expect(
      await found(["roles.read", "permissions.read"], "permissionPages", "key", "roles.name:Buyer"),
    ).toEqual(["products.update"]);
  });

  test("continues from a reference", async () => {
    expect(
      await found(
        ["campaigns.read", "users.read"],
        "campaignPages",
        "title",
        "author.roles.name:Buyer",
      ),
    ).toEqual(["By anna@example.com"]);
  });

  test("matches no row of a table that the caller may not read", async () => {
    const campaigns = (query: string) => found(["campaigns.read"], "campaignPages", "title", query);
    const all = ["By anna@example.com", "By bo@example.com"];
    expect(await campaigns("author.email:anna@example.com")).toEqual(["By anna@example.com"]);
    expect(await campaigns("author.roles.name:Buyer")).toEqual([]);
    expect(await campaigns("author.roles.id:*")).toEqual([]);
    expect(await campaigns("-author.roles.name:Buyer")).toEqual(all);
    expect(
      await found(["roles.read"], "rolePages", "name", "users.email:anna@example.com"),
    ).toEqual([]);
  });

  test("names the nearest field for a misspelt one", async () => {
    const { token } = await service.login(["users.read"]);
    const { errors } = await service.ask(
      '{ userPages(query: "role.name:Buyer") { nodes { id } } }',
      {
        token,
      },
    );
    expect(errors?.[0]?.message).toBe(
      "query: `role.name` is not a field that can be searched (did you mean `roles.name`?) at position 1",
    );
  });

  test("is listed by searchFields, which completion in the console reads", async () => {
    const { token } = await service.login(["users.read"]);
    const { data } = await service.ask(
      '{ searchFields(type: "users") { name kind isToMany description } }',
      { token },
    );
    expect(data.searchFields).toContainEqual({
      name: "roles.name",
      kind: "TEXT",
      isToMany: true,
      description: "The name of the role, unique without regard to case.",
    });
  });
});
