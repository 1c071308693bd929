import { randomBytes } from "node:crypto";
import type { Client } from "typesense";

/** A unique prefix for a test file's collections in a shared search engine. */
export const uniquePrefix = (): string => `t${randomBytes(5).toString("hex")}_`;

/** Removes the aliases, collections and keys with a test file's prefix from a shared search engine. */
export async function removeByPrefix(admin: Client, prefix: string): Promise<void> {
  const { aliases } = await admin.aliases().retrieve();
  for (const { name } of aliases) if (name.startsWith(prefix)) await admin.aliases(name).delete();
  for (const { name } of await admin.collections().retrieve())
    if (name.startsWith(prefix)) await admin.collections(name).delete();
  for (const { id, description = "" } of (await admin.keys().retrieve()).keys)
    if (description.includes(prefix)) await admin.keys(id).delete();
}
