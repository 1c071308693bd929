import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { actAs, inTransaction } from "../helpers/database.ts";
import { waitForWaiter } from "../helpers/locked.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let anna: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  anna = await service.login(
    [
      ...["products.read", "products.create", "products.update"],
      ...["campaigns.read", "campaigns.create", "campaigns.delete"],
      ...[
        "departments.read",
        "departments.update",
        "resources.update",
        "reviewers.read",
        "reviewers.create",
        "documentation.update",
      ],
    ],
    "anna@example.com",
  );
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token = anna.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}
const restore = (auditLogId: string, together = false, token = anna.token) =>
  ask(
    `mutation ($auditLogId: ID!, $together: Boolean!) { restore(auditLogId: $auditLogId, together: $together) }`,
    { auditLogId, together },
    token,
  );
const deletionOf = async (entityId: string) => {
  const [row] = await sql<{ id: string }>(
    "select id from audit_log where entity_id = $1 and operation = 'DELETE' order by id desc limit 1",
    [entityId],
  );
  return row!.id;
};
async function make(type: string, input: Record<string, unknown>): Promise<string> {
  const { data, errors } = await ask(
    `mutation ($input: Create${type}Input!) { row: create${type}(input: $input) { id } }`,
    { input },
  );
  expect(errors).toBeUndefined();
  return data.row.id as string;
}
const remove = (type: string, id: string) =>
  ask(`mutation ($id: ID!) { delete${type}(id: $id) }`, { id });
const resource = (name = `Room ${randomUUID()}`) =>
  make("Resource", { name, kind: "ROOM", capacity: 8, color: "#7A0019", isActive: false });
const campaign = (title: string, more: Record<string, unknown> = {}) =>
  make("Campaign", {
    ...{ title, price: "1", medium: "EMAIL", authorUserId: anna.userId },
    ...{ scheduledAt: "2040-01-01T00:00:00Z", ...more },
  });

describe("restore", () => {
  test("inserts the row with its id and values", async () => {
    const id = await resource();
    const values = () =>
      sql("select to_jsonb(r) - 'updated_at' as row from resources r where id = $1", [id]);
    const before = await values();
    await remove("Resource", id);
    expect(await values()).toEqual([]);
    expect((await restore(await deletionOf(id))).data).toEqual({ restore: 1 });
    expect(await values()).toEqual(before);
    const audited = await sql(
      "select operation from audit_log where entity_id = $1 and operation <> 'READ' order by created_at, id",
      [id],
    );
    expect(audited).toEqual([
      { operation: "CREATE" },
      { operation: "DELETE" },
      { operation: "CREATE" },
    ]);
  });

  test("names the reason of the requested row, not that of rows which refer to it", async () => {
    const title = `Page ${randomUUID()}`;
    const id = await make("DocumentationPage", { title, body: "Text" });
    await remove("DocumentationPage", id);
    const deletion = await deletionOf(id);
    await make("DocumentationPage", { title, body: "Another" });
    expect((await restore(deletion)).errors?.[0]?.message).toBe(
      "The DocumentationPage cannot be restored: another row has the same slug",
    );
  });

  test("rejects a row whose unique value is taken", async () => {
    const name = `Room ${randomUUID()}`;
    const id = await resource(name);
    await remove("Resource", id);
    const deletion = await deletionOf(id);
    await resource(name);
    const conflict = {
      code: "CONFLICT",
      message: "The Resource cannot be restored: another row has the same name",
    };
    expect(refusal(await restore(deletion))).toEqual(conflict);
    await sql("delete from resources where name = $1", [name]);
    expect((await restore(deletion)).errors).toBeUndefined();
    expect(refusal(await restore(deletion))).toEqual({
      code: "CONFLICT",
      message: "The Resource exists already",
    });
  });

  test("rejects a row of another owner, except for whoever deleted it and holders of audit.read", async () => {
    await sql(`set role office_owner;
      create table private_notes (id uuid primary key default uuidv7(), user_id uuid not null references users on delete cascade,
        text text not null check (text <> 'burnt'));
      create index on private_notes (user_id);
      comment on table private_notes is E'@read products.read\\n@create products.create\\n@delete products.create\\n@mutations create delete\\n@owner user_id\\n@audit PrivateNote\\n@label text\\nNotes.';
      select protect_table('private_notes'); reset role`);
    const permissions = ["products.read", "products.create"];
    const [bo, cleo] = await Promise.all([
      service.login(permissions),
      service.login([...permissions, "audit.read"]),
    ]);
    const [note] = await sql<{ id: string }>(
      "insert into private_notes (user_id, text) values ($1, 'A secret') returning id",
      [anna.userId],
    );
    const id = note!.id;
    const deleteAs = (userId: string) =>
      inTransaction(service.database.pool, async (client) => {
        await actAs(client, { userId, permissions });
        await client.query("reset role");
        await client.query("delete from private_notes where id = $1", [id]);
        await client.query("commit");
      });
    const labels = async (token: string) => {
      const { data } = await ask(
        `query ($id: String!) { deletions(entityId: $id) { label } }`,
        { id },
        token,
      );
      return data.deletions as unknown[];
    };
    await deleteAs(anna.userId);
    expect([await labels(anna.token), await labels(bo.token), await labels(cleo.token)]).toEqual([
      [{ label: "A secret" }],
      [],
      [{ label: "A secret" }],
    ]);
    expect(refusal(await restore(await deletionOf(id), true, bo.token)).code).toBe("NOT_FOUND");
    expect((await restore(await deletionOf(id), true, cleo.token)).errors).toBeUndefined();
    await deleteAs(bo.userId);
    expect(await labels(bo.token)).toHaveLength(1);
    expect((await restore(await deletionOf(id), true, bo.token)).errors).toBeUndefined();
    expect(await sql("select user_id, text from private_notes")).toEqual([
      { user_id: anna.userId, text: "A secret" },
    ]);
  });

  test("tells the message of a rule that a trigger enforces", async () => {
    const id = await resource();
    await remove("Resource", id);
    await sql(`create function refuse_resource() returns trigger as $$ begin
        perform fail('OF409', 'The house is full', '{}'); return new; end $$ language plpgsql;
      create trigger refuse before insert on resources for each row execute function refuse_resource()`);
    expect(refusal(await restore(await deletionOf(id)))).toEqual({
      code: "CONFLICT",
      message: "The Resource cannot be restored: The house is full",
    });
    await sql("drop trigger refuse on resources; drop function refuse_resource");
  });

  test("rejects a row whose referenced row was deleted", async () => {
    const product = await make("Product", { erpProductNumber: randomUUID(), name: "Barolo" });
    const id = await campaign("Barolo week", { productId: product });
    await remove("Campaign", id);
    await sql("delete from products where id = $1", [product]);
    expect(refusal(await restore(await deletionOf(id)))).toEqual({
      code: "CONFLICT",
      message: "The Campaign cannot be restored: the row of its productId was deleted",
    });
  });

  test("rejects callers without the create permission and deletions older than seven days", async () => {
    const id = await resource();
    await remove("Resource", id);
    const deletion = await deletionOf(id);
    const missing = {
      code: "NOT_FOUND",
      message: "There is no deletion of the last seven days with this id that you may undo",
    };
    const reader = await service.login(["audit.read"], "reader@example.com");
    const scoped = await insertApiToken(service.database, anna.userId, ["resources.update"]);
    expect(refusal(await restore(deletion, false, reader.token))).toEqual(missing);
    expect(refusal(await restore(deletion, false, scoped.token))).toEqual(missing);
    expect(refusal(await restore(randomUUID()))).toEqual(missing);
    const [created] = await sql<{ id: string }>(
      "select id from audit_log where entity_id = $1 and operation = 'CREATE'",
      [id],
    );
    expect(refusal(await restore(created!.id))).toEqual(missing);
    await sql(
      `alter table audit_log disable trigger user;
       update audit_log set created_at = created_at - interval '8 days' where id = '${deletion}';
       alter table audit_log enable trigger user`,
    );
    expect(refusal(await restore(deletion))).toEqual(missing);
  });
});

describe("restore with together", () => {
  test("restores a handbook page with its versions and earlier addresses", async () => {
    const slug = `page-${randomUUID()}`;
    const id = await make("DocumentationPage", { title: "Rules", slug, body: "One" });
    const { errors } = await ask(
      `mutation ($id: ID!, $input: UpdateDocumentationPageInput!) { updateDocumentationPage(id: $id, input: $input) { id } }`,
      { id, input: { slug: `${slug}-2`, body: "Two" } },
    );
    expect(errors).toBeUndefined();
    await remove("DocumentationPage", id);
    expect((await restore(await deletionOf(id), true)).data).toEqual({ restore: 3 });
    const { data } = await ask(
      `query ($slug: String!) { documentationPageBySlug(slug: $slug) {
         id body version author { id } versions { nodes { number body } } } }`,
      { slug },
    );
    expect(data.documentationPageBySlug).toEqual({
      ...{ id, body: "Two", version: 2, author: { id: anna.userId } },
      versions: {
        nodes: [
          { number: 2, body: "Two" },
          { number: 1, body: "One" },
        ],
      },
    });
  });

  test("restores a department with its members, except those who have another one since", async () => {
    const [id, other] = [
      await make("Department", { name: `Cellar ${randomUUID()}` }),
      await make("Department", { name: `Sales ${randomUUID()}` }),
    ];
    const [member, mover] = [await service.login([]), await service.login([])];
    const move = (userId: string, department: string) =>
      sql("update users set department_id = $2 where id = $1", [userId, department]);
    for (const { userId } of [member, mover]) await move(userId, id);
    await remove("Department", id);
    await move(mover.userId, other);
    expect((await restore(await deletionOf(id), true)).data).toEqual({ restore: 1 });
    expect(
      await sql("select department_id from users where id = any ($1) order by id", [
        [member.userId, mover.userId],
      ]),
    ).toEqual([{ department_id: id }, { department_id: other }]);
  });

  test("restores values that other rows did not have", async () => {
    const product = await make("Product", { erpProductNumber: randomUUID(), name: "Barolo" });
    await campaign("Plain");
    const full = await campaign("Full", { productId: product, note: "With a product" });
    await ask("mutation { deleteAllCampaigns }", {});
    expect((await restore(await deletionOf(full), true)).errors).toBeUndefined();
    expect(await sql("select product_id, note from campaigns where id = $1", [full])).toEqual([
      { product_id: product, note: "With a product" },
    ]);
  });

  test("skips rows that exist again", async () => {
    const ids = [await campaign("One"), await campaign("Two")];
    const { data } = await ask("mutation { deleteAllCampaigns }", {});
    expect((await restore(await deletionOf(ids[0]!))).data.restore).toBe(1);
    expect((await restore(await deletionOf(ids[1]!), true)).data.restore).toBe(
      data.deleteAllCampaigns - 1,
    );
    const [deletion] = await Promise.all(ids.map(deletionOf));
    expect(refusal(await restore(deletion!, true))).toEqual({
      code: "CONFLICT",
      message: "The Campaign exists already",
    });
  });

  test("restores all rows that one request deleted", async () => {
    const ids = [await campaign("One"), await campaign("Two"), await campaign("Three")];
    const { data } = await ask("mutation { deleteAllCampaigns }", {});
    expect(data.deleteAllCampaigns).toBeGreaterThanOrEqual(3);
    const deletion = await deletionOf(ids[1]!);
    expect((await restore(deletion)).data.restore).toBe(1);
    await remove("Campaign", ids[1]!);
    expect((await restore(deletion, true)).data.restore).toBe(data.deleteAllCampaigns);
    const rows = await sql("select from campaigns where id = any ($1)", [ids]);
    expect(rows).toHaveLength(3);
  });

  test("waits for another call with rows of the same deletion, and finds them restored", async () => {
    const ids = [await campaign("One"), await campaign("Two")];
    await ask("mutation { deleteAllCampaigns }", {});
    const client = await service.database.pool.connect();
    try {
      await client.query("begin");
      await actAs(client, { userId: anna.userId, permissions: ["campaigns.create"] });
      await client.query("select restore($1)", [await deletionOf(ids[0]!)]);
      const other = restore(await deletionOf(ids[1]!), true);
      await waitForWaiter(service.database.pool);
      await client.query("commit");
      expect(refusal(await other)).toEqual({
        code: "CONFLICT",
        message: "The Campaign exists already",
      });
    } finally {
      client.release(true);
    }
  });

  test("restores no row when one cannot be restored", async () => {
    const number = randomUUID();
    const product = await make("Product", { erpProductNumber: number, name: "Barolo" });
    const reviewer = await make("Reviewer", { name: `Reviewer ${randomUUID()}` });
    const rating = await make("ProductRating", {
      ...{ productId: product, reviewerId: reviewer, year: 2020, points: "95" },
    });
    await sql(
      `begin; set local office.correlation_id to '${randomUUID()}'; delete from products where id = '${product}'; commit`,
    );
    const deletion = await deletionOf(product);
    const ratings = () => sql("select from product_ratings where id = $1", [rating]);
    expect(await ratings()).toEqual([]);
    await sql("insert into products (erp_product_number, name) values ($1, 'Another')", [number]);
    expect(refusal(await restore(deletion, true)).code).toBe("CONFLICT");
    expect(await ratings()).toEqual([]);
    await sql("delete from products where erp_product_number = $1", [number]);
    expect((await restore(deletion, true)).data).toEqual({ restore: 2 });
    expect(await ratings()).toHaveLength(1);
  });
});

describe("restore of a role", () => {
  /** A role of the permission `reviewers.read` with one user, deleted by a Superadmin. */
  async function deletedRole() {
    const admin = await service.login(
      [
        "roles.read",
        "roles.create",
        "roles.update",
        "roles.delete",
        "users.update",
        "reviewers.read",
      ],
      `admin-${randomUUID()}@example.com`,
    );
    const { data } = await ask(
      `mutation ($input: CreateRoleInput!) { createRole(input: $input) { id } }`,
      { input: { name: `Readers ${randomUUID()}`, permissionKeys: ["reviewers.read"] } },
      admin.token,
    );
    const id = data.createRole.id as string;
    const holder = await service.login([], `holder-${randomUUID()}@example.com`);
    await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [holder.userId, id]);
    const { errors } = await ask(
      "mutation ($id: ID!) { deleteRole(id: $id) }",
      { id },
      admin.token,
    );
    expect(errors).toBeUndefined();
    const [row] = await sql<{ id: string }>(
      "select id from audit_log where entity_id = $1 and entity_type = 'Role' and operation = 'DELETE'",
      [id],
    );
    return { id, admin, holder, deletion: row!.id };
  }
  const permissionsOf = async (userId: string) =>
    (await sql<{ keys: string[] }>("select user_permissions($1) as keys", [userId]))[0]!.keys;

  test("gives it back its permissions and users", async () => {
    const { id, admin, holder, deletion } = await deletedRole();
    expect(await permissionsOf(holder.userId)).toEqual([]);
    const { data } = await ask("{ deletions { auditLogId entityType } }", {}, admin.token);
    expect(data.deletions[0]).toEqual({ auditLogId: deletion, entityType: "Role" });
    expect((await restore(deletion, true, admin.token)).data).toEqual({ restore: 3 });
    expect(await permissionsOf(holder.userId)).toEqual(["reviewers.read"]);
    expect((await ask("{ reviewers { id } }", {}, holder.token)).errors).toBeUndefined();
    const audited = await sql(
      "select entity_type from audit_log where operation = 'CREATE' and coalesce(after ->> 'roleId', entity_id) = $1 and actor_user_id = $2 and created_at > (select created_at from audit_log where id = $3) order by 1",
      [id, admin.userId, deletion],
    );
    expect(audited.map(({ entity_type }: { entity_type?: string }) => entity_type)).toEqual([
      "Role",
      "RolePermission",
      "UserRole",
    ]);
  });

  test("rejects callers who do not hold its permissions, or who may not give roles to users", async () => {
    const { id, deletion } = await deletedRole();
    const weak = await service.login(["roles.create", "roles.update", "users.update"]);
    expect(refusal(await restore(deletion, true, weak.token))).toEqual({
      code: "FORBIDDEN",
      message: "You cannot grant what you do not hold: reviewers.read",
    });
    const noUsers = await service.login(["roles.create", "roles.update", "reviewers.read"]);
    expect(refusal(await restore(deletion, true, noUsers.token)).code).toBe("FORBIDDEN");
    const creator = await service.login(["roles.create", "users.update", "reviewers.read"]);
    expect(refusal(await restore(deletion, true, creator.token)).code).toBe("FORBIDDEN");
    expect(await sql("select from roles where id = $1", [id])).toEqual([]);
  });

  test("rejects permissions of a role that the caller does not hold, restored alone", async () => {
    const { holder } = await deletedRole();
    const [lost] = await sql<{ id: string }>(
      "select id from audit_log where entity_type = 'UserRole' and operation = 'DELETE' and entity_id = $1",
      [holder.userId],
    );
    const all = await service.login(["users.update", "reviewers.read"]);
    expect(refusal(await restore(lost!.id, false, all.token))).toEqual({
      code: "CONFLICT",
      message: "The UserRole cannot be restored: the row of its roleId was deleted",
    });
    const { data } = await ask(
      `mutation ($input: CreateRoleInput!) { createRole(input: $input) { id } }`,
      { input: { name: `Two ${randomUUID()}`, permissionKeys: ["reviewers.read"] } },
      (await service.login(["roles.create", "reviewers.read"])).token,
    );
    const roleId = data.createRole.id as string;
    await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [holder.userId, roleId]);
    await sql("delete from user_roles where user_id = $1", [holder.userId]);
    const [taken] = await sql<{ id: string }>(
      "select id from audit_log where entity_type = 'UserRole' and operation = 'DELETE' and before ->> 'roleId' = $1",
      [roleId],
    );
    const weak = await service.login(["users.update"]);
    expect(refusal(await restore(taken!.id, false, weak.token))).toEqual({
      code: "FORBIDDEN",
      message: "You cannot grant what you do not hold: reviewers.read",
    });
    expect(await permissionsOf(holder.userId)).toEqual([]);
    expect((await restore(taken!.id, false, all.token)).data).toEqual({ restore: 1 });
    expect(await permissionsOf(holder.userId)).toEqual(["reviewers.read"]);
  });
});

describe("deletions", () => {
  const list = (token: string, args = "") =>
    ask(
      `{ deletions${args} { auditLogId entityType entityId label userName deletedAt } }`,
      {},
      token,
    );

  test("lists the rows that the caller may restore, newest first", async () => {
    const name = `Room ${randomUUID()}`;
    const [room, sale] = [await resource(name), await campaign("Spring")];
    await remove("Resource", room);
    await remove("Campaign", sale);
    const { data, errors } = await list(anna.token, "(limit: 2)");
    expect(errors).toBeUndefined();
    expect(data.deletions).toEqual([
      expect.objectContaining({ entityType: "Campaign", entityId: sale, label: "Spring" }),
      expect.objectContaining({ entityType: "Resource", entityId: room, label: name }),
    ]);
    expect(data.deletions[0].auditLogId).toBe(await deletionOf(sale));
    expect(data.deletions[0].userName).toBe("anna");
    expect((await restore(data.deletions[1].auditLogId)).data).toEqual({ restore: 1 });
    const rooms = await service.login(["resources.update"]);
    const seen = (await list(rooms.token)).data.deletions as { entityType: string }[];
    expect([...new Set(seen.map(({ entityType }) => entityType))]).toEqual(["Resource"]);
  });

  test("leave out rows that exist again, until they are deleted again", async () => {
    const room = await resource();
    const listed = async () =>
      (
        (await list(anna.token, `(entityId: "${room}")`)).data.deletions as { auditLogId: string }[]
      ).map(({ auditLogId }) => auditLogId);
    await remove("Resource", room);
    const first = await deletionOf(room);
    expect(await listed()).toEqual([first]);
    await restore(first);
    expect(await listed()).toEqual([]);
    await remove("Resource", room);
    const second = await deletionOf(room);
    expect(second).not.toBe(first);
    expect(await listed()).toEqual([second]);
  });

  test("leave out rows that return with another one, as long as that is deleted", async () => {
    const page = await make("DocumentationPage", { title: `Page ${randomUUID()}`, body: "Text" });
    const [version] = await sql<{ id: string }>(
      "select id from documentation_versions where page_id = $1",
      [page],
    );
    await remove("DocumentationPage", page);
    const listed = async () =>
      ((await list(anna.token, "(limit: 200)")).data.deletions as { entityId: string }[])
        .map(({ entityId }) => entityId)
        .filter((id) => id === page || id === version?.id);
    expect(await listed()).toEqual([page]);
    await restore(await deletionOf(page), false);
    expect(await listed()).toEqual([version?.id]);
  });

  test("are refused for types that the caller may not create, and wrong limits", async () => {
    const rooms = await service.login(["resources.update"]);
    expect(refusal(await list(rooms.token, '(entityType: "Campaign")'))).toEqual({
      code: "BAD_USER_INPUT",
      message: "entityType must be one of Resource, SavedView, SearchWatch",
    });
    expect(refusal(await list(rooms.token, "(limit: 0)")).message).toBe(
      "limit must be from 1 to 200",
    );
    const nobody = await service.login([]);
    expect((await list(nobody.token)).data.deletions).toEqual([]);
  });
});
