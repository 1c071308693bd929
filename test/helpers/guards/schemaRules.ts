import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
} from "graphql";
import type {
  GraphQLArgument,
  GraphQLField,
  GraphQLInputField,
  GraphQLInputObjectType,
  GraphQLSchema,
} from "graphql";

/** A place in a schema, named as in `Query.user(id:)`. */
interface Place {
  name: string;
  /** The last part of the name. */
  own: string;
  kind: "field" | "argument" | "input field";
  /** The printed type, such as `[String!]!`. */
  type: string;
  description: string | null | undefined;
}

function ownTypes(schema: GraphQLSchema) {
  return Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
}

/** Custom scalars without a specification URL. */
export function unspecified(schema: GraphQLSchema): string[] {
  return ownTypes(schema)
    .filter((type) => isScalarType(type) && !type.specifiedByURL)
    .map(({ name }) => name);
}

function fieldsOf(
  schema: GraphQLSchema,
): { typeName: string; field: GraphQLField<unknown, unknown> }[] {
  return ownTypes(schema).flatMap((type) =>
    isObjectType(type) || isInterfaceType(type)
      ? Object.values(type.getFields()).map((field) => ({ typeName: type.name, field }))
      : [],
  );
}

function place(
  kind: Place["kind"],
  name: string,
  item: GraphQLArgument | GraphQLInputField | GraphQLField<unknown, unknown>,
): Place {
  return { kind, name, own: item.name, type: String(item.type), description: item.description };
}

function argumentsOf(typeName: string, field: GraphQLField<unknown, unknown>): Place[] {
  return field.args.map((arg) => place("argument", `${typeName}.${field.name}(${arg.name}:)`, arg));
}

function inputFieldsOf(type: GraphQLInputObjectType): Place[] {
  return Object.values(type.getFields()).map((field) =>
    place("input field", `${type.name}.${field.name}`, field),
  );
}

function places(schema: GraphQLSchema): Place[] {
  const outputs = fieldsOf(schema).flatMap(({ typeName, field }) => [
    place("field", `${typeName}.${field.name}`, field),
    ...argumentsOf(typeName, field),
  ]);
  return [...outputs, ...ownTypes(schema).filter(isInputObjectType).flatMap(inputFieldsOf)];
}

/** The fields of Query and Mutation that declare no guard. */
export function unguarded(schema: GraphQLSchema): string[] {
  return [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
    (root) =>
      Object.values(root?.getFields() ?? {})
        .filter((field) => !(field.extensions.office as { guard?: unknown } | undefined)?.guard)
        .map((field) => `${root?.name}.${field.name}`),
  );
}

/** String fields that are named like a credential but not marked as secret; their responses would be compressed. */
export function unmarkedSecrets(schema: GraphQLSchema): string[] {
  return fieldsOf(schema)
    .filter(({ field }) => /(?:token|secret|password|apiKey)$/i.test(field.name))
    .filter(({ field }) => /^(?:String|ID)\b/.test(getNamedType(field.type).name))
    .filter(({ field }) => !field.extensions.secret)
    .map(({ typeName, field }) => `${typeName}.${field.name}: ${String(field.type)}`);
}

/** Types, fields and arguments without a description. Enum values need none. */
export function undescribed(schema: GraphQLSchema): string[] {
  return [
    ...ownTypes(schema)
      .filter((type) => !type.description?.trim())
      .map((type) => type.name),
    ...places(schema)
      .filter(({ description }) => !description?.trim())
      .map(({ name }) => name),
  ];
}

/** Items that still have a description from a schema library. */
export function libraryDescribed(schema: GraphQLSchema): string[] {
  const phrase =
    /paginat|data universe|mutate data|Methods to use|\bedge\b|the matching connection/i;
  return [
    ...ownTypes(schema).map(({ name, description }) => ({ name, description })),
    ...places(schema),
  ]
    .filter(({ description }) => phrase.test(description ?? ""))
    .map(({ name }) => name);
}

/** Names that violate the naming style: underscores, `rowId` and `nodeId`, lower-case types, upper-case fields. */
export function oddNames(schema: GraphQLSchema): string[] {
  return [
    ...ownTypes(schema)
      .map((type) => type.name)
      .filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name) || /rowid|nodeid/i.test(name)),
    ...places(schema)
      .filter(
        ({ own }) => !/^[a-z][A-Za-z0-9]*$/.test(own) || /^(row|node)Ids?$|RowId|NodeId/.test(own),
      )
      .map(({ name }) => name),
    ...ownTypes(schema).flatMap((type) =>
      isEnumType(type)
        ? type
            .getValues()
            .filter((value) => !/^[A-Z][A-Z0-9_]*$/.test(value.name))
            .map((value) => `${type.name}.${value.name}`)
        : [],
    ),
  ];
}

/**
 * Lists with nullable items, and nullable output lists that the contract does not declare.
 * Group keys are exempt, because the rows of a group can share a null.
 */
export function looseLists(schema: GraphQLSchema, contract: GraphQLSchema): string[] {
  const nullable = new Set(
    fieldsOf(contract)
      .filter(({ field }) => isListType(field.type))
      .map(({ typeName, field }) => `${typeName}.${field.name}`),
  );
  return places(schema)
    .filter(
      ({ kind, name, type }) =>
        (/[^!]\]/.test(type) && !/Aggregates\.keys$/.test(name)) ||
        (kind === "field" && type.endsWith("]") && !nullable.has(name)),
    )
    .map(({ name }) => name);
}

/** Chat clients choose the ids of conversations, which are not UUIDs. */
const madeByClients = /^Mutation\.\w+AiConversation\(id:\)$/;

/** Mutation arguments that are named like an id but are not of the type `ID`. */
export function untypedIds(schema: GraphQLSchema): string[] {
  const mutation = schema.getMutationType();
  const found: string[] = [];
  const seen = new Set<string>();
  const queue = Object.values(mutation?.getFields() ?? {}).flatMap((field) =>
    argumentsOf(mutation?.name ?? "", field),
  );
  for (const { name, own, type } of queue) {
    const named = type.replace(/[[\]!]/g, "");
    const isId = /^ids?$|Ids?$/.test(own) && !madeByClients.test(name);
    if (isId && named !== "ID") found.push(name);
    const input = schema.getType(named);
    if (!isInputObjectType(input) || seen.has(named)) continue;
    seen.add(named);
    queue.push(...inputFieldsOf(input));
  }
  return found;
}
