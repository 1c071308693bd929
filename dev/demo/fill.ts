import { setTimeout } from "node:timers/promises";
import { demoCampaigns } from "./campaigns.ts";
import type { DemoClient } from "./client.ts";
import { demoPages } from "./handbook.ts";
import { demoProducts } from "./products.ts";
import {
  authorAwayDay,
  demoAbsences,
  demoBookings,
  demoFeeds,
  demoNotes,
  demoRequests,
  demoRule,
  demoWatches,
  makeWorkingDays,
  resources,
  type WorkingDays,
} from "./office.ts";
import { administrator, departments, roles, users } from "./staff.ts";

/** The number of rows that a run of the demo added, by kind. */
export interface Added {
  departments: number;
  roles: number;
  users: number;
  products: number;
  campaigns: number;
  templates: number;
  resources: number;
  bookings: number;
  absences: number;
  pages: number;
  watches: number;
  feeds: number;
  exports: number;
  orders: number;
  notes: number;
  rules: number;
}

/** The import of orders that a run started. It may still run in the worker. */
export interface OrderImport {
  status: string;
  finishedAt: string | null;
  error: string | null;
}

type Named = { id: string; name: string };

/** Returns the client of a user of the demo; undefined if the user is not active. */
type People = (email: string) => Promise<DemoClient | undefined>;

/** Keeps the whole demo below half a minute, also on a busy machine. */
const importTimeoutMs = 20_000;
/** This many orders include every kind of import issue. */
const enoughOrders = 200;

/**
 * Adds missing demo data, which it finds by name, and leaves existing rows unchanged. `clientOf` logs in as a user
 * of the demo.
 */
export async function fillDemo(
  client: DemoClient,
  now: Date,
  clientOf: (email: string) => Promise<DemoClient>,
): Promise<{ added: Added; orderImport: OrderImport | null }> {
  const workingDays = await readWorkingDays(client, now);
  const departmentsAdded = await addNamed(client, "departments", "Department", departments);
  const rolesAdded = await addNamed(client, "roles", "Role", roles);
  const usersAdded = await addUsers(client);
  const people = await findPeople(client, clientOf);
  // Products and orders that are added later match the watches.
  const watchesAdded = await addOwned(people, "searchWatches", "SearchWatch", demoWatches);
  const added = {
    departments: departmentsAdded,
    roles: rolesAdded,
    users: usersAdded,
    products: await addProducts(client),
    campaigns: await addCampaigns(client, now, workingDays(authorAwayDay)),
    templates: await addNamed(client, "exportTemplates", "ExportTemplate", templates),
    resources: await addNamed(client, "resources", "Resource", resources),
    bookings: await addBookings(client, people, workingDays),
    absences: await addAbsences(client, people, workingDays),
    pages: await addPages(client),
    watches: watchesAdded,
    feeds: await addOwned(people, "calendarFeeds", "CalendarFeed", demoFeeds),
    exports: await addExport(client),
  };
  const { orders, orderImport } = await importOrders(client);
  const notes = await addNotes(client);
  const rules = await addRule(client);
  return { added: { ...added, orders, notes, rules }, orderImport };
}

async function readWorkingDays(client: DemoClient, now: Date): Promise<WorkingDays> {
  const { publicHolidays } = await client.ask<{ publicHolidays: { holidayOn: string }[] }>(
    "{ publicHolidays { holidayOn } }",
  );
  return makeWorkingDays(
    now,
    publicHolidays.map(({ holidayOn }) => holidayOn),
  );
}

/** Logs in each active user once; `client` acts for the administrator. */
async function findPeople(
  client: DemoClient,
  clientOf: (email: string) => Promise<DemoClient>,
): Promise<People> {
  const data = await client.ask<{ users: { email: string; isActive: boolean }[] }>(
    "{ users(first: 250) { email isActive } }",
  );
  const active = new Set(data.users.filter((user) => user.isActive).map(({ email }) => email));
  const clients = new Map<string, DemoClient>([[administrator.email, client]]);
  return async (email) => {
    const known = clients.get(email);
    if (known || !active.has(email)) return known;
    const person = await clientOf(email);
    clients.set(email, person);
    return person;
  };
}

const templates = [
  {
    name: "Restaurant list",
    description: "Wines on sale with wholesale prices, for restaurants.",
    kind: "TABLE",
    columns: [
      { field: "erpProductNumber", title: "Number", width: 12 },
      { field: "name", title: "Wine", width: 40 },
      { field: "wineType.name", title: "Type", width: 12 },
      { field: "region", title: "Region", width: 22 },
      { field: "stockQuantity", title: "Bottles", width: 10, numberFormat: "#,##0" },
      { field: "prices.wholesale.DKK", title: "Price, DKK", width: 12, numberFormat: "#,##0.00" },
      { field: "ratings.average", title: "Rating", width: 10, numberFormat: "0.0" },
    ],
  },
] as const;

/** Creates the rows of a list whose names it does not have; returns their number. */
async function addNamed(
  client: DemoClient,
  list: string,
  type: string,
  wanted: readonly { name: string }[],
): Promise<number> {
  const known = await idsByName(client, list);
  const missing = wanted.filter(({ name }) => !known.has(name));
  for (const input of missing)
    await client.ask(
      `mutation ($input: Create${type}Input!) { create${type}(input: $input) { id } }`,
      { input },
    );
  return missing.length;
}

/** Creates the missing rows of a list as their owners. */
async function addOwned(
  people: People,
  list: string,
  type: string,
  wanted: readonly { owner: string; name: string }[],
): Promise<number> {
  let added = 0;
  for (const { owner, ...row } of wanted) {
    const person = await people(owner);
    if (person) added += await addNamed(person, list, type, [row]);
  }
  return added;
}

async function idsByName(client: DemoClient, list: string): Promise<Map<string, string>> {
  const data = await client.ask<Record<string, Named[]>>(`{ ${list}(first: 250) { id name } }`);
  return new Map(data[list]?.map(({ id, name }) => [name, id]));
}

/** Invites and activates the missing users, and completes the profile of the administrator. */
async function addUsers(client: DemoClient): Promise<number> {
  const departmentIds = await idsByName(client, "departments");
  const roleIds = await idsByName(client, "roles");
  const { users: existing } = await client.ask<{
    users: { id: string; email: string; name: string | null }[];
  }>("{ users(first: 250) { id email name } }");
  let added = 0;
  for (const { email, name, department, role, ...profile } of [administrator, ...users]) {
    const user = existing.find((one) => one.email === email);
    if (user && user.name !== null) continue;
    const id = user?.id ?? (await inviteUser(client, email, roleIds.get(role)));
    await client.ask(
      "mutation ($id: ID!, $input: UpdateUserInput!) { updateUser(id: $id, input: $input) { id } }",
      { id, input: { name, departmentId: departmentIds.get(department), ...profile } },
    );
    added++;
  }
  return added;
}

/** Returns the id of a new, active user. */
async function inviteUser(client: DemoClient, email: string, roleId?: string): Promise<string> {
  const { createInvitation } = await client.ask<{ createInvitation: { userId: string } }>(
    "mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { userId } }",
    { input: { email, roleId } },
  );
  await client.ask(
    "mutation ($userId: ID!) { activateUser(userId: $userId) { id } }",
    createInvitation,
  );
  return createInvitation.userId;
}

/** The ids of the demo products that exist, by their numbers. */
async function findProducts(client: DemoClient): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let after: string | null = null; ;) {
    const { products }: ProductPage = await client.ask<ProductPage>(
      `query ($after: Cursor) { products(first: 250, after: $after) {
         nodes { id erpProductNumber } pageInfo { hasNextPage endCursor } } }`,
      { after },
    );
    for (const { id, erpProductNumber } of products.nodes) found.set(erpProductNumber, id);
    if (!products.pageInfo.hasNextPage) return found;
    after = products.pageInfo.endCursor;
  }
}

interface ProductPage {
  products: {
    nodes: { id: string; erpProductNumber: string }[];
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
}

async function addProducts(client: DemoClient): Promise<number> {
  const known = await findProducts(client);
  const missing = demoProducts.filter(({ erpProductNumber }) => !known.has(erpProductNumber));
  if (missing.length === 0) return 0;
  const { syncProducts } = await client.ask<{ syncProducts: { createdCount: number } }>(
    `mutation ($products: [SyncProductInput!]!) {
       syncProducts(input: { products: $products, errorPolicy: REJECT_ALL }) { createdCount } }`,
    { products: missing },
  );
  return syncProducts.createdCount;
}

async function addCampaigns(client: DemoClient, now: Date, authorAwayOn: string): Promise<number> {
  const [{ campaigns }, productIds, { users: people }] = await Promise.all([
    client.ask<{ campaigns: { title: string }[] }>("{ campaigns(first: 250) { title } }"),
    findProducts(client),
    client.ask<{ users: { id: string; email: string }[] }>("{ users(first: 250) { id email } }"),
  ]);
  const author = people.find(({ email }) => email === "clara@wine.example")?.id;
  const titles = new Set(campaigns.map(({ title }) => title));
  const missing = demoCampaigns(now, authorAwayOn).filter(({ title }) => !titles.has(title));
  for (const { product, ...campaign } of missing)
    await client.ask(
      "mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }",
      { input: { ...campaign, productId: productIds.get(product), authorUserId: author } },
    );
  return missing.length;
}

/** Books the resources if there are no bookings. Returns the number of new bookings. */
async function addBookings(
  client: DemoClient,
  people: People,
  workingDays: WorkingDays,
): Promise<number> {
  const countBookings = async () => {
    const { resourceBookings } = await client.ask<{ resourceBookings: { totalCount: number } }>(
      "{ resourceBookings(first: 0, includeTotalCount: true) { totalCount } }",
    );
    return resourceBookings.totalCount;
  };
  if ((await countBookings()) > 0) return 0;
  const resourceIds = await idsByName(client, "resources");
  for (const { owner, resource, isCancelled, ...booking } of demoBookings(workingDays)) {
    const person = await people(owner);
    const created = await person?.ask<{ createResourceBooking: { id: string } }>(
      "mutation ($input: CreateResourceBookingInput!) { createResourceBooking(input: $input) { id } }",
      { input: { ...booking, resourceId: resourceIds.get(resource) } },
    );
    if (isCancelled)
      await person?.ask(
        "mutation ($id: ID!) { cancelResourceBooking(id: $id) { id } }",
        created?.createResourceBooking,
      );
  }
  await deleteResource(client);
  return countBookings();
}

/** Creates and deletes a resource, so that there is a deletion to undo. */
async function deleteResource(client: DemoClient): Promise<void> {
  const { createResource } = await client.ask<{ createResource: { id: string } }>(
    `mutation { createResource(input: { name: "Old projector", kind: EQUIPMENT }) { id } }`,
  );
  await client.ask("mutation ($id: ID!) { deleteResource(id: $id) }", createResource);
}

/** Enters and requests the absences of the demo if there are none. Returns the number of new absences. */
async function addAbsences(
  client: DemoClient,
  people: People,
  workingDays: WorkingDays,
): Promise<number> {
  const countAbsences = async () => {
    const { absences } = await client.ask<{ absences: { totalCount: number } }>(
      "{ absences(first: 0, includeTotalCount: true) { totalCount } }",
    );
    return absences.totalCount;
  };
  if ((await countAbsences()) > 0) return 0;
  const { users: existing } = await client.ask<{
    users: { id: string; email: string; isActive: boolean }[];
  }>("{ users(first: 250) { id email isActive } }");
  const period = ([first, last]: readonly [number, number]) => ({
    startsOn: workingDays(first),
    endsOn: workingDays(last),
  });
  for (const { email, days, ...absence } of demoAbsences) {
    const user = existing.find((one) => one.email === email);
    if (user?.isActive)
      await client.ask(
        "mutation ($userId: ID!, $input: EnterAbsenceInput!) { enterAbsence(userId: $userId, input: $input) { id } }",
        { userId: user.id, input: { ...absence, ...period(days) } },
      );
  }
  for (const { email, days, refusal, isCancelled = false, ...absence } of demoRequests) {
    const person = await people(email);
    if (!person) continue;
    const id = await requestAbsence(person, { ...absence, ...period(days) });
    if (refusal !== undefined)
      await client.ask(
        "mutation ($id: ID!, $note: String) { declineAbsence(id: $id, note: $note) { id } }",
        { id, note: refusal },
      );
    if (isCancelled)
      await person.ask("mutation ($id: ID!) { cancelAbsence(id: $id) { id } }", { id });
  }
  return countAbsences();
}

/** Requests an absence, which notifies the approvers. Returns its id. */
async function requestAbsence(client: DemoClient, input: object): Promise<string> {
  const { createAbsence } = await client.ask<{ createAbsence: { id: string } }>(
    "mutation ($input: CreateAbsenceInput!) { createAbsence(input: $input) { id } }",
    { input },
  );
  return createAbsence.id;
}

/** Exports the Italian wines if the administrator has no export. The worker writes the file. */
async function addExport(client: DemoClient): Promise<number> {
  const { exportJobs } = await client.ask<{ exportJobs: { totalCount: number } }>(
    "{ exportJobs(first: 0, includeTotalCount: true) { totalCount } }",
  );
  if (exportJobs.totalCount > 0) return 0;
  const templateIds = await idsByName(client, "exportTemplates");
  await client.ask(
    `mutation ($templateId: ID!) {
       createDataExportFromTemplate(input: { templateId: $templateId, query: "country:Italy" }) { id } }`,
    { templateId: templateIds.get(templates[0].name) },
  );
  return 1;
}

/** Adds the mapping rule if orders with its issue wait for one. No recheck is queued, so the rule waits. */
async function addRule(client: DemoClient): Promise<number> {
  if (!(await isRuleMissing(client))) return 0;
  await client.ask(
    "mutation ($input: CreateErpMappingRuleInput!) { createErpMappingRule(input: $input) { id } }",
    { input: demoRule },
  );
  return 1;
}

async function isRuleMissing(client: DemoClient): Promise<boolean> {
  const { issues } = await client.ask<{
    issues: { code: string; key: string; waitingRule: { id: string } | null }[];
  }>("{ issues: erpOrderImportIssues { code key waitingRule { id } } }");
  return issues.some(
    ({ code, key, waitingRule }) =>
      code === demoRule.code && key === demoRule.key && waitingRule === null,
  );
}

/**
 * Adds the notes that no customer has, to the first customers without a note. The first customers are others when more
 * have been imported. Returns the number of new notes.
 */
async function addNotes(client: DemoClient): Promise<number> {
  const { customers, customerNotes } = await client.ask<{
    customers: { nodes: { id: string }[] };
    customerNotes: { nodes: { body: string }[] };
  }>(
    `{ customers(query: "-notes.id:*", first: ${demoNotes.length}) { nodes { id } } customerNotes { nodes { body } } }`,
  );
  const known = new Set(customerNotes.nodes.map(({ body }) => body));
  const missing = demoNotes.filter((body) => !known.has(body));
  const pairs = customers.nodes.slice(0, missing.length);
  for (const [index, { id }] of pairs.entries())
    await client.ask(
      "mutation ($input: CreateCustomerNoteInput!) { createCustomerNote(input: $input) { id } }",
      { input: { customerId: id, body: missing[index] } },
    );
  return pairs.length;
}

/** Creates the missing handbook pages: first without text, so that links between them resolve. */
async function addPages(client: DemoClient): Promise<number> {
  const { documentationPages } = await client.ask<{
    documentationPages: { nodes: { id: string; title: string; body: string }[] };
  }>("{ documentationPages(first: 250) { nodes { id title body } } }");
  const ids = new Map(documentationPages.nodes.map(({ id, title }) => [title, id]));
  // An interrupted run leaves pages without text.
  const complete = new Set(
    documentationPages.nodes.filter(({ body }) => body !== "").map(({ title }) => title),
  );
  const missing = demoPages.filter(({ title }) => !complete.has(title));
  for (const { title, tags } of missing.filter((page) => !ids.has(page.title))) {
    const { page } = await client.ask<{ page: { id: string } }>(
      "mutation ($input: CreateDocumentationPageInput!) { page: createDocumentationPage(input: $input) { id } }",
      { input: { title, tags, isPublished: true } },
    );
    ids.set(title, page.id);
  }
  for (const { title, body, ...page } of missing)
    await client.ask(
      "mutation ($id: ID!, $input: UpdateDocumentationPageInput!) { updateDocumentationPage(id: $id, input: $input) { id } }",
      {
        id: ids.get(title),
        input: { body, ...("below" in page ? { parentId: ids.get(page.below) } : {}) },
      },
    );
  return missing.length;
}

/**
 * Starts the ERP import if there are no orders, and waits for the first orders. The worker imports the rest.
 * Returns the number of orders so far.
 */
async function importOrders(
  client: DemoClient,
): Promise<{ orders: number; orderImport: OrderImport | null }> {
  const countOrders = async () => {
    const { orders } = await client.ask<{ orders: { totalCount: number } }>(
      "{ orders(first: 0, includeTotalCount: true) { totalCount } }",
    );
    return orders.totalCount;
  };
  if ((await countOrders()) > 0) return { orders: 0, orderImport: null };
  const { importErpOrders } = await client.ask<{ importErpOrders: { id: string } }>(
    "mutation { importErpOrders { id } }",
  );
  const deadline = Date.now() + importTimeoutMs;
  for (;;) {
    const { erpSyncRun } = await client.ask<{ erpSyncRun: OrderImport | null }>(
      "query ($id: ID!) { erpSyncRun(id: $id) { status finishedAt error } }",
      { id: importErpOrders.id },
    );
    const orders = await countOrders();
    const isEnough =
      erpSyncRun?.finishedAt != null || (orders >= enoughOrders && (await isRuleMissing(client)));
    if (isEnough || Date.now() > deadline) return { orders, orderImport: erpSyncRun };
    await setTimeout(250);
  }
}
