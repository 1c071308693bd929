import { variableOf } from "../../api/recordDocuments.ts";
import type { ConsoleArgument, EntityField } from "../../meta/entities.ts";
import { enRecord } from "../../text/enRecord.ts";
import { type FormValues, addInputValue } from "./values.ts";

/** The variables of the document of a mutation or a report, without empty arguments; errors by field where a value is missing or wrong. */
export function variablesOf(
  args: readonly ConsoleArgument[],
  values: FormValues,
): { variables: Record<string, unknown>; found: Record<string, string> } {
  const found: Record<string, string> = {};
  const inputOf = (fields: readonly EntityField[]) => {
    const input: Record<string, unknown> = {};
    for (const field of fields) {
      const value = values[field.name] ?? "";
      if (value === "") {
        if (field.onCreate === "REQUIRED") found[field.name] = enRecord.needed(field.title);
        continue;
      }
      addInputValue(field, value, input, found);
    }
    return input;
  };
  const variables = args.flatMap(({ name, type, isObject, fields }) => {
    const input = inputOf(fields);
    const isGiven = Object.keys(input).length > 0 || type.endsWith("!");
    return isGiven ? [[variableOf({ name }), isObject ? input : input[name]]] : [];
  });
  return { variables: Object.fromEntries(variables) as Record<string, unknown>, found };
}
