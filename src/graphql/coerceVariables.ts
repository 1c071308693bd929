import {
  type GraphQLInputType,
  type GraphQLList,
  type GraphQLSchema,
  type OperationDefinitionNode,
  coerceInputValue,
  getNullableType,
  getVariableValues,
  isInputObjectType,
  isInputType,
  isListType,
  typeFromAST,
} from "graphql";

type Values = Record<string | number, unknown>;

/** A long list that is coerced in parts: its path and its type. */
interface LongList {
  path: readonly (string | number)[];
  items: readonly unknown[];
  type: GraphQLList<GraphQLInputType>;
}

/** Items that are coerced at a time: about a millisecond for ids. */
const partLength = 2_000;

/** Coerces the variables of an operation; null when one is invalid. Grafast then reports the error. */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Values,
): Values | null {
  // Stops at the first error: collecting errors of many wrong values takes quadratic time.
  const options = { maxErrors: 0, hideSuggestions: true };
  return getVariableValues(schema, variableDefinitions, given, options).coerced ?? null;
}

/** As coerceVariables, but awaits `turn` before each part of a long list. Each value is coerced once. */
export async function coerceByParts(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Values,
  turn: () => Promise<void>,
): Promise<Values | null> {
  const lists = (operation.variableDefinitions ?? []).flatMap(({ variable, type }) => {
    const name = variable.name.value;
    const declared = typeFromAST(schema, type);
    // Renamed variables are not supported.
    return Object.hasOwn(given, name) && isInputType(declared)
      ? longLists(given[name], declared, [name])
      : [];
  });
  const short = lists.reduce((values, { path }) => replaced(values, path, []), given);
  await turn();
  let coerced = coerceVariables(schema, operation, short);
  for (const { path, items, type } of lists) {
    if (!coerced) return null;
    const done: unknown[] = [];
    while (done.length < items.length) {
      await turn();
      if (!coercePart(items, type.ofType, done)) return null;
    }
    coerced = replaced(coerced, path, done);
  }
  return coerced;
}

/** The long lists within a value, except those nested in another list. */
function longLists(value: unknown, of: GraphQLInputType, path: LongList["path"]): LongList[] {
  if (typeof value !== "object" || value === null) return [];
  const type = getNullableType(of);
  const found: LongList[] = [];
  if (isListType(type) && Array.isArray(value)) {
    if (value.length > partLength) return [{ path, items: value, type }];
    for (let index = 0; index < value.length; index++)
      found.push(...longLists(value[index], type.ofType, [...path, index]));
  } else if (isInputObjectType(type) && !Array.isArray(value)) {
    for (const { name, type: inner } of Object.values(type.getFields()))
      if (Object.hasOwn(value, name))
        found.push(...longLists((value as Values)[name], inner, [...path, name]));
  }
  return found;
}

/** Coerces the next items of a list, each alone; returns whether all are valid. */
function coercePart(items: readonly unknown[], type: GraphQLInputType, done: unknown[]): boolean {
  try {
    const end = Math.min(items.length, done.length + partLength);
    while (done.length < end)
      done.push(coerceInputValue(items[done.length], type, undefined, true));
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/** Copies a value and replaces what is at the path, which exists. */
function replaced(value: Values, [key, ...rest]: LongList["path"], by: unknown): Values {
  if (key === undefined) return value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Values;
  copy[key] = rest.length === 0 ? by : replaced(copy[key] as Values, rest, by);
  return copy;
}
