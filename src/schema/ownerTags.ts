import { type Tags, tagText } from "./labels.ts";

/** The columns of the tag `@owner`: that of the user, and that of the API token if there is one. */
export function ownerColumns(tags: Tags | undefined): string[] {
  return (tagText(tags, "owner") ?? "").split(/[\s,]+/).filter(Boolean);
}

/** Whether rows belong to one user, who does not share them with all who see them. */
export function hasOwnRows(tags: Tags | undefined): boolean {
  return ownerColumns(tags).length > 0 && tags?.["shared"] === undefined;
}

/** Whether a verb of `@mutations` changes only the rows of its caller, as the table's policies say. */
export function changesOnlyOwnRows(tags: Tags | undefined, verb: "update" | "delete"): boolean {
  const verbs = (tagText(tags, "mutations") ?? "").split(/\s+/);
  return hasOwnRows(tags) && verbs.includes(verb);
}
