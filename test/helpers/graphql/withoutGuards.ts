import type { ExecutionResult } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { developmentPreset } from "../../../src/migration/printApi.ts";
import type { Identity } from "../../../src/auth/identity.ts";
import { contextOf, requestOf } from "../requestOf.ts";
import { makeWithIds } from "./knownIds.ts";
import { type RootField, fieldOf, rootFields, selection } from "./rootFields.ts";

/** The API without the guards of its root fields and without read auditing. */
export interface Unguarded {
  /** All root fields with their original guards. */
  fields: RootField[];
  /** Variants of a field with the ids of existing rows. */
  withIds(field: RootField): Promise<RootField[]>;
  run(field: RootField, identity: Identity | null): Promise<ExecutionResult>;
  /** The permission keys in a field's description. */
  keysInDescription(field: RootField): string[];
}

/**
 * Builds the unguarded API.
 * @param pool acts as `office_server`
 * @param owner acts as the superuser
 */
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
      if (Symbol.asyncIterator in result) throw new Error("unexpected incremental response");
      return result;
    },

    keysInDescription: (field) =>
      [...(fieldOf(schema, field).description ?? "").matchAll(/`([a-z]+\.[a-z]+)`/g)].flatMap(
        ([, key]) => key ?? [],
      ),
  };
}
