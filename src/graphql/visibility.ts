import type { GraphQLField, GraphQLObjectType } from "graphql";
import { getNamedType, isObjectType } from "graphql";

/** A permission that rows need: one of the keys, of which `permission` is named to callers who hold none. */
export interface Need {
  keys: readonly string[];
  permission: string;
  /** Whether only scoped tokens need it. */
  onlyScoped?: boolean;
}

/** What a row's type says of who sees its rows. */
export interface RowVisibility {
  need: Need;
  /** The fields of the table's `@summary`. */
  summary: readonly string[];
}

/** What a field says of who sees what it shows. */
export interface FieldVisibility {
  /** Shows its rows to all who see the object that it belongs to, or to those whose own that object is. */
  follows?: "parent" | "own";
  /** Needs beside that of its rows. */
  needs?: readonly Need[];
  /** A permission that a scoped token needs where the object is the caller's own. */
  scopedKey?: string;
  /** Shows the caller's own row, always or below the caller's own. */
  isOwn?: "always" | "below";
  /** Shows rows to callers who may see no more than their `@summary` and these fields. */
  summary?: readonly string[];
}

interface Extended {
  extensions: object;
}

export function visibilityOf({ extensions }: Extended): FieldVisibility {
  return (extensions as { visibility?: FieldVisibility }).visibility ?? {};
}

/** Of the rows of a type, be it theirs or that of a page of them; null for other types. */
export function visibilityOfRows(type: GraphQLObjectType): RowVisibility | null {
  const fields = type.getFields();
  const rows = fields["pageInfo"] ? rowsOf(fields["nodes"]) : type;
  return (rows?.extensions as { rows?: RowVisibility } | undefined)?.rows ?? null;
}

function rowsOf(field: GraphQLField<unknown, unknown> | undefined): GraphQLObjectType | undefined {
  const type = getNamedType(field?.type);
  return isObjectType(type) ? type : undefined;
}
