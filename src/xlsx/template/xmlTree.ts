import { SaxesParser } from "saxes";
import { pacer } from "../pacer.ts";

/** An element with its offsets in the source, so that edits keep all other text. */
export interface XmlElement {
  /** The name with its prefix. */
  readonly name: string;
  readonly prefix: string;
  readonly local: string;
  readonly uri: string;
  readonly parent: XmlElement | null;
  readonly children: XmlElement[];
  /** The offsets of the start tag's `<` and after its `>`. */
  readonly start: number;
  readonly open: number;
  /** The offsets of the end tag's `<` and after its `>`; both equal `open` for an empty-element tag. */
  close: number;
  end: number;
  /** The element's own text. */
  text: string;
}

export interface XmlPart {
  readonly source: string;
  readonly root: XmlElement;
}

/** The remaining budget for all parts of a workbook, which limits time and memory. */
export interface ElementBudget {
  elements: number;
  attributes: number;
}

const CHUNK = 64 * 1024;
const MAX_DEPTH = 64;
/** The limit for one element. */
const MAX_ATTRIBUTES = 250;

/**
 * Parses a part, yielding to the event loop. Rejects a DTD; only XML's five predefined entities are known.
 * @throws Error that describes the XML error
 */
export async function parseXml(bytes: Buffer, budget: ElementBudget): Promise<XmlPart> {
  const source = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const parser = new SaxesParser({ xmlns: true });
  let root: XmlElement | null = null;
  let current: XmlElement | null = null;
  let depth = 0;
  let attributes = 0;
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("doctype", () => {
    throw new Error("it has a document type definition");
  });
  parser.on("attribute", () => {
    if (++attributes > MAX_ATTRIBUTES)
      throw new Error(`an element has more than ${MAX_ATTRIBUTES} attributes`);
    if (--budget.attributes < 0) throw new Error("the workbook has too many attributes");
  });
  parser.on("opentag", (tag) => {
    attributes = 0;
    // The parser looks up a prefix in all ancestors, so the time per attribute grows with the depth.
    if (++depth > MAX_DEPTH) throw new Error(`its elements nest deeper than ${MAX_DEPTH}`);
    if (--budget.elements < 0) throw new Error("the workbook has too many cells and elements");
    const element: XmlElement = {
      name: tag.name,
      prefix: tag.prefix === "" ? "" : `${tag.prefix}:`,
      local: tag.local,
      uri: tag.uri,
      parent: current,
      children: [],
      // A start tag contains no other `<`.
      start: source.lastIndexOf("<", parser.position - 1),
      open: parser.position,
      close: parser.position,
      end: parser.position,
      text: "",
    };
    current?.children.push(element);
    root ??= element;
    current = element;
  });
  const addText = (text: string) => {
    if (current) current.text += text;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", (tag) => {
    if (!current) return;
    if (!tag.isSelfClosing) {
      current.end = parser.position;
      current.close = source.lastIndexOf("<", parser.position - 1);
    }
    current = current.parent;
    depth--;
  });
  const pause = pacer();
  for (let at = 0; at < source.length; at += CHUNK) {
    parser.write(source.slice(at, at + CHUNK));
    await pause();
  }
  parser.close();
  if (root === null) throw new Error("it is empty");
  return { source, root };
}

/** An attribute of a start tag: its value, and the value's offsets in the source without quotes. */
export interface XmlAttribute {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** The offset of the space before its name. */
  readonly from: number;
}

const ATTRIBUTE = /\s([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')/g;

/** Finds an attribute by name including prefix. */
export function findAttribute(
  { source }: XmlPart,
  element: XmlElement,
  name: string,
): XmlAttribute | undefined {
  const tag = source.slice(element.start, element.open);
  for (const match of tag.matchAll(ATTRIBUTE)) {
    if (match[1] !== name) continue;
    const end = element.start + match.index + match[0].length - 1;
    const raw = match[2]?.slice(1, -1) ?? "";
    return {
      value: unescapeXml(raw),
      start: end - raw.length,
      end,
      from: element.start + match.index,
    };
  }
  return undefined;
}

/** The value of an attribute; undefined if it is missing. */
export function attribute(part: XmlPart, element: XmlElement, name: string): string | undefined {
  return findAttribute(part, element, name)?.value;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

function unescapeXml(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name: string) =>
    hex !== undefined
      ? String.fromCodePoint(parseInt(String(hex), 16))
      : decimal !== undefined
        ? String.fromCodePoint(Number(decimal))
        : (NAMED[name] ?? whole),
  );
}

/** The first child with a local name, with any prefix. */
export function child(element: XmlElement | undefined, local: string): XmlElement | undefined {
  return element?.children.find((candidate) => candidate.local === local);
}

/** Visits the element and its descendants; skips the descendants where `visit` returns false. */
export function walk(element: XmlElement, visit: (element: XmlElement) => boolean): void {
  // An explicit stack, because a part may nest deeper than the call stack allows.
  const stack = [element];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (!visit(next)) continue;
    for (let index = next.children.length - 1; index >= 0; index--) {
      const inner = next.children[index];
      if (inner) stack.push(inner);
    }
  }
}
