import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let anna: { token: string; userId: string };
let reader: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  anna = await service.login(["customers.read", "customers.update"], "anna@example.com");
  reader = await service.login(["customers.read"], "reader@example.com");
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token = anna.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});

async function makeCustomer(): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into customers (erp_customer_number, name) values ($1, 'Vinbaren') returning id",
    [randomUUID()],
  );
  return rows[0]?.id ?? "";
}
const write = (customerId: string, body: string, token = anna.token) =>
  ask(
    `mutation ($input: CreateCustomerNoteInput!) { createCustomerNote(input: $input) { id body author { id } customer { name } } }`,
    { input: { customerId, body } },
    token,
  );

test("notes are written with customers.update and shown at the customer, newest first", async () => {
  const customerId = await makeCustomer();
  await write(customerId, "Wants wooden cases.");
  const { data } = await write(customerId, "Asked for Nebbiolo.");
  expect(data.createCustomerNote).toMatchObject({
    author: { id: anna.userId },
    customer: { name: "Vinbaren" },
  });
  const seen = await ask(
    `query ($id: ID!) { customer(id: $id) { notes { nodes { body authorName } } } }`,
    { id: customerId },
    reader.token,
  );
  expect(seen.data.customer.notes.nodes).toEqual([
    { body: "Asked for Nebbiolo.", authorName: "anna" },
    { body: "Wants wooden cases.", authorName: "anna" },
  ]);
  expect(refusal(await write(customerId, "Mine", reader.token))).toEqual({
    code: "FORBIDDEN",
    message: "Missing required permission: customers.update",
  });
});

test("notes are found by their words, and customers by their notes' authors", async () => {
  const customerId = await makeCustomer();
  const word = `w${randomUUID().replaceAll("-", "")}`;
  await write(customerId, `Only ${word}, please.`);
  const { data } = await ask(
    `query ($own: String!, $of: String!) {
      customerNotes(query: $own) { nodes { customer { id } } }
      customers(query: $of) { nodes { id } } }`,
    { own: word, of: `id:${customerId} notes.authorUserId:${anna.userId}` },
    reader.token,
  );
  expect(data).toEqual({
    customerNotes: { nodes: [{ customer: { id: customerId } }] },
    customers: { nodes: [{ id: customerId }] },
  });
});

test("an empty note is rejected", async () => {
  expect(refusal(await write(await makeCustomer(), "  \n"))).toEqual({
    code: "BAD_USER_INPUT",
    message: "body must be 1 to 10000 characters, not only spaces",
  });
});
