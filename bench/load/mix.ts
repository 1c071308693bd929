import { randomUUID } from "node:crypto";
import { idOf, type Size } from "../compare/dataSet.ts";
import type { Sent } from "./client.ts";

interface Kind {
  /** The number in a hundred requests. */
  share: number;
  writes?: true;
  document: string;
  variables: (n: number, size: Size) => object;
}

// Typical requests of users and front ends: single rows and pages of all types, a search, sometimes the audit
// log, and one change to six reads.
const kinds: readonly Kind[] = [
  {
    share: 12,
    document: "{ me { id email name roles { id name permissions { key } } } }",
    variables: () => ({}),
  },
  {
    share: 12,
    document:
      "query ($id: ID!) { user(id: $id) { id email name isActive createdAt roles { id name permissions { id key } } } }",
    variables: (n, { users }) => ({ id: idOf(1, 1 + (n % users)) }),
  },
  {
    share: 3,
    document: "{ users { id email name isActive roles { id name } } }",
    variables: () => ({}),
  },
  {
    share: 12,
    document:
      "query ($id: ID!) { product(id: $id) { id name vintage producer country description wineType { id name color } campaigns(first: 10) { nodes { id title } } } }",
    variables: (n, { products }) => ({ id: idOf(3, 1 + ((n * 7919) % products)) }),
  },
  {
    share: 14,
    document: `query ($query: String!) { products(query: $query, first: 50, orderBy: [NAME_ASC]) {
      nodes { id erpProductNumber name vintage producer country wineType { id name color } } } }`,
    variables: (n) => ({ query: `vintage:${1970 + (n % 50)}` }),
  },
  {
    share: 6,
    document: `query ($query: String!) { products(query: $query, first: 20) { nodes { id name vintage } } }`,
    variables: (n) => ({ query: `chateau ${(n * 7919) % 99991}` }),
  },
  {
    share: 12,
    document: `query ($offset: Int!) { orders(first: 20, offset: $offset) { nodes { id erpOrderNumber placedAt status totalAmount currency
      customer { id name city } lines { id description quantity amount } } } }`,
    variables: (n) => ({ offset: (n * 20) % 1000 }),
  },
  {
    share: 10,
    document: `query ($offset: Int!) { campaigns(first: 50, offset: $offset) { id title vintage color price medium status scheduledAt
      product { id name wineType { id name color } } author { id name roles { id name } } } }`,
    variables: (n, { campaigns }) => ({ offset: ((n * 50) % campaigns) % 500 }),
  },
  {
    share: 4,
    document:
      "{ auditLogs(input: { limit: 50 }) { items { id operation entityType entityId createdAt actorUserId } total } }",
    variables: () => ({}),
  },
  {
    share: 6,
    writes: true,
    document: `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id title product { id name } author { id name } } }`,
    variables: (n, { products, users }) => ({
      input: {
        title: `Load ${randomUUID()}`,
        authorUserId: idOf(1, 1 + (n % users)),
        productId: idOf(3, 1 + ((n * 13) % products)),
        medium: "EMAIL",
        price: `${10 + (n % 90)} DKK`,
        scheduledAt: "2027-05-01T10:00:00Z",
      },
    }),
  },
  {
    share: 6,
    writes: true,
    document:
      "mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { id note } }",
    variables: (n, { campaigns }) => ({
      id: idOf(4, 1 + ((n * 31) % campaigns)),
      input: { note: `Looked at ${n} times` },
    }),
  },
  {
    share: 3,
    writes: true,
    document: `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { createdCount updatedCount failedCount } }`,
    variables: (n, { products }) => ({
      input: {
        products: Array.from({ length: 5 }, (_value, row) => ({
          erpProductNumber: String(1 + ((n * 5 + row) % products)).padStart(8, "0"),
          fields: { stockQuantity: n % 1000 },
        })),
      },
    }),
  },
];

/** A hundred requests in mixed order, each kind by its share. */
const hundred: readonly Kind[] = kinds
  .flatMap((kind) =>
    Array.from({ length: kind.share }, (_value, k) => ({ kind, at: (k + 0.5) / kind.share })),
  )
  .toSorted((a, b) => a.at - b.at)
  .map(({ kind }) => kind);

/** The nth request of the mix; deterministic except for titles of new rows. */
export function makeMix(size: Size): (n: number) => Sent {
  return (n) => {
    const kind = hundred[n % hundred.length];
    if (!kind) throw new Error("the mix is empty");
    const { document: query, variables, writes = false } = kind;
    return { body: JSON.stringify({ query, variables: variables(n, size) }), writes };
  };
}
