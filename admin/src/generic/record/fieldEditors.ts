import type { EntityField } from "../../meta/entities.ts";
import { enRecord } from "../../text/enRecord.ts";

/** Focuses the editor of a field after the next rendering. */
export function focusField(name: string): void {
  setTimeout(() => focusFieldNow(name));
}

/** Focuses the field at once, so that it receives the next key press. Returns whether the field exists. */
export function focusFieldNow(name: string): boolean {
  const editor = editorOf(name);
  editor?.focus();
  return editor !== null;
}

type EditorElement = HTMLElement & Partial<Pick<HTMLInputElement, "validity">>;

function editorOf(name: string): EditorElement | null {
  const editors = document.querySelectorAll<HTMLElement>(
    `[data-field="${CSS.escape(name)}"] :is(input, select, textarea)`,
  );
  // The form of the topmost drawer is the last one in the document.
  const top = [...editors].at(-1)?.closest("[data-field]");
  return top?.querySelector<EditorElement>("input, select, textarea") ?? null;
}

/** Messages for inputs that hold part of a value, or a date that does not exist; the browser returns no value for them. */
export function partialInputs(fields: readonly EntityField[]): Record<string, string> {
  const partial = fields.filter(({ name }) => editorOf(name)?.validity?.badInput === true);
  return Object.fromEntries(partial.map((field) => [field.name, badInput(field)]));
}

function badInput({ kind }: EntityField): string {
  if (kind === "CLOCK") return enRecord.timeOfDay;
  return kind === "TIME" ? enRecord.dateAndTime : enRecord.date;
}
