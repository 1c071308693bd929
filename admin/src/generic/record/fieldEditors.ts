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

/** Focuses the first field with a message. */
export function focusFirstError(
  fields: readonly EntityField[],
  errors: Readonly<Record<string, string>>,
): void {
  const first = fields.find(({ name }) => errors[name] !== undefined);
  if (first) focusField(first.name);
}

type EditorElement = HTMLElement &
  Partial<Pick<HTMLInputElement, "validity" | "validationMessage">>;

function editorOf(name: string): EditorElement | null {
  const editors = document.querySelectorAll<HTMLElement>(
    `[data-field="${CSS.escape(name)}"] :is(input, select, textarea)`,
  );
  // The form of the topmost drawer is the last one in the document.
  const top = [...editors].at(-1)?.closest("[data-field]");
  return top?.querySelector<EditorElement>("input, select, textarea") ?? null;
}

/**
 * Messages for inputs whose text is no value, and which a form would leave out: part of a date, a date that does not
 * exist, or a name for which no row was chosen.
 */
export function partialInputs(fields: readonly EntityField[]): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const editor = editorOf(field.name);
      if (editor?.validity?.badInput === true) return [[field.name, badInput(field)]];
      return editor?.validity?.customError === true
        ? [[field.name, editor.validationMessage ?? ""]]
        : [];
    }),
  );
}

function badInput({ kind }: EntityField): string {
  if (kind === "CLOCK") return enRecord.timeOfDay;
  return kind === "TIME" ? enRecord.dateAndTime : enRecord.date;
}
