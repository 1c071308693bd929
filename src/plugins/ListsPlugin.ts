import type {
  PgCodec,
  PgOrderSpec,
  PgResource,
  PgSelectQueryBuilder,
  PgSelectStep,
} from "postgraphile/@dataplan/pg";
import { ConstantStep, lambda } from "postgraphile/grafast";
import type { FieldArgs, FieldPlanResolver, Step } from "postgraphile/grafast";
import { searchOf } from "../paging/connectionSearch.ts";
import { defaultOrder } from "../paging/defaultOrder.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { type ApplyOrder, recordOrderColumns } from "../paging/orders.ts";
import { MAX_LIST_SIZE, checkOffset, checkSize } from "../paging/pageArguments.ts";
import { describeSearch } from "../query/describe.ts";
import { hasPages } from "../schema/listedTables.ts";

type Plan = FieldPlanResolver;

/**
 * The default order of plain lists (the tag `@defaultOrder scheduled_at desc, id`, or the primary key), the limits of
 * `first` and `offset`, and the orders that callers can name, also for connections.
 */
export const ListsPlugin: GraphileConfig.Plugin = {
  name: "ListsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      init(state, build) {
        // Read early, so that a wrong tag fails the build even where no field shows the table.
        for (const resource of Object.values(build.pgResources as Record<string, PgResource>))
          if (!resource.parameters && resource.codec.attributes) {
            defaultOrder(resource);
            checkPlural(build, resource);
          }
        return state;
      },

      GraphQLEnumType_values: {
        after: [
          "PgOrderAllAttributesPlugin",
          "PgOrderByPrimaryKeyPlugin",
          "PgOrderCustomFieldsPlugin",
        ],
        callback(values, build, { scope }) {
          const { isPgRowSortEnum, pgCodec } = scope;
          if (!isPgRowSortEnum || !pgCodec) return values;
          const natural = build.inflection.builtin("NATURAL");
          const resource = build.pgTableResource(pgCodec as never) as PgResource | null;
          const kept = Object.entries(values).filter(([name]) => name !== natural);
          if (!resource || kept.length === 0) return values;
          const computed = computedOrders(build, pgCodec);
          return Object.fromEntries(
            kept.map(([name, value]) => {
              const apply =
                computed.get(name) ?? (value.extensions?.grafast?.apply as ApplyOrder | undefined);
              if (!apply) return [name, value];
              const grafast = {
                ...value.extensions?.grafast,
                apply: recordOrderColumns(pgCodec, apply),
              };
              return [name, { ...value, extensions: { ...value.extensions, grafast } }];
            }),
          );
        },
      },

      GraphQLObjectType_fields_field_args(args, build, { scope, Self }) {
        const table = searchedList(scope);
        if (!table) return args;
        const search = searchOf(build.searchTable(table));
        const condition = (text: unknown) => {
          if (text == null) return null;
          const asked = search(text as string, null);
          return (builder: PgSelectQueryBuilder) => builder.where(asked.matches(builder.alias));
        };
        const query = {
          type: build.graphql.GraphQLString,
          description: describeSearch(build.searchTable(table)),
          applyPlan(_$parent: unknown, $list: PgSelectStep, value: { getRaw(): Step }) {
            $list.apply(lambda(value.getRaw(), condition));
          },
        };
        return build.extend(
          args,
          { query },
          `ListsPlugin: search of ${Self.name}.${scope.fieldName}`,
        );
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        if (!scope.isPgFieldSimpleCollection) return arg;
        if (scope.argName === "first")
          return {
            ...arg,
            description: `The maximum number of rows, from 0 to ${MAX_LIST_SIZE}; by default all rows.`,
            applyPlan(_$parent: unknown, $list: PgSelectStep, value: { getRaw(): Step }) {
              const check = (size: unknown) =>
                checkSize("first", size as number | null, MAX_LIST_SIZE);
              $list.setFirst(lambda(value.getRaw(), check));
            },
          };
        if (scope.argName === "offset")
          return {
            ...arg,
            description: "The number of rows to skip.",
            applyPlan(_$parent: unknown, $list: PgSelectStep, value: { getRaw(): Step }) {
              $list.setOffset(
                lambda(value.getRaw(), (offset) => checkOffset(offset as number | null)),
              );
            },
          };
        if (scope.argName === "orderBy")
          return {
            ...arg,
            description: "The order of the rows; by default the order of the list.",
          };
        return arg;
      },

      GraphQLObjectType_fields_field(field, _build, { scope }) {
        const { isPgFieldSimpleCollection, pgFieldResource } = scope;
        if (
          !isPgFieldSimpleCollection ||
          !pgFieldResource ||
          pgFieldResource.parameters ||
          !field.plan
        )
          return field;
        const columns = defaultOrder(pgFieldResource as PgResource);
        if (columns.length === 0) return field;
        const plan = field.plan as Plan;
        const ordered = (...args: Parameters<Plan>) => {
          // The generated plan of a list; the library types plans as returning `Step`.
          const $select = plan(...args) as PgSelectStep;
          addDefaultOrder($select, args[1], columns);
          return $select;
        };
        return { ...field, plan: ordered as typeof field.plan };
      },
    },
  },
};

/** The values of `orderBy` for computed fields with `@behavior +proc:orderBy`, in the form of those for columns. */
function computedOrders(build: GraphileBuild.Build, table: PgCodec): Map<string, ApplyOrder> {
  // The library types resources by their parameters and codecs, which are any here: hence `never`.
  const functions = Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource) =>
      resource.parameters?.[0]?.codec === table &&
      build.behavior.pgResourceMatches(resource as never, "proc:orderBy"),
  );
  return new Map(
    functions.flatMap((resource) =>
      (["ASC", "DESC"] as const).map((direction): [string, ApplyOrder] => {
        const { codec, name, extensions } = resource;
        const value = build.inflection.computedAttributeOrder({
          resource: resource as never,
          variant: direction.toLowerCase() as "asc" | "desc",
        });
        const column: OrderColumn = { attribute: extensions?.pg?.name ?? name, direction, codec };
        // Recorded as it is: the library's own type has no column with a codec.
        return [value, (builder) => builder.orderBy(column as PgOrderSpec)];
      }),
    ),
  );
}

/** The table of a plain root list that has the argument `query`, like its connection. */
function searchedList(
  scope: Pick<
    GraphileBuild.ScopeObjectFieldsField,
    "isRootQuery" | "isPgFieldSimpleCollection" | "pgFieldResource"
  >,
): PgResource | null {
  const { isRootQuery, isPgFieldSimpleCollection, pgFieldResource } = scope;
  if (!isRootQuery || !isPgFieldSimpleCollection) return null;
  const table = pgFieldResource as PgResource | undefined;
  return table && hasPages(table) ? table : null;
}

function addDefaultOrder($select: PgSelectStep, args: FieldArgs, columns: readonly OrderColumn[]) {
  const $given = args.getRaw("orderBy") as Step | undefined;
  const apply = (builder: Pick<PgSelectQueryBuilder, "orderBy" | "setOrderIsUnique">) => {
    for (const { attribute, direction, nulls } of columns)
      builder.orderBy({ attribute, direction, ...(nulls && { nulls }) });
    builder.setOrderIsUnique();
  };
  const isEmpty = (given: unknown) => given == null || (Array.isArray(given) && given.length === 0);
  // Literals are known at planning and let a nested list join its parent's statement.
  if (!$given || $given instanceof ConstantStep) {
    if (isEmpty($given?.data)) apply($select);
    return;
  }
  $select.apply(lambda($given, (given) => (isEmpty(given) ? apply : null)));
}

/** @throws Error when a list and its row would have one name, as of a table `staff` or `series` */
function checkPlural(
  { inflection }: GraphileBuild.Build,
  { name, codec, extensions }: PgResource,
): void {
  const tags = extensions?.tags ?? {};
  if ("internal" in tags || tags["root"] === "off") return;
  const row = inflection.tableType(codec);
  if (inflection.pluralize(row) !== row) return;
  throw new Error(
    `The table ${name} would have the same name for its list and for a row, \`${inflection.camelCase(row)}\`. Name it in the API by a tag with a plural, such as \`@name ${name}_entries\`.`,
  );
}
