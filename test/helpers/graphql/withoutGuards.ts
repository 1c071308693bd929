import type { ExecutionResult } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { developmentPreset } from "../../../db/printApi.ts";
import type { Identity } from "../../../src/auth/identity.ts";
import { contextOf, requestOf } from "../requestOf.ts";
import { makeWithIds } from "./knownIds.ts";
import { type RootField, fieldOf, rootFields, selection } from "./rootFields.ts";

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
  const withIds = makeWithIds(owner, schema);

  return {
    fields,

    withIds,

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
