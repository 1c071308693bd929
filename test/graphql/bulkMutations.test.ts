import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let staff: Person;

type Person = Awaited<ReturnType<Service["login"]>>;
const person = (permissions: string[] = []): Promise<Person> =>
  service.login(permissions, `person-${randomUUID()}@example.com`);

beforeAll(async () => {
  service = await startService();
  staff = await person([
    ...["products.read", "products.create", "products.update"],
    ...["reviewers.read", "reviewers.create"],
  ]);
});
afterAll(() => service.stop());

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

interface Chosen {
  ids?: string[] | null;
  query?: string | null;
  queryValues?: unknown;
  dryRun?: boolean;
}

/** Calls a mutation of many rows, such as `updateProducts`. */
const call = (field: string, chosen: Chosen & { input?: object }, by = staff) => {
  const inputType = {
    updateProducts: "UpdateProductInput",
    updateSavedViews: "UpdateSavedViewInput",
  };
  const type = inputType[field as keyof typeof inputType] as string | undefined;
  const [declared, passed] =
    type === undefined ? ["", ""] : [`, $input: ${type}!`, ", input: $input"];
  const document = `mutation ($ids: [ID!], $query: String, $queryValues: JSON, $dryRun: Boolean! = false${declared}) {
    result: ${field}(ids: $ids, query: $query, queryValues: $queryValues, dryRun: $dryRun${passed}) { matched changed unchanged }
  }`;
  return service.ask(document, { token: by.token, variables: { ...chosen } });
};
const change = (chosen: Chosen, input: object, by = staff) =>
  call("updateProducts", { ...chosen, input }, by);
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});

/** Stores wines of a region of their own, named `<region> 1` and so on. */
async function makeWines(count: number) {
  const region = `R${randomUUID()}`;
  const rows = await sql<{ id: string }>(
    `insert into products (erp_product_number, name, region, vintage)
     select left(md5($1 || n), 12), $1 || ' ' || n, $1, 2000 + n % 20 from generate_series(1, $2) as n returning id`,
    [region, count],
  );
  return { region, ids: rows.map(({ id }) => id), query: `region:"${region}"` };
}
const countOf = async (region: string, condition: string) =>
  (await sql(`select from products where region = $1 and ${condition}`, [region])).length;

describe("a change of many rows", () => {
  test("gives those that match a query the values, and counts those that had them", async () => {
    const { region, query } = await makeWines(3);
    await sql("update products set country = 'Chile' where name = $1", [`${region} 1`]);
    const other = await makeWines(1);
    const answer = await change({ query }, { country: "Chile", province: null });
    expect(answer.data.result).toEqual({ matched: 3, changed: 2, unchanged: 1 });
    expect(await countOf(region, "country = 'Chile'")).toBe(3);
    expect(await countOf(other.region, "country is null")).toBe(1);
    const audited = await sql<{ rows: number; requests: number }>(
      `select count(*)::int as rows, count(distinct correlation_id)::int as requests
       from audit_log a join products p on p.id::text = a.entity_id
       where p.region = $1 and a.operation = 'UPDATE' and a.actor_user_id = $2`,
      [region, staff.userId],
    );
    expect(audited).toEqual([{ rows: 2, requests: 1 }]);
  });

  test("takes ids instead, each row once, and values of a query", async () => {
    const { ids, region } = await makeWines(2);
    const twice = await change({ ids: [...ids, ...ids] }, { country: "Peru" });
    expect(twice.data.result).toEqual({ matched: 2, changed: 2, unchanged: 0 });
    const bound = await change(
      { query: "region:$region vintage:>=2002", queryValues: { region } },
      { country: "Cuba" },
    );
    expect(bound.data.result).toEqual({ matched: 1, changed: 1, unchanged: 0 });
  });

  test("is only counted in a dry run, with the errors that it would have", async () => {
    const { query, region } = await makeWines(2);
    const answer = await change({ query, dryRun: true }, { country: "Peru" });
    expect(answer.data.result).toEqual({ matched: 2, changed: 2, unchanged: 0 });
    expect(await countOf(region, "country is not null")).toBe(0);
    const wrong = await change({ query, dryRun: true }, { vintage: 12 });
    expect(refusal(wrong)).toMatchObject({ code: "BAD_USER_INPUT", path: ["input", "vintage"] });
  });

  test("changes nothing if one row cannot be changed, and names that row", async () => {
    const { query, region } = await makeWines(9);
    // A rule that one row breaks.
    await sql("update products set erp_product_number = 'seven' where name = $1", [`${region} 7`]);
    await sql(
      "alter table products add constraint products_seven_check check (erp_product_number <> 'seven' or country is distinct from 'Peru')",
    );
    try {
      const answer = await change({ query }, { country: "Peru" });
      expect(refusal(answer)).toMatchObject({
        code: "BAD_USER_INPUT",
        message: expect.stringMatching(`^${region} 7: `) as unknown,
      });
      expect(answer.errors?.[0]?.extensions.row).toMatchObject({ name: `${region} 7` });
      expect(await countOf(region, "country is not null")).toBe(0);
    } finally {
      await sql("alter table products drop constraint products_seven_check");
    }
  });

  test("says nothing of one row when the value is wrong in all", async () => {
    const { query } = await makeWines(2);
    expect(refusal(await change({ query }, { name: null }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "name is required",
      path: ["input", "name"],
    });
    const unknown = await change({ query }, { wineTypeId: randomUUID() });
    expect(refusal(unknown)).toMatchObject({ path: ["input", "wineTypeId"] });
    expect(unknown.errors?.[0]?.extensions.row).toBeUndefined();
  });

  test("isolates the fields of an operation that succeed", async () => {
    const { query, region } = await makeWines(2);
    const answer = await service.ask(
      `mutation ($query: String) {
        a: updateProducts(query: $query, input: {country: "Peru"}, dryRun: true) { changed }
        b: updateProducts(query: $query, input: {country: "Cuba"}) { changed }
        c: updateProducts(query: $query, input: {country: "Cuba"}) { unchanged }
      }`,
      { token: staff.token, variables: { query } },
    );
    expect(answer.data).toEqual({ a: { changed: 2 }, b: { changed: 2 }, c: { unchanged: 2 } });
    expect(await countOf(region, "country = 'Cuba'")).toBe(2);
  });
});

describe("a deletion of many rows", () => {
  const makeReviewers = async (count: number) => {
    const name = `W${randomUUID()}`;
    await sql("insert into reviewers (name) select $1 || ' ' || n from generate_series(1, $2) n", [
      name,
      count,
    ]);
    return {
      name,
      query: `name:"${name}"*`,
      left: () => sql("select from reviewers where starts_with(name, $1)", [name]),
    };
  };

  test("deletes those that match, or only counts them", async () => {
    const { query, left } = await makeReviewers(3);
    const counted = await call("deleteReviewers", { query, dryRun: true });
    expect(counted.data.result).toEqual({ matched: 3, changed: 3, unchanged: 0 });
    expect(await left()).toHaveLength(3);
    const deleted = await call("deleteReviewers", { query });
    expect(deleted.data.result).toEqual({ matched: 3, changed: 3, unchanged: 0 });
    expect(await left()).toHaveLength(0);
  });

  test("is undone for all rows by one call", async () => {
    const { name, query, left } = await makeReviewers(3);
    await call("deleteReviewers", { query });
    const [deleted] = await sql<{ id: string }>(
      "select id from audit_log where operation = 'DELETE' and before ->> 'name' = $1",
      [`${name} 2`],
    );
    const restored = await service.ask("mutation ($id: ID!) { restore(auditLogId: $id) }", {
      token: staff.token,
      variables: { id: deleted?.id },
    });
    expect(restored.data.restore).toBe(3);
    expect(await left()).toHaveLength(3);
  });

  test("deletes nothing if a row is in use, and names that row", async () => {
    const { name, query, left } = await makeReviewers(5);
    const { ids } = await makeWines(1);
    await sql(
      "insert into product_ratings (product_id, reviewer_id, points) select $1, id, 92 from reviewers where name = $2",
      [ids[0], `${name} 4`],
    );
    const answer = await call("deleteReviewers", { query });
    expect(refusal(answer)).toMatchObject({
      code: "CONFLICT",
      message: expect.stringMatching(`^${name} 4: Other rows still refer to this one`) as unknown,
    });
    expect(await left()).toHaveLength(5);
  });
});

describe("many rows are refused", () => {
  test("without ids and query, or with both, none or too many", async () => {
    const { ids } = await makeWines(1);
    const refused = [
      [{}, "Give `ids` or `query`: without them no row is changed", "ids"],
      [{ ids: null, query: null }, "Give `ids` or `query`: without them no row is changed", "ids"],
      [{ ids, query: "id:*" }, "Give either `ids` or `query`, not both", "query"],
      [{ ids: [] }, "ids: name at least one row", "ids"],
      [{ ids, queryValues: { a: 1 } }, "queryValues: there is no `query`", "queryValues"],
      [
        { query: " " },
        "query: an empty search changes nothing (`id:*` matches every row)",
        "query",
      ],
      [
        { ids: Array.from({ length: 5_001 }, () => randomUUID()) },
        "ids: at most 5000 rows at once, not 5001",
        "ids",
      ],
    ] as const;
    for (const [chosen, message, argument] of refused)
      expect(refusal(await change(chosen as Chosen, { country: "Peru" }))).toEqual({
        code: "BAD_USER_INPUT",
        message,
        path: [argument],
      });
    expect(refusal(await change({ ids }, {}))).toMatchObject({ path: ["input"] });
    expect(refusal(await change({ query: "contry:Italy" }, { country: "Peru" }))).toMatchObject({
      path: ["query"],
      message: expect.stringContaining("did you mean `country`") as unknown,
    });
  });

  test("when more than 5,000 match; 5,000 change in one operation", async () => {
    const { query, region } = await makeWines(5_001);
    expect(refusal(await change({ query }, { country: "Peru" }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "query: more than 5000 rows match, the most that change at once",
      path: ["query"],
    });
    await sql("delete from products where name = $1", [`${region} 1`]);
    const answer = await change({ query }, { country: "Peru" });
    expect(answer.data.result).toEqual({ matched: 5_000, changed: 5_000, unchanged: 0 });
  });

  test("in more than three fields of one operation", async () => {
    const { query } = await makeWines(1);
    const fields = Array.from(
      { length: 4 },
      (_, index) =>
        `f${index}: updateProducts(query: $query, input: {country: "Peru"}) { changed }`,
    );
    const send = (count: number) =>
      service.ask(`mutation ($query: String) { ${fields.slice(0, count).join(" ")} }`, {
        token: staff.token,
        variables: { query },
      });
    expect((await send(3)).errors).toBeUndefined();
    expect((await send(4)).errors?.[0]).toMatchObject({
      message: expect.stringMatching(/has 200004 estimated objects .*; at most 200000/) as unknown,
      extensions: { code: "BAD_USER_INPUT" },
    });
  });

  test("when an id is unknown: its place is named", async () => {
    const { ids, region } = await makeWines(1);
    expect(refusal(await change({ ids: [...ids, randomUUID()] }, { country: "Peru" }))).toEqual({
      code: "NOT_FOUND",
      message: "There is no product with this id",
      path: ["ids", 1],
    });
    expect(await countOf(region, "country is not null")).toBe(0);
  });

  test("without the permission of the verb, or by a query of a list that the caller may not read", async () => {
    const { ids, query } = await makeWines(1);
    const [reader, writer] = await Promise.all([
      person(["products.read"]),
      insertApiToken(service.database, staff.userId, ["products.update"]),
    ]);
    expect(refusal(await change({ query }, { country: "Peru" }, reader))).toMatchObject({
      code: "FORBIDDEN",
      message: "Missing required permission: products.update",
    });
    const scoped = { token: writer.token, userId: staff.userId } as Person;
    expect(refusal(await change({ query }, { country: "Peru" }, scoped))).toMatchObject({
      code: "FORBIDDEN",
      message: "Missing required permission: products.read",
    });
    expect((await change({ ids }, { country: "Peru" }, scoped)).errors).toBeUndefined();
  });

  test("where some of them belong to others, in a table with an owner", async () => {
    const [ann, bo] = await Promise.all([person(["roles.update"]), person()]);
    const role = await sql<{ id: string }>(
      "select role_id as id from user_roles where user_id = $1",
      [bo.userId],
    );
    const create = (by: Person, input: object) =>
      service.ask(
        `mutation ($input: CreateSavedViewInput!) { view: createSavedView(input: $input) { id } }`,
        { token: by.token, variables: { input: { entity: "products", ...input } } },
      );
    const shared = await create(ann, { name: "Shared", roleId: role[0]?.id });
    await create(bo, { name: "Mine" });
    const all = await call("updateSavedViews", { query: "id:*", input: { name: "x" } }, bo);
    expect(refusal(all)).toEqual({
      code: "FORBIDDEN",
      message: "You may not update 1 of the 2 rows that match",
      path: ["query"],
    });
    const ids = [(shared.data.view as { id: string }).id];
    expect(refusal(await call("deleteSavedViews", { ids }, bo))).toMatchObject({
      code: "FORBIDDEN",
      path: ["ids", 0],
    });
    const own = await call("deleteSavedViews", { query: `userId:${bo.userId}` }, bo);
    expect(own.data.result).toEqual({ matched: 1, changed: 1, unchanged: 0 });
  });
});
