import {
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
} from "graphql";
import type { GraphQLNamedType, GraphQLSchema } from "graphql";

/** API changes of a migration. */
export interface ApiChanges {
  /** Changes that break existing operations. */
  breaking: string[];
  /** Additions, such as `Product.shelf: Int`. */
  additions: string[];
}

const shownAdditions = 20;
const shownBreaking = 40;

/** Compares the API before and after a migration. */
export function compareApis(before: GraphQLSchema, after: GraphQLSchema): ApiChanges {
  const breaking = findBreakingChanges(before, after).map(({ description }) => description);
  const additions = Object.values(after.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type)) return [];
    const old = before.getType(type.name);
    return old ? newMembers(old, type) : [`type ${type.name}`];
  });
  // Root fields come first.
  const isRoot = (line: string) => /^(?:Query|Mutation|Subscription)\./.test(line);
  return {
    breaking: [...new Set(breaking)],
    additions: [...additions.filter(isRoot), ...additions.filter((line) => !isRoot(line))],
  };
}

function newMembers(before: GraphQLNamedType, after: GraphQLNamedType): string[] {
  const known = membersOf(before);
  // Arguments of a new field are not listed separately.
  const isListed = (name: string) => {
    const [field = "", argument] = name.split("(");
    return !known.has(name) && (argument === undefined || known.has(field));
  };
  return [...membersOf(after)].flatMap(([name, text]) => (isListed(name) ? [text] : []));
}

/** The fields, arguments and values of a type, each with its printed form. */
function membersOf(type: GraphQLNamedType): Map<string, string> {
  const members = new Map<string, string>();
  if (isEnumType(type))
    for (const { name } of type.getValues()) members.set(name, `${type.name}.${name}`);
  if (isInputObjectType(type))
    for (const field of Object.values(type.getFields()))
      members.set(field.name, `${type.name}.${field.name}: ${String(field.type)}`);
  if (isObjectType(type))
    for (const field of Object.values(type.getFields())) {
      members.set(field.name, `${type.name}.${field.name}: ${String(field.type)}`);
      for (const argument of field.args)
        members.set(
          `${field.name}(${argument.name}:)`,
          `${type.name}.${field.name}(${argument.name}: ${String(argument.type)})`,
        );
    }
  return members;
}

/** Lines that list the additions; long lists are truncated. */
export function additionLines({ additions }: ApiChanges): string[] {
  return cut(
    additions.map((line) => `  + ${line}`),
    shownAdditions,
  );
}

/** Lines that list the breaking changes. */
export function breakingLines({ breaking }: ApiChanges): string[] {
  return cut(
    breaking.map((line) => `  - ${line}`),
    shownBreaking,
  );
}

function cut(lines: readonly string[], shown: number): string[] {
  if (lines.length <= shown) return [...lines];
  return [...lines.slice(0, shown), `  … and ${lines.length - shown} more`];
}
