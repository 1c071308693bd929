import { PgSelectStep } from "postgraphile/@dataplan/pg";
import { ConnectionStep, type FieldPlanResolver, context, sideEffect } from "postgraphile/grafast";
import {
  type Guard,
  type Login,
  checkGuard,
  loginIn,
  parseGuard,
  permissionKeys,
  readGuard,
} from "../auth/guards.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /**
       * Who may use the field: `public`, `principal`, `login`, `session`, or permission keys; declared at the field.
       */
      guard?: string;
      /** The entity type under which reads of this field are audited. */
      auditReads?: string;
    }
    interface Build {
      /** Root fields without a guard; a schema with any is rejected. */
      unguardedFields: string[];
    }
  }
}

function describeGuard(guard: Guard): string {
  if (guard === "public") return "Needs no login.";
  if (guard === "principal") return "Needs a login or any API token.";
  const login = loginIn(guard);
  const asked = [
    ...(login === undefined ? [] : [logins[login]]),
    ...(typeof guard === "string" ? [] : permissionKeys(guard).map((key) => `\`${key}\``)),
  ];
  return `Needs ${asked.join(" and ")}.`;
}

const logins: Readonly<Record<Login, string>> = {
  login: "a login or an unscoped API token",
  session: "a session (no API token)",
};

/**
 * Puts the declared guard before each root field and into its description. A root field without one fails the build
 * with its name: deny by default.
 */
export const GuardsPlugin: GraphileConfig.Plugin = {
  name: "GuardsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        return build.extend(
          build,
          { unguardedFields: [] },
          "GuardsPlugin collects root fields without a guard",
        );
      },

      // Last in the preset, so that the guard wraps the plans of all other plugins.
      GraphQLObjectType_fields_field(field, build, hookContext) {
        const { scope, Self } = hookContext;
        if (!scope.isRootQuery && !scope.isRootMutation) return field;
        const tags = scope.pgFieldResource?.extensions?.tags;
        const guard = parseGuard(scope.guard ?? readGuard(tags));
        if (guard === undefined) {
          build.unguardedFields.push(`${Self.name}.${scope.fieldName}`);
          return field;
        }
        const auditReads =
          scope.auditReads ??
          (scope.guard === undefined && tags?.auditReads !== undefined && scope.pgFieldResource
            ? build.inflection.tableType(scope.pgFieldResource.codec)
            : undefined);
        const { plan } = field;
        return {
          ...field,
          description: [field.description, describeGuard(guard)].filter(Boolean).join("\n\n"),
          extensions: {
            ...field.extensions,
            office: { guard, auditReads, outsideTransaction: scope.outsideTransaction },
          },
          plan: scope.isPgFieldConnection
            ? guardedConnection(guard, plan as Plan)
            : guardedPlan(guard, plan as Plan | undefined),
        };
      },

      finalize(schema, build) {
        if (build.unguardedFields.length > 0)
          throw new Error(
            `These root fields declare no guard: ${build.unguardedFields.join(", ")}. ` +
              "Add @read to the table's comment, @guard to the function's, or @scope(guard: ...) to the field.",
          );
        return schema;
      },
    },
  },
};

type Plan = FieldPlanResolver;

function guardedPlan(guard: Guard, plan: Plan | undefined): Plan | undefined {
  if (guard === "public" || !plan) return plan;
  return (...args) => {
    // A side effect that throws stops the later steps of this field only.
    guardStep(guard);
    return plan(...args);
  };
}

/**
 * As above for a connection, whose select waits for the guard instead: created after the side effect, it could not
 * inline the statements of nested lists.
 */
function guardedConnection(guard: Guard, plan: Plan): Plan {
  if (guard === "public") return plan;
  return (...args) => {
    const $connection = plan(...args);
    if (!($connection instanceof ConnectionStep))
      throw new Error("A connection is planned as none");
    const $select: unknown = $connection.getSubplan();
    if (!($select instanceof PgSelectStep))
      throw new Error("A connection without a select has no guard");
    $select.apply(guardStep(guard));
    return $connection;
  };
}

function guardStep(guard: Guard) {
  return sideEffect(context().get("requestContext"), (requestContext) => {
    checkGuard(guard, requestContext);
    return null;
  });
}
