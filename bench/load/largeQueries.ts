import type { Sent } from "./client.ts";

const columns =
  "id erpProductNumber name vintage producer country description wineType { id name color }";
const products = `nodes { ${columns} }`;
const orders =
  "nodes { id erpOrderNumber placedAt status totalAmount currency customer { id name city } lines { id description quantity amount } }";

/** The maximum number of pages in one operation, each of the maximum size. */
const pages = (field: string, count: number, selection: string, beside = "") =>
  `{ ${Array.from({ length: count }, (_page, n) => `page${n}: ${field}(first: 250, offset: ${n * 250}) { ${selection} }`).join(" ")} ${beside} }`;

// Responses of 1.5 to 2.5 MB; the last three include aggregates or fields that only Grafast answers.
const documents = [
  `{ campaigns(first: 1000) { id title vintage color price medium status scheduledAt product { id name wineType { id name color } }
    author { id name roles { id name permissions { id key } } } } }`,
  pages("products", 20, products),
  pages("orders", 10, orders),
  pages("products", 20, `__typename pageInfo { hasNextPage } ${products}`),
  pages("products", 20, `edges { cursor node { ${columns} } } pageInfo { hasNextPage endCursor }`),
  pages(
    "customers",
    1,
    `nodes { id name city orders(first: 20) { ${orders} pageInfo { hasNextPage endCursor } } }`,
  ),
  pages(
    "customers",
    1,
    `nodes { id name city orders(first: 20) { ${orders} aggregates { count sum { totalAmount } } } }
     groupedAggregates(groupBy: [CITY]) { keys count }`,
  ),
  pages("products", 19, products, "mySessions { id createdAt lastUsedAt }"),
  pages(
    "orders",
    10,
    orders,
    `fields: searchFields(type: "products") { name } syncStatus { __typename }`,
  ),
];

/** The nth of the operations of maximum size. */
export function largeQuery(n: number): Sent {
  const query = documents[n % documents.length];
  return { body: JSON.stringify({ query }), writes: false };
}
