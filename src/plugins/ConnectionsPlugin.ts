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
import { OfficeError } from "../errors.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";
import type { SearchTable } from "../query/catalogue.ts";
import type { Condition } from "../query/compile.ts";
import { compileQuery } from "../query/compile.ts";
import { describeSearch } from "../query/describe.ts";
import { parseQuery } from "../query/parse.ts";
import { DEFAULT_PAGE, LARGEST_PAGE, readPage } from "./pageArguments.ts";
import type { PageArguments } from "./pageArguments.ts";
import { makeSearchTables } from "./searchTables.ts";

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace GraphileBuild {
    interface Build {
      /** What can be searched of a table. */
      searchTable(resource: PgResource): SearchTable;
    }
  }
}

type Plan = FieldPlanResolver;
/** A connection of a table's rows: of ConnectionStep what is used here. */
interface Connection extends Step {
  getSubplan(): PgSelectStep;
  cloneSubplanWithoutPagination(mode: "aggregate"): PgSelectStep;
  addValidation(callback: () => Step): void;
}
/** Turns the text of a search into a condition. @throws OfficeError */
type Search = (text: string) => Condition;

const pageNames = ["first", "last", "offset", "before", "after"] as const;

const descriptions: Record<string, string> = {
  first: `This many, from the start or from \`after\`: 0 to ${LARGEST_PAGE}, ${DEFAULT_PAGE} when neither this nor \`last\` is given.`,
  last: `This many, from the end or from \`before\`: 0 to ${LARGEST_PAGE}. Not together with \`first\`.`,
  offset: "Pass over this many. Not together with `last`.",
  before: "Only what comes before this cursor.",
  after: "Only what comes after this cursor.",
  orderBy: "The order; without it, the list's own.",
};

/** Searches kept ready, by text; those with relative dates are compiled anew each time. */
const keptSearches = { max: 500, maxSize: 200_000 };

/** Whether the total was asked for, by connection: known when the connection is planned, needed by its `totalCount`. */
const totalsAsked = new WeakMap<Step, Step>();

/**
 * What connections add to PostGraphile's: bounded pages, the `query` argument of tables tagged `@connection`, and a
 * `totalCount` that runs nothing unless `includeTotalCount` asks for it.
 */
export const ConnectionsPlugin: GraphileConfig.Plugin = {
  name: "ConnectionsPlugin",
  version: "1.0.0",
  // Wraps plans within the wrapping that gives a list its order.
  before: ["ListsPlugin"],
  schema: {
    hooks: {
      build(build) {
        let searchTables: ReturnType<typeof makeSearchTables> | undefined;
        const searchTable = (resource: PgResource) =>
          (searchTables ??= makeSearchTables(build as GraphileBuild.Build))(resource);
        return build.extend(build, { searchTable }, "ConnectionsPlugin: what can be searched");
      },

      GraphQLObjectType_fields_field_args(args, build, { scope, Self }) {
        const { isPgFieldConnection, pgFieldResource, fieldName } = scope;
        if (!isPgFieldConnection) return args;
        const { GraphQLBoolean, GraphQLString } = build.graphql;
        const includeTotalCount = {
          type: GraphQLBoolean,
          description:
            "Whether `totalCount` is wanted; it costs a count of everything that matches.",
          defaultValue: false,
        };
        const query = isSearched(pgFieldResource) && {
          type: GraphQLString,
          description: describeSearch(build.searchTable(pgFieldResource)),
        };
        return build.extend(
          args,
          query ? { query, includeTotalCount } : { includeTotalCount },
          `ConnectionsPlugin: arguments of ${Self.name}.${fieldName}`,
        );
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const description = descriptions[scope.argName];
        if (!scope.isPgFieldConnection || description === undefined) return arg;
        if (scope.argName === "orderBy") return { ...arg, description };
        // These are checked and applied together, below.
        const { applyPlan: _applyPlan, ...rest } = arg;
        return { ...rest, description };
      },

      GraphQLObjectType_fields_field(field, build, { scope }) {
        if (scope.isPgConnectionTotalCountField) {
          return {
            ...field,
            description: "How many match in all; null unless `includeTotalCount` is true.",
            type: build.graphql.getNullableType(field.type),
            plan: totalCount,
          };
        }
        const { isPgFieldConnection, pgFieldResource, isRootQuery } = scope;
        if (!isPgFieldConnection || !field.plan) return field;
        const search = isSearched(pgFieldResource)
          ? makeSearch(build.searchTable(pgFieldResource))
          : null;
        const plan = field.plan as Plan;
        const paged = (...args: Parameters<Plan>) => {
          const fieldArgs = args[1] as FieldArgs;
          const $connection = plan(...args) as unknown as Connection;
          const $checked = checkArguments(fieldArgs, search, isRootQuery === true);
          applyChecked($connection.getSubplan(), $checked);
          rememberTotal($connection, fieldArgs);
          return $connection;
        };
        return { ...field, plan: paged };
      },
    },
  },
};

function isSearched(resource: PgResource | undefined): resource is PgResource {
  return !!resource && !resource.parameters && resource.extensions?.tags?.connection !== undefined;
}

/** The step that checks all of a connection's arguments before anything of it runs. */
function checkArguments(args: FieldArgs, search: Search | null, isRoot: boolean): Step {
  const $page = pageNames.map((name) => args.getRaw(name));
  const $text = search ? args.getRaw("query") : constant(null);
  const check = ([text, ...page]: readonly unknown[]) => {
    const entries = pageNames.map((name, index) => [name, page[index]]);
    const condition = text == null || !search ? null : search(text as string);
    const filter =
      condition && ((builder: PgSelectQueryBuilder) => builder.where(condition(builder.alias)));
    return { ...readPage(Object.fromEntries(entries) as PageArguments), filter };
  };
  // A side effect is never left out, whatever of the connection is asked for; but it has no place within lists. It is made
  // after the select, which waits for it all the same: one made before would keep nested lists out of the statement.
  return isRoot ? sideEffect([$text, ...$page], check) : lambda([$text, ...$page], check);
}

/** Past the connection itself, which would take being told of a page for being asked for its rows. */
function applyChecked($select: PgSelectStep, $checked: Step): void {
  $select.setFirst(access($checked, "first"));
  $select.setLast(access($checked, "last"));
  $select.setOffset(access($checked, "offset"));
  $select.setBefore($select.parseCursor(access($checked, "before") as never));
  $select.setAfter($select.parseCursor(access($checked, "after") as never));
  $select.apply(access($checked, "filter"));
}

function rememberTotal($connection: Connection, args: FieldArgs): void {
  const $asked = args.getRaw("includeTotalCount");
  totalsAsked.set($connection, $asked);
  // Keeps connections that differ in nothing else from being taken for one.
  $connection.addValidation(() => $asked);
}

function totalCount($connection: Connection): Step {
  const $asked = totalsAsked.get($connection);
  if (!$asked || ($asked instanceof ConstantStep && $asked.data !== true)) return constant(null);
  const $count = $connection.cloneSubplanWithoutPagination("aggregate");
  // A select that depends on what is inhibited does not run, and its values are null.
  const nothing = () => undefined;
  $count.apply(inhibitOnNull(lambda($asked, (asked) => (asked === true ? nothing : null))));
  return $count.singleAsRecord().select(sql`count(*)`, TYPES.bigint, false);
}

function makeSearch(table: SearchTable): Search {
  const kept = new LRUCache<string, Condition>({
    ...keptSearches,
    sizeCalculation: (_condition, text) => text.length + 1,
  });
  return (text) => {
    const known = kept.get(text);
    if (known) return known;
    let usesClock = false;
    const now = new Date();
    const clock = () => {
      usesClock = true;
      return now;
    };
    const condition = refusingAsOffice(() => compileQuery(parseQuery(text), table, clock));
    if (!usesClock) kept.set(text, condition);
    return condition;
  };
}

function refusingAsOffice<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    const { message, position, length } = error;
    // People count from 1, as the message does.
    const details = { path: ["query"], position: position + 1, length };
    throw new OfficeError("BAD_USER_INPUT", message, details);
  }
}
