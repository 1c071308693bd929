import { xmlText } from "../xmlText.ts";
import type { XmlElement, XmlPart } from "./xmlTree.ts";
import { findAttribute } from "./xmlTree.ts";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Edits of a part's source; everything else keeps its exact text. */
export class Edits {
  readonly part: XmlPart;
  readonly #edits: Edit[] = [];

  constructor(part: XmlPart) {
    this.part = part;
  }

  get isEmpty(): boolean {
    return this.#edits.length === 0;
  }

  replace(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text });
  }

  remove({ start, end }: XmlElement): void {
    this.replace(start, end, "");
  }

  /** Sets or adds an attribute. */
  setAttribute(element: XmlElement, name: string, value: string): void {
    if (findAttribute(this.part, element, name)?.value !== value)
      this.setAttributeXml(element, name, xmlText(value));
  }

  /** Sets an attribute to a value that is already XML. */
  setAttributeXml(element: XmlElement, name: string, xml: string): void {
    const found = findAttribute(this.part, element, name);
    if (found) this.replace(found.start, found.end, xml);
    else {
      const at = element.start + 1 + element.name.length;
      this.replace(at, at, ` ${name}="${xml}"`);
    }
  }

  removeAttribute(element: XmlElement, name: string): void {
    const found = findAttribute(this.part, element, name);
    if (!found) return;
    this.replace(found.from, found.end + 1, "");
  }

  /** Replaces the content of a text-only element. */
  setText(element: XmlElement, text: string): void {
    if (text !== element.text) this.setContent(element, xmlText(text));
  }

  setContent(element: XmlElement, xml: string): void {
    if (element.open === element.end)
      this.replace(element.open - "/>".length, element.open, `>${xml}</${element.name}>`);
    else this.replace(element.open, element.close, xml);
  }

  /** Appends XML to an element's content. */
  append(element: XmlElement, xml: string): void {
    if (element.open === element.end) this.setContent(element, xml);
    else this.replace(element.close, element.close, xml);
  }

  /** Returns a range of the source with the edits applied. */
  apply(from = 0, to = this.part.source.length): string {
    const pieces: string[] = [];
    let at = from;
    for (const { start, end, text } of this.#edits
      .filter((edit) => edit.start >= from && edit.end <= to)
      // The sort is stable: insertions at the same position keep their order.
      .sort((a, b) => a.start - b.start || a.end - b.end)) {
      if (start < at) throw new Error("Two edits of a part overlap");
      pieces.push(this.part.source.slice(at, start), text);
      at = end;
    }
    pieces.push(this.part.source.slice(at, to));
    return pieces.join("");
  }
}
