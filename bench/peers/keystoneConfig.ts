import { createHash } from "node:crypto";
import { join } from "node:path";
import { config, list } from "@keystone-6/core";
import { allowAll } from "@keystone-6/core/access";
import { checkbox, integer, json, relationship, text, timestamp } from "@keystone-6/core/fields";
import { PrismaPg } from "@prisma/adapter-pg";
import "./loopbackOnly.ts";

/** Where Keystone's schemas and the client that Prisma makes of them lie; beside the packages that it imports. */
export const folder = join(import.meta.dirname, "node_modules/.keystone");
/** That client as a program that Node runs, which its TypeScript is not where it lies. */
export const prismaClient = join(folder, "prisma.cjs");

const maybe = { db: { isNullable: true } } as const;
const named = () => text({ validation: { isRequired: true } });
const at = () =>
  timestamp({
    validation: { isRequired: true },
    defaultValue: { kind: "now" },
    // With a time zone, like the column.
    db: { extendPrismaSchema: (field) => `${field} @postgresql.Timestamptz(6)` },
  });
const table = (map: string, fields: Parameters<typeof list>[0]["fields"]) =>
  list({ access: allowAll, db: { map }, fields });

// Keystone over the tables of tables.ts; every caller has full access.
export const keystone = config({
  telemetry: false,
  ui: { isDisabled: true },
  db: {
    provider: "postgresql",
    idField: { kind: "uuid" },
    prismaClientPath: "client",
    // The same pool as the others, with prepared statements like those of the handwritten servers.
    prismaClientOptions: () => ({
      adapter: new PrismaPg(
        { connectionString: process.argv.at(-1), max: 10 },
        { statementNameGenerator: ({ sql }) => createHash("md5").update(sql).digest("hex") },
      ),
    }),
  },
  graphql: { path: "/graphql", playground: false },
  lists: {
    User: table("users", {
      email: named(),
      name: text(maybe),
      isActive: checkbox(),
      createdAt: at(),
      roles: relationship({ ref: "Role", many: true }),
    }),
    Role: table("roles", {
      name: named(),
      permissions: relationship({ ref: "Permission", many: true }),
    }),
    Permission: table("permissions", { key: named() }),
    WineType: table("wine_types", { name: named(), color: text(maybe) }),
    Product: table("products", {
      erpProductNumber: named(),
      name: named(),
      vintage: integer(),
      producer: text(maybe),
      country: text(maybe),
      wineType: relationship({ ref: "WineType" }),
    }),
    Campaign: table("campaigns", {
      title: named(),
      vintage: integer(),
      color: text(maybe),
      price: named(),
      medium: named(),
      status: text({ defaultValue: "DRAFT" }),
      scheduledAt: at(),
      product: relationship({ ref: "Product" }),
      author: relationship({ ref: "User" }),
    }),
    AuditLog: table("audit_log", {
      actorUserId: text({ db: { isNullable: true, nativeType: "Uuid" } }),
      operation: named(),
      entityType: named(),
      entityId: text(maybe),
      correlationId: text(maybe),
      createdAt: at(),
      after: json(),
    }),
  },
});
