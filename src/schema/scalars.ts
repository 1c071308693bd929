import { GraphQLError, type GraphQLScalarTypeConfig, Kind, type ValueNode } from "graphql";
import { readUuid } from "../postgres/uuid.ts";

/** Parses an id; throws a GraphQLError that shows the form of an id. */
export function parseId(value: unknown): string {
  const id = readUuid(value);
  if (id !== null) return id;
  throw new GraphQLError(
    `An ID is a UUID such as 0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a, not ${show(value)}`,
  );
}

// RFC 3339 with a zone; years beyond 9999 and "24:00" are rejected.
const instantPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** Outside this range, which a zone offset can reach, the year in UTC has not four digits. */
const firstInstant = Date.parse("0001-01-01T00:00:00Z");
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z");

/** Parses a timestamp and returns it as `2026-01-31T12:34:56.789Z`. */
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

/** Parses a literal, which must be a string; the error has its position. */
export function literal(parse: (value: unknown) => string, name: string) {
  return (node: ValueNode) => {
    try {
      if (node.kind === Kind.STRING) return parse(node.value);
      throw new GraphQLError(`${name} must be written as a string`);
    } catch (error) {
      // Validation does not add the position.
      throw error instanceof GraphQLError
        ? new GraphQLError(error.message, { nodes: node })
        : error;
    }
  };
}

const decimalPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
/** Limits the time of conversions; no column needs as many digits. */
const maxDecimalLength = 1_000;

/** Parses a decimal of a string or a number and returns it as a string, digit for digit. */
function parseDecimal(value: unknown): string {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && text.length <= maxDecimalLength && decimalPattern.test(text))
    return text;
  throw new GraphQLError(`A BigFloat is a decimal number such as "12.50", not ${show(value)}`);
}

/** Parses a 64-bit integer of a string or a number. */
function parseBigInt(value: unknown): string {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && /^[+-]?\d{1,19}$/.test(text)) {
    const number = BigInt(text);
    if (BigInt.asIntN(64, number) === number) return String(number);
  }
  throw new GraphQLError(`A BigInt is a whole number of 64 bits such as "12", not ${show(value)}`);
}

/** Parses a date. */
function parseDay(value: unknown): string {
  const day = typeof value === "string" ? /^\d{4}-\d{2}-\d{2}$/.exec(value)?.[0] : undefined;
  const time = day === undefined ? NaN : Date.parse(`${day}T00:00:00Z`);
  // Date accepts 30 February.
  if (day !== undefined && !day.startsWith("0000") && !Number.isNaN(time))
    if (new Date(time).toISOString().startsWith(day)) return day;
  throw new GraphQLError(`A Date is a day such as 2026-01-31, not ${show(value)}`);
}

type LiteralParser = Pick<GraphQLScalarTypeConfig<unknown, unknown>, "parseValue" | "parseLiteral">;

/** Parses a literal of a scalar that is a string or a number. */
function parseNumberLiteral(parse: (value: unknown) => string, name: string): LiteralParser {
  return {
    parseValue: parse,
    parseLiteral: (node: ValueNode) =>
      node.kind === Kind.INT || node.kind === Kind.FLOAT
        ? literal(parse, name)({ ...node, kind: Kind.STRING })
        : literal(parse, name)(node),
  };
}

/** The specification of each custom scalar; `@specifiedBy` in the schema. */
export const specifications: Readonly<Record<string, string>> = {
  BigFloat: "https://www.w3.org/TR/xmlschema11-2/#decimal",
  BigInt: "https://www.w3.org/TR/xmlschema11-2/#long",
  Cursor: "https://relay.dev/graphql/connections.htm#sec-Cursor",
  Date: "https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
  DateTime: "https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
  JSON: "https://www.rfc-editor.org/rfc/rfc8259",
};

/** Parsers for scalars that the library passes to the database unchecked, where an error would name no field. */
export const otherScalars: Readonly<Record<string, LiteralParser>> = {
  BigFloat: parseNumberLiteral(parseDecimal, "A BigFloat"),
  BigInt: parseNumberLiteral(parseBigInt, "A BigInt"),
  Date: { parseValue: parseDay, parseLiteral: literal(parseDay, "A Date") },
};
