import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions } from "../helpers/apiToken.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type InProcess, makeInProcess } from "../helpers/inProcess.ts";
import { titleOf } from "../../src/schema/rowNames.ts";
import { type Service, startService } from "../helpers/service.ts";

/** A table that a migration could add; no TypeScript refers to it. */
const cellars = `
  set role office_owner;
  create type cellar_state as enum ('OPEN', 'CLOSED');
  comment on type cellar_state is 'The state of a cellar.';
  create table cellars (
    id uuid primary key default uuidv7(),
    code text not null,
    name text not null,
    state cellar_state not null default 'OPEN',
    capacity integer,
    remark text,
    vat_rate integer,
    wine_type_text text,
    wine_type_id uuid references wine_types on delete restrict,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint cellars_code_check check (char_length(code) between 1 and 20),
    constraint cellars_name_check check (is_label(name, 200)),
    constraint cellars_remark_check check (remark = 'none' or char_length(remark) <= 5)
  );
  create index cellars_name_idx on cellars (name, id);
  create index cellars_wine_type_id_idx on cellars (wine_type_id);
  comment on table cellars is E'@title Wine cellars\\n@titleOne Wine cellar\\n@group Catalogue 1\\n@icon box\\n@label name code\\n@read products.read\\n@create products.update\\n@update products.update\\n@delete products.update\\n@mutations create update delete\\n@audit Cellar\\n@defaultOrder name\\n@defaultQuery state:OPEN -capacity:0\\nA place where bottles are kept.';
  comment on column cellars.code is E'@list 2\\n@mutations create\\nThe short name on labels.';
  comment on column cellars.name is E'@list 1\\nIts name.';
  comment on column cellars.state is E'@tone OPEN ok\\n@tone CLOSED bad\\nWhether it takes bottles.';
  comment on column cellars.capacity is E'@title Room\\n@unit bottles\\n@section Space\\n@list off\\nHow many it holds.';
  comment on column cellars.vat_rate is E'@unit ms\\nA rate.';
  comment on column cellars.wine_type_text is E'@title Wine type\\nThe type of wine on labels.';
  comment on column cellars.remark is E'@widget long\\nA remark.';
  create type cellar_room as (cellar_id uuid, shelf_id uuid, name text, is_full boolean, free_places integer);
  comment on type cellar_room is 'The room in a cellar.';
  comment on column cellar_room.cellar_id is '@notNull\nThe id of the cellar.';
  comment on column cellar_room.shelf_id is 'The id of a shelf.';
  comment on column cellar_room.name is '@notNull\nIts name.';
  comment on column cellar_room.is_full is E'@title Full\n@list off\nWhether it takes no bottles.';
  comment on column cellar_room.free_places is E'@unit bottles\nHow many it takes.';
  comment on constraint cellars_code_check on cellars is 'must be 1 to 20 characters';
  comment on constraint cellars_name_check on cellars is 'must be 1 to 200 visible characters without spaces at its ends';
  comment on constraint cellars_remark_check on cellars is 'must be short';
  comment on constraint cellars_wine_type_id_fkey on cellars is '@forwardBehavior +singularRelation:resource:single';
  select protect_table('cellars');
  create function cellars_with_room(state cellar_state, places integer default null) returns setof cellars as $$
    select c.* from cellars c where c.state = cellars_with_room.state
  $$ language sql stable;
  comment on function cellars_with_room is E'@guard products.read\n@report Catalogue 20\n@title Room for bottles\n@argument state The state.\n@argument places How many bottles.\nCellars with room.';
  create function cellar_rooms(wine_type_id uuid default null) returns setof cellar_room as $$
    select c.id, c.id, c.name, false, 3 from cellars c
  $$ language sql stable;
  comment on function cellar_rooms is E'@guard products.update\n@report Catalogue 10\n@argument wine_type_id The type of wine.\nThe room in each cellar.';
  grant execute on function cellars_with_room, cellar_rooms to office_api;
  create table cellar_plans (id uuid primary key default uuidv7(), picture_url text not null, place text);
  comment on table cellar_plans is E'@read products.read\\n@audit off because plans are drawn elsewhere\\nPlans.';
  comment on column cellar_plans.picture_url is E'@widget image\\nThe plan.';
  comment on column cellar_plans.place is 'Where it hangs.';
  select protect_table('cellar_plans');
  reset role;`;

const document = `query ($ifNot: String) { console(ifNot: $ifNot) {
  version title
  me { user { id email } permissions }
  closedEntities { name title permission }
  reports { field title description group entity
    arguments { name type isObject fields { name title description kind onCreate values { value } reference { entity } } }
    fields { name title kind unit unitOne place reference { entity field } } }
  closedReports { name title permission }
  entities {
    name typeName title titleOne description group icon keyField nameField detailField colorField
    listField pagesField recordField defaultOrder defaultQuery hasHistory
    canCreate { ...mutation } canUpdate { ...mutation } canDelete { ...mutation }
    missing { verb permission description }
    fields { name title description kind widget unit unitOne isList isNullable isInputOnly onCreate onUpdate maxLength minimum maximum decimals orderBy searchName place section
      values { value title tone } reference { entity field nameField detailField colorField } }
    relations { field title entity by } parents { entity field shape by }
    actions { field argument title description isHarmful onlyIf unless flags returnsValue secretField resultFields { name }
        arguments { name type isObject fields { name title kind onCreate reference { entity } } } } } } }
fragment mutation on EntityMutation {
  field inputType takesVersion arguments { name type isObject fields { name title description kind onCreate } }
}`;

interface Field {
  name: string;
  title: string;
  description: string | null;
  kind: string;
  isInputOnly: boolean;
  orderBy: string[];
  searchName: string | null;
  maxLength: number | null;
  minimum: string | null;
  maximum: string | null;
  decimals: number | null;
  reference: { entity: string; field: string | null; nameField: string } | null;
}

interface Entity {
  name: string;
  title: string;
  description: string | null;
  keyField: string;
  nameField: string;
  pagesField: string | null;
  recordField: string | null;
  defaultOrder: string[];
  defaultQuery: string | null;
  fields: Field[];
  relations: { entity: string; by: string }[];
  parents: { entity: string; field: string; shape: string; by: string }[];
  actions: {
    field: string;
    description: string;
    arguments: { name: string; isObject: boolean; fields: { name: string }[] }[];
  }[];
  canCreate: Mutation | null;
  canUpdate: Mutation | null;
  canDelete: Mutation | null;
}

interface Mutation {
  field: string;
  arguments: { name: string; fields: { name: string }[] }[];
}

let database: TestDatabase;
let service: Service;
let api: InProcess;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(cellars);
  service = await startService({ database });
  api = await makeInProcess(database);
});
afterAll(async () => {
  await api?.stop();
  await service?.stop();
  await database.drop();
});

async function catalogueFor(permissions: readonly string[]) {
  const { token } = await service.login(permissions);
  const { data, errors } = await service.ask(document, { token });
  expect(errors).toBeUndefined();
  return data.console as {
    version: string;
    me: { user: { id: string }; permissions: string[] };
    closedEntities: { name: string; permission: string }[];
    reports: { field: string; group: string | null }[];
    closedReports: object[];
    entities: Entity[];
  };
}

const named = (entities: readonly Entity[], name: string) =>
  entities.find((entity) => entity.name === name);

describe("the catalogue of the console", () => {
  test("lists tables and mutations with the caller's permissions, and what the others require", async () => {
    const held = ["campaigns.read", "products.read", "products.update"];
    const { entities, closedEntities, me } = await catalogueFor(held);
    expect(me.permissions.toSorted()).toEqual(held);
    const names = entities.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["products", "wineTypes", "campaigns", "cellars"]),
    );
    for (const name of ["users", "roles", "orders", "customers", "jobs"])
      expect(names).not.toContain(name);
    expect(closedEntities).toContainEqual({
      name: "orders",
      title: "Orders",
      permission: "orders.read",
    });
    expect(named(entities, "products")).toMatchObject({
      canCreate: null,
      canUpdate: { field: "updateProduct", inputType: "UpdateProductInput", takesVersion: true },
      canDelete: null,
      missing: [{ verb: "create", permission: "products.create" }],
    });
    expect(named(entities, "campaigns")).toMatchObject({
      canCreate: null,
      canUpdate: null,
      canDelete: null,
    });
    // A relation to a table that the caller cannot read is omitted.
    for (const { relations } of entities)
      for (const { entity } of relations) expect(names).toContain(entity);
  });

  test("gives the fields of a list titles that differ, without the words of the database", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const repeated = entities.flatMap(({ name, fields }) => {
      const titles = fields.map(({ title }) => title);
      return titles.filter((title, n) => titles.indexOf(title) < n).map((title) => [name, title]);
    });
    expect(repeated).toEqual([]);
    expect(entities.flatMap(({ fields }) => fields.map(({ title }) => title))).not.toContainEqual(
      expect.stringMatching(/ at$|\b(Vat|Erp|Url|Id)\b/),
    );
    const cellar = named(entities, "cellars")?.fields;
    expect(cellar?.find(({ name }) => name === "createdAt")?.title).toBe("Created");
    expect(cellar?.find(({ name }) => name === "updatedAt")?.title).toBe("Changed");
  });

  test("gives columns the titles that SQL gives them in messages and search collections", async () => {
    const { rows } = await database.pool.query<{ name: string; title: string }>(
      `select distinct attname::text as name, words_of(attname) as title from pg_attribute
       where attrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v'))
         and attnum > 0 and not attisdropped
       union all select name, words_of(name) from unnest('{vat_ids,sms_sent_at,updated_at,at,pdfs,email,address_2,address2,line_10_text,co2,sha256_hash}'::text[]) as name`,
    );
    expect(rows.length).toBeGreaterThan(100);
    expect(rows).toEqual(rows.map(({ name }) => ({ name, title: titleOf(name) })));
    const titles = ["email", "address2", "line10Text", "co2", "sha256Hash"].map(titleOf);
    expect(titles).toEqual(["E-mail", "Address 2", "Line 10 text", "Co2", "Sha 256 hash"]);
  });

  test("describes fields, tables and actions without the word null", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const texts = entities.flatMap(({ description, fields, actions }) => [
      description,
      ...fields.map((field) => field.description),
      ...actions.map((action) => action.description),
    ]);
    expect(texts).toContain("The year of the harvest; empty for wines without a vintage.");
    // The id of a reference has the comment of its column.
    expect(texts).toContain("The customer; empty until the customer is imported.");
    expect(texts.filter((text) => /\bnull\b/i.test(text ?? ""))).toEqual([]);
  });

  test("offers the actions of a row to callers with their permission", async () => {
    const { entities } = await catalogueFor([
      ...["users.read", "users.update", "invitations.create", "permissions.read"],
    ]);
    const plain = { flags: [], returnsValue: false, secretField: null, resultFields: [] };
    expect(named(entities, "users")?.actions).toEqual([
      {
        field: "activateUser",
        argument: "userId",
        title: "Activate user",
        description: "Activates a user and accepts a pending invitation of the user.",
        isHarmful: false,
        onlyIf: null,
        unless: "isActive",
        arguments: [],
        ...plain,
      },
      {
        field: "anonymiseUser",
        argument: "userId",
        title: "Anonymise user",
        description: expect.stringMatching(
          /^Permanently erases the personal data of a former user: /,
        ),
        isHarmful: true,
        onlyIf: null,
        unless: "isActive",
        arguments: [],
        ...plain,
      },
      {
        field: "createUserApiToken",
        argument: "userId",
        title: "Create user API token",
        description: "Creates an API token that acts for a user.",
        isHarmful: false,
        onlyIf: "isActive",
        unless: null,
        ...plain,
        secretField: "token",
        arguments: [
          {
            name: "input",
            type: "CreateApiTokenInput!",
            isObject: true,
            // Described as the fields of the token, not as those of the user.
            fields: [
              { name: "name", title: "Name", kind: "TEXT", onCreate: "REQUIRED", reference: null },
              {
                name: "isScoped",
                title: "Limited",
                kind: "BOOLEAN",
                onCreate: "OPTIONAL",
                reference: null,
              },
              {
                name: "scopes",
                title: "Scopes",
                kind: "REFERENCE",
                onCreate: "OPTIONAL",
                reference: { entity: "permissions" },
              },
              {
                name: "expiresAt",
                title: "Expires",
                kind: "TIME",
                onCreate: "OPTIONAL",
                reference: null,
              },
            ],
          },
        ],
      },
      {
        field: "deactivateUser",
        argument: "userId",
        title: "Deactivate user",
        description:
          "Deactivates a user and ends the user's sessions, API tokens and calendar feeds, and pending invitations sent by the user.",
        isHarmful: true,
        onlyIf: "isActive",
        unless: null,
        arguments: [],
        ...plain,
      },
      {
        field: "handOver",
        argument: "fromUserId",
        title: "Hand over",
        description: expect.stringMatching(/^Transfers the open campaigns, /),
        isHarmful: true,
        onlyIf: null,
        unless: null,
        ...plain,
        resultFields: ["campaigns", "bookings", "watches", "templates", "views"].map((name) => ({
          name,
        })),
        arguments: [
          {
            name: "toUserId",
            type: "ID!",
            isObject: false,
            fields: [
              {
                name: "toUserId",
                title: "To user",
                kind: "REFERENCE",
                onCreate: "REQUIRED",
                reference: { entity: "users" },
              },
            ],
          },
        ],
      },
      {
        field: "unlinkUserLogins",
        argument: "userId",
        title: "Unlink user logins",
        description:
          "Forgets the accounts at identity providers by which a user logs in; the next login is matched by a verified e-mail address, as the first was.",
        isHarmful: true,
        onlyIf: null,
        unless: "erasedAt",
        arguments: [],
        ...plain,
      },
    ]);
    const reader = await catalogueFor(["users.read"]);
    expect(named(reader.entities, "users")?.actions).toEqual([]);
  });

  test("lets everybody make API tokens for themselves", async () => {
    const { entities } = await catalogueFor([]);
    expect(named(entities, "apiTokens")).toMatchObject({
      canCreate: { field: "createMyApiToken", inputType: "CreateApiTokenInput", arguments: [] },
      canUpdate: null,
      canDelete: null,
      actions: [{ field: "revokeApiToken", argument: "id", unless: "revokedAt", isHarmful: true }],
    });
    const scopesOf = async (permissions: string[]) =>
      named((await catalogueFor(permissions)).entities, "apiTokens")?.fields.find(
        ({ name }) => name === "scopes",
      );
    expect(await scopesOf([])).toMatchObject({ kind: "TEXT", isList: true, reference: null });
    expect(await scopesOf(["permissions.read"])).toMatchObject({
      kind: "REFERENCE",
      isList: true,
      reference: { entity: "permissions", field: null, nameField: "key" },
    });
  });

  test("offers mutations of a list that return counts or need a flag", async () => {
    const { entities } = await catalogueFor(["campaigns.read", "campaigns.delete"]);
    expect(named(entities, "campaigns")?.actions).toEqual([
      expect.objectContaining({
        field: "deleteAllCampaigns",
        argument: null,
        isHarmful: true,
        returnsValue: true,
        flags: [],
        arguments: [],
      }),
    ]);
    expect(named(entities, "notifications")?.actions).toContainEqual(
      expect.objectContaining({
        field: "markNotificationsRead",
        argument: null,
        returnsValue: true,
        flags: ["all"],
        arguments: [],
      }),
    );
  });

  test("offers the lists that the caller may read as values of a column with the name of a list", async () => {
    const { entities } = await catalogueFor(["products.read"]);
    const list = named(entities, "searchWatches")?.fields.find(({ name }) => name === "entity");
    expect(list).toMatchObject({
      kind: "ENUM",
      values: expect.arrayContaining([{ value: "products", title: "Products", tone: null }]),
    });
    expect(JSON.stringify(list)).not.toContain("orders");
  });

  test("describes queries with the tag @report, their arguments and their rows", async () => {
    const { reports, closedReports } = await catalogueFor(["products.read", "products.update"]);
    expect(closedReports).toEqual([
      { name: "userSessions", title: "Sessions of a user", permission: "users.update" },
      {
        name: "documentationDifferences",
        title: "Differences of handbook versions",
        permission: "documentation.update",
      },
    ]);
    expect(reports.filter(({ group }) => group === "Catalogue")).toEqual([
      {
        field: "cellarRooms",
        title: "Cellar rooms",
        description: "The room in each cellar.",
        group: "Catalogue",
        entity: null,
        arguments: [
          {
            name: "wineTypeId",
            type: "ID",
            isObject: false,
            fields: [
              {
                name: "wineTypeId",
                title: "Wine type",
                description: "The type of wine.",
                kind: "REFERENCE",
                onCreate: "OPTIONAL",
                values: [],
                reference: { entity: "wineTypes" },
              },
            ],
          },
        ],
        // The id of a shelf is not shown, because it is no link.
        fields: [
          {
            name: "cellarId",
            title: "Cellar",
            kind: "REFERENCE",
            unit: null,
            unitOne: null,
            place: null,
            reference: { entity: "cellars", field: null },
          },
          {
            name: "name",
            title: "Name",
            kind: "TEXT",
            unit: null,
            unitOne: null,
            place: null,
            reference: null,
          },
          {
            name: "isFull",
            title: "Full",
            kind: "BOOLEAN",
            unit: null,
            unitOne: null,
            place: 0,
            reference: null,
          },
          {
            name: "freePlaces",
            title: "Free places",
            kind: "INTEGER",
            unit: "bottles",
            unitOne: "bottle",
            place: null,
            reference: null,
          },
        ],
      },
      expect.objectContaining({
        field: "cellarsWithRoom",
        title: "Room for bottles",
        entity: "cellars",
        fields: [],
        arguments: [
          expect.objectContaining({
            name: "state",
            fields: [
              expect.objectContaining({
                kind: "ENUM",
                onCreate: "REQUIRED",
                values: [{ value: "OPEN" }, { value: "CLOSED" }],
              }),
            ],
          }),
          expect.objectContaining({
            name: "places",
            fields: [expect.objectContaining({ kind: "INTEGER", onCreate: "OPTIONAL" })],
          }),
        ],
      }),
    ]);
  });

  test("offers the mutations of a report above it, and those of its rows in each report of the type", async () => {
    const query = `{ console { reports { field typeName actions { field argument title isHarmful } } } }`;
    const office = await service.login(["users.update"]);
    const { data } = await service.ask(query, { token: office.token });
    const reports = data.console.reports as { field: string; actions: unknown[] }[];
    const report = (name: string) => reports.find(({ field }) => field === name);
    const revoke = {
      field: "revokeSession",
      argument: "id",
      title: "Revoke session",
      isHarmful: true,
    };
    expect(report("mySessions")).toMatchObject({
      typeName: "Session",
      actions: [
        revoke,
        { field: "logoutEverywhere", argument: null, title: "Logout everywhere", isHarmful: true },
      ],
    });
    expect(report("userSessions")?.actions).toEqual([revoke]);
    expect(report("freeResources")?.actions).toEqual([]);
  });

  test("says which permission a report requires", async () => {
    const reader = await catalogueFor(["products.read"]);
    expect(reader.reports.map(({ field }) => field)).toContain("cellarsWithRoom");
    expect(reader.closedReports).toContainEqual({
      name: "cellarRooms",
      title: "Cellar rooms",
      permission: "products.update",
    });
    const nobody = await catalogueFor([]);
    expect(nobody.reports.map(({ field }) => field)).toEqual([
      "freeResources",
      "mySessions",
      "awayDays",
      "absenceBalances",
      "documentationContents",
      "searchDocumentation",
      "deletions",
    ]);
  });

  test("offers a mutation without a row above the list, with its arguments", async () => {
    const { entities } = await catalogueFor(["absences.update"]);
    const enter = named(entities, "absences")?.actions.find(
      ({ field }) => field === "enterAbsence",
    );
    expect(enter).toMatchObject({ argument: null });
    expect(enter?.arguments.map(({ name, isObject }) => [name, isObject])).toEqual([
      ["userId", false],
      ["input", true],
    ]);
    const input = enter?.arguments[1]?.fields ?? [];
    expect(input.find(({ name }) => name === "startsOn")).toMatchObject({
      kind: "DATE",
      onCreate: "REQUIRED",
    });
  });

  test("leaves out ids of rows that no list shows, unless they can be written", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const namesOf = (entity: string) => named(entities, entity)?.fields.map(({ name }) => name);
    expect(namesOf("absences")).not.toContain("departmentId");
    expect(namesOf("absences")).toContain("userId");
    expect(namesOf("exportTemplates")).toContain("workbookId");
  });

  test("finds the list of an id without a foreign key by the field with its row", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const role = named(entities, "invitations")?.fields.find(({ name }) => name === "roleId");
    expect(role).toMatchObject({
      title: "Role",
      kind: "REFERENCE",
      reference: { entity: "roles", field: "role", nameField: "name" },
    });
  });

  test("describes the bounds of numbers", async () => {
    const { entities } = await catalogueFor(["products.read", "products.update"]);
    const boundsOf = (entity: string, name: string) => {
      const field = named(entities, entity)?.fields.find((found) => found.name === name);
      return { minimum: field?.minimum, maximum: field?.maximum, decimals: field?.decimals };
    };
    expect(boundsOf("productPrices", "amount")).toEqual({
      minimum: "-999999999999.99",
      maximum: "999999999999.99",
      decimals: 2,
    });
    expect(boundsOf("products", "bottleSizeMl")).toEqual({
      minimum: "-2147483648",
      maximum: "2147483647",
      decimals: null,
    });
    expect(boundsOf("products", "name")).toEqual({ minimum: null, maximum: null, decimals: null });
  });

  test("includes mutations that are functions", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const fieldsOf = (name: string) => {
      const entity = named(entities, name);
      return [entity?.canCreate, entity?.canUpdate, entity?.canDelete].map(
        (mutation) => mutation?.field ?? null,
      );
    };
    expect(fieldsOf("campaigns")).toEqual(["createCampaign", "updateCampaign", "deleteCampaign"]);
    expect(fieldsOf("roles")).toEqual(["createRole", "updateRole", "deleteRole"]);
    expect(fieldsOf("users")).toEqual([null, "updateUser", null]);
    expect(fieldsOf("exportTemplates")).toEqual([
      "createExportTemplate",
      "updateExportTemplate",
      "deleteExportTemplate",
    ]);
  });

  test("describes the arguments of a mutation besides the id, the input and the version", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    expect(named(entities, "erpMappingRules")?.canCreate).toEqual({
      field: "createErpMappingRule",
      inputType: "CreateErpMappingRuleInput",
      takesVersion: false,
      arguments: [
        {
          name: "recheck",
          type: "Boolean",
          isObject: false,
          fields: [
            {
              name: "recheck",
              title: "Recheck",
              description: "Whether to import all orders with a mapping issue again.",
              kind: "BOOLEAN",
              onCreate: "OPTIONAL",
            },
          ],
        },
      ],
    });
    const others = entities
      .flatMap(({ canCreate, canUpdate, canDelete }) => [canCreate, canUpdate, canDelete])
      .filter((mutation) => mutation !== null && mutation.arguments.length > 0);
    // The console asks for the arguments of creations only.
    expect(others.map((mutation) => mutation?.field)).toEqual(["createErpMappingRule"]);
  });

  test("describes a table that a migration adds", async () => {
    const { entities } = await catalogueFor(["products.read", "products.update"]);
    const cellar = named(entities, "cellars");
    expect(entities[0]).toBe(cellar);
    expect(cellar).toMatchObject({
      typeName: "Cellar",
      title: "Wine cellars",
      titleOne: "Wine cellar",
      description: "A place where bottles are kept.",
      group: "Catalogue",
      icon: "box",
      keyField: "id",
      nameField: "name",
      detailField: "code",
      pagesField: "cellarPages",
      recordField: "cellar",
      defaultOrder: ["NAME_ASC"],
      defaultQuery: "state:OPEN -capacity:0",
      hasHistory: true,
      canCreate: { field: "createCellar", inputType: "CreateCellarInput" },
      canUpdate: { field: "updateCellar", inputType: "UpdateCellarInput", takesVersion: true },
      canDelete: { field: "deleteCellar", takesVersion: true },
      missing: [],
    });
    const field = (name: string) => cellar?.fields.find((found) => found.name === name);
    expect(field("code")).toMatchObject({
      title: "Code",
      kind: "TEXT",
      place: 2,
      maxLength: 20,
      isNullable: false,
      onCreate: "REQUIRED",
      onUpdate: "NO",
      orderBy: [],
      searchName: "code",
    });
    expect(field("name")).toMatchObject({
      place: 1,
      maxLength: 200,
      onUpdate: "OPTIONAL",
      orderBy: ["NAME_ASC", "NAME_DESC"],
    });
    expect(field("state")).toMatchObject({
      kind: "ENUM",
      onCreate: "OPTIONAL",
      values: [
        { value: "OPEN", title: "Open", tone: "ok" },
        { value: "CLOSED", title: "Closed", tone: "bad" },
      ],
    });
    expect(field("capacity")).toMatchObject({
      title: "Room",
      kind: "INTEGER",
      unit: "bottles",
      unitOne: "bottle",
      section: "Space",
      place: 0,
    });
    expect(field("vatRate")).toMatchObject({ title: "VAT rate", unit: "ms", unitOne: "ms" });
    expect(field("wineTypeText")?.title).toBe("Wine type (wine type text)");
    // A check with `or` implies no limit.
    expect(field("remark")).toMatchObject({ widget: "long", maxLength: null });
    expect(field("wineTypeId")).toMatchObject({
      title: "Wine type",
      kind: "REFERENCE",
      reference: {
        entity: "wineTypes",
        field: "wineType",
        nameField: "name",
        detailField: null,
        colorField: "color",
      },
    });
    expect(named(entities, "wineTypes")?.relations).toContainEqual({
      field: "cellars.wineTypeId",
      title: "Wine cellars",
      entity: "cellars",
      by: "wineTypeId",
    });
    expect((await catalogueFor(["orders.read"])).closedEntities).toContainEqual({
      name: "cellars",
      title: "Wine cellars",
      permission: "products.read",
    });
  });

  test("names rows by a text that people read, not by the address of a picture", async () => {
    const { entities } = await catalogueFor(["products.read"]);
    expect(named(entities, "cellarPlans")?.nameField).toBe("place");
  });

  test("lists child tables for callers who can read a parent", async () => {
    const { entities } = await catalogueFor(["products.read", "products.update"]);
    expect(named(entities, "productPrices")).toMatchObject({
      title: "Product prices",
      listField: null,
      pagesField: null,
      hasHistory: true,
      canCreate: { field: "createProductPrice" },
      canDelete: { field: "deleteProductPrice", takesVersion: true },
      parents: [{ entity: "products", field: "prices", shape: "LIST", by: "productId" }],
    });
    expect(named(entities, "products")?.relations).toContainEqual({
      field: "productPrices.productId",
      title: "Prices",
      entity: "productPrices",
      by: "productId",
    });
    // Ratings belong to products and reviewers; this caller can read only one of them.
    expect(named(entities, "productRatings")).toBeUndefined();
    const critic = await catalogueFor(["reviewers.read"]);
    expect(named(critic.entities, "productRatings")?.parents).toEqual([
      { entity: "reviewers", field: "ratings", shape: "CONNECTION", by: "reviewerId" },
    ]);
    const nobody = await catalogueFor(["campaigns.read"]);
    expect(nobody.closedEntities).toContainEqual({
      name: "productPrices",
      title: "Product prices",
      permission: "products.read",
    });
  });

  test("opens lists of a calendar with what is coming, other lists with all rows", async () => {
    const { entities } = await catalogueFor(await allPermissions(database));
    const opened = entities.filter(({ defaultQuery }) => defaultQuery !== null);
    expect(
      opened.map(({ name, defaultQuery, defaultOrder }) => [name, defaultQuery, defaultOrder]),
    ).toEqual([
      ["cellars", "state:OPEN -capacity:0", ["NAME_ASC"]],
      ["apiTokens", "-revokedAt:*", ["CREATED_AT_DESC", "ID_DESC"]],
      ["resourceBookings", "endsAt:>=today", ["STARTS_AT_ASC"]],
      ["absences", "endsOn:>=today OR status:REQUESTED", ["STARTS_ON_ASC"]],
      ["awayPeriods", "endsOn:>=today", ["STARTS_ON_ASC"]],
      ["publicHolidays", "holidayOn:>=today", ["HOLIDAY_ON_ASC"]],
    ]);
  });

  test("contains only fields, orders, searches and records of the API", async () => {
    const permissions = await allPermissions(database);
    const { entities } = await catalogueFor(permissions);
    const { token } = await service.login(permissions);
    expect(entities.length).toBeGreaterThan(20);
    const nowhere = "00000000-0000-7000-8000-000000000000";
    for (const entity of entities) {
      const { pagesField, recordField, keyField, fields, relations, defaultOrder, defaultQuery } =
        entity;
      const selection = fields
        .filter(({ isInputOnly }) => !isInputOnly)
        .flatMap(({ name, reference }) =>
          reference?.field == null
            ? [name]
            : [name, `${reference.field} { ${reference.nameField} }`],
        );
      const rows = `${keyField} ${selection.join(" ")}`;
      const lists =
        pagesField === null
          ? entity.parents.map(({ entity: name, field, shape }) => {
              const nodes = shape === "CONNECTION" ? `nodes { ${rows} }` : rows;
              return (args: string) =>
                `{ ${named(entities, name)?.pagesField}(first: 1, query: "${field}.${keyField}:*") { nodes { ${field}(first: 1${args}) { ${nodes} } } } }`;
            })
          : [(args: string) => `{ ${pagesField}(first: 1${args}) { nodes { ${rows} } } }`];
      expect(lists).not.toEqual([]);
      const ask = async (args: string) => {
        for (const list of lists) {
          const { errors } = await service.ask(list(args), { token });
          expect({ name: entity.name, args, errors }).toEqual({
            name: entity.name,
            args,
            errors: undefined,
          });
        }
      };
      await ask("");
      for (const order of new Set([...defaultOrder, ...fields.flatMap((field) => field.orderBy)]))
        await ask(`, orderBy: [${order}]`);
      if (defaultQuery !== null) await ask(`, query: ${JSON.stringify(defaultQuery)}`);
      const searched = fields.flatMap(({ searchName }) => searchName ?? []);
      if (searched.length > 0 && pagesField !== null)
        await ask(`, query: "${searched.map((name) => `${name}:*`).join(" OR ")}"`);
      for (const { entity: other, by } of relations) {
        const related = named(entities, other);
        if (related?.pagesField == null) {
          expect(related?.parents).toContainEqual(
            expect.objectContaining({ entity: entity.name, by }),
          );
          continue;
        }
        const asked = await service.ask(
          `{ ${related.pagesField}(first: 1, query: "${by}:${nowhere}") { nodes { ${related.keyField} } } }`,
          { token },
        );
        expect({ other, by, errors: asked.errors }).toEqual({ other, by, errors: undefined });
      }
      if (recordField !== null) {
        const { errors } = await service.ask(
          `{ ${recordField}(id: "${nowhere}") { ${keyField} ${selection.join(" ")} } }`,
          { token },
        );
        expect({ recordField, errors }).toEqual({ recordField, errors: undefined });
      }
    }
  });

  test("is null for the current version, which depends on the caller and their permissions", async () => {
    const { token } = await service.login(["products.read"]);
    const versionOf = async (asked: string, ifNot?: string) =>
      (await service.ask(document, { token: asked, variables: { ifNot } })).data.console?.version ??
      null;
    const version: string = await versionOf(token);
    expect(version).not.toBeNull();
    expect(await versionOf(token, version)).toBeNull();
    expect(await versionOf(token, "another")).toBe(version);
    // The cached response names its user.
    const other = await service.login(["products.read"]);
    expect(await versionOf(other.token, version)).not.toBe(version);
    await database.pool.query(
      `insert into role_permissions (role_id, permission_id) select $1, id from permissions where key = 'orders.read'`,
      [other.roleId],
    );
    const before: string = await versionOf(other.token);
    expect(await versionOf(other.token, before)).toBeNull();
    await database.pool.query(
      `delete from role_permissions where role_id = $1 and permission_id = (select id from permissions where key = 'orders.read')`,
      [other.roleId],
    );
    expect(await versionOf(other.token, before)).not.toBeNull();
  });

  test("reads no table and writes no audit row", async () => {
    api.statements();
    const { console: answer } = await api.ask(
      "{ console { version entities { name fields { name } } me { permissions } } }",
      ["products.read"],
    );
    expect(answer.entities.length).toBeGreaterThan(1);
    expect(api.statements()).toEqual([]);
    const { token, userId } = await service.login(["products.read"]);
    await service.ask(document, { token });
    const { rows } = await database.pool.query(
      "select entity_type from audit_log where operation = 'READ' and actor_user_id = $1",
      [userId],
    );
    expect(rows).toEqual([]);
  });
});
