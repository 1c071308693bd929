import type { PgResource, PgSelectSingleStep } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import {
  ConstantStep,
  type FieldArgs,
  type FieldPlanResolver,
  type Step,
  object,
} from "postgraphile/grafast";
import { conflict, notFound } from "../errors/PublicError.ts";
import { auditedType } from "../schema/auditedType.ts";
import { type Table, nounOfRow } from "../schema/labels.ts";
import { hasSummary, versionSql } from "../schema/rowVersion.ts";

/** A table whose rows have versions, by the name of its type. */
function versionedTables(build: GraphileBuild.Build): Map<string, Table> {
  const tables = Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource): resource is Table =>
      !resource.parameters &&
      resource.codec.attributes?.["id"] !== undefined &&
      resource.codec.attributes["id"].codec === TYPES.uuid &&
      auditedType(resource) !== null,
  );
  return new Map(tables.map((table) => [build.inflection.tableType(table.codec), table]));
}

/** The table whose row a mutation changes: `updateUser(id, …)`, `deleteUser(id)` or the action `approveAbsence(id)`. */
function changedTable(
  build: GraphileBuild.Build,
  { fieldName, calledFunction }: GraphileBuild.ScopeObjectFieldsField,
  args: Readonly<Record<string, unknown>> | undefined,
): Table | undefined {
  if (args?.["id"] === undefined) return undefined;
  const tables = build.versionedTables();
  const typeName = /^(?:update|delete)([A-Z]\w*)$/.exec(fieldName)?.[1];
  const named = typeName === undefined ? undefined : tables.get(typeName);
  if (named || calledFunction?.extensions?.tags?.action === undefined) return named;
  const table = [...tables.values()].find(({ codec }) => codec === calledFunction.codec);
  return table && isEdited(build, table) ? table : undefined;
}

/** Whether people edit the rows of a table. Other rows, such as jobs, change while a caller decides about them. */
function isEdited(build: GraphileBuild.Build, { codec, extensions }: Table): boolean {
  if (/\bupdate\b/.test(String(extensions?.tags?.mutations ?? ""))) return true;
  const name = `update${build.inflection.tableType(codec)}`;
  const resources = Object.values(build.pgResources as Record<string, PgResource>);
  return resources.some(
    (resource) => resource.parameters && build.inflection.camelCase(resource.name) === name,
  );
}

/**
 * Adds `rowVersion` to rows that the API can change or delete, and the argument `ifVersion` to their mutations. A mutation
 * with an outdated version changes nothing and fails with `CONFLICT`.
 */
export const RowVersionPlugin: GraphileConfig.Plugin = {
  name: "RowVersionPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        let tables: Map<string, Table> | undefined;
        return build.extend(
          build,
          { versionedTables: () => (tables ??= versionedTables(build as GraphileBuild.Build)) },
          "RowVersionPlugin: tables whose rows have versions",
        );
      },

      GraphQLObjectType_fields(fields, build, { scope, fieldWithHooks, Self }) {
        if (!scope.isPgClassType) return fields;
        const table = build.versionedTables().get(Self.name);
        if (!table) return fields;
        const { sql, graphql } = build;
        const field = fieldWithHooks({ fieldName: "rowVersion", versionedTable: table }, () => ({
          description:
            "The version of the row, which changes with each change of the row. Use it as `ifVersion`.",
          type: hasSummary(table)
            ? graphql.GraphQLString
            : new graphql.GraphQLNonNull(graphql.GraphQLString),
          plan($given: PgSelectSingleStep) {
            // The result of a function has no system columns.
            const isOfFunction = $given.resource.parameters !== undefined;
            const $row = isOfFunction ? table.get({ id: $given.get("id") }) : $given;
            const alias = $row.getClassStep().alias;
            const version = versionSql(table, (name) => sql`${alias}.${sql.identifier(name)}`);
            return $row.select(version, TYPES.text);
          },
        }));
        return build.extend(fields, { rowVersion: field }, "RowVersionPlugin: versions of rows");
      },

      GraphQLObjectType_fields_field_args(args, build, { scope, Self }) {
        if (!scope.isRootMutation) return args;
        if (!changedTable(build, scope, args)) return args;
        const ifVersion = {
          type: build.graphql.GraphQLString,
          description:
            "The `rowVersion` that the caller has read. If the row has another version by now, the mutation changes nothing and fails with `CONFLICT`; `extensions.conflict` states when the row was changed and by whom.",
        };
        return build.extend(
          args,
          { ifVersion },
          `RowVersionPlugin: the version that ${Self.name}.${scope.fieldName} expects`,
        );
      },

      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (!scope.isRootMutation) return field;
        const table = changedTable(build, scope, field.args);
        if (!table || !field.plan) return field;
        const plan = field.plan as FieldPlanResolver;
        const checked: FieldPlanResolver = (...planArgs) => {
          expectVersion(build, table, planArgs[1]);
          return plan(...planArgs);
        };
        return { ...field, plan: checked };
      },
    },
  },
};

declare global {
  namespace GraphileBuild {
    interface Build {
      /** Tables whose rows have versions, by the name of their type. */
      versionedTables: () => ReadonlyMap<string, Table>;
    }
  }
}

interface Expected {
  id: string;
  version: string | null | undefined;
}

/** Locks the row in the operation's transaction and compares its version, if the caller sent one. */
function expectVersion(build: GraphileBuild.Build, table: Table, args: FieldArgs): void {
  const $version = args.getRaw("ifVersion") as Step<Expected["version"]>;
  if ($version instanceof ConstantStep && $version.data == null) return;
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;
  const relation = build.sql.compile(table.codec.sqlType).text;
  const entityType = auditedType(table as PgResource);
  const noun = nounOfRow(build, table);
  const $expected = object({
    id: args.getRaw("id"),
    version: $version,
  }) as Step<Expected>;
  sideEffectWithPgClientTransaction(
    table.executor,
    $expected,
    async (client, { id, version }: Expected) => {
      if (version == null) return null;
      const { rows } = await client.query<{ change: Record<string, unknown> | null }>({
        text: "select conflicting_change($1, $2, $3, $4) as change",
        values: [relation, entityType, id, version],
      });
      const change = rows[0]?.change;
      if (change?.["isMissing"] === true)
        throw notFound(`There is no ${noun} with this id`, { path: ["id"] });
      if (change != null)
        throw conflict(`This ${noun} was changed in the meantime`, {
          path: ["ifVersion"],
          conflict: {
            changedAt: change["changedAt"] ?? null,
            changedBy: change["changedBy"] ?? null,
          },
        });
      return null;
    },
  );
}
