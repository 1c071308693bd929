import { type GraphQLSchema, type OperationDefinitionNode, getVariableValues } from "graphql";

type Values = Record<string, unknown>;
type Path = readonly string[];

/** Values of a list that are coerced in one go where there are many: a few milliseconds' work, of ids well below one. */
const partLength = 2_000;

/** The variables of an operation as its types have them; null where they are refused, which Grafast tells. */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Values,
): Values | null {
  return getVariableValues(schema, variableDefinitions, given).coerced ?? null;
}

/** The same, where lists can be so long that others want their turn meanwhile: they are coerced part by part, and `turn` is awaited before each. */
export async function coerceByParts(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Values,
  turn: () => Promise<void>,
): Promise<Values | null> {
  const paths = longLists(given, []);
  const short = paths.reduce((values, path) => replaced(values, path, []), given);
  await turn();
  let coerced = coerceVariables(schema, operation, short);
  for (const path of paths) {
    const list = valueAt(given, path) as readonly unknown[];
    const items: unknown[] = [];
    for (let start = 0; start < list.length; start += partLength) {
      await turn();
      const part = list.slice(start, start + partLength);
      const found = coerceVariables(schema, operation, replaced(short, path, part));
      const some = found && valueAt(found, path);
      if (!Array.isArray(some)) return null;
      items.push(...(some as unknown[]));
    }
    coerced &&= replaced(coerced, path, items);
  }
  return coerced;
}

/** Where there are long lists; not those within another. */
function longLists(value: object, path: Path): Path[] {
  if (Array.isArray(value) && value.length > partLength) return [path];
  const found: Path[] = [];
  for (const [key, one] of Object.entries(value) as [string, unknown][])
    if (typeof one === "object" && one !== null) found.push(...longLists(one, [...path, key]));
  return found;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inside, key) => (inside as Values | null | undefined)?.[key], value);
}

/** A copy with another value at one place, which is there. */
function replaced(value: Values, [key, ...rest]: Path, by: unknown): Values {
  if (key === undefined) return value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Values;
  copy[key] = rest.length === 0 ? by : replaced(copy[key] as Values, rest, by);
  return copy;
}
