import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  isEnumType,
  isInputObjectType,
} from "graphql";
import { nearest } from "../text/suggest.ts";

/** The most errors of variables in a response. */
const errorLimit = 20;

/**
 * Limits the cost of wrong variables: the number of errors is limited, and only the first unknown name gets
 * suggestions. `showHints` allows them, since names describe the schema.
 */
export function makeVariableErrorsPlugin(showHints: boolean): GraphileConfig.Plugin {
  return {
    name: "VariableErrorsPlugin",
    version: "1.0.0",
    grafast: {
      middleware: {
        execute(next, { args }) {
          args.hideSuggestions = true;
          args.options = { ...args.options, maxCoercionErrors: errorLimit };
          return showHints ? addSuggestions(next(), args.schema) : next();
        },
      },
    },
  };
}

async function addSuggestions<Result extends object>(
  executed: Result | PromiseLike<Result>,
  schema: GraphQLSchema,
): Promise<Result> {
  const result = await executed;
  const { errors } = result as ExecutionResult;
  return errors?.[0]?.nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION
    ? { ...result, errors: withSuggestion(errors, schema) }
    : result;
}

/** Adds the nearest known names to the first error about an unknown name. */
export function withSuggestion(
  errors: readonly GraphQLError[],
  schema: GraphQLSchema,
): GraphQLError[] {
  const unknown = errors.find(({ originalError }) => unknownName(originalError?.message));
  const names = nearestNames(unknownName(unknown?.originalError?.message), schema);
  if (!unknown || names.length === 0) return [...errors];
  const { nodes, originalError } = unknown;
  const hint = `Did you mean ${names.map((name) => `"${name}"`).join(" or ")}?`;
  const withHint = new GraphQLError(`${unknown.message} ${hint}`, { nodes, originalError });
  return errors.map((error) => (error === unknown ? withHint : error));
}

/** The unknown name of a message, and the type that lacks it. */
function unknownName(message = "") {
  return (
    /^Field "(\w{1,64})" is not defined by type "(\w+)"\.$/.exec(message) ??
    /^Value "(\w{1,64})" does not exist in "(\w+)" enum\.$/.exec(message)
  );
}

function nearestNames(found: RegExpExecArray | null, schema: GraphQLSchema): string[] {
  const [, name = "", typeName = ""] = found ?? [];
  const type = schema.getType(typeName);
  if (isInputObjectType(type)) return nearest(name, Object.keys(type.getFields()));
  if (!isEnumType(type)) return [];
  return nearest(
    name,
    type.getValues().map((value) => value.name),
  );
}
