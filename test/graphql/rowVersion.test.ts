import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { answeredBy } from "../helpers/environment.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

// Row versions and mutations that expect one, for tables (wine types) and functions (campaigns, roles, users).
let service: Service;
let staff: { token: string; userId: string };

const permissions = [
  "products.read",
  "products.create",
  "products.update",
  "campaigns.read",
  "campaigns.create",
  "campaigns.update",
  "campaigns.delete",
  "users.read",
  "users.update",
  "roles.read",
  "roles.create",
  "roles.update",
];

beforeAll(async () => {
  service = await startService();
  staff = await service.login(permissions);
  await service.database.pool.query("update users set name = 'Bo Berg' where id = $1", [
    staff.userId,
  ]);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown> = {}, token = staff.token) =>
  service.ask(query, { token, variables });

/** A kind of row with its create, read, change and delete operations. */
interface Kind {
  /** Creates a row and returns its id. */
  make: () => Promise<string>;
  row: string;
  update: string;
  remove: string | null;
  /** The changed column: its argument and its SQL name. */
  input: (text: string) => Record<string, unknown>;
  stored: string;
}

const made = async (query: string, input: Record<string, unknown>) => {
  const { data, errors } = await ask(query, { input });
  expect(errors).toBeUndefined();
  return data.made.id as string;
};
const kinds: Record<string, Kind> = {
  "a table": {
    make: () =>
      made(
        "mutation ($input: CreateWineTypeInput!) { made: createWineType(input: $input) { id } }",
        {
          name: `Type ${randomUUID()}`,
        },
      ),
    row: "wineType",
    update: "updateWineType(id: $id, input: $input, ifVersion: $version)",
    remove: "deleteWineType(id: $id, ifVersion: $version)",
    input: (name) => ({ name }),
    stored: "select name as text from wine_types where id = $1",
  },
  "a function": {
    make: () =>
      made(
        "mutation ($input: CreateCampaignInput!) { made: createCampaign(input: $input) { id } }",
        {
          title: "Autumn reds",
          price: "149,-",
          authorUserId: staff.userId,
          medium: "EMAIL",
          scheduledAt: "2026-10-01T08:00:00+02:00",
        },
      ),
    row: "campaign",
    update: "updateCampaign(id: $id, input: $input, ifVersion: $version)",
    remove: "deleteCampaign(id: $id, ifVersion: $version)",
    input: (title) => ({ title }),
    stored: "select title as text from campaigns where id = $1",
  },
};
const inputTypes: Record<string, string> = {
  wineType: "UpdateWineTypeInput",
  campaign: "UpdateCampaignInput",
};

const versionOf = async ({ row }: Kind, id: string) => {
  const { data, headers, errors } = await ask(
    `query ($id: ID!) { row: ${row}(id: $id) { id rowVersion } }`,
    { id },
  );
  expect(errors).toBeUndefined();
  expect(headers.get("x-answered-by")).toBe(answeredBy("sql-json"));
  return data.row.rowVersion as string;
};
const change = (kind: Kind, id: string, text: string, version?: string | null, fields = "id") =>
  ask(
    `mutation ($id: ID!, $input: ${inputTypes[kind.row]}!, $version: String) { row: ${kind.update} { ${fields} } }`,
    { id, input: kind.input(text), ...(version !== undefined && { version }) },
  );
const textOf = async ({ stored }: Kind, id: string) =>
  (await service.database.pool.query<{ text: string }>(stored, [id])).rows[0]?.text;
const codeOf = ({ errors }: Answer) => errors?.[0]?.extensions.code;

describe.each(Object.entries(kinds))("a row changed by %s", (_name, kind) => {
  test("has a new version after each change, which the mutation returns", async () => {
    const id = await kind.make();
    const before = await versionOf(kind, id);
    expect(await versionOf(kind, id)).toBe(before);
    const { data, errors } = await change(kind, id, `Next ${id}`, before, "id rowVersion");
    expect(errors).toBeUndefined();
    expect(data.row.rowVersion).not.toBe(before);
    expect(await versionOf(kind, id)).toBe(data.row.rowVersion);
  });

  test("is not changed with an outdated version", async () => {
    const id = await kind.make();
    const seen = await versionOf(kind, id);
    const theirs = `Theirs ${id}`;
    await change(kind, id, theirs);
    const answer = await change(kind, id, "Mine", seen);
    expect(answer.data).toBeNull();
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: "CONFLICT",
      path: ["ifVersion"],
      conflict: {
        changedAt: expect.any(String),
        changedBy: { id: staff.userId, name: "Bo Berg" },
      },
    });
    expect(await textOf(kind, id)).toBe(theirs);
  });

  test("is changed without a version, and with null", async () => {
    const id = await kind.make();
    expect((await change(kind, id, "First")).errors).toBeUndefined();
    expect((await change(kind, id, "Second", null)).errors).toBeUndefined();
    expect(await textOf(kind, id)).toBe("Second");
  });

  test("is changed by one of many concurrent callers with the same version", async () => {
    const id = await kind.make();
    const seen = await versionOf(kind, id);
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => ({
        text: `Caller ${n}`,
        answer: await change(kind, id, `Caller ${n}`, seen),
      })),
    );
    const won = answers.filter(({ answer }) => answer.errors === undefined);
    expect(won).toHaveLength(1);
    expect(answers.map(({ answer }) => codeOf(answer)).filter(Boolean)).toEqual(
      Array.from({ length: 7 }, () => "CONFLICT"),
    );
    expect(await textOf(kind, id)).toBe(won[0]?.text);
  });

  test("is deleted only with its current version", async () => {
    const id = await kind.make();
    const seen = await versionOf(kind, id);
    const theirs = `Theirs ${id}`;
    await change(kind, id, theirs);
    const remove = (version: string) =>
      ask(`mutation ($id: ID!, $version: String) { done: ${kind.remove} }`, { id, version });
    expect(codeOf(await remove(seen))).toBe("CONFLICT");
    expect(await textOf(kind, id)).toBe(theirs);
    expect((await remove(await versionOf(kind, id))).data).toEqual({ done: true });
    expect(await textOf(kind, id)).toBeUndefined();
  });

  test("is NOT_FOUND with any version when it does not exist", async () => {
    const answer = await change(kind, "00000000-0000-7000-8000-000000000000", "Mine", "seen");
    expect(codeOf(answer)).toBe("NOT_FOUND");
  });

  test("is rejected without the permission, for every version", async () => {
    const id = await kind.make();
    const reader = await service.login(["products.read", "campaigns.read"]);
    const answer = await service.ask(
      `mutation ($id: ID!, $input: ${inputTypes[kind.row]}!) { row: ${kind.update.replace("$version", '"other"')} { id } }`,
      { token: reader.token, variables: { id, input: kind.input("Mine") } },
    );
    expect(codeOf(answer)).toBe("FORBIDDEN");
  });
});

describe("a version", () => {
  test("has no author when the row was changed by SQL", async () => {
    const kind = kinds["a table"];
    if (!kind) throw new Error("no such kind");
    const id = await kind.make();
    const seen = await versionOf(kind, id);
    await service.database.pool.query("update wine_types set name = 'By hand' where id = $1", [id]);
    const { errors } = await change(kind, id, "Mine", seen);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "CONFLICT",
      conflict: { changedBy: null },
    });
  });

  test("is checked for users and roles too", async () => {
    const { token, userId, roleId } = await service.login([]);
    const user = `mutation ($id: ID!, $version: String) { updateUser(id: $id, input: { name: "Ada" }, ifVersion: $version) { id } }`;
    expect(codeOf(await ask(user, { id: userId, version: "other" }, token))).toBe("CONFLICT");
    const role = `mutation ($id: ID!, $version: String) { updateRole(id: $id, input: { description: "Mine" }, ifVersion: $version) { id } }`;
    expect(codeOf(await ask(role, { id: roleId, version: "other" }))).toBe("CONFLICT");
    const { data } = await ask("query ($id: ID!) { role(id: $id) { rowVersion } }", { id: roleId });
    const { errors } = await ask(role, { id: roleId, version: data.role.rowVersion });
    expect(errors).toBeUndefined();
  });

  test("is checked by an action on rows that people edit", async () => {
    const office = await service.login(["absences.read", "absences.update"]);
    const ada = await service.login([]);
    const { rows } = await service.database.pool.query<{ id: string }>(
      `insert into absences (user_id, type, starts_on, ends_on)
       values ($1, 'VACATION', '2027-04-05', '2027-04-06') returning id`,
      [ada.userId],
    );
    const id = rows[0]?.id;
    const read = "query ($id: ID!) { absence(id: $id) { rowVersion endsOn status } }";
    const seen = (await ask(read, { id }, office.token)).data.absence.rowVersion;
    const longer = `mutation ($id: ID!) { updateAbsence(id: $id, input: { endsOn: "2027-04-30" }) { id } }`;
    expect((await ask(longer, { id }, ada.token)).errors).toBeUndefined();
    const approve =
      "mutation ($id: ID!, $seen: String) { approveAbsence(id: $id, ifVersion: $seen) { status } }";
    const { errors } = await ask(approve, { id, seen }, office.token);
    expect(errors?.[0]).toMatchObject({
      message: "This absence was changed in the meantime",
      extensions: { code: "CONFLICT", path: ["ifVersion"] },
    });
    const { absence } = (await ask(read, { id }, office.token)).data;
    expect(absence).toMatchObject({ endsOn: "2027-04-30", status: "REQUESTED" });
    const { data } = await ask(approve, { id, seen: absence.rowVersion }, office.token);
    expect(data.approveAbsence.status).toBe("APPROVED");
  });

  test("is checked for the booking that a change of a series starts from", async () => {
    const { token } = await service.login(["resources.update"]);
    const resource = await ask(
      `mutation { createResource(input: { name: "Cellar ${randomUUID()}", kind: ROOM }) { id } }`,
      {},
      token,
    );
    const { data } = await ask(
      `mutation ($resource: ID!) {
        createResourceBooking(input: { resourceId: $resource, title: "Tasting", startsAt: "2036-05-06T10:00:00Z",
          endsAt: "2036-05-06T11:00:00Z", repeatWeeks: 1, repeatUntil: "2036-05-20" }) { id rowVersion }
      }`,
      { resource: resource.data.createResource.id },
      token,
    );
    const first = data.createResourceBooking;
    const rename = (title: string, version: string) =>
      ask(
        `mutation ($id: ID!, $title: String!, $version: String) {
          updateResourceBookingSeries(id: $id, input: { title: $title }, ifVersion: $version) { title }
        }`,
        { id: first.id, title, version },
        token,
      );
    expect((await rename("Tasting of reds", first.rowVersion)).errors).toBeUndefined();
    expect(codeOf(await rename("Tasting of whites", first.rowVersion))).toBe("CONFLICT");
  });

  test("is no argument of an action on rows that change by themselves", async () => {
    const { errors } = await ask(
      `mutation { cancelExportJob(id: "${randomUUID()}", ifVersion: "any") { id } }`,
    );
    expect(errors?.[0]?.message).toContain('Unknown argument "ifVersion"');
  });

  test("is not ignored for a row that the caller may delete but not see", async () => {
    const { roleId } = await service.login(["users.read"]);
    const { token } = await service.login(["roles.delete"]);
    const { data } = await ask("query ($id: ID!) { role(id: $id) { rowVersion } }", { id: roleId });
    const remove = `mutation ($id: ID!, $version: String) { deleteRole(id: $id, ifVersion: $version) }`;
    for (const version of ["other", data.role.rowVersion])
      expect(codeOf(await ask(remove, { id: roleId, version }, token))).toBe("NOT_FOUND");
    // As for a role that does not exist.
    const none = "01980000-0000-7000-8000-000000000000";
    expect(codeOf(await ask(remove, { id: none, version: "other" }, token))).toBe("NOT_FOUND");
  });

  test("is the same in lists, relations and function results, in both engines", async () => {
    const id = staff.userId;
    const read = async (query: string, by: string) => {
      const { data, errors, headers } = await ask(query, { id });
      expect(errors).toBeUndefined();
      expect(headers.get("x-answered-by")).toBe(answeredBy(by));
      return data;
    };
    const roles = "roles { id rowVersion }";
    const { user } = await read(
      `query ($id: ID!) { user(id: $id) { id rowVersion ${roles} } }`,
      "sql-json",
    );
    const whole = await read(
      `query ($id: ID!) { user(id: $id) { id rowVersion ${roles} } roles { id rowVersion } __schema { description } }`,
      "grafast",
    );
    expect(whole.user).toEqual(user);
    expect(whole.roles).toContainEqual(user.roles[0]);
    const pages = "userPages(first: 100, orderBy: [ID_ASC]) { nodes { id rowVersion } }";
    const page = await read(`{ ${pages} }`, "sql-json");
    expect(page.userPages.nodes).toContainEqual({ id, rowVersion: user.rowVersion });
    expect((await read(`{ ${pages} __schema { description } }`, "grafast")).userPages).toEqual(
      page.userPages,
    );
  });
});
