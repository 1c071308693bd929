import type { GraphQLField, GraphQLObjectType } from "graphql";
import { getNamedType, isObjectType } from "graphql";

/** The permission to read rows: one of the keys suffices. Errors name `permission`. */
export interface Need {
  keys: readonly string[];
  permission: string;
  /** Whether only scoped tokens need it. */
  onlyScoped?: boolean;
}

/** The visibility of the rows of a type. */
export interface RowVisibility {
  /** Null for rows that every login sees. */
  need: Need | null;
  /** The fields of the table's `@summary`. */
  summary: readonly string[];
}

/** The visibility of the rows of a field. */
export interface FieldVisibility {
  /** Shows rows to all callers who see the parent object, or only to its owner. */
  follows?: "parent" | "own";
  /** Needs in addition to those of its rows. */
  needs?: readonly Need[];
  /** A permission that a scoped token needs where the object is the caller's own. */
  scopedKey?: string;
  /** Shows the caller's own row: always, or below the caller's own row. */
  isOwn?: "always" | "below";
  /** Shows rows, reduced to `@summary` and these fields, to callers without the permission. */
  summary?: readonly string[];
}

interface Extended {
  extensions: object;
}

export function visibilityOf({ extensions }: Extended): FieldVisibility {
  return (extensions as { visibility?: FieldVisibility }).visibility ?? {};
}

/** The visibility of rows of a type or of a page type; null for other types. */
export function visibilityOfRows(type: GraphQLObjectType): RowVisibility | null {
  const fields = type.getFields();
  const rows = fields["pageInfo"] ? rowsOf(fields["nodes"]) : type;
  return (rows?.extensions as { rows?: RowVisibility } | undefined)?.rows ?? null;
}

function rowsOf(field: GraphQLField<unknown, unknown> | undefined): GraphQLObjectType | undefined {
  const type = getNamedType(field?.type);
  return isObjectType(type) ? type : undefined;
}
