import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { Documents } from "../graphql/documents.ts";
import { type PersistedDocuments, readPersistedDocuments } from "../graphql/persistedDocuments.ts";

/**
 * The persisted documents that the settings name; null without any. Logs those that do not fit the schema: their front end
 * belongs to another release.
 */
export async function loadPersistedOperations(
  { place, mode }: Config["persistedOperations"],
  documents: Documents,
  log: Logger,
): Promise<PersistedDocuments | null> {
  if (place === undefined || mode === "off") return null;
  const persisted = await readPersistedDocuments(place);
  const invalid = [...persisted].filter(([, document]) => documents.read(document).errors);
  if (invalid.length > 0)
    log.warn(
      { hashes: invalid.slice(0, 20).map(([hash]) => hash), count: invalid.length },
      "persisted documents invalid",
    );
  return persisted;
}
