import type { Relation } from "./relations.ts";
import { ownerOf } from "./relations.ts";
import type { Workbook } from "./workbook.ts";

/** Parts that could run code, load data or leak data, by the beginning of their names. */
const FORBIDDEN_PARTS: readonly (readonly [RegExp, string])[] = [
  [
    /vbaProject|vbaData|\/macrosheets\/|\/dialogsheets\//i,
    "It contains macros: save it as .xlsx without them",
  ],
  [/^xl\/externalLinks\//i, "It is linked to another workbook: break the links (Data, Edit Links)"],
  [
    /^xl\/(?:connections\.xml|queryTables\/)/i,
    "It has data connections: remove them (Data, Queries & Connections)",
  ],
  [/^xl\/model\//i, "It has a data model: remove it"],
  [/^xl\/(?:activeX|embeddings)\//i, "It contains embedded objects or controls: remove them"],
  [/^xl\/webextensions\//i, "It contains add-ins: remove them"],
  [/^_xmlsignatures\//i, "It is signed, which filling would break: remove the signature"],
  [/^xl\/revisions\//i, "It is shared with tracked changes: end the sharing"],
];
/** Relationships that may have external targets, because only a click follows them. */
const HARMLESS = new Set(["hyperlink"]);
const DATA_MASHUP = Buffer.from("DataMashup");
const DATA_MASHUP_16 = Buffer.from("DataMashup", "utf16le");

/** Lists forbidden content by the names, relationships and XML of the parts. */
export async function packageProblems(workbook: Workbook): Promise<string[]> {
  const reasons = new Set<string>();
  for (const [name, bytes] of workbook.parts) {
    for (const [pattern, reason] of FORBIDDEN_PARTS) if (pattern.test(name)) reasons.add(reason);
    if (
      /^customXml\//i.test(name) &&
      (bytes.includes(DATA_MASHUP) || bytes.includes(DATA_MASHUP_16))
    )
      reasons.add("It has data queries: remove them (Data, Queries & Connections)");
    // VML drawings may be malformed XML and are searched as text.
    if (/\.vml$/i.test(name)) {
      if (/<!(?:doctype|entity)/i.test(bytes.toString("latin1")))
        reasons.add(`The part ${name} is not accepted: it has a document type definition`);
    } else if (/\.(?:xml|rels)$/i.test(name)) await workbook.xml(name);
    if (ownerOf(name) !== null)
      for (const relation of await workbook.relations(ownerOf(name) ?? ""))
        if (isOutside(relation))
          reasons.add(
            `It points to something outside (${relation.type}: ${relation.target.slice(0, 100)}): remove it`,
          );
  }
  return [...reasons];
}

function isOutside({ external, type }: Relation): boolean {
  return external && !HARMLESS.has(type);
}

/** Functions that load data, call code or refer outside of the workbook. */
const FORBIDDEN_FUNCTIONS = new Set([
  "WEBSERVICE",
  "RTD",
  "IMAGE",
  "STOCKHISTORY",
  "CALL",
  "REGISTER.ID",
  "EXEC",
  "SQL.REQUEST",
  "PY",
  "TRANSLATE",
  "DETECTLANGUAGE",
  "DDE",
]);

/** Whether a function of a formula refers outside of the workbook. */
export function isForbiddenFunction(name: string): boolean {
  const plain = name
    .toUpperCase()
    .replace(/^(?:_XLFN\.|_XLWS\.|_XLUDF\.|COM\.[A-Z.]*\.|ORG\.[A-Z.]*\.)+/, "");
  return FORBIDDEN_FUNCTIONS.has(plain) || plain.startsWith("CUBE");
}
