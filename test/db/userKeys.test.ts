import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { waitFor } from "../helpers/waitFor.ts";

// Permission checks read the keys stored with each user, which must match roles and permissions after every change.

const role = "01990000-0000-7000-8000-00000000a001";
const other = "01990000-0000-7000-8000-00000000a002";
const user = "01990000-0000-7000-8000-00000000a003";
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(
    `insert into roles (id, name) values ('${role}', 'Keys'), ('${other}', 'Other keys');
     insert into users (id, email, is_active) values ('${user}', 'keys@example.com', true);
     insert into user_roles (user_id, role_id) values ('${user}', '${role}')`,
  );
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query("delete from role_permissions where role_id = any ($1)", [
    [role, other],
  ]);
  await give(database.pool, "users.read", "audit.read");
});

function give(client: pg.Pool | pg.ClientBase, ...keys: string[]) {
  return client.query(
    "insert into role_permissions (role_id, permission_id) select $1, id from permissions where key = any ($2)",
    [role, keys],
  );
}

function take(client: pg.Pool | pg.ClientBase, key: string) {
  return client.query(
    "delete from role_permissions rp using permissions p where role_id = $1 and p.id = rp.permission_id and p.key = $2",
    [role, key],
  );
}

/** The keys of the two roles and of the user; fails when what is stored with a user differs from their roles. */
async function keys() {
  const { rows: wrong } = await database.pool.query(
    `select u.email from users u left join user_keys k on k.user_id = u.id
     where k.is_active is distinct from u.is_active
       or string_to_array(nullif(k.permission_keys, ''), ',') is distinct from (
         select array_agg(distinct p.key order by p.key) from user_roles ur
           join role_permissions rp on rp.role_id = ur.role_id join permissions p on p.id = rp.permission_id
         where ur.user_id = u.id)`,
  );
  expect(wrong).toEqual([]);
  const { rows } = await database.pool.query<{ keys: string[]; others: string[]; held: string[] }>(
    `select role_keys(array[$1::uuid]) as keys, role_keys(array[$2::uuid]) as others,
       array(select unnest(user_permissions($3)) order by 1) as held`,
    [role, other, user],
  );
  expect(rows[0]?.held).toEqual(rows[0]?.keys);
  return rows[0];
}

describe("the permission keys stored with a user", () => {
  test("match its permissions after the migrations", async () => {
    expect(await keys()).toMatchObject({ keys: ["audit.read", "users.read"], others: [] });
  });

  test("follow permissions that are added, removed or moved", async () => {
    await give(database.pool, "roles.read");
    expect(await keys()).toMatchObject({ keys: ["audit.read", "roles.read", "users.read"] });
    await take(database.pool, "users.read");
    expect(await keys()).toMatchObject({ keys: ["audit.read", "roles.read"] });
    await database.pool.query(
      "update role_permissions rp set role_id = $2 from permissions p where p.id = rp.permission_id and p.key = 'audit.read' and role_id = $1",
      [role, other],
    );
    expect(await keys()).toMatchObject({ keys: ["roles.read"], others: ["audit.read"] });
    await database.pool.query(
      "update role_permissions set permission_id = (select id from permissions where key = 'orders.read') where role_id = $1",
      [role],
    );
    expect(await keys()).toMatchObject({ keys: ["orders.read"], others: ["audit.read"] });
  });

  test("follow a renamed or deleted permission", async () => {
    await database.pool.query(
      "insert into permissions (key, description) values ('keys.tried', 'Tried')",
    );
    await give(database.pool, "keys.tried");
    await database.pool.query("update permissions set key = 'keys.named' where key = 'keys.tried'");
    expect(await keys()).toMatchObject({ keys: ["audit.read", "keys.named", "users.read"] });
    await database.pool.query("delete from permissions where key = 'keys.named'");
    expect(await keys()).toMatchObject({ keys: ["audit.read", "users.read"] });
  });

  test.each([
    ["gives", give, "roles.read", ["audit.read", "orders.read", "roles.read", "users.read"]],
    ["takes", take, "users.read", ["audit.read", "orders.read"]],
  ])("follow two concurrent changes, one of which %s", async (_what, change, key, wanted) => {
    const [one, two] = [await database.pool.connect(), await database.pool.connect()];
    try {
      await one.query("begin");
      await give(one, "orders.read");
      await two.query("begin");
      const { rows } = await two.query<{ pid: number }>("select pg_backend_pid() as pid");
      const changed = change(two, key);
      await waitFor("the second to wait for the first", async () => {
        const { rowCount } = await database.pool.query(
          "select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'",
          [rows[0]?.pid],
        );
        return rowCount === 1;
      });
      await one.query("commit");
      await changed;
      await two.query("commit");
    } finally {
      one.release();
      two.release();
    }
    expect((await keys())?.keys).toEqual(wanted);
  });

  test("follow roles that are given to a user, taken and deleted", async () => {
    const { pool } = database;
    const held = async () =>
      (await pool.query("select user_permissions($1) as held", [user])).rows[0]?.held as string[];
    await pool.query(
      "insert into role_permissions (role_id, permission_id) select $1, id from permissions where key = 'orders.read'",
      [other],
    );
    await pool.query("insert into user_roles (user_id, role_id) values ($1, $2)", [user, other]);
    expect(await held()).toEqual(["audit.read", "orders.read", "users.read"]);
    await pool.query("delete from user_roles where user_id = $1 and role_id = $2", [user, other]);
    expect(await held()).toEqual(["audit.read", "users.read"]);
    await pool.query(
      `with r as (insert into roles (name) values ('Short-lived') returning id)
       insert into user_roles (user_id, role_id) select $1, id from r`,
      [user],
    );
    await pool.query(
      "insert into role_permissions (role_id, permission_id) select r.id, p.id from roles r, permissions p where r.name = 'Short-lived' and p.key = 'ai.use'",
    );
    expect(await held()).toEqual(["ai.use", "audit.read", "users.read"]);
    await pool.query("delete from roles where name = 'Short-lived'");
    expect(await held()).toEqual(["audit.read", "users.read"]);
    await keys();
  });

  test("follow the user's activity", async () => {
    for (const active of [false, true]) {
      await database.pool.query("update users set is_active = $2 where id = $1", [user, active]);
      await keys();
    }
  });

  test.each(["the role is given first", "the permission is given first"])(
    "follow a role that is given while its permissions change: %s",
    async (order) => {
      const newcomer = randomUUID();
      await database.pool.query("insert into users (id, email, is_active) values ($1, $2, true)", [
        newcomer,
        `${newcomer}@example.com`,
      ]);
      const [one, two] = [await database.pool.connect(), await database.pool.connect()];
      const giveRole = (client: pg.ClientBase) =>
        client.query("insert into user_roles (user_id, role_id) values ($1, $2)", [newcomer, role]);
      const givePermission = (client: pg.ClientBase) => give(client, "orders.read");
      const [first, second] =
        order === "the role is given first"
          ? [giveRole, givePermission]
          : [givePermission, giveRole];
      try {
        await one.query("begin");
        await first(one);
        await two.query("begin");
        const { rows } = await two.query<{ pid: number }>("select pg_backend_pid() as pid");
        const changed = second(two);
        await waitFor("the second to wait for the first", async () => {
          const { rowCount } = await database.pool.query(
            "select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'",
            [rows[0]?.pid],
          );
          return rowCount === 1;
        });
        await one.query("commit");
        await changed;
        await two.query("commit");
      } finally {
        one.release();
        two.release();
      }
      expect((await keys())?.keys).toEqual(["audit.read", "orders.read", "users.read"]);
    },
  );
});
