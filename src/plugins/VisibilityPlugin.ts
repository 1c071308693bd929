import type { PgClass } from "pg-introspection";
import { withPgClientFromPgService } from "postgraphile/@dataplan/pg";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import type { FieldVisibility, Need, RowVisibility } from "../graphql/visibility.ts";
import { ownReads, ownReadsBelow } from "../audit/auditedPlaces.ts";
import { resource } from "../schema/resource.ts";

declare global {
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** Permissions each of which shows all rows that the request role can read. */
      readers?: readonly string[];
    }
  }
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** Fields visible to everyone in addition to the table's `@summary`; other fields need the table's `@read`. */
      summary?: string;
    }
  }
}

type Tags = Readonly<Record<string, unknown>>;

const policyQuery = `
  select p.polrelid::text as relation, pg_get_expr(p.polqual, p.polrelid) as condition
  from pg_policy p where p.polcmd in ('r', '*') and p.polpermissive and to_regrole('office_api') = any (p.polroles)`;

/**
 * Matches a policy whose only condition is one of several permissions. PostgreSQL prints the schema if it is not in the
 * search path.
 */
const plainPolicy =
  /^\(\s*SELECT (?:(?:\w+|"[^"]+")\.)?has_(?:any_)?permission\(([^()]*)\) AS has_(?:any_)?permission\)$/;
const verbs = ["read", "create", "update", "delete"];

const conditionsOf = new WeakMap<PgClass, readonly string[]>();

/**
 * Records for each type and field which permissions show all rows, for `hiddenFields.ts` and descriptions. They come from
 * policies and tags of tables, and from tags of foreign keys and computed functions.
 */
export const VisibilityPlugin: GraphileConfig.Plugin = {
  name: "VisibilityPlugin",
  version: "1.0.0",
  gather: {
    hooks: {
      async pgIntrospection_introspection(info, { introspection, serviceName }) {
        const service = info.resolvedPreset.pgServices?.find(({ name }) => name === serviceName);
        if (!service) throw new Error(`There is no database service ${serviceName}`);
        const { rows } = await withPgClientFromPgService(service, null, (client) =>
          client.query<{ relation: string; condition: string }>({ text: policyQuery }),
        );
        const byRelation = Map.groupBy(rows, ({ relation }) => relation);
        for (const pgClass of introspection.classes)
          conditionsOf.set(
            pgClass,
            (byRelation.get(pgClass._id) ?? []).map(({ condition }) => condition),
          );
      },

      pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
        const tags: Tags = resourceOptions.extensions?.tags ?? {};
        if (tags.read === undefined) return;
        const keys = [
          // `@read login` shows the rows without a permission.
          ...(tags.read === "login" ? [] : verbs.flatMap((verb) => wordsOf(tags[verb]))),
          ...(conditionsOf.get(pgClass) ?? []).flatMap(keysOfPolicy),
        ];
        resourceOptions.extensions = {
          ...resourceOptions.extensions,
          readers: [...new Set(keys)],
        };
      },
    },
  },
  schema: {
    hooks: {
      GraphQLObjectType(config, build, { scope: { isPgClassType, pgCodec } }) {
        const table = isPgClassType && pgCodec ? tableOf(build, pgCodec) : undefined;
        if (!table?.extensions?.readers) return config;
        const codec = table.codec as PgCodecWithAttributes;
        const shown = ["id", ...wordsOf(table.extensions?.tags?.summary)];
        const rows: RowVisibility = {
          need: needOf(table) ?? null,
          summary: shown
            .filter((name) => name in codec.attributes)
            .map((attributeName) => build.inflection.attribute({ attributeName, codec })),
        };
        return { ...config, extensions: { ...config.extensions, rows } };
      },

      GraphQLObjectType_fields_field(field, build, { scope, Self }) {
        const visibility = visibilityIn(build, scope);
        const holder = (Self.extensions as { rows?: RowVisibility }).rows;
        const note = holder ? permissionSentence(build, scope, holder.need) : null;
        return {
          ...field,
          ...(note !== null && {
            description: [field.description, note].filter(Boolean).join("\n\n"),
          }),
          extensions: { ...field.extensions, visibility } as typeof field.extensions,
        };
      },
    },
  },
};

/** The words of a tag, separated by spaces or commas. */
function wordsOf(tag: unknown): string[] {
  return typeof tag === "string" ? tag.split(/[\s,]+/).filter(Boolean) : [];
}

function keysOfPolicy(condition: string): string[] {
  const list = plainPolicy.exec(condition)?.[1] ?? "";
  return Array.from(list.matchAll(/'([^']+)'::text/g), ([, key]) => key ?? "");
}

function tableOf(build: GraphileBuild.Build, codec: unknown): PgResource | undefined {
  return Object.values(build.pgResources as Record<string, PgResource>).find(
    (found) => !found.parameters && found.codec === codec,
  );
}

/** What rows of a table need; undefined for `@read login`, and for tables without `@read`, which no field shows. */
function needOf({ extensions }: PgResource): Need | undefined {
  const keys = extensions?.readers;
  const [permission] = keys ?? [];
  return keys && permission !== undefined ? { keys, permission } : undefined;
}

function needsOfTables(build: GraphileBuild.Build, tag: unknown): Need[] {
  return wordsOf(tag).flatMap((name) => needOf(resource(build, name)) ?? []);
}

function visibilityIn(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): FieldVisibility {
  const { follows, reads, scopedRead } = tagsOf(build, scope);
  const audit = scope.auditReads ?? scope.pgFieldResource?.extensions?.tags?.auditReads;
  const scopedKey = typeof scopedRead === "string" ? scopedRead : undefined;
  const needs = [
    ...needsOfTables(build, reads),
    ...(scopedKey === undefined
      ? []
      : [{ keys: [scopedKey], permission: scopedKey, onlyScoped: true }]),
  ];
  return {
    ...((follows === "parent" || follows === "own") && { follows }),
    ...(needs.length > 0 && { needs }),
    ...(scopedKey !== undefined && { scopedKey }),
    ...(audit === ownReads && { isOwn: "always" as const }),
    ...(audit === ownReadsBelow && { isOwn: "below" as const }),
    ...(scope.summary !== undefined && { summary: wordsOf(scope.summary) }),
  };
}

/** The tags of a computed field, or of a relation's forward direction. */
function tagsOf(build: GraphileBuild.Build, scope: GraphileBuild.ScopeObjectFieldsField): Tags {
  if (scope.pgFieldResource?.parameters) return scope.pgFieldResource.extensions?.tags ?? {};
  const relation = relationOf(build, scope);
  if (!relation || relation.isReferencee) return {};
  const tags: Tags = relation.extensions?.tags ?? {};
  return { follows: tags.forwardFollows, scopedRead: tags.forwardScopedRead };
}

function relationOf(build: GraphileBuild.Build, scope: GraphileBuild.ScopeObjectFieldsField) {
  const { codec, relationName } = (scope.pgRelationDetails ?? {}) as {
    codec?: PgCodecWithAttributes;
    relationName?: string;
  };
  return codec && relationName
    ? build.input.pgRegistry.pgRelations[codec.name]?.[relationName]
    : undefined;
}

/**
 * The sentence of a description about the permissions that a field's rows need; null where reading the object suffices.
 */
function permissionSentence(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
  holder: Need | null,
): string | null {
  const { follows, reads, scopedRead } = tagsOf(build, scope);
  const shown = relationOf(build, scope)?.remoteResource ?? scope.pgFieldResource;
  const table = shown && tableOf(build, shown.codec);
  const needs = [...needsOfTables(build, reads), table && needOf(table)].filter(
    (need) => need !== undefined,
  );
  const [first] = needs.filter(
    ({ keys }) => holder === null || !holder.keys.every((key) => keys.includes(key)),
  );
  const notes: string[] = [];
  if (first && follows !== "parent") {
    const own = follows === "own" ? ", unless the object is the caller's own" : "";
    notes.push(
      `Needs \`${first.permission}\`${own}; without it the answer names the field in \`extensions.hidden\`.`,
    );
  }
  if (typeof scopedRead === "string")
    notes.push(`Below \`me\` a scoped token without \`${scopedRead}\` is refused.`);
  return notes.length > 0 ? notes.join(" ") : null;
}
