import {
  type GraphQLSchema,
  type OperationDefinitionNode,
  getNamedType,
  isEnumType,
  isInputType,
  typeFromAST,
} from "graphql";
import { badUserInput, type PublicError } from "../errors/PublicError.ts";
import { maxListLength } from "./enumLists.ts";

type Path = (string | number)[];
type Values = Record<string, unknown>;

/** Limits of an operation's variables, checked before coercion. */
export interface VariableLimits {
  /** The most values in all variables: objects, lists and scalars count as one each. */
  values: number;
  /** The most items of one list. */
  listItems: number;
}

/** Input types have at most 20 fields. Error messages print the object concerned, so this limits them too. */
const keyLimit = 100;
/** Clients may send variables that the operation does not declare. */
const variableLimit = 1_000;

/**
 * Rejects variables with too many keys, items or values, in time linear in their size.
 * @param placeOf the argument that a path within the variables belongs to
 * @throws PublicError BAD_USER_INPUT with the argument and the limit
 */
export function checkVariableSize(
  variables: Values,
  limits: VariableLimits,
  placeOf: (path: Path) => Path,
): void {
  let values = 0;
  const visit = (value: unknown, path: Path): void => {
    values++;
    if (typeof value !== "object" || value === null) return;
    const keys = Array.isArray(value) ? null : Object.keys(value);
    const [found, limit, what] = keys
      ? [keys.length, path.length === 0 ? variableLimit : keyLimit, "keys"]
      : [(value as unknown[]).length, limits.listItems, "items"];
    if (found > limit) throw beyond(placeOf(path), found, what, limit);
    if (values + found > limits.values)
      throw beyond(placeOf(path.slice(0, 1)), null, "values", limits.values);
    if (keys)
      for (const key of keys) {
        path.push(key);
        visit((value as Values)[key], path);
        path.pop();
      }
    else
      for (let index = 0; index < found; index++) {
        path.push(index);
        visit((value as unknown[])[index], path);
        path.pop();
      }
  };
  visit(variables, []);
}

/**
 * Rejects a list of enum values, such as `orderBy`, with more items than distinct values.
 * @throws PublicError BAD_USER_INPUT
 */
export function checkEnumLists(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Values,
  placeOf: (path: Path) => Path,
): void {
  for (const { variable, type } of variableDefinitions) {
    const given = variables[variable.name.value];
    if (!Array.isArray(given)) continue;
    const declared = typeFromAST(schema, type);
    const named = isInputType(declared) ? getNamedType(declared) : null;
    if (!isEnumType(named)) continue;
    const limit = maxListLength(named);
    if (given.length > limit)
      throw beyond(placeOf([variable.name.value]), given.length, "items", limit);
  }
}

function beyond(path: Path, found: number | null, what: string, limit: number): PublicError {
  const place = path.join(".") || "variables";
  return badUserInput(
    found === null
      ? `${place}: the variables hold more than ${limit} ${what}`
      : `${place} has ${found} ${what}; at most ${limit} are allowed`,
    { limit, ...(path.length > 0 && { path }) },
  );
}
