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
  /** Its own name. */
  own: string;
  kind: "field" | "argument" | "input field";
  /** As it is written, such as `[String!]!`. */
  type: string;
  description: string | null | undefined;
}

function ownTypes(schema: GraphQLSchema) {
  return Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
}

/** Custom scalars without the address of their specification. */
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

/** Texts that are named like a credential and not marked as a secret: their answers would be compressed. */
export function unmarkedSecrets(schema: GraphQLSchema): string[] {
  return fieldsOf(schema)
    .filter(({ field }) => /(?:token|secret|password|apiKey)$/i.test(field.name))
    .filter(({ field }) => /^(?:String|ID)\b/.test(getNamedType(field.type).name))
    .filter(({ field }) => !field.extensions.secret)
    .map(({ typeName, field }) => `${typeName}.${field.name}: ${String(field.type)}`);
}

/** Types, fields and arguments without a description. Values of enums stand for themselves: their type says what they are about. */
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

/** What is still described in the phrases of the libraries that made it. */
export function inPhrases(schema: GraphQLSchema): string[] {
  const phrase =
    /paginat|data universe|mutate data|Methods to use|\bedge\b|the matching connection/i;
  return [
    ...ownTypes(schema).map(({ name, description }) => ({ name, description })),
    ...places(schema),
  ]
    .filter(({ description }) => phrase.test(description ?? ""))
    .map(({ name }) => name);
}

/** Names that the published style does not have: underscores, `rowId` and `nodeId`, types in small letters, fields in capitals. */
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
 * Lists whose items may be null, and lists in answers that may be null themselves though the contract does not have it so.
 * The keys of a group are what rows have in common, which can be that they have no value.
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

/** Conversations have the ids that chat clients give them, which are no UUIDs. */
const madeByClients = /^Mutation\.\w+AiConversation\(id:\)$/;

/** What mutations take under the name of an id and is not of the type `ID`. */
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
