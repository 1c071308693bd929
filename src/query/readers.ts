import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryValue } from "./ast.ts";
import type { SearchField } from "./searchTable.ts";
import {
  parseBigintValue,
  parseBooleanValue,
  parseDecimalValue,
  parseEnumValue,
  parseIntegerValue,
  parseUuidValue,
} from "./values.ts";

/** How values are parsed, compared and bound. */
export type Reader = {
  read: (value: QueryValue) => string | number | boolean;
  type: SQL;
};

/** The reader of a field that is neither text nor time. */
export function readerOf({ kind, type, values = new Map() }: SearchField): Reader {
  switch (kind) {
    case "integer":
      return { read: parseIntegerValue, type: sql`int4` };
    case "bigint":
      return { read: (value) => parseBigintValue(value).toString(), type: sql`int8` };
    case "decimal":
      return { read: parseDecimalValue, type: sql`numeric` };
    case "float":
      return { read: parseDecimalValue, type: sql`float8` };
    case "boolean":
      return { read: parseBooleanValue, type: sql`bool` };
    case "id":
      return { read: parseUuidValue, type: sql`uuid` };
    case "enum":
      return {
        read: (value) => values.get(parseEnumValue(value, [...values.keys()])) ?? value.text,
        type,
      };
    default:
      return { read: (value) => value.text, type: sql`text` };
  }
}
