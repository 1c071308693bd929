import {
  type ExecutionResult,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { developmentPreset } from "../../db/printApi.ts";
import type { Identity } from "../../src/auth/identity.ts";
import { contextOf, requestOf } from "../helpers/requestOf.ts";
import { type RootField, rootFields } from "./rootFields.ts";

/** The API of a database without the guards of its root fields, and without a record of what is read. */
export interface Unguarded {
  /** Every root field with the guard that it would have. */
  fields: RootField[];
  /** The same field asked for each of a few rows that there are, wherever it takes an id. */
  withIds(field: RootField): Promise<RootField[]>;
  run(field: RootField, identity: Identity | null): Promise<ExecutionResult>;
  /** The keys that a field's own description says may be needed beside its guard. */
  keysInDescription(field: RootField): string[];
}

/** Builds it; `pool` acts as `office_server`, `owner` as the superuser. */
export async function makeUnguarded(pool: pg.Pool, owner: pg.Pool): Promise<Unguarded> {
  const preset = developmentPreset(pool, "backoffice");
  const fields = rootFields((await makeSchema(preset)).schema);
  const { schema, resolvedPreset } = await makeSchema({
    ...preset,
    plugins:
      preset.plugins?.filter(({ name }) => !["GuardsPlugin", "ReadAuditPlugin"].includes(name)) ??
      [],
  });
  const known = new Map<string, string[]>();

  /** Ids of a table, none where there is no such table. */
  async function idsOf(table: string): Promise<string[]> {
    const before = known.get(table);
    if (before) return before;
    const { rows } = await owner.query<{ known: boolean }>(
      "select to_regclass($1) is not null as known",
      [table],
    );
    const ids = rows[0]?.known
      ? (await owner.query<{ id: string }>(`select id from ${table} order by id limit 4`)).rows
      : [];
    known.set(
      table,
      ids.map(({ id }) => id),
    );
    return known.get(table) ?? [];
  }

  return {
    fields,

    async withIds(field) {
      const type = fieldOf(schema, field).type;
      let variants = [field];
      for (const name of Object.keys(field.variables)) {
        if (!/^id$|Id$/.test(name)) continue;
        const thing =
          name === "id"
            ? (/^(?:delete|revoke|update|resend|cancel|retry)(\w+)$/.exec(field.name)?.[1] ??
              getNamedType(type).name)
            : name.replace(/Id$/, "");
        const ids = await idsOf(`${thing.replace(/(?<!^)([A-Z])/g, "_$1")}s`.toLowerCase());
        if (ids.length > 0)
          variants = variants.flatMap((variant) =>
            ids.map((id) => ({ ...variant, variables: { ...variant.variables, [name]: id } })),
          );
      }
      return variants;
    },

    async run(field, identity) {
      const { document, variables } = field;
      const result = await grafast({
        schema,
        source: document.replace("{ __typename }", selection(fieldOf(schema, field).type, 2)),
        variableValues: variables,
        resolvedPreset,
        requestContext: contextOf(requestOf(identity)),
      });
      if (Symbol.asyncIterator in result) throw new Error("An answer in parts is not expected");
      return result;
    },

    keysInDescription: (field) =>
      [...(fieldOf(schema, field).description ?? "").matchAll(/`([a-z]+\.[a-z]+)`/g)].flatMap(
        ([, key]) => key ?? [],
      ),
  };
}

function fieldOf(schema: GraphQLSchema, { kind, name }: RootField) {
  const root = kind === "query" ? schema.getQueryType() : schema.getMutationType();
  const field = root?.getFields()[name];
  if (!field) throw new Error(`There is no ${name}`);
  return field;
}

/** Everything of a type to a certain depth, so that a row that comes cannot hide. */
function selection(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return "";
  const inner = Object.values((named as GraphQLObjectType).getFields())
    .filter((field) => !field.args.some(isRequiredArgument))
    .map((field) => {
      if (isLeafType(getNamedType(field.type))) return field.name;
      const deeper = depth > 0 ? selection(field.type, depth - 1) : "";
      return deeper && `${field.name} ${deeper}`;
    })
    .filter(Boolean);
  return inner.length > 0 ? `{ ${inner.join(" ")} }` : "";
}
