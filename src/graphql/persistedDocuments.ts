import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../config.ts";

/** Documents of front ends by the SHA-256 of their text in hexadecimal digits. */
export type PersistedDocuments = ReadonlyMap<string, string>;

const byHash = z.record(z.string(), z.string());
/** The manifest format of Apollo's tools. */
const manifest = z.object({
  format: z.literal("apollo-persisted-query-manifest"),
  operations: z.array(z.object({ id: z.string(), body: z.string() })),
});

/**
 * Reads the documents of a file or a folder, once per process.
 * @throws ConfigError naming an unreadable file, or a document with another hash
 */
export async function readPersistedDocuments(place: string): Promise<PersistedDocuments> {
  const found = new Map<string, string>();
  const problems: string[] = [];
  for (const file of await filesAt(place, problems)) {
    const text = await readFile(file, "utf8");
    if (/\.(graphql|gql)$/.test(file)) {
      found.set(sha256(text), text);
      continue;
    }
    for (const [hash, document] of entriesOf(text) ?? []) {
      if (sha256(document) === hash) found.set(hash, document);
      else
        problems.push(
          `${file} has a document under ${hash.slice(0, 70)}, which is not its SHA-256`,
        );
    }
    if (!entriesOf(text))
      problems.push(
        `${file} is neither {"<SHA-256>": "<document>"} nor a manifest of Apollo's tools`,
      );
  }
  if (problems.length === 0 && found.size === 0) problems.push(`${place} holds no documents`);
  if (problems.length > 0)
    throw new ConfigError(
      problems.slice(0, 10).map((problem) => `PERSISTED_OPERATIONS: ${problem}`),
    );
  return found;
}

async function filesAt(place: string, problems: string[]): Promise<string[]> {
  try {
    if (!(await stat(place)).isDirectory()) return [place];
    const names = await readdir(place, { recursive: true });
    return names
      .filter((name) => /\.(graphql|gql|json)$/.test(name))
      .toSorted()
      .map((name) => join(place, name));
  } catch (error) {
    problems.push(
      `${place} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`,
    );
    return [];
  }
}

function entriesOf(text: string): [string, string][] | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const plain = byHash.safeParse(json);
  if (plain.success) return Object.entries(plain.data);
  const written = manifest.safeParse(json);
  return written.success ? written.data.operations.map(({ id, body }) => [id, body]) : null;
}

/** The SHA-256 of a text in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
