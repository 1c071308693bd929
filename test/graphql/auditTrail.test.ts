import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { buildApi } from "../../src/migration/printApi.ts";
import { startSearchEngine } from "../../dev/emulators/searchEngine.ts";
import { own, seedDatabase } from "../../dev/access/seed.ts";
import { type Service, startService } from "../helpers/service.ts";
import { type Trail, checkTrail, makeTrail } from "../helpers/graphql/auditTrail.ts";
import { type RootField, rootFields } from "../helpers/graphql/rootFields.ts";

let service: Service;
let trail: Trail;
let fields: RootField[];
let folder: string;
let engine: Awaited<ReturnType<typeof startSearchEngine>>;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "office-trail-"));
  const apiKey = randomUUID();
  engine = await startSearchEngine({ port: 0, apiKey, dataDir: folder });
  env = {
    ENABLE_E2E_TEST_MODE: "true",
    TYPESENSE_URL: engine.url,
    TYPESENSE_API_KEY: apiKey,
  };
  const limits = { cost: 100_000_000, fields: 100_000, depth: 50 };
  service = await startService({ env, constants: { limits } });
  // The caller has every permission and shares a department with other users.
  await seedDatabase(service.database.pool);
  await service.database.pool.query(`insert into role_permissions (role_id, permission_id)
    select '${own.role}', id from permissions on conflict do nothing;
    insert into user_roles (user_id, role_id) select '${own.user}', id from roles where is_system;
    update users set department_id = (select id from departments order by id limit 1) where id = '${own.user}';
    -- Every call compares all tables: long texts only take time.
    update documentation_pages set body = 'Short' where slug <> '';
    delete from documentation_versions where number = 1 and page_id in (select id from documentation_pages where is_built_in)`);
  const schema = await buildApi(service.database.pool, "backoffice");
  fields = rootFields(schema);
  trail = await makeTrail(service, schema);
});
afterAll(async () => {
  await service.stop();
  await engine.stop();
  await rm(folder, { recursive: true });
});

const ownUser = "who has just logged in, and their roles, are the caller's own";
const viewOwner = "the owner is the caller, or shares the view with them, by the name alone";
/** Findings that are allowed, with the reason. An entry that is no longer found must be removed. */
const exempt: Readonly<Record<string, string>> = {
  "cleanupTestRun: was refused: Name the test run in the header X-Test-run-id; set its variables in test/helpers/graphql/auditCalls.ts":
    "it removes the schema that its audit log is in",
  "auditLogs: shows Session unrecorded":
    "recorded changes of sessions show, and the read of the audit log is recorded",
  "markNotificationRead: changed notifications without any row":
    "that the caller has read a notification concerns nobody else",
  "markNotificationsRead: was refused: Give either ids or all: true; set its variables in test/helpers/graphql/auditCalls.ts":
    "it needs one of two optional arguments, and changes what markNotificationRead changes",
  "mySessions: shows Session unrecorded": "the caller's own sessions are not recorded",
  "bootstrapFirstUser: shows Role unrecorded": ownUser,
  "bootstrapFirstUser: shows User unrecorded": ownUser,
  "console: shows User unrecorded": "the caller's own row, as in `me`, is not recorded",
  "createExportTemplate: shows User unrecorded": "the owner is the caller, by the name alone",
  "devLogin: shows Role unrecorded": ownUser,
  "exchangeLoginCode: shows Role unrecorded": ownUser,
  "awayDays: shows User unrecorded":
    "approved absences show who is away to every login, by the name alone",
  "updateResource: shows User unrecorded":
    "its bookings hold the names of those who booked, for every reader",
  "savedView: shows User unrecorded": viewOwner,
  "savedViews: shows User unrecorded": viewOwner,
  "savedViewPages: shows User unrecorded": viewOwner,
  "createSavedView: shows User unrecorded": viewOwner,
  "updateSavedView: shows User unrecorded": viewOwner,
};

const remedy =
  "For an unrecorded read, tag the function `@auditReads <EntityType>`; for a change, tag the table `@audit`. If neither is right, add the line to `exempt` above, with the reason.";

/** Mutations that end or delete rows run last, because others need the rows. */
const isLast = ({ name }: RootField) => /^(?:deactivate|delete|revoke)/.test(name);
const named = (name: string, among = fields) => among.filter((field) => field.name === name);

describe("the audit log", () => {
  test("has a row for each read and each change of every root field", async () => {
    const { problems, made } = await checkTrail(trail, [
      ...fields.filter((field) => !isLast(field)),
      ...fields.filter(isLast),
    ]);
    const fresh = problems.filter((problem) => exempt[problem] === undefined);
    if (fresh.length > 0) throw new Error([...fresh, remedy].join("\n"));
    expect(problems.sort()).toEqual(Object.keys(exempt).sort());
    const refused = Object.keys(exempt).filter((problem) => problem.includes(": was refused"));
    expect(made.length).toBeGreaterThanOrEqual(fields.length - refused.length);
    expect(made.length).toBeGreaterThan(120);
  });

  test("records the reads of every audited type", () => {
    expect([...trail.readTypes].sort()).toEqual([
      ...["ApiToken", "AuditLog", "Customer", "CustomerNote", "ExportJob", "Invitation"],
      ...["Order", "Role", "Session", "User"],
    ]);
  });
});

describe("the check", () => {
  test("finds a change whose trigger is missing", async () => {
    const { pool } = service.database;
    await pool.query("alter table campaigns disable trigger _800_audit_update");
    const { problems } = await checkTrail(trail, named("updateCampaign"));
    await pool.query("alter table campaigns enable trigger _800_audit_update");
    expect(problems).toEqual([
      expect.stringMatching(/^updateCampaign: changed campaigns.* without any row$/),
    ]);
  });

  test("finds a row without an actor, and one without a request", async () => {
    const { pool } = service.database;
    await pool.query(
      `create function lose() returns trigger as $$ begin
         new.actor_user_id := null; new.correlation_id := 'other'; return new;
       end $$ language plpgsql;
       create trigger planted before insert on audit_log for each row when (new.entity_type = 'Campaign') execute function lose()`,
    );
    const { problems } = await checkTrail(trail, named("updateCampaign"));
    await pool.query("drop trigger planted on audit_log; drop function lose");
    expect(problems).toEqual([
      "updateCampaign: UPDATE of Campaign has no actor",
      "updateCampaign: UPDATE of Campaign has no correlation id",
    ]);
  });

  test("finds reads, and keys, whose record is missing", async () => {
    const { pool } = service.database;
    await pool.query(
      `create function lose() returns trigger as 'begin return null; end' language plpgsql;
       create trigger planted before insert on audit_log for each row when (new.operation = 'READ') execute function lose()`,
    );
    const { problems } = await checkTrail(trail, [...named("customers"), ...named("searchConfig")]);
    await pool.query("drop trigger planted on audit_log; drop function lose");
    expect(problems).toEqual([
      "customers: shows Customer unrecorded",
      "searchConfig: shows SearchKey unrecorded",
    ]);
  });

  test("finds added fields that change only bookkeeping columns, show audited values, or have no valid input", async () => {
    await service.database.pool.query(planted);
    const other = await startService({ env, database: service.database });
    const schema = await buildApi(service.database.pool, "backoffice");
    const there = { ...trail, service: other, schema };
    const added = ["noteQuietly", "customerNames", "orderNamed"].flatMap((name) =>
      named(name, rootFields(schema)),
    );
    expect((await checkTrail(there, added)).problems).toEqual([
      "noteQuietly: changed search_leftovers without any row",
      "customerNames: shows Customer unrecorded",
      expect.stringMatching(/^orderNamed: was refused: /),
    ]);
    await other.stop();
  });

  test("generates texts that the checks of a new table accept", async () => {
    await service.database.pool.query(plantedTable);
    const other = await startService({ env, database: service.database });
    const schema = await buildApi(service.database.pool, "backoffice");
    const tables = new Map([...trail.tables, ["planted_places", "PlantedPlace"]]);
    const added = ["createPlantedPlace", "updatePlantedPlace"].flatMap((name) =>
      named(name, rootFields(schema)),
    );
    const { problems, made } = await checkTrail(
      { ...trail, service: other, schema, tables },
      added,
    );
    await other.stop();
    expect(problems).toEqual([]);
    expect(made).toEqual(["createPlantedPlace", "updatePlantedPlace"]);
  });
});

const plantedTable = `
  set role office_owner;
  create table planted_places (
    id uuid primary key default uuidv7(),
    country text not null,
    contact text not null,
    constraint planted_places_country_check check (country ~ '^[A-Z]{2}$'),
    constraint planted_places_contact_check check (contact like '%@%')
  );
  create unique index planted_places_contact_key on planted_places (contact);
  comment on table planted_places is E'@read products.read\n@create products.create\n@update products.update\n@mutations create update\n@audit PlantedPlace\nA place.';
  comment on column planted_places.country is 'Its country.';
  comment on column planted_places.contact is 'Its address.';
  comment on constraint planted_places_country_check on planted_places is 'must be a country code';
  comment on constraint planted_places_contact_check on planted_places is 'must be an e-mail address';
  select protect_table('planted_places');
  insert into planted_places (country, contact) values ('DK', 'row1@example.com'), ('SE', 'row2@example.com');
  reset role`;

const planted = `
  set role office_owner;
  create function note_quietly() returns boolean as $$
    insert into search_leftovers (kind, name) values ('alias', 'quiet') returning true
  $$ language sql volatile security definer set search_path from current;
  create function customer_names() returns text as 'select string_agg(name, '','') from customers'
    language sql stable security definer set search_path from current;
  create function order_named(name text) returns orders as
    'select o.* from orders o where o.erp_order_number = order_named.name' language sql stable;
  comment on function note_quietly is E'@guard login\nNotes.';
  comment on function customer_names is E'@guard login\nAll of them.';
  comment on function order_named is E'@guard orders.read\nOne of them.';
  grant execute on function note_quietly, customer_names, order_named to office_api;
  reset role`;
