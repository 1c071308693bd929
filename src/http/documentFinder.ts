import { PublicError } from "../errors/PublicError.ts";
import { type PersistedDocuments, sha256 } from "../graphql/persistedDocuments.ts";
import { badRequest, type HttpError } from "../errors/HttpError.ts";

/** The parts of a request that name its document. */
interface DocumentRequest {
  query?: unknown;
  /** `{persistedQuery: {sha256Hash}}`, the form of Apollo and urql. */
  extensions?: unknown;
  /** `sha256:<hash>`, the form of the GraphQL-over-HTTP working group. */
  documentId?: unknown;
}

/** The document of a request. `persisted`: it is one of the persisted documents. */
interface FoundDocument {
  query: unknown;
  persisted: boolean;
}

const hashPath = ["extensions", "persistedQuery", "sha256Hash"];
const hashPattern = /^[0-9a-f]{64}$/;

/**
 * Finds the document of a request. A document beside a hash must match it; requests never add documents.
 * @throws PublicError PERSISTED_QUERY_NOT_FOUND for an unknown hash: clients then send the document;
 *   PERSISTED_QUERY_NOT_SUPPORTED when there are no persisted documents: clients then stop sending hashes
 */
export function makeDocumentFinder(known: PersistedDocuments | null, only: boolean) {
  return ({ query, extensions, documentId }: DocumentRequest): FoundDocument => {
    const hash = hashOf(extensions, documentId);
    if (hash === null) return only ? knownText(query) : { query, persisted: false };
    if (query != null && query !== "") {
      if (typeof query === "string" && sha256(query) !== hash)
        throw wrongHash(
          documentId == null ? hashPath : ["documentId"],
          "is not the SHA-256 of query",
        );
      return only ? knownText(query) : { query, persisted: known?.has(hash) ?? false };
    }
    if (!known)
      throw new PublicError("PERSISTED_QUERY_NOT_SUPPORTED", "PersistedQueryNotSupported");
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

/** Clients compare either the message or the code. */
function notFound(): PublicError {
  return new PublicError("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
}

/** The hash in a request; null without one. */
function hashOf(extensions: unknown, documentId: unknown): string | null {
  if (documentId != null) {
    const hash = typeof documentId === "string" ? /^sha256:(.*)$/.exec(documentId)?.[1] : undefined;
    return checked(hash, ["documentId"], "sha256: and 64 hexadecimal digits");
  }
  if (typeof extensions !== "object" || extensions === null) return null;
  const { persistedQuery } = extensions as { persistedQuery?: unknown };
  if (persistedQuery == null) return null;
  const { sha256Hash } = persistedQuery as { sha256Hash?: unknown };
  return checked(sha256Hash, hashPath, "64 hexadecimal digits");
}

function checked(hash: unknown, path: string[], wanted: string): string {
  if (typeof hash === "string" && hashPattern.test(hash)) return hash;
  throw wrongHash(path, `must be ${wanted}`);
}

function wrongHash(path: string[], fault: string): HttpError {
  return badRequest(`${path.join(".")} ${fault}`, { path });
}
