import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { erpCustomer, erpOrder, importErpResponse, resetRules } from "../helpers/erpRecords.ts";
import type { SearchService } from "../helpers/search/searchService.ts";
import { startSearchService } from "../helpers/search/searchService.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";

let search: SearchService;
let token: string;
const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await search.service.database.pool.query<T>(text, values)).rows;

beforeAll(async () => {
  search = await startSearchService();
  ({ token } = await search.service.login(["customers.erase", "customers.read", "users.update"]));
  await resetRules(search.service.database.pool);
  await search.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await search.stop();
});

/** The collections of the engine with a text in any field of any document. */
async function collectionsWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const { collection } of await sql<{ collection: string }>(
    "select collection from search_catalogue order by 1",
  )) {
    const documents = await search.admin
      .collections(search.nameOf(collection))
      .documents()
      .export()
      // The collection is not built yet.
      .catch(() => "");
    if (documents.includes(text)) found.push(collection);
  }
  return found;
}

/** Waits until exactly these collections have a document with the text. */
const waitForCollections = (text: string, collections: string[]) =>
  waitFor(
    `“${text}” to be in ${collections.join(", ") || "no collection"}`,
    async () => (await collectionsWith(text)).join() === collections.join(),
  );

async function change(document: string, id: string): Promise<void> {
  const { errors } = await search.service.ask(document, { token, variables: { id } });
  expect(errors).toBeUndefined();
}

test("anonymising a customer removes their data from the search engine", async () => {
  const name = "Kirstensen";
  const address = { ...erpOrder("").deliveryAddress, name };
  await importErpResponse(search.service.database.pool, {
    customers: [erpCustomer("K1", { name, email: `${name}@example.com` })],
    orders: [
      erpOrder("1001", { customerNumber: "K1", customerName: name, deliveryAddress: address }),
    ],
  });
  const [customer] = await sql<{ id: string }>("select id from customers where name = $1", [name]);
  const id = customer?.id ?? "";
  await sql("insert into customer_notes (customer_id, body) values ($1, 'Deliver early')", [id]);
  await waitForCollections(name, ["customer_notes", "customers", "orders"]);
  await change("mutation ($id: ID!) { anonymiseCustomer(id: $id) { id } }", id);
  await waitForCollections(name, []);
  await waitForCollections("Deliver early", []);
  await waitForCollections('"Erased"', ["customers"]);
});

test("anonymising a user removes their name from the search engine", async () => {
  const name = "Gudmund Holm";
  const [user] = await sql<{ id: string }>(
    "insert into users (email, name, invitations_closed_at) values ('gudmund@example.com', $1, now()) returning id",
    [name],
  );
  const id = user?.id ?? "";
  await sql(
    `insert into campaigns (title, author_user_id, price, medium, scheduled_at)
     values ('Bolgheri days', $1, '99 kr', 'EMAIL', '2031-10-01')`,
    [id],
  );
  await sql(
    `with room as (insert into resources (name, kind) values ('Tasting room', 'ROOM') returning id)
     insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at)
     select id, $1, $2, 'Tasting', '2031-10-01T10:00Z', '2031-10-01T11:00Z' from room`,
    [id, name],
  );
  await waitForCollections(name, ["bookings", "campaigns"]);
  await change("mutation ($id: ID!) { anonymiseUser(userId: $id) { id } }", id);
  await waitForCollections(name, []);
  await waitForCollections("Former user", ["bookings", "campaigns"]);
});
