import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let editor: { token: string; userId: string };
let reader: { token: string; userId: string };
let auditor: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  editor = await service.login(["products.read", "products.create", "products.update"]);
  reader = await service.login(["products.read"]);
  auditor = await service.login(["products.read", "users.read", "audit.read"]);
  await service.database.pool.query("update users set name = 'Bo Berg' where id = $1", [
    editor.userId,
  ]);
});
afterAll(() => service.stop());

const change =
  "id at operation source alsoChanged by { id name } byToken changes { field before after isRestorable }";
const history = (variables: Record<string, unknown>, token = reader.token) =>
  service.ask(
    `query ($entity: String! = "wineTypes", $id: String!, $first: Int! = 30, $after: String, $includeReads: Boolean! = false) {
      recordHistory(entity: $entity, id: $id, first: $first, after: $after, includeReads: $includeReads) {
        nodes { ${change} } hasNextPage endCursor } }`,
    { token, variables },
  );
const read = async (variables: Record<string, unknown>, token?: string) => {
  const { data, errors } = await history(variables, token);
  expect(errors).toBeUndefined();
  return data.recordHistory;
};
const refusal = ({ errors }: Answer) => errors?.[0]?.extensions.code;
let count = 0;
const make = async () => {
  const { data } = await service.ask(
    'mutation ($name: String!) { createWineType(input: { name: $name, color: "#ABCDEF" }) { id } }',
    { token: editor.token, variables: { name: `Type ${++count}` } },
  );
  return data.createWineType.id as string;
};
const update = (id: string, input: Record<string, unknown>) =>
  service.ask(
    "mutation ($id: ID!, $input: UpdateWineTypeInput!) { updateWineType(id: $id, input: $input) { id } }",
    {
      token: editor.token,
      variables: { id, input },
    },
  );

describe("the history of a row", () => {
  test("shows each change with its user to callers who can read the row", async () => {
    const id = await make();
    await update(id, { color: "#123456" });
    await service.database.pool.query("update wine_types set color = '#654321' where id = $1", [
      id,
    ]);
    const { nodes } = await read({ id });
    const by = { id: editor.userId, name: "Bo Berg" };
    expect(nodes).toMatchObject([
      { operation: "UPDATE", source: "db", by: null, byToken: null },
      {
        operation: "UPDATE",
        source: "api",
        by,
        changes: [{ field: "color", before: "#ABCDEF", after: "#123456", isRestorable: false }],
      },
      { operation: "CREATE", source: "api", by },
    ]);
    expect(JSON.stringify(nodes)).not.toMatch(/@example|127\.0\.0\.1/);
  });

  test("offers to restore a field to callers who can change it", async () => {
    const id = await make();
    await update(id, { color: "#123456" });
    const [last] = (await read({ id }, editor.token)).nodes;
    expect(last.changes).toEqual([
      { field: "color", before: "#ABCDEF", after: "#123456", isRestorable: true },
    ]);
  });

  test("continues after a cursor", async () => {
    const id = await make();
    for (const color of ["#000001", "#000002", "#000003"]) await update(id, { color });
    const whole = await read({ id });
    const ids: string[] = [];
    let after: string | null = null;
    do {
      const page: typeof whole = await read({ id, first: 1, after });
      ids.push(...page.nodes.map((node: { id: string }) => node.id));
      after = page.hasNextPage ? page.endCursor : null;
    } while (after !== null);
    expect(ids).toEqual(whole.nodes.map((node: { id: string }) => node.id));
    expect(ids).toHaveLength(4);
  });

  test("finds the row by its id in capitals", async () => {
    const id = await make();
    expect((await read({ id: id.toUpperCase() })).nodes).toHaveLength(1);
  });

  test("of a deleted row needs audit.read", async () => {
    const id = await make();
    await service.database.pool.query("delete from wine_types where id = $1", [id]);
    expect(refusal(await history({ id }))).toBe("NOT_FOUND");
    const { nodes } = await read({ id }, auditor.token);
    expect(nodes.map(({ operation }: { operation: string }) => operation)).toEqual([
      "DELETE",
      "CREATE",
    ]);
  });

  test("of a row that never existed is rejected for all", async () => {
    for (const id of ["00000000-0000-7000-8000-000000000000", "no id", "1' or true"])
      for (const { token } of [reader, auditor])
        expect(refusal(await history({ id }, token))).toBe("NOT_FOUND");
  });

  test("needs the permission to read the table", async () => {
    const nobody = await service.login([]);
    const answer = await history({ id: await make() }, nobody.token);
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: "FORBIDDEN",
      requiredPermission: "products.read",
    });
  });

  test("shows reads of the row to holders of audit.read, which is recorded", async () => {
    const id = auditor.userId;
    await service.ask("query ($id: ID!) { user(id: $id) { email } }", {
      token: auditor.token,
      variables: { id },
    });
    const asked = { entity: "users", id, includeReads: true };
    const { nodes } = await read(asked, auditor.token);
    expect(nodes).toContainEqual(
      expect.objectContaining({
        operation: "READ",
        by: expect.objectContaining({ id }),
        changes: [],
      }),
    );
    const { rows } = await service.database.pool.query(
      `select from audit_log where operation = 'READ' and entity_type = 'AuditLog' and actor_user_id = $1
        and metadata -> 'arguments' ->> 'id' = $1::text`,
      [id],
    );
    expect(rows).toHaveLength(1);
    const manager = await service.login(["users.read"]);
    expect(refusal(await history(asked, manager.token))).toBe("FORBIDDEN");
  });

  test("omits columns that the API does not expose, and shows former ones to readers of the audit log", async () => {
    const user = await service.login([]);
    const colleague = await service.login(["users.read"]);
    await service.database.pool.query(
      `insert into audit_log (operation, entity_type, entity_id, before, after)
       values ('UPDATE', 'User', $1, '{"invitationsClosedAt": null, "name": "A", "gone": 1}', '{"invitationsClosedAt": "2026-01-01", "name": "B", "gone": 2}')`,
      [user.userId],
    );
    const changes = async (token: string) =>
      (await read({ entity: "users", id: user.userId }, token)).nodes[0].changes;
    const name = expect.objectContaining({ field: "name", before: "A", after: "B" });
    expect(await changes(colleague.token)).toEqual([name]);
    // Renamed or dropped since.
    const gone = { field: "gone", before: 1, after: 2, isRestorable: false };
    expect(await changes(auditor.token)).toEqual([gone, name]);
  });

  test("shows the different part of long values", async () => {
    const id = await make();
    const long = "x".repeat(9_000);
    await service.database.pool.query(
      `insert into audit_log (operation, entity_type, entity_id, before, after)
       values ('UPDATE', 'WineType', $1, $2, $3)`,
      [
        id,
        JSON.stringify({ name: `${long}red${long}` }),
        JSON.stringify({ name: `${long}white${long}` }),
      ],
    );
    const [last] = (await read({ id }, editor.token)).nodes;
    const [{ before, after, isRestorable }] = last.changes;
    expect(before).toMatch(/^…x{200}redx{3797}…$/);
    expect(after).toMatch(/^…x{200}whitex{3795}…$/);
    expect(isRestorable).toBe(false);
  });

  test("rejects an unknown table with the nearest known ones, and a cursor of another history", async () => {
    const unknown = await history({ entity: "wineTyps", id: "1" });
    expect(unknown.errors?.[0]).toMatchObject({
      message: "entity: there is no list `wineTyps` (did you mean `wineTypes`?)",
      extensions: { code: "BAD_USER_INPUT", path: ["entity"] },
    });
    const cursor = await history({ id: await make(), after: "x" });
    expect(cursor.errors?.[0]?.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["after"],
    });
  });

  test("reads few blocks at any cursor, with 100,000 changes", async () => {
    const id = await make();
    const { pool } = service.database;
    await pool.query(
      `insert into audit_log (operation, entity_type, entity_id, before, after, created_at)
       select 'UPDATE', 'WineType', $1, '{"color": "#000000"}', '{"color": "#FFFFFF"}', now() - n * interval '1 second'
       from generate_series(1, 100000) as n`,
      [id],
    );
    await pool.query("analyze audit_log");
    const { rows } = await pool.query<{ id: string; at: string }>(
      `select id, created_at::text as at from audit_log where entity_id = $1 order by created_at, id offset 1000 limit 1`,
      [id],
    );
    const client = await pool.connect();
    try {
      await client.query("set plan_cache_mode = force_generic_plan");
      const blocksOf = async (at: string | null, from: string | null) => {
        const plan = await client.query<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(
          `explain (analyze, buffers, format json)
           select * from record_history('WineType', $1, array['CREATE', 'UPDATE', 'DELETE'], $2, $3, 31)`,
          [id, at, from],
        );
        const { Plan } = plan.rows[0]?.["QUERY PLAN"][0] ?? { Plan: {} };
        expect(Plan["Actual Rows"]).toBe(31);
        return (Plan["Shared Hit Blocks"] ?? 0) + (Plan["Shared Read Blocks"] ?? 0);
      };
      await blocksOf(null, null);
      expect(await blocksOf(null, null)).toBeLessThan(500);
      expect(await blocksOf(rows[0]?.at ?? "", rows[0]?.id ?? "")).toBeLessThan(500);
    } finally {
      client.release();
    }
  });
});

describe("the history of a handbook page", () => {
  test("needs the permission of its table, because drafts were not visible to all", async () => {
    const writer = await service.login(["documentation.update"]);
    const { data } = await service.ask(
      'mutation { createDocumentationPage(input: { title: "Plans", body: "A secret draft", isPublished: false }) { id } }',
      { token: writer.token },
    );
    const id = data.createDocumentationPage.id as string;
    await service.ask(
      'mutation ($id: ID!) { updateDocumentationPage(id: $id, input: { body: "For all", isPublished: true }) { id } }',
      { token: writer.token, variables: { id } },
    );
    const wanted = { entity: "documentationPages", id };
    const { errors } = await history(wanted, reader.token);
    expect(errors).toMatchObject([
      { extensions: { code: "FORBIDDEN", requiredPermission: "documentation.update" } },
    ]);
    for (const { token } of [writer, auditor])
      expect(JSON.stringify((await read(wanted, token)).nodes)).toContain("A secret draft");
  });

  test("is offered in the console to callers who may read it", async () => {
    const offered = async (token: string) => {
      const { data } = await service.ask("{ console { entities { name hasHistory } } }", { token });
      const found = data.console.entities as { name: string; hasHistory: boolean }[];
      return found.find(({ name }) => name === "documentationPages")?.hasHistory;
    };
    const writer = await service.login(["documentation.update"]);
    expect(await offered(reader.token)).toBe(false);
    expect(await offered(writer.token)).toBe(true);
    expect(await offered(auditor.token)).toBe(true);
  });
});
