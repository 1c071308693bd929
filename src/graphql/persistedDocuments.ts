import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import { OfficeError } from "../errors.ts";
import { HttpError } from "../http/HttpError.ts";

/** Documents that front ends were built with, by the SHA-256 of their text in hexadecimal digits. */
export type PersistedDocuments = ReadonlyMap<string, string>;

/** What of a request says which document it means. */
export interface DocumentRequest {
  query?: unknown;
  /** `{persistedQuery: {sha256Hash}}`, as Apollo's and urql's clients send it. */
  extensions?: unknown;
  /** `sha256:<hash>`, as the GraphQL-over-HTTP working group has it. */
  documentId?: unknown;
}

/** The document that a request means, and whether it is one of the known. */
export interface FoundDocument {
  query: unknown;
  persisted: boolean;
}

const hashPattern = /^[0-9a-f]{64}$/;
const byHash = z.record(z.string(), z.string());
/** As Apollo's tools write it. */
const manifest = z.object({
  format: z.literal("apollo-persisted-query-manifest"),
  operations: z.array(z.object({ id: z.string(), body: z.string() })),
});

/**
 * Reads the documents of a file or of the files of a folder, once for the life of the process.
 * @throws ConfigError naming what cannot be read, or a document whose text has another hash
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

/**
 * Finds the document that a request means. A text beside a hash must be the hash's; nothing is learnt from requests.
 * @throws OfficeError PERSISTED_QUERY_NOT_FOUND for what is not known, upon which clients send the text;
 *   PERSISTED_QUERY_NOT_SUPPORTED where no documents are known at all, upon which they give up sending hashes
 */
export function makeDocumentFinder(known: PersistedDocuments | null, only: boolean) {
  return ({ query, extensions, documentId }: DocumentRequest): FoundDocument => {
    const hash = hashOf(extensions, documentId);
    if (hash === null) return only ? knownText(query) : { query, persisted: false };
    if (query != null && query !== "") {
      if (typeof query === "string" && sha256(query) !== hash)
        throw new HttpError(
          400,
          "BAD_USER_INPUT",
          "extensions.persistedQuery.sha256Hash is not the SHA-256 of query",
          { path: ["extensions", "persistedQuery", "sha256Hash"] },
        );
      return only ? knownText(query) : { query, persisted: known?.has(hash) ?? false };
    }
    if (!known)
      throw new OfficeError("PERSISTED_QUERY_NOT_SUPPORTED", "PersistedQueryNotSupported");
    const document = known.get(hash);
    if (document === undefined) throw notFound();
    return { query: document, persisted: true };
  };

  function knownText(query: unknown): FoundDocument {
    if (typeof query !== "string" || query === "") return { query, persisted: false };
    if (!known?.has(sha256(query))) throw notFound();
    return { query, persisted: true };
  }
}

/** Clients look for the message or for the code. */
function notFound(): OfficeError {
  return new OfficeError("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
}

/** The hash that a request names; null where it names none. */
function hashOf(extensions: unknown, documentId: unknown): string | null {
  if (documentId != null) {
    const hash = typeof documentId === "string" ? /^sha256:(.*)$/.exec(documentId)?.[1] : undefined;
    return checked(hash, ["documentId"], "sha256: and 64 hexadecimal digits");
  }
  if (typeof extensions !== "object" || extensions === null) return null;
  const { persistedQuery } = extensions as { persistedQuery?: unknown };
  if (persistedQuery == null) return null;
  const { sha256Hash } = persistedQuery as { sha256Hash?: unknown };
  const path = ["extensions", "persistedQuery", "sha256Hash"];
  return checked(sha256Hash, path, "64 hexadecimal digits");
}

function checked(hash: unknown, path: string[], wanted: string): string {
  if (typeof hash === "string" && hashPattern.test(hash)) return hash;
  throw new HttpError(400, "BAD_USER_INPUT", `${path.join(".")} must be ${wanted}`, { path });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
