import {
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isRequiredArgument,
} from "graphql";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { type Guard, guardOf } from "../auth/guards.ts";
import { innerCodec, isHidden } from "./columns.ts";
import type { ConsoleField, ConsoleMutation, Verb } from "./consoleEntity.ts";
import { describeInput, useOf } from "./consoleInputs.ts";
import {
  type Named,
  referenceByName,
  referenceOfArgument,
  referencesOf,
} from "./consoleReferences.ts";
import type { EntityField } from "./entityDescription.ts";
import {
  boundsOf,
  defaultOf,
  firstParagraph,
  isShown,
  kindOf,
  typeProperties,
  unitsOf,
} from "./fieldProperties.ts";
import { type Table, type Tags, computedFunctions, tagText } from "./labels.ts";
import { titleOf } from "./rowNames.ts";
import { insideSentence } from "../text/insideSentence.ts";

interface FieldsContext {
  table: Table;
  type: GraphQLObjectType;
  mutations: Record<Verb, Pick<ConsoleMutation, "inputType"> | null>;
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
    if (!isShown(field.type)) return [];
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
        ...typeProperties(field, tags, type),
        ...unitsOf(build, tags),
        name,
        // A generated description such as "The id of the wine type" adds nothing to the title.
        ...(reference ? { description: firstParagraph(attribute.description) } : {}),
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
    if (!isShown(field.type)) return [];
    // An id without a foreign key cannot become a link, and users cannot read it.
    if (getNamedType(field.type).name === "ID") return [];
    known.add(name);
    return [
      {
        ...typeProperties(field, tags, type),
        ...unitsOf(build, tags),
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
  return distinguishTitles(withPlaces([...columns, ...computed, ...others], columns));
}

/** Hides the fields without a place if columns have one. A computed field with a place joins the other columns. */
function withPlaces<F extends EntityField>(
  fields: readonly F[],
  columns: readonly EntityField[],
): F[] {
  const isChosen = columns.some(({ place }) => place !== null && place > 0);
  return fields.map((field) => (isChosen ? { ...field, place: field.place ?? 0 } : field));
}

/** Adds the name of a field to a title that a reference or an earlier field has already. */
function distinguishTitles(fields: ConsoleField[]): ConsoleField[] {
  const owners = new Map<string, ConsoleField>();
  for (const field of [...fields.filter(({ reference }) => reference), ...fields])
    if (!owners.has(field.title)) owners.set(field.title, field);
  return fields.map((field) =>
    owners.get(field.title) === field
      ? field
      : { ...field, title: `${field.title} (${insideSentence(titleOf(field.name))})` },
  );
}

/** Describes the fields of rows that belong to no table, such as those of a composite type. */
export function fieldsOfRows(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  type: GraphQLObjectType,
  listed: Named,
): EntityField[] {
  const fields = Object.entries(codec.attributes).flatMap(([attributeName, attribute]) => {
    const name = build.inflection.attribute({ attributeName, codec });
    const field = type.getFields()[name];
    if (!field || !isShown(field.type)) return [];
    const tags = attribute.extensions?.tags as Tags | undefined;
    const isId = getNamedType(field.type).name === "ID";
    const reference = isId
      ? (referenceByName(build, type, name, listed) ?? referenceOfArgument(build, name, listed))
      : null;
    // People cannot read an id that is no link.
    if (isId && !reference) return [];
    return [
      {
        ...typeProperties(field, tags, type),
        ...unitsOf(build, tags),
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
  return withPlaces(fields, fields);
}

/** The names of the computed fields of a table with the tags of their functions. */
function computedFields(build: GraphileBuild.Build, table: Table): [string, Tags][] {
  return [...computedFunctions(build, table).values()].map((resource) => [
    build.inflection.computedAttributeField({ resource: resource as never }),
    resource.extensions?.tags as Tags,
  ]);
}

function rowGuard(field: GraphQLField<unknown, unknown> | undefined): { guard?: Guard } {
  const hasGuard = (field?.extensions as { office?: { guard?: Guard } } | undefined)?.office?.guard;
  return field && hasGuard !== undefined ? { guard: guardOf(field) } : {};
}

/** Reads `@list 3` or `@list off`. `created_at` is hidden by default. */
function placeInList(tags: Tags | undefined, column: string): number | null {
  const list = tagText(tags, "list");
  if (list === "off") return 0;
  if (list !== null) return Number(list);
  return column === "created_at" ? 0 : null;
}

/** The fields of the input of a mutation, by name. */
export function inputFields(
  schema: GraphQLSchema,
  mutation: Pick<ConsoleMutation, "inputType"> | null,
): Record<string, GraphQLInputField> {
  const type = mutation?.inputType == null ? undefined : schema.getType(mutation.inputType);
  return isInputObjectType(type) ? type.getFields() : {};
}
