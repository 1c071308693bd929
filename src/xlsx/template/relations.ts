import { posix } from "node:path";
import { xmlText } from "../xmlText.ts";
import type { XmlPart } from "./xmlTree.ts";
import { fileProblem } from "./problems.ts";
import { attribute } from "./xmlTree.ts";

export interface Relation {
  readonly id: string;
  /** The last word of the type's address, such as `worksheet`. */
  readonly type: string;
  /** The name of the part; for an external one, its address. */
  readonly target: string;
  readonly external: boolean;
}

export const RELATION_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/** Of the target of a relation, in characters: the time to resolve a path grows with the square of its length. */
const LONGEST_TARGET = 2_000;

/** The name of the part that holds the relations of another one; "" stands for the package. */
export function relationsName(part: string): string {
  return posix.join(posix.dirname(part), "_rels", `${posix.basename(part)}.rels`);
}

/** The part whose relations a part holds; null if it holds none. */
export function ownerOf(relationsPart: string): string | null {
  const match = /^(?:(.*)\/)?_rels\/([^/]*)\.rels$/.exec(relationsPart);
  if (!match) return null;
  const [, folder, name = ""] = match;
  return folder === undefined ? name : posix.join(folder, name);
}

/** The relations that a part (`xl/_rels/workbook.xml.rels`) lists. */
export function readRelations(part: XmlPart, owner: string): Relation[] {
  return part.root.children.map((element) => {
    const value = (name: string) => attribute(part, element, name) ?? "";
    const target = value("Target");
    const external = value("TargetMode") === "External";
    if (!external && target.length > LONGEST_TARGET)
      throw fileProblem(`A relation of the workbook is longer than ${LONGEST_TARGET} characters`);
    return {
      id: value("Id"),
      type: value("Type").split("/").at(-1) ?? "",
      target: external ? target : partName(owner, target),
      external,
    };
  });
}

function partName(owner: string, target: string): string {
  const path = target.replace(/#.*$/, "");
  return path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(owner), path);
}

/** One relation of the part `owner` as XML; `target` is the name of a part. */
export function relationXml(owner: string, id: string, type: string, target: string): string {
  const path = posix.relative(posix.dirname(owner), target);
  return `<Relationship Id="${id}" Type="${RELATION_TYPES}/${type}" Target="${xmlText(path)}"/>`;
}

/** A relations part that holds nothing yet. */
export const EMPTY_RELATIONS = Buffer.from(
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>`,
);
