import { GraphQLError, Kind, type ValueNode } from "graphql";
import { isUuid } from "../uuid.ts";

/** Reads an id as callers send it; throws a GraphQL error that says what an id looks like. */
export function parseId(value: unknown): string {
  if (isUuid(value)) return value.toLowerCase();
  throw new GraphQLError(
    `An ID is a UUID such as 0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a, not ${show(value)}`,
  );
}

// RFC 3339 with a zone; years beyond 9999 and "24:00" are left out on purpose.
const instantPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** Beyond these, which a zone can lead to, a time in UTC has no year of four digits. */
const firstInstant = Date.parse("0001-01-01T00:00:00Z");
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z");

/** Reads a point in time as callers send it and returns it as `2026-01-31T12:34:56.789Z`. */
export function parseInstant(value: unknown): string {
  const match = typeof value === "string" ? instantPattern.exec(value) : null;
  if (match && typeof value === "string") {
    const [year, month, day, hour, minute, second] = match.slice(1, 7).map<number>(Number);
    const date = new Date(value.toUpperCase());
    const lastDay = new Date(Date.UTC(year ?? 0, month ?? 0, 0)).getUTCDate();
    if (
      date.getTime() >= firstInstant &&
      date.getTime() <= lastInstant &&
      (day ?? 0) <= lastDay &&
      (hour ?? 24) < 24 &&
      (minute ?? 60) < 60 &&
      (second ?? 60) < 60
    )
      return date.toISOString();
  }
  throw new GraphQLError(
    `A DateTime is an ISO 8601 time stamp with its zone, such as 2026-01-31T12:34:56Z, not ${show(value)}`,
  );
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The same for a value that stands in a document, which must be a string; the error has its place. */
export function literal(parse: (value: unknown) => string, name: string) {
  return (node: ValueNode) => {
    try {
      if (node.kind === Kind.STRING) return parse(node.value);
      throw new GraphQLError(`${name} must be written as a string`);
    } catch (error) {
      // With its place, which validation does not add.
      throw error instanceof GraphQLError
        ? new GraphQLError(error.message, { nodes: node })
        : error;
    }
  };
}
