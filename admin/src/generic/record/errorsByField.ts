import { withoutNull } from "../../../../src/schema/rowNames.ts";
import { ApiError } from "../../api/errors.ts";
import type { Entity, EntityField } from "../../meta/entities.ts";
import { formatList } from "../../text/locale.ts";

interface FormErrors {
  byField: Record<string, string>;
  /** The error that belongs to no field of the form. */
  problem: Error | null;
}

/** Assigns the errors of a response to the fields of a form, and replaces the API names of fields by their titles. */
export function errorsByField(
  error: ApiError,
  { fields: all }: Pick<Entity, "fields">,
  fields: readonly EntityField[],
): FormErrors {
  const byField: Record<string, string> = {};
  const others = error.errors.filter(({ path, fields: several, message }) => {
    const own = path.findLast((part) => all.some(({ name }) => name === part));
    const names = own === undefined ? several : [String(own)];
    const shown = names.filter((name) => fields.some((field) => field.name === name));
    for (const name of shown) byField[name] ??= withTitles(all, message);
    return shown.length === 0;
  });
  const [first] = others;
  const hasField = Object.keys(byField).length > 0;
  if (first === undefined) return { byField, problem: hasField ? null : error };
  const shown = others.map((detail) => ({ ...detail, message: withTitles(all, detail.message) }));
  return { byField, problem: new ApiError(shown, error.correlationId) };
}

/** The names of fields with which a message begins, such as `endsOn, startsOn must be in order`. */
function leadingNames(fields: readonly EntityField[], message: string): string[] {
  const names = (/^\w+(?:, \w+)*/.exec(message)?.[0] ?? "").split(", ");
  const areFields = names.every((name) => fields.some((field) => field.name === name));
  return areFields ? names : [];
}

/** Replaces "null", and API names by titles: at the beginning, and elsewhere names that are no English words, such as `endsOn`. */
function withTitles(fields: readonly EntityField[], message: string): string {
  const titles = new Map(fields.map(({ name, title }) => [name, title]));
  const start = leadingNames(fields, message);
  const beginning = formatList(start.map((name) => titles.get(name) ?? name));
  const rest = withoutNull(message.slice(start.join(", ").length));
  return beginning + rest.replaceAll(/\b[a-z]+[A-Z]\w*\b/g, (name) => titles.get(name) ?? name);
}
