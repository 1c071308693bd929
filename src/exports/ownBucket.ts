import { Readable } from "node:stream";
import type pg from "pg";
import { z } from "zod";
import type { FileStore } from "../gateways/files.ts";
import type { FilesConfig } from "../settings/files.ts";
import { OperatorError } from "../text/OperatorError.ts";

/** The object that names the database to which the bucket belongs. */
export const ownerKey = "database.json";

const identity = z.object({
  /** PostgreSQL's system identifier, which a standby shares with its primary. */
  cluster: z.string(),
  /** The database's object identifier in the cluster. */
  oid: z.string(),
  name: z.string(),
});
/** What tells a database from its copies, except from a physical copy of the whole cluster. */
export type DatabaseIdentity = z.output<typeof identity>;

/** The bucket belongs to another database. */
export class BucketOwnerError extends OperatorError {
  override name = "BucketOwnerError";
}

/** A file store that deletes files only while its bucket belongs to this database. */
export interface OwnBucket extends FileStore {
  /**
   * Takes a bucket that belongs to no database.
   * @throws BucketOwnerError when it belongs to another one
   */
  requireOwn(): Promise<void>;
}

export async function identifyDatabase(
  client: Pick<pg.ClientBase, "query">,
): Promise<DatabaseIdentity> {
  const { rows } = await client.query<DatabaseIdentity>(
    `select c.system_identifier::text as cluster, d.oid::text as oid, d.datname as name
     from pg_control_system() as c, pg_database d where d.datname = current_database()`,
  );
  return identity.parse(rows[0]);
}

/**
 * The database to which the bucket belongs; null when it belongs to none.
 * @throws BucketOwnerError when the object cannot be read as such
 */
export async function readOwner(files: FileStore): Promise<DatabaseIdentity | null> {
  for await (const { key } of files.list(ownerKey))
    if (key === ownerKey) {
      const text = (await files.read(ownerKey)).toString("utf8");
      return parseOwner(text);
    }
  return null;
}

function parseOwner(text: string): DatabaseIdentity {
  try {
    return identity.parse(JSON.parse(text));
  } catch {
    throw new BucketOwnerError(
      `The object ${ownerKey} of the bucket, which names its database, is damaged: write it again with \`npm run files:claim\``,
    );
  }
}

/** Makes the bucket belong to a database. */
export async function writeOwner(files: FileStore, owner: DatabaseIdentity): Promise<void> {
  const text = JSON.stringify(owner);
  await files.write(ownerKey, Readable.from([Buffer.from(text)]), AbortSignal.timeout(30_000));
}

/**
 * Lets a store delete files only while its bucket belongs to this database. A copy of the live database, such as a
 * restored backup, would otherwise delete what only the live one refers to.
 */
export function ownBucket(
  files: FileStore,
  { bucket, ownerCheckMs }: FilesConfig,
  identify: () => Promise<DatabaseIdentity>,
): OwnBucket {
  let checkedUntil = 0;
  async function requireOwn(): Promise<void> {
    if (performance.now() < checkedUntil) return;
    const own = await identify();
    let owner = await readOwner(files);
    if (owner === null) {
      await writeOwner(files, own);
      // Workers of two databases may have found the bucket without an owner: the last one to write has it.
      owner = await readOwner(files);
    }
    if (owner !== null && !isSameDatabase(owner, own))
      throw new BucketOwnerError(ownerRefusal(bucket, owner, own));
    checkedUntil = performance.now() + ownerCheckMs;
  }
  return {
    ...files,
    requireOwn,
    async remove(key) {
      await requireOwn();
      await files.remove(key);
    },
    async removeAll(prefix) {
      await requireOwn();
      await files.removeAll(prefix);
    },
  };
}

export function isSameDatabase(one: DatabaseIdentity, other: DatabaseIdentity): boolean {
  return one.cluster === other.cluster && one.oid === other.oid;
}

/** Why the worker of `own` must not use the bucket, and what to do. */
export function ownerRefusal(
  bucket: string,
  owner: DatabaseIdentity,
  own: DatabaseIdentity,
): string {
  return [
    `The bucket ${bucket} belongs to another database: ${describeDatabase(owner)}. This one is ${describeDatabase(own)}.`,
    "A copy of a live system needs another S3_BUCKET, TYPESENSE_PREFIX and SMTP_URL, or it deletes the live files, replaces the live search and sends mails again.",
    "If this database takes the place of the other one, run `npm run files:claim`.",
  ].join("\n");
}

export function describeDatabase({ cluster, oid, name }: DatabaseIdentity): string {
  return `"${name}" (${oid}) of the cluster ${cluster}`;
}
