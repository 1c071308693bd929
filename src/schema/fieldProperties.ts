import {
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from "graphql";
import type { NumericDigits } from "./columns.ts";
import type { EntityField, FieldKind } from "./entityDescription.ts";
import { type Tags, tagText } from "./labels.ts";
import { titleOf, withoutNull } from "./rowNames.ts";

/** A field of an input object, or an argument. */
export type Input = GraphQLInputField | GraphQLArgument;

/** Kinds of the scalars; others are shown as text. */
const scalarKinds: Readonly<Record<string, FieldKind>> = {
  Int: "INTEGER",
  BigInt: "INTEGER",
  Float: "FLOAT",
  BigFloat: "DECIMAL",
  Boolean: "BOOLEAN",
  Date: "DATE",
  DateTime: "TIME",
  Time: "CLOCK",
  JSON: "JSON",
};

/** The properties that follow from the type and the tags of a field; `row` is the type of its row. */
export function typeProperties(
  field: GraphQLField<unknown, unknown> | Input,
  tags: Tags | undefined,
  row?: GraphQLObjectType,
) {
  const named = getNamedType(field.type);
  const widget = tagText(tags, "widget");
  return {
    description: firstParagraph(field.description),
    widget,
    currencyField: row && widget === "money" ? currencyFieldOf(row, field.name) : null,
    values: isEnumType(named) ? valuesOf(named, tags) : [],
    isList: isListType(getNullableType(field.type)),
    isNullable: !isNonNullType(field.type),
    section: tagText(tags, "section"),
  };
}

/** The field of a type with a secret that only the mutation that creates it returns; null without one. */
export function secretFieldOf(type: GraphQLObjectType): string | null {
  const found = Object.values(type.getFields()).find(
    ({ extensions }) => (extensions as { secret?: boolean }).secret,
  );
  return found?.name ?? null;
}

/** The unit of a field's numbers, such as `bottles`, and of the number 1. */
export function unitsOf({ inflection }: GraphileBuild.Build, tags: Tags | undefined) {
  const unit = tagText(tags, "unit") ?? (tagText(tags, "widget") === "percent" ? "%" : null);
  // Symbols such as `ml` and `ms` have no plural.
  const isWord = unit !== null && /^\p{L}{4,}$/u.test(unit);
  return { unit, unitOne: isWord ? inflection.singularize(unit) : unit };
}

/** The field with the currency of an amount: `feeCurrency` for `fee`, else `currency`; null without either. */
function currencyFieldOf(row: GraphQLObjectType, amount: string): string | null {
  const fields = row.getFields();
  const names = [`${amount}Currency`, "currency"];
  return names.find((name) => fields[name] && isLeafType(getNamedType(fields[name].type))) ?? null;
}

/** Whether the console shows values of a type: not intervals, ranges and composite values, which are objects, nor bytes. */
export function isShown(type: GraphQLOutputType): boolean {
  const named = getNamedType(type);
  return isLeafType(named) && named.name !== "Base64EncodedBinary";
}

export function kindOf(type: GraphQLType): FieldKind {
  const named = getNamedType(type);
  if (isEnumType(named)) return "ENUM";
  // For example the columns of an export template.
  if (isInputObjectType(named)) return "JSON";
  return scalarKinds[named.name] ?? "TEXT";
}

/** The bounds of the whole numbers by GraphQL type. */
const integerBounds: Readonly<Record<string, readonly [string, string] | undefined>> = {
  Int: ["-2147483648", "2147483647"],
  BigInt: ["-9223372036854775808", "9223372036854775807"],
};

/** The numbers that the type of a field can hold. */
export function boundsOf(
  type: GraphQLType,
  codecName = "",
  digits?: NumericDigits,
): Pick<EntityField, "minimum" | "maximum" | "decimals"> {
  if (digits) {
    const whole = "9".repeat(digits.precision - digits.scale) || "0";
    const maximum = digits.scale === 0 ? whole : `${whole}.${"9".repeat(digits.scale)}`;
    return { minimum: `-${maximum}`, maximum, decimals: digits.scale };
  }
  const [minimum, maximum] =
    codecName === "int2"
      ? ["-32768", "32767"]
      : (integerBounds[getNamedType(type).name] ?? [null, null]);
  return { minimum, maximum, decimals: null };
}

/** Converts a column's constant default to its form in the API. */
export function defaultOf(
  field: GraphQLField<unknown, unknown>,
  text: string | undefined,
): string | null {
  const named = getNamedType(field.type);
  if (text === undefined) return null;
  const nameOf = (value: string) =>
    isEnumType(named) ? named.getValues().find((one) => one.value === value)?.name : value;
  if (!isListType(getNullableType(field.type))) return nameOf(text) ?? null;
  // Forms have one list item per line. Quoted items are not parsed; the database sets such a default.
  const items = /^\{([\w,]+)\}$/.exec(text)?.[1]?.split(",").map(nameOf);
  return items?.every((item) => item !== undefined) ? items.join("\n") : null;
}

/** The values of an enumeration, with tones from tags of the column such as `@tone CANCELLED bad`. */
function valuesOf(type: GraphQLEnumType, tags: Tags | undefined): EntityField["values"] {
  const given = tags?.["tone"];
  const lines = Array.isArray(given) ? given.map(String) : typeof given === "string" ? [given] : [];
  const tones = new Map(
    lines.map((line) => {
      const [value = "", tone = ""] = line.trim().split(/\s+/);
      return [value, tone];
    }),
  );
  return type.getValues().map(({ name }) => ({
    value: name,
    title: titleOf(name.toLowerCase()),
    tone: tones.get(name) ?? null,
  }));
}

/** The part of a description for users of the console. */
export function firstParagraph(description: string | null | undefined): string | null {
  const paragraph = description?.split("\n\n")[0]?.replaceAll("\n", " ");
  return paragraph === undefined ? null : withoutNull(paragraph);
}
