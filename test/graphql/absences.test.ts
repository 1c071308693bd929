import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let boss: { token: string; userId: string };
let reader: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  boss = await service.login(["absences.update"]);
  reader = await service.login(["absences.read"]);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token: string) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const person = (name = "Anna") => service.login([], `${name}-${randomUUID()}@example.com`);

const shown = `id type startsOn endsOn startsHalfDay endsHalfDay note status workingDays decisionNote
  user { id } decidedBy { id } decidedAt`;
const request = (input: Record<string, unknown>, token: string) =>
  ask(
    `mutation ($input: CreateAbsenceInput!) { createAbsence(input: $input) { ${shown} } }`,
    { input: { type: "VACATION", startsOn: "2027-07-05", endsOn: "2027-07-16", ...input } },
    token,
  );
const requested = async (input: Record<string, unknown>, token: string) => {
  const { data, errors } = await request(input, token);
  expect(errors).toBeUndefined();
  return data.createAbsence as { id: string; workingDays: string };
};
const act = (name: string, id: string, token: string, more = "") =>
  ask(`mutation ($id: ID!) { ${name}(id: $id ${more}) { ${shown} } }`, { id }, token);
const update = (id: string, input: Record<string, unknown>, token: string) =>
  ask(
    `mutation ($id: ID!, $input: UpdateAbsenceInput!) { updateAbsence(id: $id, input: $input) { ${shown} } }`,
    { id, input },
    token,
  );
const enter = (userId: string, input: Record<string, unknown>, token: string) =>
  ask(
    `mutation ($userId: ID!, $input: EnterAbsenceInput!) { enterAbsence(userId: $userId, input: $input) { ${shown} } }`,
    { userId, input: { type: "SICK", startsOn: "2027-03-01", endsOn: "2027-03-01", ...input } },
    token,
  );
const idsOf = async (token: string) => {
  const { data, errors } = await ask("{ absences(first: 250) { nodes { id } } }", {}, token);
  expect(errors).toBeUndefined();
  return data.absences.nodes.map(({ id }: { id: string }) => id) as string[];
};

describe("working days", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["a week", { startsOn: "2027-07-05", endsOn: "2027-07-11" }, "5"],
    ["a Saturday", { startsOn: "2027-07-10", endsOn: "2027-07-10" }, "0"],
    ["the week of Easter", { startsOn: "2027-03-22", endsOn: "2027-03-29" }, "3"],
    ["Christmas and New Year", { startsOn: "2027-12-24", endsOn: "2028-01-02" }, "6"],
    [
      "a week from noon until noon",
      { startsOn: "2027-07-05", endsOn: "2027-07-09", startsHalfDay: true, endsHalfDay: true },
      "4.0",
    ],
    ["a morning", { startsOn: "2027-07-05", endsOn: "2027-07-05", endsHalfDay: true }, "0.5"],
    [
      "a holiday's afternoon",
      { startsOn: "2027-05-06", endsOn: "2027-05-07", startsHalfDay: true },
      "1",
    ],
  ])("of %s", async (_what, input, days) => {
    const { token } = await person();
    expect((await requested(input, token)).workingDays).toBe(days);
  });

  test("exclude the public holidays of Denmark from 2025 to 2030", async () => {
    const { data } = await ask("{ publicHolidays { holidayOn name } }", {}, boss.token);
    const days = data.publicHolidays as { holidayOn: string; name: string }[];
    expect(days).toHaveLength(60);
    const easter = days.filter(({ name }) => name === "Easter Sunday");
    expect(easter.map(({ holidayOn }) => holidayOn)).toEqual([
      ...["2025-04-20", "2026-04-05", "2027-03-28", "2028-04-16", "2029-04-01", "2030-04-21"],
    ]);
  });

  test("exclude an added holiday", async () => {
    const { token } = await person();
    const { id } = await requested({ startsOn: "2027-06-04", endsOn: "2027-06-07" }, token);
    const add = `mutation ($input: CreatePublicHolidayInput!) { createPublicHoliday(input: $input) { id } }`;
    const input = { holidayOn: "2027-06-07", name: "Moving day" };
    expect(refusal(await ask(add, { input }, token))).toMatchObject({
      code: "FORBIDDEN",
      message: "Missing required permission: absences.update",
    });
    expect((await ask(add, { input }, boss.token)).errors).toBeUndefined();
    const { data } = await ask(
      "query ($id: ID!) { absence(id: $id) { workingDays } }",
      { id },
      token,
    );
    expect(data.absence.workingDays).toBe("1");
  });
});

describe("an absence", () => {
  test("is requested by its owner, and visible to its owner and holders of `absences.read` only", async () => {
    const anna = await person();
    const bert = await person("Bert");
    const { data, errors } = await request({ note: " Italy " }, anna.token);
    expect(errors).toBeUndefined();
    const { id } = data.createAbsence;
    expect(data.createAbsence).toMatchObject({
      status: "REQUESTED",
      note: "Italy",
      user: { id: anna.userId },
      decidedBy: null,
    });
    expect(await idsOf(anna.token)).toEqual([id]);
    expect(await idsOf(bert.token)).toEqual([]);
    expect(await idsOf(reader.token)).toContain(id);
    expect(await idsOf(boss.token)).toContain(id);
    const { data: foreign } = await ask(
      "query ($id: ID!) { absence(id: $id) { id } }",
      { id },
      bert.token,
    );
    expect(foreign.absence).toBeNull();
  });

  test("does not overlap another one of the same person; half days may share a day", async () => {
    const { token } = await person();
    const { id } = await requested(
      { startsOn: "2027-08-02", endsOn: "2027-08-06", endsHalfDay: true },
      token,
    );
    const { errors } = await request({ startsOn: "2027-08-06", endsOn: "2027-08-09" }, token);
    expect(errors?.[0]).toMatchObject({
      message: "There is an absence from 2027-08-02 to 2027-08-06 already",
      extensions: { code: "CONFLICT", path: ["input", "startsOn"], absence: { id } },
    });
    await requested({ startsOn: "2027-08-06", endsOn: "2027-08-09", startsHalfDay: true }, token);
    const { token: other } = await person("Bert");
    await requested({ startsOn: "2027-08-02", endsOn: "2027-08-06" }, other);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        request({ startsOn: "2027-10-04", endsOn: "2027-10-08" }, token),
      ),
    );
    expect(answers.filter((answer) => answer.errors === undefined)).toHaveLength(1);
    for (const answer of answers.filter((one) => one.errors !== undefined))
      expect(refusal(answer).code).toBe("CONFLICT");
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "ends before it begins",
      { startsOn: "2027-08-02", endsOn: "2027-08-01" },
      "endsOn must not be before startsOn",
    ],
    [
      "takes more than two years",
      { startsOn: "2027-08-02", endsOn: "2030-08-01" },
      "endsOn must be within two years of startsOn",
    ],
    [
      "leaves nothing of its day",
      { startsOn: "2027-08-02", endsOn: "2027-08-02", startsHalfDay: true, endsHalfDay: true },
      "endsHalfDay leaves nothing of a single day that begins at noon: set one of them",
    ],
  ])("that %s is rejected", async (_what, input, message) => {
    const { token } = await person();
    expect(refusal(await request(input, token))).toEqual({ code: "BAD_USER_INPUT", message });
  });

  test("can be changed and cancelled by its owner until it is decided", async () => {
    const anna = await person();
    const bert = await person("Bert");
    const { id } = await requested({}, anna.token);
    const missing = { code: "NOT_FOUND", message: "There is no absence with this id" };
    expect(refusal(await update(id, { note: "Mine" }, bert.token))).toEqual(missing);
    expect(refusal(await act("cancelAbsence", id, bert.token))).toEqual(missing);
    expect(refusal(await update(id, { note: "Mine" }, reader.token))).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: absences.update",
    });
    const changed = await update(id, { endsOn: "2027-07-09", note: null }, anna.token);
    expect(changed.data.updateAbsence).toMatchObject({ endsOn: "2027-07-09", workingDays: "5" });
    expect(refusal(await update(id, { endsOn: null }, anna.token)).message).toBe(
      "endsOn cannot be null",
    );
    await act("approveAbsence", id, boss.token);
    expect(refusal(await update(id, { note: "Later" }, anna.token))).toEqual({
      code: "CONFLICT",
      message: "The absence is approved and cannot be changed",
    });
    expect(refusal(await act("cancelAbsence", id, anna.token))).toEqual({
      code: "CONFLICT",
      message: "The absence is approved: somebody else with absences.update can cancel it",
    });
    expect((await act("cancelAbsence", id, boss.token)).data.cancelAbsence.status).toBe(
      "CANCELLED",
    );
    const again = await requested({}, anna.token);
    expect((await act("cancelAbsence", again.id, anna.token)).data.cancelAbsence.status).toBe(
      "CANCELLED",
    );
  });

  test("is decided once, by another user with `absences.update`", async () => {
    const anna = await person();
    const { id } = await requested({}, anna.token);
    for (const { token } of [anna, reader])
      expect(refusal(await act("approveAbsence", id, token))).toEqual({
        code: "FORBIDDEN",
        message: "Missing required permission: absences.update",
      });
    const own = await requested({}, boss.token);
    expect(refusal(await act("approveAbsence", own.id, boss.token))).toEqual({
      code: "FORBIDDEN",
      message: "Nobody decides on an absence of their own",
    });
    const declined = await act("declineAbsence", id, boss.token, ', note: "Stocktaking"');
    expect(declined.data.declineAbsence).toMatchObject({
      status: "DECLINED",
      decisionNote: "Stocktaking",
      decidedBy: { id: boss.userId },
      decidedAt: expect.any(String),
    });
    expect(refusal(await act("approveAbsence", id, boss.token))).toEqual({
      code: "CONFLICT",
      message: "The absence is declined already",
    });
    const { rows } = await service.database.pool.query(
      "select operation from audit_log where entity_type = 'Absence' and entity_id = $1 and operation <> 'READ' order by id",
      [id],
    );
    expect(rows.map(({ operation }) => operation)).toEqual(["CREATE", "UPDATE"]);
  });

  test("can be entered for another user, but not for the caller", async () => {
    const anna = await person();
    const { data, errors } = await enter(anna.userId, {}, boss.token);
    expect(errors).toBeUndefined();
    expect(data.enterAbsence).toMatchObject({
      type: "SICK",
      status: "APPROVED",
      decidedBy: { id: boss.userId },
    });
    expect(refusal(await enter(boss.userId, {}, boss.token))).toEqual({
      code: "FORBIDDEN",
      message: "Nobody decides on an absence of their own: request it",
    });
    expect(refusal(await enter(anna.userId, {}, reader.token)).message).toBe(
      "Missing required permission: absences.update",
    );
    expect(refusal(await enter(randomUUID(), {}, boss.token)).message).toBe(
      "There is no active user with this id",
    );
  });
});

test("an error about the note of a decision names the argument", async () => {
  const anna = await person();
  const { id } = await requested({}, anna.token);
  for (const name of ["approveAbsence", "declineAbsence"]) {
    const { errors } = await act(name, id, boss.token, `, note: "${"x".repeat(5001)}"`);
    expect(errors?.[0]).toMatchObject({
      message: "note must be 5000 characters at most",
      extensions: { code: "BAD_USER_INPUT", path: ["note"] },
    });
  }
});

describe("readers of absences without `users.read`", () => {
  const find = async (token: string, args: string) => {
    const { data, errors } = await ask(
      `{ absences(${args}) { nodes { userName departmentId user { id } } } }`,
      {},
      token,
    );
    expect(errors).toBeUndefined();
    return data.absences.nodes as unknown[];
  };

  test("find the absences of a department with the names of its members", async () => {
    const anna = await person();
    const bert = await person("Bert");
    const { rows } = await service.database.pool.query<{ id: string }>(
      "insert into departments (name) values ('Cellar') returning id",
    );
    const departmentId = rows[0]!.id;
    await service.database.pool.query(
      "update users set department_id = $1, name = 'Anna Cellar' where id = $2",
      [departmentId, anna.userId],
    );
    await requested({}, anna.token);
    await requested({}, bert.token);
    const found = [{ userName: "Anna Cellar", departmentId, user: null }];
    for (const { token } of [reader, boss])
      expect(await find(token, `departmentId: "${departmentId}"`)).toEqual(found);
    expect(await find(reader.token, `query: "userName:\\"Anna Cellar\\""`)).toEqual(found);
    expect(await find(bert.token, `departmentId: "${departmentId}"`)).toEqual([]);
  });
});

test("the database rejects overlapping absences", async () => {
  const { token } = await person();
  const { id } = await requested({ startsOn: "2027-08-02", endsOn: "2027-08-06" }, token);
  await expect(
    service.database.pool.query(
      `insert into absences (user_id, type, starts_on, ends_on)
       select user_id, type, ends_on, ends_on + 2 from absences where id = $1`,
      [id],
    ),
  ).rejects.toMatchObject({ code: "23P01", constraint: "absences_overlap_excl" });
});

test("every logged-in user sees the person and the period of approved absences only", async () => {
  const anna = await person();
  const { token } = await person("Bert");
  await service.database.pool.query("update users set name = 'Anna Away' where id = $1", [
    anna.userId,
  ]);
  const { id } = await requested(
    { startsOn: "2027-11-04", endsOn: "2027-11-09", startsHalfDay: true },
    anna.token,
  );
  const away = async () => {
    const { data, errors } = await ask(
      `query ($query: String!) {
         awayPeriods(query: $query) { nodes { name startsOn endsOn } }
         awayDays(startsOn: "2027-11-01", endsOn: "2027-11-30") { day name isHalf } }`,
      { query: `userId:${anna.userId}` },
      token,
    );
    expect(errors).toBeUndefined();
    return data;
  };
  expect(await away()).toEqual({ awayPeriods: { nodes: [] }, awayDays: [] });
  await act("approveAbsence", id, boss.token);
  const days = ["2027-11-04", "2027-11-05", "2027-11-08", "2027-11-09"];
  expect(await away()).toEqual({
    awayPeriods: { nodes: [{ name: "Anna Away", startsOn: "2027-11-04", endsOn: "2027-11-09" }] },
    awayDays: days.map((day, index) => ({ day, name: "Anna Away", isHalf: index === 0 })),
  });
  await act("cancelAbsence", id, boss.token);
  expect(await away()).toEqual({ awayPeriods: { nodes: [] }, awayDays: [] });
  const wrong = await ask(
    `{ awayDays(startsOn: "2027-11-01", endsOn: "2029-11-01") { day } }`,
    {},
    token,
  );
  expect(refusal(wrong)).toEqual({
    code: "BAD_USER_INPUT",
    message: "endsOn must be within a year of startsOn",
  });
});

test("absences are ordered by their status and type, also over pages", async () => {
  const anna = await person();
  for (const [index, type] of ["OTHER", "SICK", "VACATION", "SICK"].entries())
    await enter(
      anna.userId,
      { type, startsOn: `2029-01-0${index + 1}`, endsOn: `2029-01-0${index + 1}` },
      boss.token,
    );
  await requested({ type: "OTHER", startsOn: "2029-02-01", endsOn: "2029-02-01" }, anna.token);
  const types: string[] = [];
  for (let after: string | null = null, more = true; more;) {
    const { data, errors } = await ask(
      `query ($after: Cursor) { absences(first: 2, after: $after, orderBy: [STATUS_DESC, TYPE_ASC]) {
         nodes { type status } pageInfo { endCursor hasNextPage } } }`,
      { after },
      anna.token,
    );
    expect(errors).toBeUndefined();
    types.push(
      ...data.absences.nodes.map(
        (one: { type: string; status: string }) => `${one.status} ${one.type}`,
      ),
    );
    ({ endCursor: after, hasNextPage: more } = data.absences.pageInfo);
  }
  // Values have the order of their enumeration.
  expect(types).toEqual([
    "APPROVED VACATION",
    "APPROVED SICK",
    "APPROVED SICK",
    "APPROVED OTHER",
    "REQUESTED OTHER",
  ]);
});

test.each([
  ["users", "UPDATED_AT IS_ACTIVE CREATED_AT"],
  ["campaigns", "STATUS MEDIUM CREATED_AT UPDATED_AT"],
  ["absences", "STATUS TYPE STARTS_ON ENDS_ON DECIDED_AT CREATED_AT UPDATED_AT"],
  ["resourceBookings", "STATUS TITLE STARTS_AT ENDS_AT BOOKED_BY_NAME CREATED_AT UPDATED_AT"],
  ["awayPeriods", "NAME STARTS_ON ENDS_ON"],
  ["documentationPages", "TITLE IS_PUBLISHED CREATED_AT UPDATED_AT"],
  ["orders", "STATUS"],
  ["resources", "NAME KIND LOCATION CAPACITY IS_ACTIVE"],
])("%s can be ordered by %s", async (list, orders) => {
  const { data } = await ask(
    `{ __schema { queryType { fields { name args { name type { ofType { ofType { enumValues { name } } } } } } } } }`,
    {},
    boss.token,
  );
  const field = data.__schema.queryType.fields.find(({ name }: { name: string }) => name === list);
  const { type } = field.args.find(({ name }: { name: string }) => name === "orderBy");
  const known = type.ofType.ofType.enumValues.map(({ name }: { name: string }) => name);
  for (const order of orders.split(" "))
    expect(known).toEqual(expect.arrayContaining([`${order}_ASC`, `${order}_DESC`]));
});

test("today in a query is the day in the caller's time zone", async () => {
  // Their dates always differ.
  for (const timeZone of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    const anna = await person();
    await service.database.pool.query("update users set time_zone = $2 where id = $1", [
      anna.userId,
      timeZone,
    ]);
    const today = new Intl.DateTimeFormat("en-CA", { timeZone }).format();
    const { id } = await requested({ startsOn: today, endsOn: today }, anna.token);
    const found = async (query: string) => {
      const { data, errors } = await ask(
        "query ($query: String!) { absences(query: $query) { nodes { id } } }",
        { query },
        anna.token,
      );
      expect(errors).toBeUndefined();
      return data.absences.nodes.map((one: { id: string }) => one.id);
    };
    for (const query of [
      "startsOn:today",
      "endsOn:>=today",
      "startsOn:<tomorrow",
      "startsOn:>yesterday",
      "startsOn:[today-1M TO today+1d}",
      "-startsOn:tomorrow",
    ])
      expect([query, await found(query)]).toEqual([query, [id]]);
    for (const query of ["startsOn:>today", "endsOn:<today", "startsOn:today-1w"])
      expect([query, await found(query)]).toEqual([query, []]);
  }
});

test("absenceBalances counts the working days of a year, for other users with either permission", async () => {
  const anna = await person();
  await requested({ startsOn: "2027-12-27", endsOn: "2028-01-07", endsHalfDay: true }, anna.token);
  await enter(anna.userId, {}, boss.token);
  const balances = async (year: number, token: string, more = "") => {
    const answer = await ask(
      `query ($year: Int!) { absenceBalances(year: $year ${more}) { type requestedDays approvedDays } }`,
      { year },
      token,
    );
    return answer;
  };
  const of = (answer: Answer, type: string) =>
    answer.data.absenceBalances.find((one: { type: string }) => one.type === type);
  const own = await balances(2027, anna.token);
  expect(own.data.absenceBalances).toHaveLength(5);
  expect(of(own, "VACATION")).toMatchObject({ requestedDays: "5", approvedDays: "0" });
  expect(of(own, "SICK")).toMatchObject({ requestedDays: "0", approvedDays: "1" });
  const next = await balances(2028, anna.token);
  expect(of(next, "VACATION").requestedDays).toBe("4.5");
  const whose = `, userId: "${anna.userId}"`;
  for (const { token } of [reader, boss])
    expect((await balances(2027, token, whose)).data).toEqual(own.data);
  const { token } = await person("Bert");
  expect(refusal(await balances(2027, token, whose))).toEqual({
    code: "FORBIDDEN",
    message: "Missing required permission: absences.read",
  });
});

test("absenceBalances rejects an unknown user", async () => {
  const { errors } = await ask(
    `{ absenceBalances(year: 2027, userId: "${randomUUID()}") { type } }`,
    {},
    reader.token,
  );
  expect(errors?.[0]).toMatchObject({
    message: "There is no user with this id",
    extensions: { code: "NOT_FOUND", path: ["userId"] },
  });
});

test("scoped tokens are rejected by every field", async () => {
  const { token } = await insertApiToken(service.database, boss.userId, ["absences.update"]);
  const message = "This needs a full login: a scoped token is not enough";
  for (const query of [
    "{ absences { nodes { id } } }",
    "{ awayPeriods { nodes { id } } }",
    "{ publicHolidays { id } }",
    `{ awayDays(startsOn: "2027-01-01", endsOn: "2027-01-31") { day } }`,
    "{ absenceBalances(year: 2027) { type } }",
  ])
    expect(refusal(await ask(query, {}, token))).toEqual({ code: "FORBIDDEN", message });
  for (const answer of [
    await request({}, token),
    await enter(boss.userId, {}, token),
    await act("approveAbsence", randomUUID(), token),
    await act("cancelAbsence", randomUUID(), token),
  ])
    expect(refusal(answer)).toEqual({ code: "FORBIDDEN", message });
});
