import { PgSelectStep } from "postgraphile/@dataplan/pg";
import { ConnectionStep, type FieldPlanResolver, context, sideEffect } from "postgraphile/grafast";
import type { Identity } from "../auth/identity.ts";
import { OfficeError, missingPermission, notLoggedIn } from "../errors.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** Who may ask: `public`, `principal`, `login`, `session`, or permission keys; written beside the thing guarded. */
      guard?: string;
      /** The entity type under which reads through this field are recorded in the audit log. */
      auditReads?: string;
    }
    interface Build {
      /** Root fields that no guard was declared for; a schema with any is refused. */
      unguardedFields: string[];
    }
  }
}

/**
 * Who may use a root field: anyone (`public`); any valid credential (`principal`); a full login, which is a session or an unscoped
 * API token (`login`); a session, and no API token whatever (`session`); or whoever holds every one of the permission keys, before
 * which `login` or `session` may stand to ask for that as well.
 */
export type Guard = "public" | "principal" | Login | readonly string[];
type Login = "login" | "session";

/** Reads a guard as it is written in a tag or an SDL directive; undefined when it says nothing. */
export function parseGuard(text: string | undefined): Guard | undefined {
  const words = text?.split(/[\s,]+/).filter(Boolean) ?? [];
  const [first] = words;
  if (first === undefined) return undefined;
  if (words.length === 1 && (first === "public" || first === "principal" || isLogin(first)))
    return first;
  return words;
}

/** The guard of a table's root fields, which its tags `@read` and `@session` declare; undefined when they say nothing. */
export function readGuard(tags: Record<string, unknown> | undefined): string | undefined {
  const read = typeof tags?.read === "string" ? tags.read : undefined;
  return read !== undefined && tags?.session !== undefined ? `session ${read}` : read;
}

/** Refuses a caller whom the guard does not let pass. @throws OfficeError */
export function checkGuard(guard: Guard, identity: Identity | null): void {
  if (guard === "public") return;
  if (!identity) throw notLoggedIn();
  if (guard === "principal") return;
  const login = loginIn(guard);
  if (login === "login" && identity.scoped)
    throw new OfficeError(
      "FORBIDDEN",
      "This needs a full login: a token narrowed to scopes does not suffice",
    );
  if (login === "session" && identity.sessionId === null)
    throw new OfficeError(
      "FORBIDDEN",
      "This needs a session: log in; no API token suffices, whatever its scopes",
    );
  if (typeof guard === "string") return;
  const keys = permissionKeys(guard);
  // A list of no permissions opens nothing.
  if (keys.length === 0) throw new OfficeError("FORBIDDEN", "Nobody may do this");
  for (const key of keys) if (!identity.permissions.has(key)) throw missingPermission(key);
}

/** What a guard asks of the login itself; undefined when any credential will do. */
export function loginIn(guard: Guard): Login | undefined {
  const first = typeof guard === "string" ? guard : guard[0];
  return isLogin(first) ? first : undefined;
}

function isLogin(word: string | undefined): word is Login {
  return word === "login" || word === "session";
}

/** The permissions that a guard asks for, beside what it asks of the login. */
export function permissionKeys(guard: readonly string[]): readonly string[] {
  return loginIn(guard) === undefined ? guard : guard.slice(1);
}

/** The guard of a root field; one without lets nobody pass. */
export function guardOf({ extensions }: { extensions: object }): Guard {
  return (extensions as { office?: { guard?: Guard } }).office?.guard ?? [];
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
 * Puts its declared guard before every root field and into the field's description. A root field without one makes the
 * build fail with its name: deny by default.
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

      // This plugin stands last in the preset, so that the guard wraps whatever other plugins made of a field.
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
    // A side effect that throws stops all steps made after it, and those of this field only.
    guardStep(guard);
    return plan(...args);
  };
}

/**
 * The same for a connection, whose select is told to wait instead: made after the side effect, it could not take the
 * statements of nested lists into its own, as these are planned too far below to be seen to come after it as well.
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
  return sideEffect(context().get("office"), (office) => {
    checkGuard(guard, office.identity);
    return null;
  });
}
