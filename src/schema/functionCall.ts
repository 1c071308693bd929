import type {
  PgCodec,
  PgCodecWithAttributes,
  PgResource,
  PgResourceParameter,
} from "postgraphile/@dataplan/pg";
import { type FieldArgs, lambda } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";
import { columnValues } from "./inputColumns.ts";
import { databaseName } from "./databaseName.ts";

/** A function in the database. */
export type FunctionResource = PgResource<string, PgCodec, never, readonly PgResourceParameter[]>;

/** The argument for one parameter of a function. */
interface PassedArgument {
  placeholder: SQL;
  name?: string;
  position?: number;
}

/** The parameter that becomes an input object. */
export function inputParameter(resource: FunctionResource) {
  const parameter = resource.parameters.find((p) => p.name === "input" && p.codec.attributes);
  return parameter as (PgResourceParameter & { codec: PgCodecWithAttributes }) | undefined;
}

/** The step that calls the function, for a mutation in a transaction. */
export function callFunction(
  build: GraphileBuild.Build,
  resource: FunctionResource,
  args: FieldArgs,
) {
  const { sql, dataplanPg } = build;
  const { TYPES, listOfCodec, pgSelect } = dataplanPg;
  const input = inputParameter(resource);
  const valuesOf = input ? columnValues(build, input.codec) : () => ({});
  const passed = resource.parameters.map((parameter) => {
    const { name } = parameter;
    if (parameter === input)
      return {
        name,
        pgCodec: TYPES.jsonb,
        step: lambda(args.getRaw("input"), valuesOf),
      };
    if (name === "given")
      return {
        name,
        pgCodec: listOfCodec(TYPES.text),
        step: lambda(args.getRaw("input"), (given) => Object.keys(valuesOf(given))),
      };
    return {
      name,
      pgCodec: parameter.codec,
      step: args.getRaw(build.inflection.camelCase(name ?? "")),
    };
  });
  const parameters = resource.parameters.map((parameter, index) => ({
    ...parameter,
    codec: passed[index]?.pgCodec ?? parameter.codec,
  }));
  const callee = sql.identifier(databaseName(resource));
  const from = (...values: readonly PassedArgument[]) => {
    const list = values.map((value) => {
      const parameter = value.name
        ? parameters.find((p) => p.name === value.name)
        : parameters[value.position ?? 0];
      const shown =
        parameter?.name === "input" && input
          ? sql`jsonb_populate_record(null::${input.codec.sqlType}, ${value.placeholder})`
          : value.placeholder;
      return sql`${sql.identifier(parameter?.name ?? "")} => ${shown}`;
    });
    return sql`${callee}(${sql.join(list, ", ")})`;
  };
  const $select = pgSelect({
    resource,
    identifiers: [],
    mode: resource.isMutation ? "mutation" : "normal",
    parameters,
    args: passed as never,
    from,
  });
  return resource.isUnique ? $select.single() : $select;
}
