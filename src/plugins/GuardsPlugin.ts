import { guardText, parseGuard, readGuard } from "../auth/guards.ts";
import { executeAllowed } from "../graphql/executeAllowed.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /**
       * Who may use the field: `public`, `principal`, `login`, `session`, or permission keys; declared at the field.
       */
      guard?: string;
      /** The entity type under which reads of this field are audited. */
      auditReads?: string;
      /** Where the console offers a mutation, as in the tag `@action` of a function. */
      action?: string;
    }
    interface Build {
      /** Root fields without a guard; a schema with any is rejected. */
      unguardedFields: string[];
    }
  }
}

/**
 * Checks the declared guard of each root field before an operation runs, and shows it in the field's description. A root
 * field without one fails the build with its name: deny by default.
 */
export const GuardsPlugin: GraphileConfig.Plugin = {
  name: "GuardsPlugin",
  version: "1.0.0",
  grafast: {
    middleware: {
      execute: (next, { args }) => executeAllowed(args, next),
    },
  },
  schema: {
    hooks: {
      build(build) {
        return build.extend(
          build,
          { unguardedFields: [] },
          "GuardsPlugin collects root fields without a guard",
        );
      },

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
        return {
          ...field,
          description: [field.description, `Needs ${guardText(guard)}.`]
            .filter(Boolean)
            .join("\n\n"),
          extensions: {
            ...field.extensions,
            office: {
              guard,
              auditReads,
              outsideTransaction: scope.outsideTransaction,
              action: scope.action,
            },
          },
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
