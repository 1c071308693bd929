import { plainText } from "../content.ts";
import type { FillContext, TemplateRecord } from "./filledCells.ts";
import { isImage } from "./filledCells.ts";
import type { Edits } from "./edits.ts";
import { mayContainPlaceholder, parsePlaceholders } from "./placeholders.ts";
import type { SheetModel } from "./sheetModel.ts";
import type { XmlElement } from "./xmlTree.ts";
import { child } from "./xmlTree.ts";

/** Excel's limit in UTF-16 units, including format codes; longer texts count as damage. */
const MAX_LENGTH = 255;

/** The limit for a template's header or footer, in UTF-16 units. */
export const MAX_TEMPLATE_LENGTH = 1_000;

/** The headers and footers of a sheet. */
export function headerFooters({ part }: SheetModel): XmlElement[] {
  const all = child(part.root, "headerFooter")?.children ?? [];
  return all.filter(({ text }) => mayContainPlaceholder(text));
}

/** Fills a form's headers and footers, and truncates values to Excel's limit. */
export function fillHeaderFooters(
  model: SheetModel,
  record: TemplateRecord,
  { fields, notes }: FillContext,
  edits: Edits | undefined,
): void {
  for (const element of headerFooters(model)) {
    const { pieces } = parsePlaceholders(element.text);
    let left = MAX_LENGTH;
    for (const piece of pieces) if ("text" in piece) left -= piece.text.length;
    let filled = "";
    for (const piece of pieces) {
      if ("text" in piece) {
        filled += piece.text;
        continue;
      }
      const value = record[piece.field];
      const kind = fields.get(piece.field) ?? "text";
      const text = isImage(value) || kind === "image" ? "" : plainText(value, kind);
      const shown = escaped(text.replace(/\s+/g, " "), filled, Math.max(0, left));
      left -= shown.xml.length;
      filled += shown.xml;
      if (shown.cut)
        notes.add(piece.field, piece.field, "headerCut", () => `header or footer of ${model.name}`);
    }
    edits?.setText(element, filled);
  }
}

/** Escapes a value for a header: `&` starts a code, and digits after a font size would be part of it. */
function escaped(text: string, before: string, room: number): { xml: string; cut: boolean } {
  const space = /&\d+$/.test(before) && /^\d/.test(text) ? " " : "";
  let xml = space;
  for (const character of text) {
    const next = character === "&" ? "&&" : character;
    if (xml.length + next.length > room) return { xml: xml.length > room ? "" : xml, cut: true };
    xml += next;
  }
  return { xml, cut: false };
}
