/** The departments, roles and users of the demo. */
export const departments = [
  { name: "Purchasing", description: "Chooses wines and keeps the catalogue." },
  { name: "Marketing", description: "Plans campaigns." },
  { name: "Sales", description: "Sells to restaurants and shops." },
  { name: "Orders", description: "Handles orders and what the ERP import cannot understand." },
] as const;

const everyone = ["products.read", "departments.read", "ai.use"];

export const roles = [
  {
    name: "Buyer",
    description: "Keeps products, prices and ratings.",
    permissionKeys: [
      ...everyone,
      ...["products.create", "products.update", "reviewers.read", "reviewers.create"],
      ...["productsync.run", "exports.create", "exports.read"],
    ],
  },
  {
    name: "Marketing",
    description: "Plans campaigns and exports products.",
    permissionKeys: [
      ...everyone,
      ...["campaigns.read", "campaigns.create", "campaigns.update", "campaigns.delete"],
      ...["users.read", "reviewers.read", "exports.create", "exports.read"],
    ],
  },
  {
    name: "Sales",
    description: "Sees products, customers, orders and campaigns.",
    permissionKeys: [
      ...everyone,
      ...["customers.read", "orders.read", "campaigns.read", "users.read", "exports.read"],
    ],
  },
  {
    name: "Order desk",
    description: "Clears import issues of orders.",
    permissionKeys: [
      ...everyone,
      ...["customers.read", "orders.read", "erpsync.read", "erpsync.run"],
    ],
  },
] as const;

/** The first user, who holds every permission. */
export const administrator = {
  email: "astrid@wine.example",
  name: "Astrid Holm",
  department: "Purchasing",
  role: "Superadmin",
} as const;

export const users = [
  {
    ...{ email: "bo@wine.example", name: "Bo Kjær", department: "Purchasing", role: "Buyer" },
    ...{ timeZone: "Europe/Lisbon", locale: "da-DK" },
  },
  { email: "clara@wine.example", name: "Clara Juhl", department: "Marketing", role: "Marketing" },
  { email: "david@wine.example", name: "David Lund", department: "Sales", role: "Sales" },
  { email: "emma@wine.example", name: "Emma Friis", department: "Orders", role: "Order desk" },
] as const;
