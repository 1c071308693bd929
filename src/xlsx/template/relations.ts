import { posix } from "node:path";
import { xmlText } from "../xmlText.ts";
import type { XmlPart } from "./xmlTree.ts";
import { fileProblem } from "./problems.ts";
import { attribute } from "./xmlTree.ts";

export interface Relation {
  readonly id: string;
  /** The last segment of the type's URI, such as `worksheet`. */
  readonly type: string;
  /** The target part's name, or an external target's URL. */
  readonly target: string;
  readonly external: boolean;
}

export const RELATION_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/** The maximum length of a target, because resolving a path takes quadratic time. */
const MAX_TARGET_LENGTH = 2_000;

/** The name of the part with another part's relationships; "" is the package itself. */
export function relationsName(part: string): string {
  return posix.join(posix.dirname(part), "_rels", `${posix.basename(part)}.rels`);
}

/** The owner of a relationships part; null for other parts. */
export function ownerOf(relationsPart: string): string | null {
  const match = /^(?:(.*)\/)?_rels\/([^/]*)\.rels$/.exec(relationsPart);
  if (!match) return null;
  const [, folder, name = ""] = match;
  return folder === undefined ? name : posix.join(folder, name);
}

/** Parses a relationships part such as `xl/_rels/workbook.xml.rels`. */
export function readRelations(part: XmlPart, owner: string): Relation[] {
  return part.root.children.map((element) => {
    const value = (name: string) => attribute(part, element, name) ?? "";
    const target = value("Target");
    const external = value("TargetMode") === "External";
    if (!external && target.length > MAX_TARGET_LENGTH)
      throw fileProblem(
        `A relation of the workbook is longer than ${MAX_TARGET_LENGTH} characters`,
      );
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

/** The XML of a relationship of the part `owner` to the part `target`. */
export function relationXml(owner: string, id: string, type: string, target: string): string {
  const path = posix.relative(posix.dirname(owner), target);
  return `<Relationship Id="${id}" Type="${RELATION_TYPES}/${type}" Target="${xmlText(path)}"/>`;
}

/** An empty relationships part. */
export const EMPTY_RELATIONS = Buffer.from(
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>`,
);
