import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { dumpSchema } from "../../dev/dump/dumpSchema.ts";
import { firstDifference } from "../../dev/dump/firstDifference.ts";
import { migrateTenant } from "../../src/migration/migrateTenant.ts";
import { actAs, createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
/** The database as created by the files. */
let intended: string;

beforeAll(async () => {
  database = await createDatabase();
  intended = await withClient(dump);
});

afterAll(() => database.drop());

async function withClient<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await database.pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}

const dump = (client: pg.ClientBase) => dumpSchema(client, "backoffice");

/** Returns the logged lines and the warnings of the database. */
const migrate = () =>
  withClient(async (client) => {
    const lines: string[] = [];
    const record = ({ severity, message }: { severity?: string; message?: string }) =>
      severity === "WARNING" && lines.push(`WARNING: ${message}`);
    client.on("notice", record);
    await migrateTenant(client, "backoffice", { log: (line) => lines.push(line) });
    client.off("notice", record);
    return lines;
  });

/** Commits as the owner, in one transaction, like another release. */
const change = (sql: string) =>
  withClient((client) => client.query(`set local role office_owner; ${sql}`));

/** The first lines that differ from the initial dump. */
const difference = async () => firstDifference(intended, await withClient(dump));

/** The first column of all rows. */
async function column(sql: string): Promise<unknown[]> {
  const { rows } = await database.pool.query<unknown[]>({ text: sql, rowMode: "array" });
  return rows.map(([value]) => value);
}

const policiesOf = (table: string) =>
  column(`select polname from pg_policy where polrelid = '${table}'::regclass order by 1`);

const triggersOf = (table: string) =>
  column(
    `select tgname from pg_trigger where tgrelid = '${table}'::regclass and not tgisinternal order by 1`,
  );

/** The error of a statement run by a caller with the permission; undefined when it succeeds. */
const refusal = (permission: string, sql: string) =>
  inTransaction(database.pool, async (client) => {
    await actAs(client, { permissions: [permission] });
    return client.query(sql).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );
  });

describe("Migrating a database again", () => {
  test("makes a column with a new tag @secret unreadable, and no other", async () => {
    expect(await refusal("customers.read", "select phone from customers")).toBeUndefined();
    await change("comment on column customers.phone is '@secret\nNot for everyone.'");
    await migrate();
    expect(await refusal("customers.read", "select phone from customers")).toBe(
      "permission denied for table customers",
    );
    expect(await refusal("customers.read", "select id, name from customers")).toBeUndefined();
    await change(
      "comment on column customers.phone is '@personal\nThe phone number, as recorded in the ERP.'",
    );
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("makes a column with a new tag @internal unwritable", async () => {
    const write = "update wine_types set color = color";
    expect(await refusal("products.update", write)).toBeUndefined();
    const [comment] = await column(
      "select col_description('wine_types'::regclass, attnum) from pg_attribute where attrelid = 'wine_types'::regclass and attname = 'color'",
    );
    // Its search field is removed as well.
    const key = "comment on constraint products_wine_type_id_fkey on products is";
    const [keyComment] = await column(
      "select obj_description(oid) from pg_constraint where conname = 'products_wine_type_id_fkey' and connamespace = 'backoffice'::regnamespace",
    );
    await change(
      `comment on column wine_types.color is '@internal\nWhatever.';
       ${key} $$${String(keyComment).replace(/^@searchIndex .*\n/m, "")}$$`,
    );
    await migrate();
    expect(await refusal("products.update", write)).toBe("permission denied for table wine_types");
    await change(
      `comment on column wine_types.color is $$${String(comment)}$$; ${key} $$${String(keyComment)}$$`,
    );
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("revokes the privilege and drops the policy of a removed verb", async () => {
    const [comment] = await column("select obj_description('wine_types'::regclass)");
    const remove = "delete from wine_types where false";
    expect(await refusal("products.update", remove)).toBeUndefined();
    expect(await policiesOf("wine_types")).toContain("wine_types_delete");
    await change(
      `comment on table wine_types is $$${String(comment).replace(/^@mutations .*$/m, "@mutations create update")}$$`,
    );
    await migrate();
    expect(await refusal("products.update", remove)).toBe("permission denied for table wine_types");
    expect(await policiesOf("wine_types")).not.toContain("wine_types_delete");
    expect(await policiesOf("wine_types")).toContain("wine_types_update");
    await change(`comment on table wine_types is $$${String(comment)}$$`);
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("replaces the audit triggers by those of the outbox after auditing is switched off", async () => {
    const [comment] = await column("select obj_description('reviewers'::regclass)");
    await change(
      `comment on table reviewers is $$${String(comment).replace(/^@audit .*$/m, "@audit off because of this test")}$$`,
    );
    await migrate();
    const others = ["_050_normalize_names", "_100_timestamps"];
    const ofChanges = ["delete", "insert", "update"].map((event) => `_800_changes_${event}`);
    expect(await triggersOf("reviewers")).toEqual([...others, ...ofChanges]);
    await change(
      `comment on table reviewers is $$${String(comment).replace(/^@audit .*$/m, "@audit off because of this test\n@watch off because of this test")}$$`,
    );
    await migrate();
    expect(await triggersOf("reviewers")).toEqual(others);
    await change(`comment on table reviewers is $$${String(comment)}$$`);
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("keeps the policies of a table with the longest name", async () => {
    const name = "table_".padEnd(63, "x");
    await change(`
      create table ${name} (id uuid primary key default uuidv7(), note text);
      comment on table ${name} is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit off because it is empty
A table.';
      comment on column ${name}.note is 'A note.'`);
    await migrate();
    const start = name.slice(0, 50);
    expect(await policiesOf(name)).toEqual(
      ["create", "delete", "owner", "read", "update"].map((verb) => `${start}_${verb}`),
    );
    await change(`drop table ${name}`);
    expect(await difference()).toBeUndefined();
  });

  test("warns of policies created by hand that widen access, and not of one that narrows it", async () => {
    await change(`
      create table own_notes (id uuid primary key default uuidv7(), is_archived boolean);
      comment on table own_notes is '@read products.read
@audit off because it is empty
Notes.';
      comment on column own_notes.is_archived is 'Whether it is put away.';
      alter table own_notes enable row level security;
      create policy by_hand on own_notes for select to office_api using (not is_archived);
      create policy by_hand_too on own_notes for update to office_api using (is_archived) with check (is_archived);
      create policy kept on own_notes as restrictive for select to office_api using (not is_archived);
      select ensure_policy('own_notes', 'own_notes_shown', 'select', 'office_api', 'is_archived')`);
    const fix =
      "write `ensure_policy` in a file of `logic`, and to narrow access, `restrictive => true`";
    // Not that row-level security was off: the table is new.
    expect((await migrate()).filter((line) => line.includes("own_notes")).toSorted()).toEqual([
      `WARNING: policy by_hand on own_notes: is permissive, so it shows rows beside those of @read; ${fix}`,
      `WARNING: policy by_hand_too on own_notes: is permissive, so it allows rows beside those of the tags; ${fix}`,
    ]);
    await change("drop table own_notes");
    expect(await difference()).toBeUndefined();
  });

  test("drops undeclared policies and triggers", async () => {
    await change(`
      select ensure_policy('reviewers', 'reviewers_once', 'select', 'office_api', '(select has_permission(''users.read''))');
      select ensure_policy('audit_log', 'audit_log_once', 'all', 'office_worker', 'id is null', 'id is null');
      select ensure_policy('reviewers', 'reviewers_fewer', 'select', 'office_api', 'id is not null');
      select ensure_policy('reviewers', 'reviewers_fewer', 'select', 'office_api', 'id is not null', restrictive => true);
      select ensure_trigger('reviewers', '_500_once',
        'before update on %TABLE% for each row when (old.name <> new.name) execute function tg__timestamps()');
      select ensure_trigger('audit_log', '_910_once',
        'before update on %TABLE% for each row execute function tg__append_only()')`);
    expect(await column("select polname from pg_policy where not polpermissive")).toEqual([
      "reviewers_fewer",
    ]);
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("keeps policies and triggers created by hand", async () => {
    await change(`
      create policy by_hand on reviewers for select to office_api using ((select has_permission('users.read')));
      create trigger _500_by_hand before update on reviewers for each row execute function tg__timestamps();
      comment on policy by_hand on reviewers is 'Until the summer.';
      comment on trigger _500_by_hand on reviewers is 'Until the summer.'`);
    await migrate();
    expect(await policiesOf("reviewers")).toContain("by_hand");
    expect(await triggersOf("reviewers")).toContain("_500_by_hand");
    await change("drop policy by_hand on reviewers; drop trigger _500_by_hand on reviewers");
    expect(await difference()).toBeUndefined();
  });

  test("revokes grants made by hand, with dependent ones", async () => {
    await change(`
      grant all on reviewers to office_api;
      grant update (title) on campaigns to office_api;
      grant select on schema_migrations to office_worker with grant option;
      set local role office_worker;
      grant select on schema_migrations to office_server`);
    expect(await difference()).toBeDefined();
    await migrate();
    expect(await difference()).toBeUndefined();
  });

  test("waits for no reader or writer when nothing has changed, and changes nothing", async () => {
    await inTransaction(database.pool, async (client) => {
      const tables = await column(
        "select oid::regclass::text from pg_class where relnamespace = 'backoffice'::regnamespace and relkind in ('r', 'p')",
      );
      expect(tables).toContain("schema_migrations");
      for (const table of tables) await client.query(`select from ${String(table)} limit 1`);
      await client.query(`lock table ${tables.join(", ")} in row exclusive mode`);
      // A retry would be logged.
      expect(await migrate()).toEqual([]);
    });
    expect(await difference()).toBeUndefined();
  });

  test("keeps callers' privileges while it runs", async () => {
    await inTransaction(database.pool, async (client) => {
      await client.query("set local role office_owner; select protect_table('customers')");
      expect(
        await refusal(
          "customers.read",
          "set local lock_timeout = 1000; select name from customers",
        ),
      ).toBeUndefined();
    });
  });
});

describe("drop_undeclared()", () => {
  test("fails when nothing was declared", async () => {
    await expect(change("select drop_undeclared()")).rejects.toThrow(
      "No policy or trigger was declared in this transaction; drop_undeclared() is the last step of a migration",
    );
  });
});
