import type { GraphQLFieldConfigArgumentMap, GraphQLScalarType } from "graphql";
import { LRUCache } from "lru-cache";
import type { PgResource, PgSelectQueryBuilder, PgSelectStep } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import {
  ConstantStep,
  access,
  constant,
  inhibitOnNull,
  lambda,
  sideEffect,
} from "postgraphile/grafast";
import type { FieldArgs, FieldPlanResolver, Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/searchTable.ts";
import { describeQueryValues, describeSearch } from "../query/describe.ts";
import { filterField } from "../query/filters.ts";
import { type Bound, checkCursor } from "../paging/cursors.ts";
import { defaultOrder } from "../paging/defaultOrder.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { completeOrder, orderOf, copyPlannedOrder } from "../paging/orders.ts";
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, readPage } from "../paging/pageArguments.ts";
import type { Page } from "../paging/pageArguments.ts";
import { pageConditions } from "../paging/pageConditions.ts";
import { type CompiledSearch, searchOfArguments } from "../paging/connectionSearch.ts";
import { hasPages } from "../schema/listedTables.ts";
import { makeSearchTables } from "../schema/searchTables.ts";

declare global {
  namespace GraphileBuild {
    interface Build {
      /** The searchable fields of a table. */
      searchTable(resource: PgResource): SearchTable;
    }
  }
}

type Plan = FieldPlanResolver;
/** A connection of a table's rows: the part of ConnectionStep used here. */
interface Connection extends Step {
  getSubplan(): PgSelectStep;
  cloneSubplanWithoutPagination(mode: "aggregate"): PgSelectStep;
  addValidation(callback: () => Step): void;
  nodes(): Step;
  pageInfo(): Step;
}

const pageNames = ["first", "last", "offset", "before", "after"] as const;

const descriptions: Record<string, string> = {
  first: `The maximum number of rows, from the start or after \`after\`: 0 to ${MAX_PAGE_SIZE}. Defaults to ${DEFAULT_PAGE_SIZE} without \`last\`.`,
  last: `The maximum number of rows, from the end or before \`before\`: 0 to ${MAX_PAGE_SIZE}. Cannot be combined with \`first\`.`,
  offset: "The number of rows to skip. Cannot be combined with `last`.",
  before: "Returns only rows before this cursor.",
  after: "Returns only rows after this cursor.",
  orderBy: "The order of the rows; by default the order of the list.",
};

const maxCachedOrders = { max: 100 };

/** Whether the total was requested, by connection: set when the connection is planned, used by its `totalCount`. */
const requestedTotals = new WeakMap<Step, { $asked: Step; isRoot: boolean }>();

/**
 * Extends PostGraphile's connections: limited pages, the `query` argument, and a `totalCount` that runs only with
 * `includeTotalCount`.
 */
export const ConnectionsPlugin: GraphileConfig.Plugin = {
  name: "ConnectionsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        let searchTables: ReturnType<typeof makeSearchTables> | undefined;
        const searchTable = (resource: PgResource) =>
          (searchTables ??= makeSearchTables(build as GraphileBuild.Build))(resource);
        return build.extend(build, { searchTable }, "ConnectionsPlugin: what can be searched");
      },

      GraphQLObjectType_fields_field_args(args, build, { scope, Self }) {
        const { pgFieldResource, fieldName } = scope;
        if (!isOfTable(scope)) return args;
        const { GraphQLBoolean, GraphQLString } = build.graphql;
        const includeTotalCount = {
          type: GraphQLBoolean,
          description: "Whether to return `totalCount`, which requires counting all matching rows.",
          defaultValue: false,
        };
        const query = isSearched(pgFieldResource) && {
          query: {
            type: GraphQLString,
            description: describeSearch(build.searchTable(pgFieldResource)),
          },
          queryValues: {
            type: build.getTypeByName("JSON") as GraphQLScalarType,
            description: describeQueryValues,
          },
          ...filterArguments(build, pgFieldResource, Object.keys(args)),
        };
        return build.extend(
          args,
          { ...(query || {}), includeTotalCount },
          `ConnectionsPlugin: arguments of ${Self.name}.${fieldName}`,
        );
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const description = descriptions[scope.argName];
        if (!isOfTable(scope) || description === undefined) return arg;
        // All arguments are checked and applied together, below.
        const { applyPlan: _applyPlan, ...rest } = arg;
        return { ...rest, description };
      },

      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (scope.isPgConnectionTotalCountField) {
          return {
            ...field,
            description:
              "The total number of matching rows; null unless `includeTotalCount` is true.",
            type: build.graphql.getNullableType(field.type),
            plan: totalCount,
          };
        }
        if (scope.isConnectionType && scope.fieldName === "pageInfo")
          return { ...field, plan: pageInfo };
        if (!isOfTable(scope) || !field.plan) return field;
        const resource = scope.pgFieldResource as PgResource;
        const search = isSearched(resource) ? build.searchTable(resource) : null;
        const finish = makeFinish(resource, scope.isRootQuery === true);
        const plan = field.plan as Plan;
        const paged = (...args: Parameters<Plan>) => {
          const fieldArgs = args[1] as FieldArgs;
          // The generated plan of a connection field; the library types plans as returning `Step`.
          const $connection = plan(...args) as Connection;
          const $select = $connection.getSubplan();
          const $page = checkArguments(fieldArgs, search, scope.isRootQuery === true);
          // Set on the select: the connection would take its page size for a request for rows.
          $select.setFirst(access($page, "first"));
          $select.setLast(access($page, "last"));
          $select.setOffset(access($page, "offset"));
          if ("$orderBy" in fieldArgs) fieldArgs.apply($select, "orderBy");
          $select.apply(lambda($page, finish(orderOf($select))));
          rememberTotal($connection, fieldArgs, scope.isRootQuery === true);
          return $connection;
        };
        return { ...field, plan: paged };
      },
    },
  },
};

/** Whether a connection is of a table; those of functions stay as PostGraphile makes them. */
function isOfTable(scope: {
  isPgFieldConnection?: boolean;
  pgFieldResource?: Pick<PgResource, "parameters">;
}): boolean {
  const { isPgFieldConnection, pgFieldResource } = scope;
  return isPgFieldConnection === true && !!pgFieldResource && !pgFieldResource.parameters;
}

function isSearched(resource: PgResource | undefined): resource is PgResource {
  return hasPages(resource);
}

/** The checked arguments of a connection. */
interface Checked extends Page {
  search: CompiledSearch | null;
}

/** The step that checks all arguments of a connection before its statement runs. */
function checkArguments(
  args: FieldArgs,
  table: SearchTable | null,
  isRoot: boolean,
): Step<Checked> {
  const names = [...pageNames, ...(table ? ["query", "queryValues", ...table.filters.keys()] : [])];
  const check = (values: readonly unknown[]): Checked => {
    const given = Object.fromEntries(names.map((name, index) => [name, values[index]]));
    const search = table && searchOfArguments(table, given);
    return { ...readPage(given), search };
  };
  // A side effect always runs, even when no rows are selected, but is not allowed within lists. It is created after the
  // select, which still waits for it: created before, it would keep nested lists out of the parent's statement.
  const $all = names.map((name) => args.getRaw(name));
  return isRoot ? sideEffect($all, check) : lambda($all, check);
}

/**
 * The arguments of the tags `@filter` of a table.
 * @throws Error that names the tag, for a name that is taken and a condition that cannot be searched
 */
function filterArguments(
  build: GraphileBuild.Build,
  resource: PgResource,
  taken: readonly string[],
): GraphQLFieldConfigArgumentMap {
  const table = build.searchTable(resource);
  const reserved = [...taken, ...pageNames, "query", "queryValues", "includeTotalCount"];
  const entries = [...table.filters].map(([name, filter]) => {
    const tag = `The tag @filter ${name} of the table ${resource.name}`;
    if (reserved.includes(name)) throw new Error(`${tag}: every list has this argument already`);
    try {
      const type = filterField(table, filter)?.inputType() ?? build.graphql.GraphQLBoolean;
      const description = `Only rows that match \`${filter.condition}\`.`;
      return [name, { type, description }] as const;
    } catch (error) {
      throw new Error(`${tag}: ${(error as Error).message}`, { cause: error });
    }
  });
  return Object.fromEntries(entries);
}

/**
 * Completes a select when its arguments and order are known, one function per order of the document. Equal selects get
 * the same function, so that Grafast can deduplicate them.
 */
function makeFinish(resource: PgResource, isRoot: boolean) {
  const fallback = defaultOrder(resource);
  const known = new LRUCache<string, ReturnType<typeof finishFor>>(maxCachedOrders);
  const finishFor = (planned: readonly OrderColumn[]) => (checked: Checked) => {
    const { search, before, after } = checked;
    return (builder: PgSelectQueryBuilder) => {
      // A total is of all pages and unordered.
      if (builder.mode === "aggregate") {
        if (search) builder.where(search.matches(builder.alias));
        return;
      }
      copyPlannedOrder(builder, planned);
      const order = completeOrder(builder, resource, fallback);
      const bounds = [["before", before] as const, ["after", after] as const].flatMap(
        ([name, values]): Bound[] => {
          if (!values) return [];
          checkCursor(name, values, order, resource);
          return [{ name, values, bind: (n) => sql.value(values[n]?.[1] ?? null) }];
        },
      );
      const asked = { resource, page: checked, order, bounds, search, isWholeTable: isRoot };
      for (const condition of pageConditions(asked, builder.alias)) builder.where(condition);
    };
  };
  return (planned: readonly OrderColumn[]) => {
    const key = JSON.stringify(planned);
    const finish = known.get(key) ?? finishFor(planned);
    known.set(key, finish);
    return finish;
  };
}

function rememberTotal($connection: Connection, args: FieldArgs, isRoot: boolean): void {
  const $asked = args.getRaw("includeTotalCount");
  requestedTotals.set($connection, { $asked, isRoot });
  // Keeps connections that differ only in this from being deduplicated.
  $connection.addValidation(() => $asked);
}

/** The library reads no rows when only cursors are selected; they are requested here. */
function pageInfo($connection: Connection): Step {
  $connection.nodes();
  return $connection.pageInfo();
}

function totalCount($connection: Connection): Step {
  const { $asked, isRoot } = requestedTotals.get($connection) ?? {};
  if (!$asked || ($asked instanceof ConstantStep && $asked.data !== true)) return constant(null);
  const $count = $connection.cloneSubplanWithoutPagination("aggregate");
  const nothing = () => undefined;
  if (isRoot) {
    // A select that depends on an inhibited step does not run, and its values are null.
    $count.apply(inhibitOnNull(lambda($asked, (asked) => (asked === true ? nothing : null))));
    return $count.singleAsRecord().select(sql`count(*)`, TYPES.bigint, false);
  }
  // Below the root, inhibiting would affect the whole parent statement: here the select counts nothing instead.
  const selectNothing = (builder: PgSelectQueryBuilder) => {
    builder.where(sql.false);
  };
  $count.apply(lambda($asked, (asked) => (asked === true ? nothing : selectNothing)));
  const $total = $count.singleAsRecord().select(sql`count(*)`, TYPES.bigint, false);
  return lambda([$asked, $total], ([asked, total]) => (asked === true ? total : null));
}
