import {
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
} from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type Guard, guardOf } from "../auth/guards.ts";
import { type NumericDigits, innerCodec, isHidden } from "./columns.ts";
import type { ConsoleField, ConsoleMutation, Verb } from "./consoleEntity.ts";
import type { EntityField, EntityReference, FieldKind, FieldUse } from "./entityDescription.ts";
import {
  type Named,
  referenceByName,
  referenceOfArgument,
  referencesOf,
} from "./consoleReferences.ts";
import { type Table, type Tags, tagText } from "./labels.ts";
import { titleOf } from "./rowNames.ts";

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

interface FieldsContext {
  table: Table;
  type: GraphQLObjectType;
  mutations: Record<Verb, ConsoleMutation | null>;
  /** The values of `orderBy` of its list. */
  orders: readonly string[];
  /** The tables that a reference can refer to. */
  listed: Named;
}

/** Describes the fields of a table for lists and forms. */
export function fieldsOf(
  build: GraphileBuild.Build,
  schema: GraphQLSchema,
  { table, type, mutations, orders, listed }: FieldsContext,
): ConsoleField[] {
  const { codec } = table;
  const shown = type.getFields();
  const searched = build.searchTable(table as PgResource).fields;
  const references = referencesOf(build, table, listed);
  const inputs = {
    create: inputFields(schema, mutations.create),
    update: inputFields(schema, mutations.update),
  };
  const known = new Set<string>();
  const ordersOf = (constant: string) =>
    orders.filter((order) => order.replace(/_(ASC|DESC)$/, "") === constant);
  const columns = Object.entries(codec.attributes).flatMap(([attributeName, attribute]) => {
    const name = build.inflection.attribute({ attributeName, codec });
    const field = shown[name];
    known.add(name);
    if (!field || isHidden(attribute) || name === "id") return [];
    // Intervals, ranges and composite values are objects: the console has no cell for them.
    if (!isLeafType(getNamedType(field.type))) return [];
    const tags = attribute.extensions?.tags as Tags | undefined;
    const reference = references.get(attributeName) ?? referenceByName(build, type, name, listed);
    const onCreate = useOf(inputs.create[name]);
    const onUpdate = useOf(inputs.update[name]);
    // People cannot read an id that is no link: of a row that no list shows, or without a foreign key. They may have
    // to write one.
    const isBareId =
      !reference && (references.has(attributeName) || getNamedType(field.type).name === "ID");
    if (isBareId && onCreate === "NO" && onUpdate === "NO") return [];
    const constant = build.inflection.constantCase(attributeName);
    return [
      {
        ...typed(field, tags, type),
        name,
        // A generated description such as "The id of the wine type" adds nothing to the title.
        ...(reference ? { description: attribute.description ?? null } : {}),
        title: tagText(tags, "title") ?? titleOf(reference ? name.replace(/Id$/, "") : name),
        // A time of day with its zone is edited as text: editors of times have no zones.
        kind: reference
          ? ("REFERENCE" as const)
          : attribute.codec.name === "timetz"
            ? ("TEXT" as const)
            : kindOf(field.type),
        reference,
        isInputOnly: false,
        maxLength: attribute.extensions?.maxLength ?? null,
        ...boundsOf(field.type, innerCodec(attribute.codec).name, attribute.extensions?.digits),
        defaultValue: defaultOf(field, attribute.extensions?.defaultText),
        onCreate,
        onUpdate,
        orderBy: ordersOf(constant),
        searchName: searched.has(name) ? name : null,
        place: placeInList(tags, attributeName),
      },
    ];
  });
  const computed = computedFields(build, table).flatMap(([name, tags]) => {
    const field = shown[name];
    if (!field || known.has(name) || field.args.some(isRequiredArgument)) return [];
    if (!isLeafType(getNamedType(field.type))) return [];
    // An id without a foreign key cannot become a link, and users cannot read it.
    if (getNamedType(field.type).name === "ID") return [];
    known.add(name);
    return [
      {
        ...typed(field, tags, type),
        name,
        title: tagText(tags, "title") ?? titleOf(name),
        kind: kindOf(field.type),
        reference: null,
        ...rowGuard(field),
        isInputOnly: false,
        maxLength: null,
        ...boundsOf(field.type),
        defaultValue: null,
        onCreate: useOf(inputs.create[name]),
        onUpdate: useOf(inputs.update[name]),
        orderBy: ordersOf(build.inflection.constantCase(name)),
        searchName: searched.has(name) ? name : null,
        // Hidden in lists by default, because the function runs once per row.
        place: placeInList(tags, name) ?? 0,
      },
    ];
  });
  // Input fields without a column, such as the ids of a user's roles.
  const others = Object.values({ ...inputs.update, ...inputs.create })
    .filter(({ name }) => !known.has(name))
    .map((input) => {
      const reference = referenceByName(build, type, input.name, listed);
      return {
        ...describeInput(input, reference),
        ...rowGuard(reference?.field == null ? undefined : shown[reference.field]),
        onCreate: useOf(inputs.create[input.name]),
        onUpdate: useOf(inputs.update[input.name]),
      };
    });
  return [...columns, ...computed, ...others];
}

/** Describes the fields of rows that belong to no table, such as those of a composite type. */
export function fieldsOfRows(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  type: GraphQLObjectType,
  listed: Named,
): EntityField[] {
  return Object.entries(codec.attributes).flatMap(([attributeName, attribute]) => {
    const name = build.inflection.attribute({ attributeName, codec });
    const field = type.getFields()[name];
    if (!field || !isLeafType(getNamedType(field.type))) return [];
    const tags = attribute.extensions?.tags as Tags | undefined;
    const isId = getNamedType(field.type).name === "ID";
    const reference = isId
      ? (referenceByName(build, type, name, listed) ?? referenceOfArgument(build, name, listed))
      : null;
    // People cannot read an id that is no link.
    if (isId && !reference) return [];
    return [
      {
        ...typed(field, tags, type),
        name,
        title: tagText(tags, "title") ?? titleOf(reference ? name.replace(/Id$/, "") : name),
        kind: reference ? ("REFERENCE" as const) : kindOf(field.type),
        reference,
        isInputOnly: false,
        maxLength: null,
        ...boundsOf(field.type),
        defaultValue: null,
        onCreate: "NO" as const,
        onUpdate: "NO" as const,
        orderBy: [],
        searchName: null,
        place: placeInList(tags, attributeName),
      },
    ];
  });
}

/** A field of an input object, or an argument. */
type Input = GraphQLInputField | GraphQLArgument;

/** An input without a column. */
function describeInput(input: Input, reference: EntityReference | null): EntityField {
  return {
    ...typed(input, undefined),
    ...(isInputObjectType(getNamedType(input.type)) ? { isList: false } : {}),
    name: input.name,
    title: titleOf(reference?.field ?? (reference ? input.name.replace(/Id$/, "") : input.name)),
    kind: reference ? ("REFERENCE" as const) : kindOf(input.type),
    reference,
    isInputOnly: true,
    maxLength: null,
    ...boundsOf(input.type),
    defaultValue: null,
    onCreate: "NO",
    onUpdate: "NO",
    orderBy: [],
    searchName: null,
    place: reference ? null : 0,
  };
}

/** An argument of an action, or a field of its input object, which no field of the row describes. */
export function fieldOfInput(build: GraphileBuild.Build, input: Input, listed: Named): EntityField {
  const isList = isListType(getNullableType(input.type));
  return describeInput(input, isList ? null : referenceOfArgument(build, input.name, listed));
}

/** The names of the computed fields of a table with the tags of their functions. */
function computedFields(build: GraphileBuild.Build, table: Table): [string, Tags][] {
  return Object.values(build.pgResources as Record<string, PgResource>).flatMap((resource) => {
    const tags = resource.extensions?.tags as Tags | undefined;
    if (tags?.["computed"] === undefined || resource.parameters?.[0]?.codec !== table.codec)
      return [];
    return [[build.inflection.computedAttributeField({ resource: resource as never }), tags]];
  });
}

function rowGuard(field: GraphQLField<unknown, unknown> | undefined): { guard?: Guard } {
  const hasGuard = (field?.extensions as { office?: { guard?: Guard } } | undefined)?.office?.guard;
  return field && hasGuard !== undefined ? { guard: guardOf(field) } : {};
}

/** The properties that follow from the type and the tags of a field; `row` is the type of its row. */
function typed(
  field: GraphQLField<unknown, unknown> | Input,
  tags: Tags | undefined,
  row?: GraphQLObjectType,
) {
  const named = getNamedType(field.type);
  const widget = tagText(tags, "widget");
  return {
    description: firstParagraph(field.description),
    widget,
    unit: tagText(tags, "unit") ?? (widget === "percent" ? "%" : null),
    currencyField: row && widget === "money" ? currencyFieldOf(row, field.name) : null,
    values: isEnumType(named) ? valuesOf(named, tags) : [],
    isList: isListType(getNullableType(field.type)),
    isNullable: !isNonNullType(field.type),
    section: tagText(tags, "section"),
  };
}

/** The field with the currency of an amount: `feeCurrency` for `fee`, else `currency`; null without either. */
function currencyFieldOf(row: GraphQLObjectType, amount: string): string | null {
  const fields = row.getFields();
  const names = [`${amount}Currency`, "currency"];
  return names.find((name) => fields[name] && isLeafType(getNamedType(fields[name].type))) ?? null;
}

function kindOf(type: GraphQLType): FieldKind {
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
function boundsOf(
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
function defaultOf(field: GraphQLField<unknown, unknown>, text: string | undefined): string | null {
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

/** Reads `@list 3` or `@list off`. `created_at` is hidden by default. */
function placeInList(tags: Tags | undefined, column: string): number | null {
  const list = tagText(tags, "list");
  if (list === "off") return 0;
  if (list !== null) return Number(list);
  return column === "created_at" ? 0 : null;
}

export function useOf(input: Input | undefined): FieldUse {
  if (!input) return "NO";
  return isNonNullType(input.type) && input.defaultValue === undefined ? "REQUIRED" : "OPTIONAL";
}

function inputFields(
  schema: GraphQLSchema,
  mutation: ConsoleMutation | null,
): Record<string, GraphQLInputField> {
  const type = mutation?.inputType == null ? undefined : schema.getType(mutation.inputType);
  return isInputObjectType(type) ? type.getFields() : {};
}

/** The values of the list's argument `orderBy`. */
export function orderValues(field: GraphQLField<unknown, unknown> | undefined): string[] {
  const type = field?.args.find(({ name }) => name === "orderBy")?.type;
  const named = type && getNamedType(type);
  return isEnumType(named) ? named.getValues().map(({ name }) => name) : [];
}

export function firstParagraph(description: string | null | undefined): string | null {
  return description?.split("\n\n")[0]?.replaceAll("\n", " ") ?? null;
}
