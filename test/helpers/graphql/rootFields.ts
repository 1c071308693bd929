import { randomUUID } from "node:crypto";
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from "graphql";

/** A root field with its guard and a minimal valid request. */
export interface RootField {
  name: string;
  kind: "query" | "mutation";
  /** `public`, `principal`, `login`, `session`, or permission keys. */
  guard: string | readonly string[];
  document: string;
  variables: Record<string, unknown>;
}

/** All root fields of a schema. */
export function rootFields(schema: GraphQLSchema): RootField[] {
  const roots = [
    ["query", schema.getQueryType()],
    ["mutation", schema.getMutationType()],
  ] as const;
  return roots.flatMap(([kind, type]) =>
    Object.values(type?.getFields() ?? {}).map((field) => {
      // A mutation of many rows takes their ids or a query.
      const isBulk = getNamedType(field.type).name === "BulkResult";
      const required = field.args.filter(
        (arg) => isRequiredArgument(arg) || (isBulk && arg.name === "ids"),
      );
      const declared = required.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(", ");
      const passed = required.map((arg) => `${arg.name}: $${arg.name}`).join(", ");
      const selection = isLeafType(getNamedType(field.type)) ? "" : " { __typename }";
      // Names are unique: an update uses another text than a create.
      const text = field.name.startsWith("update") ? (isBulk ? "3" : "2") : "1";
      const { guard } = field.extensions.office as { guard: RootField["guard"] };
      return {
        name: field.name,
        kind,
        guard,
        document: `${kind}${declared && ` (${declared})`} { ${field.name}${passed && `(${passed})`}${selection} }`,
        variables: Object.fromEntries(required.map((arg) => [arg.name, anyValue(arg.type, text)])),
      };
    }),
  );
}

/** The definition of a root field. */
export function fieldOf(
  schema: GraphQLSchema,
  { kind, name }: Pick<RootField, "kind" | "name">,
): GraphQLField<unknown, unknown> {
  const root = kind === "query" ? schema.getQueryType() : schema.getMutationType();
  const field = root?.getFields()[name];
  if (!field) throw new Error(`no root field ${name}`);
  return field;
}

/** Selects all fields of a type to the given depth; `always` is added to each object. */
export function selection(type: GraphQLOutputType, depth: number, always = ""): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return "";
  const inner = Object.values(named.getFields())
    .filter((field) => !field.args.some(isRequiredArgument))
    .map((field) => {
      if (isLeafType(getNamedType(field.type))) return field.name;
      const deeper = depth > 0 ? selection(field.type, depth - 1, always) : "";
      return deeper && `${field.name} ${deeper}`;
    })
    .concat(always)
    .filter(Boolean);
  return inner.length > 0 ? `{ ${inner.join(" ")} }` : "";
}

/** The smallest valid value of a type; its ids refer to no row. */
function anyValue(type: GraphQLInputType, text: string): unknown {
  if (isNonNullType(type)) return anyValue(type.ofType, text);
  if (isListType(type)) return [anyValue(type.ofType, text)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (isInputObjectType(type)) {
    const inner = Object.values(type.getFields());
    const required = inner.filter(isRequiredInputField);
    // An empty input would change nothing.
    const given = required.length > 0 ? required : inner.slice(0, 1);
    return Object.fromEntries(given.map((field) => [field.name, anyValue(field.type, text)]));
  }
  const values: Record<string, unknown> = {
    ID: randomUUID(),
    Int: 1,
    Float: 1,
    Boolean: true,
    DateTime: new Date(Date.now() + 3_600_000).toISOString(),
    Date: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    JSON: {},
  };
  return values[type.name] ?? text;
}
