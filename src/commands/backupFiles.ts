import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { z } from "zod";
import { OperatorError } from "../text/OperatorError.ts";

/** A table of a backup; its rows are in the format of COPY, compressed. */
const table = z.strictObject({
  schema: z.string(),
  name: z.string(),
  columns: z.array(z.string()),
  rows: z.number(),
  file: z.string().regex(/^[\w.-]+$/),
  sha256: z.string(),
});
const manifest = z.strictObject({
  format: z.literal("back-office backup 1"),
  takenAt: z.string(),
  postgres: z.string(),
  tenant: z.string(),
  /** The schema's stamp: only the same release can restore the rows. */
  stamp: z.string(),
  /** The release of the service, of package.json, and the last migration, by which people find the stamp's release. */
  release: z.string(),
  lastMigration: z.string(),
  tables: z.array(table),
});

export type BackupTable = z.output<typeof table>;
export type BackupManifest = z.output<typeof manifest>;

/** The manifest, which is written last. */
export const manifestFile = "backup.json";

/** The columns that COPY writes: all except generated ones. */
export async function columnsOf(client: pg.ClientBase, schema: string, name: string) {
  const { rows } = await client.query<{ column: string }>(
    `select quote_ident(attname) as column from pg_attribute
     where attrelid = format('%I.%I', $1::text, $2::text)::regclass and attnum > 0 and not attisdropped and attgenerated = ''
     order by attnum`,
    [schema, name],
  );
  return rows.map(({ column }) => column);
}

/** @throws OperatorError when the folder is not a backup of this service */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, manifestFile), "utf8").catch(() => {
    throw new OperatorError(`${folder} holds no complete backup: it lacks ${manifestFile}`);
  });
  try {
    return manifest.parse(JSON.parse(text));
  } catch {
    throw new OperatorError(
      `${folder} holds no backup of this format: its ${manifestFile} is damaged or another one's`,
    );
  }
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
