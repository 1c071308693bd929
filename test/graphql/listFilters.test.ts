import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let reader: { token: string; userId: string };
let boss: { token: string; roleId: string };
let anna: string;
let bo: string;
let departmentId: string;

beforeAll(async () => {
  service = await startService();
  reader = await service.login(["absences.read", "users.read"]);
  boss = await service.login(["users.read", "campaigns.read"], "boss@example.com");
  const { pool } = service.database;
  const made = await pool.query<{ id: string }>(
    "insert into departments (name) values ('Buying') returning id",
  );
  departmentId = made.rows[0]!.id;
  const people = await pool.query<{ id: string }>(
    `insert into users (email, department_id)
     values ('anna@example.com', $1), ('bo@example.com', null) returning id`,
    [departmentId],
  );
  [anna = "", bo = ""] = people.rows.map(({ id }) => id);
  await pool.query(
    `insert into absences (user_id, type, starts_on, ends_on, status) values
      ($1, 'VACATION', '2027-06-25', '2027-07-02', 'APPROVED'), ($1, 'SICK', '2027-07-10', '2027-07-10', 'REQUESTED'),
      ($1, 'OTHER', '2027-08-01', '2027-08-03', 'APPROVED'), ($2, 'TRAINING', '2027-07-31', '2027-08-01', 'APPROVED')`,
    [anna, bo],
  );
});
afterAll(() => service.stop());

const absences = (args: string, variables: Record<string, unknown> = {}, declared = "") =>
  service.ask(
    `query ${declared} { absences(${args}, includeTotalCount: true, orderBy: [STARTS_ON_ASC]) { totalCount nodes { type } } }`,
    { token: reader.token, variables },
  );
const typesOf = async (...asked: Parameters<typeof absences>) => {
  const { data, errors } = await absences(...asked);
  expect(errors).toBeUndefined();
  const { totalCount, nodes } = data.absences as { totalCount: number; nodes: { type: string }[] };
  expect(totalCount).toBe(nodes.length);
  return nodes.map(({ type }) => type);
};

describe("the arguments of @filter", () => {
  test("select the absences that overlap a period", async () => {
    const period = 'from: "2027-07-01", to: "2027-07-31"';
    expect(await typesOf(period)).toEqual(["VACATION", "SICK", "TRAINING"]);
    expect(await typesOf('from: "2027-07-03"')).toEqual(["SICK", "TRAINING", "OTHER"]);
  });

  test("select by the value of an id, of a related row and of an enumeration", async () => {
    expect(await typesOf(`userId: "${bo}"`)).toEqual(["TRAINING"]);
    expect(await typesOf(`departmentId: "${departmentId}"`)).toEqual(["VACATION", "SICK", "OTHER"]);
    expect(await typesOf("status: REQUESTED")).toEqual(["SICK"]);
  });

  test("accept variables, and ignore null", async () => {
    const declared = "($status: AbsenceStatus, $from: Date)";
    const ask = (variables: Record<string, unknown>) =>
      typesOf("status: $status, from: $from", variables, declared);
    expect(await ask({ status: "APPROVED", from: "2027-07-05" })).toEqual(["TRAINING", "OTHER"]);
    expect(await ask({ status: "APPROVED", from: null })).toEqual([
      "VACATION",
      "TRAINING",
      "OTHER",
    ]);
  });

  test("are combined with a query and apply to all of its alternatives", async () => {
    expect(await typesOf('status: APPROVED, query: "type:SICK OR type:OTHER"')).toEqual(["OTHER"]);
    expect(
      await typesOf('status: APPROVED, query: "type:$type", queryValues: { type: "TRAINING" }'),
    ).toEqual(["TRAINING"]);
  });

  test("work with pages from both ends", async () => {
    const { data } = await service.ask(
      `{ absences(status: APPROVED, first: 1, orderBy: [STARTS_ON_ASC]) { pageInfo { endCursor hasNextPage } } }`,
      { token: reader.token },
    );
    const { endCursor, hasNextPage } = data.absences.pageInfo;
    expect(hasNextPage).toBe(true);
    expect(await types(`after: "${endCursor}"`)).toEqual(["TRAINING", "OTHER"]);
    expect(await types("last: 1")).toEqual(["OTHER"]);
  });
  const types = async (page: string) => {
    const { data } = await service.ask(
      `{ absences(status: APPROVED, ${page}, orderBy: [STARTS_ON_ASC]) { nodes { type } } }`,
      { token: reader.token },
    );
    return data.absences.nodes.map(({ type }: { type: string }) => type) as string[];
  };

  test.each([
    ["a value of the wrong type", 'from: "July"', /A Date is a day/],
    ["an unknown value of an enumeration", "status: LATE", /LATE/],
    ["a day before the calendar of searches", 'from: "0000-01-01"', /A Date is a day/],
  ])("reject %s", async (_what, args, message) => {
    const { errors } = await absences(args);
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(message),
      extensions: { code: "BAD_USER_INPUT" },
    });
  });

  test.each(["absences", "resourceBookings"])("reject a reversed period of %s", async (list) => {
    const time = list === "absences" ? "" : "T00:00:00Z";
    const { errors } = await service.ask(
      `{ ${list}(from: "2027-07-02${time}", to: "2027-07-01${time}") { nodes { id } } }`,
      { token: reader.token },
    );
    expect(errors?.[0]).toMatchObject({
      message: "to must not be before from",
      extensions: { code: "BAD_USER_INPUT", path: ["to"] },
    });
  });

  test("enable a condition without a value", async () => {
    const { token, userId } = await service.login([], `${randomUUID()}@example.com`);
    await service.database.pool.query(
      `insert into notifications (user_id, kind, title, subject_key, read_at)
       values ($1, 'JOB_FAILED', 'Read', 'a', now()), ($1, 'JOB_FAILED', 'Unread', 'b', null)`,
      [userId],
    );
    const titles = async (args: string) => {
      const { data, errors } = await service.ask(`{ notifications${args} { nodes { title } } }`, {
        token,
      });
      expect(errors).toBeUndefined();
      return data.notifications.nodes.map(({ title }: { title: string }) => title) as string[];
    };
    expect(await titles("(unreadOnly: true)")).toEqual(["Unread"]);
    expect((await titles("(unreadOnly: false)")).sort()).toEqual(["Read", "Unread"]);
    expect((await titles("(unreadOnly: null)")).sort()).toEqual(["Read", "Unread"]);
  });
});

describe("the filters of users and campaigns", () => {
  const nodesOf = async (text: string) => {
    const { data, errors } = await service.ask(text, { token: boss.token });
    expect(errors).toBeUndefined();
    const { totalCount, nodes } = data.page as { totalCount: number; nodes: { name: string }[] };
    expect(totalCount).toBe(nodes.length);
    return nodes.map(({ name }) => name);
  };
  const users = (args: string) =>
    nodesOf(
      `{ page: userPages(${args}, includeTotalCount: true) { totalCount nodes { name: email } } }`,
    );
  const campaigns = (args: string) =>
    nodesOf(
      `{ page: campaignPages(${args}, includeTotalCount: true, orderBy: [TITLE_ASC]) { totalCount nodes { name: title } } }`,
    );

  test("select users by department, role and activity", async () => {
    expect(await users(`departmentId: "${departmentId}"`)).toEqual(["anna@example.com"]);
    expect(await users(`roleId: "${boss.roleId}"`)).toEqual(["boss@example.com"]);
    await service.database.pool.query("update users set is_active = true where id = $1", [anna]);
    expect(await users("isActive: false")).toEqual(["bo@example.com"]);
    expect(await users(`isActive: false, departmentId: "${departmentId}"`)).toEqual([]);
  });

  test("select campaigns by period, status, medium, author and product", async () => {
    const { rows } = await service.database.pool.query<{ id: string }>(
      "insert into products (erp_product_number, name) values ('F1', 'Barolo') returning id",
    );
    const product = rows[0]?.id;
    await service.database.pool.query(
      `insert into campaigns (title, medium, price, status, scheduled_at, author_user_id, product_id) values
        ('May', 'WEB', '1', 'DRAFT', '2027-05-01T10:00Z', $1, $3), ('June', 'PRINT', '1', 'COMPLETED', '2027-06-01T10:00Z', $2, null)`,
      [anna, bo, product],
    );
    expect(await campaigns('from: "2027-05-01T10:00:00Z", to: "2027-05-31T00:00:00Z"')).toEqual([
      "May",
    ]);
    expect(await campaigns('from: "2027-05-02T00:00:00Z"')).toEqual(["June"]);
    expect(await campaigns("status: COMPLETED")).toEqual(["June"]);
    expect(await campaigns("medium: WEB")).toEqual(["May"]);
    expect(await campaigns(`authorUserId: "${bo}"`)).toEqual(["June"]);
    expect(await campaigns(`productId: "${product}"`)).toEqual(["May"]);
  });
});
