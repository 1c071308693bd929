import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { answeredBy } from "../helpers/environment.ts";
import { type Service, startService } from "../helpers/service.ts";

// Plain lists and the connections of the same types.
let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["users.read", "products.read"]));
  await service.database.pool.query(
    "insert into users (email, name) select 'page-' || n || '@example.com', 'Page ' || n from generate_series(1, 5) as n",
  );
});
afterAll(() => service.stop());

const read = async (query: string, by = "sql-json") => {
  const { data, errors, headers } = await service.ask(query, { token });
  expect(errors).toBeUndefined();
  expect(headers.get("x-answered-by")).toBe(answeredBy(by));
  return data;
};

describe("pages beside a plain list", () => {
  test("are counted and searched by the SQL-JSON path", async () => {
    const { userPages } = await read(
      `{ userPages(query: "name:page*", first: 2, includeTotalCount: true) { totalCount nodes { name } pageInfo { hasNextPage } } }`,
    );
    expect(userPages).toEqual({
      totalCount: 5,
      nodes: [{ name: "Page 1" }, { name: "Page 2" }],
      pageInfo: { hasNextPage: true },
    });
  });

  test("continue after a cursor and by offset", async () => {
    const { userPages } = await read(
      `{ userPages(query: "name:page*", first: 2) { pageInfo { endCursor } } }`,
    );
    const after = JSON.stringify(userPages.pageInfo.endCursor);
    const next = await read(
      `{ after: userPages(query: "name:page*", first: 2, after: ${after}) { nodes { name } }
         offset: userPages(query: "name:page*", first: 2, offset: 2) { nodes { name } } }`,
    );
    expect(next.after.nodes).toEqual([{ name: "Page 3" }, { name: "Page 4" }]);
    expect(next.offset.nodes).toEqual(next.after.nodes);
  });

  test("have aggregates", async () => {
    const { userPages } = await read(
      `{ userPages(query: "name:page*") { groupedAggregates(groupBy: [IS_ACTIVE]) { keys distinctCount { id } } } }`,
      "grafast",
    );
    expect(userPages.groupedAggregates).toEqual([{ keys: ["false"], distinctCount: { id: "5" } }]);
  });

  test("have the fields of searchFields", async () => {
    const { searchFields } = await read(`{ searchFields(type: "users") { name } }`, "grafast");
    expect(searchFields.map(({ name }: { name: string }) => name)).toContain("email");
  });

  test("need the permission of the list", async () => {
    const nobody = await service.login([]);
    const { errors } = await service.ask("{ userPages { nodes { id } } }", { token: nobody.token });
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "FORBIDDEN",
      requiredPermission: "users.read",
    });
  });

  test("are recorded in the audit log", async () => {
    const { userId, token: own } = await service.login(["users.read"]);
    await service.ask("{ userPages(first: 1) { nodes { id } } }", { token: own });
    const { rows } = await service.database.pool.query(
      "select from audit_log where operation = 'READ' and entity_type = 'User' and actor_user_id = $1",
      [userId],
    );
    expect(rows).toHaveLength(1);
  });
});

describe("the argument query of a plain list", () => {
  test("finds the same rows as its pages, with order and limit", async () => {
    const { users, none } = await read(
      `{ users(query: "name:page*", orderBy: [ID_DESC], first: 2, offset: 1) { name }
         none: users(query: "name:nobody") { name } }`,
      "grafast",
    );
    expect(users).toEqual([{ name: "Page 4" }, { name: "Page 3" }]);
    expect(none).toEqual([]);
  });

  test("returns the complete list when it is null", async () => {
    const all = await read("{ users { id } }");
    const { data } = await service.ask("query ($query: String) { users(query: $query) { id } }", {
      token,
      variables: { query: null },
    });
    expect(data).toEqual(all);
  });

  test("is rejected with its position, like that of pages", async () => {
    const refused = async (field: string) => {
      const { data, errors } = await service.ask(`{ ${field} }`, { token });
      expect(data).toBeNull();
      const { correlationId: _own, ...details } = errors?.[0]?.extensions ?? { correlationId: "" };
      return { ...details, message: errors?.[0]?.message };
    };
    const ofList = await refused(`users(query: "emial:a") { id }`);
    expect(ofList).toMatchObject({ code: "BAD_USER_INPUT", path: ["query"] });
    expect(ofList).toEqual(await refused(`userPages(query: "emial:a") { nodes { id } }`));
  });
});
