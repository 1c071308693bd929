import { randomBytes } from "node:crypto";
import type { Client } from "typesense";

/** What the names of a test file's own collections begin with, in an engine that others use as well. */
export const ownPrefix = (): string => `t${randomBytes(5).toString("hex")}_`;

/** Removes what a test file has left in an engine that others go on using: what bears its prefix. */
export async function removeOwn(admin: Client, prefix: string): Promise<void> {
  const { aliases } = await admin.aliases().retrieve();
  for (const { name } of aliases) if (name.startsWith(prefix)) await admin.aliases(name).delete();
  for (const { name } of await admin.collections().retrieve())
    if (name.startsWith(prefix)) await admin.collections(name).delete();
  for (const { id, description = "" } of (await admin.keys().retrieve()).keys)
    if (description.includes(prefix)) await admin.keys(id).delete();
}
