import { setTimeout } from "node:timers/promises";
import { demoCampaigns } from "./campaigns.ts";
import type { DemoClient } from "./client.ts";
import { demoPages } from "./handbook.ts";
import { demoProducts } from "./products.ts";
import {
  demoAbsences,
  demoBookings,
  demoFeeds,
  demoNotes,
  demoRequests,
  demoWatches,
  resources,
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
  orders: number;
  notes: number;
}

/** The import of orders that a run started. It may still run in the worker. */
export interface OrderImport {
  status: string;
  finishedAt: string | null;
  error: string | null;
}

type Named = { id: string; name: string };

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
  const departmentsAdded = await addNamed(client, "departments", "Department", departments);
  const rolesAdded = await addNamed(client, "roles", "Role", roles);
  const added = {
    departments: departmentsAdded,
    roles: rolesAdded,
    users: await addUsers(client),
    products: await addProducts(client),
    campaigns: await addCampaigns(client, now),
    templates: await addNamed(client, "exportTemplates", "ExportTemplate", templates),
    resources: await addNamed(client, "resources", "Resource", resources),
    bookings: await addBookings(client, now),
    absences: await addAbsences(client, now, clientOf),
    pages: await addPages(client),
    watches: await addNamed(client, "searchWatches", "SearchWatch", demoWatches),
    feeds: await addNamed(client, "calendarFeeds", "CalendarFeed", demoFeeds),
  };
  const { orders, orderImport } = await importOrders(client);
  const notes = await addNotes(client);
  return { added: { ...added, orders, notes }, orderImport };
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

async function addCampaigns(client: DemoClient, now: Date): Promise<number> {
  const [{ campaigns }, productIds, { users: people }] = await Promise.all([
    client.ask<{ campaigns: { title: string }[] }>("{ campaigns(first: 250) { title } }"),
    findProducts(client),
    client.ask<{ users: { id: string; email: string }[] }>("{ users(first: 250) { id email } }"),
  ]);
  const author = people.find(({ email }) => email === "clara@wine.example")?.id;
  const titles = new Set(campaigns.map(({ title }) => title));
  const missing = demoCampaigns(now).filter(({ title }) => !titles.has(title));
  for (const { product, ...campaign } of missing)
    await client.ask(
      "mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }",
      { input: { ...campaign, productId: productIds.get(product), authorUserId: author } },
    );
  return missing.length;
}

/** Books the resources if there are no bookings. Returns the number of new bookings. */
async function addBookings(client: DemoClient, now: Date): Promise<number> {
  const countBookings = async () => {
    const { resourceBookings } = await client.ask<{ resourceBookings: { totalCount: number } }>(
      "{ resourceBookings(first: 0, includeTotalCount: true) { totalCount } }",
    );
    return resourceBookings.totalCount;
  };
  if ((await countBookings()) > 0) return 0;
  const resourceIds = await idsByName(client, "resources");
  for (const { resource, ...booking } of demoBookings(now))
    await client.ask(
      "mutation ($input: CreateResourceBookingInput!) { createResourceBooking(input: $input) { id } }",
      { input: { ...booking, resourceId: resourceIds.get(resource) } },
    );
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
  now: Date,
  clientOf: (email: string) => Promise<DemoClient>,
): Promise<number> {
  const { absences, users: people } = await client.ask<{
    absences: { totalCount: number };
    users: { id: string; email: string }[];
  }>(
    "{ absences(first: 0, includeTotalCount: true) { totalCount } users(first: 250) { id email } }",
  );
  if (absences.totalCount > 0) return 0;
  for (const [email, type, inDays, more] of demoAbsences)
    await client.ask(
      "mutation ($userId: ID!, $input: EnterAbsenceInput!) { enterAbsence(userId: $userId, input: $input) { id } }",
      {
        userId: people.find((one) => one.email === email)?.id,
        input: { type, ...daysFrom(now, inDays, more) },
      },
    );
  for (const { email, type, inDays, more, refusal, isCancelled = false } of demoRequests) {
    const person = await clientOf(email);
    const id = await requestAbsence(person, { type, ...daysFrom(now, inDays, more) });
    if (refusal !== undefined)
      await client.ask(
        "mutation ($id: ID!, $note: String) { declineAbsence(id: $id, note: $note) { id } }",
        { id, note: refusal },
      );
    if (isCancelled)
      await person.ask("mutation ($id: ID!) { cancelAbsence(id: $id) { id } }", { id });
  }
  return demoAbsences.length + demoRequests.length;
}

function daysFrom(now: Date, inDays: number, more: number): { startsOn: string; endsOn: string } {
  const dayAfter = (days: number) =>
    new Date(now.getTime() + days * 86_400_000).toISOString().slice(0, 10);
  return { startsOn: dayAfter(inDays), endsOn: dayAfter(inDays + more) };
}

/** Requests an absence, which notifies the approvers. Returns its id. */
async function requestAbsence(client: DemoClient, input: object): Promise<string> {
  const { createAbsence } = await client.ask<{ createAbsence: { id: string } }>(
    "mutation ($input: CreateAbsenceInput!) { createAbsence(input: $input) { id } }",
    { input },
  );
  return createAbsence.id;
}

/** Adds a note to each of the first customers that has none. Returns the number of new notes. */
async function addNotes(client: DemoClient): Promise<number> {
  const { customers } = await client.ask<{
    customers: { nodes: { id: string; notes: { nodes: unknown[] } }[] };
  }>(`{ customers(first: ${demoNotes.length}) { nodes { id notes(first: 1) { nodes { id } } } } }`);
  const pairs = customers.nodes
    .map(({ id, notes }, index) => ({ id, notes, body: demoNotes[index] }))
    .filter(({ notes, body }) => notes.nodes.length === 0 && body !== undefined);
  for (const { id, body } of pairs)
    await client.ask(
      "mutation ($input: CreateCustomerNoteInput!) { createCustomerNote(input: $input) { id } }",
      { input: { customerId: id, body } },
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
    const isEnough = erpSyncRun?.finishedAt != null || orders >= enoughOrders;
    if (isEnough || Date.now() > deadline) return { orders, orderImport: erpSyncRun };
    await setTimeout(250);
  }
}
