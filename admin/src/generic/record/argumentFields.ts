import type { Entity, EntityField } from "../../meta/entities.ts";
import { enRecord } from "../../text/enRecord.ts";

/**
 * The arguments of the create mutation as fields of the form of a new row, in a section after the others. An argument
 * with the name of a field of the form has no editor: it takes the value of that field.
 */
export function argumentFields({ canCreate, fields }: Entity): EntityField[] {
  const own = new Set(
    fields.filter(({ onCreate }) => onCreate !== "NO").map((field) => field.name),
  );
  return (canCreate?.arguments ?? [])
    .flatMap((argument) => argument.fields)
    .filter(({ name }) => !own.has(name))
    .map((field) => ({
      ...field,
      section: enRecord.options,
      // A checkbox, whose state is always sent.
      isNullable: field.isNullable && (field.kind !== "BOOLEAN" || field.isList),
    }));
}
