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

/** A list so long that it is coerced part by part: where it stands, and what it is to be. */
interface LongList {
  path: readonly (string | number)[];
  items: readonly unknown[];
  type: GraphQLList<GraphQLInputType>;
}

/** Values of a list that are coerced in one go where there are many: of ids about a millisecond's work. */
const partLength = 2_000;

/** The variables of an operation as its types have them; null where they are refused, which Grafast tells. */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Values,
): Values | null {
  // The first error ends it: an error for each of many wrong values would cost their square.
  const options = { maxErrors: 0, hideSuggestions: true };
  return getVariableValues(schema, variableDefinitions, given, options).coerced ?? null;
}

/**
 * The same, where lists can be so long that others want their turn meanwhile: they are coerced part by part, and `turn` is awaited
 * before each. Every value is coerced once.
 */
export async function coerceByParts(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Values,
  turn: () => Promise<void>,
): Promise<Values | null> {
  const lists = (operation.variableDefinitions ?? []).flatMap(({ variable, type }) => {
    const name = variable.name.value;
    const declared = typeFromAST(schema, type);
    // What comes by another name than its own is not asked for.
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

/** Where a value has long lists that its type knows as such; not those within another. */
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

/** Coerces the next items of a list; whether none is refused. Each by itself: nobody reads at which place of the list one is. */
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

/** A copy with another value at one place, which is there. */
function replaced(value: Values, [key, ...rest]: LongList["path"], by: unknown): Values {
  if (key === undefined) return value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Values;
  copy[key] = rest.length === 0 ? by : replaced(copy[key] as Values, rest, by);
  return copy;
}
