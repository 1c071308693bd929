import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/catalogue.ts";
import type { SearchKind } from "../query/searchKind.ts";
import type { OrderColumn } from "./defaultOrder.ts";
import { defaultOrder } from "./defaultOrder.ts";

/** A page of what a search of texts finds. */
export interface TextSearchPage {
  resource: PgResource;
  table: SearchTable;
  kind: SearchKind;
  /** The order in which the page is read. */
  along: readonly OrderColumn[];
  /** How many rows are read at most, from where the page begins. */
  reach: number;
  matches: (row: SQL) => SQL;
  /** The conditions of cursors; `within` that many rows where not all that lie beyond them are wanted. */
  beyond: (row: SQL, within: number | null) => readonly SQL[];
}

/** How many rows are tested in the order of the list, first and at most, before all that match are looked up. */
interface Walk {
  near: number;
  far: number;
  /** How many rows can be tested in the time that it takes to look up one. */
  perLookUp: number;
}

/** An index has the order and the words, so that no rows are read: some 0.4 microseconds for each. */
const coveredWalk: Walk = { near: 1_024, far: 16_384, perLookUp: 5 };
/** Rows are read, and texts computed. */
const plainWalk: Walk = { near: 256, far: 4_096, perLookUp: 1 };
/** How many matches are looked up sooner than a long walk is tried. */
const fewMatches = 2_048;

/**
 * The condition for the rows of a page that texts are searched for. Common words are found soonest by testing rows in the order of
 * the list, rare ones by looking up all that match and sorting them. The planner can only guess which a word is, so it is tried, each
 * step only where those before it did not settle it:
 * 1. `near`: the first rows of the order are tested.
 * 2. `few`: unless these promise that the next step fills the page and costs less, matches are looked up; few are sorted.
 * 3. `far`: many more rows of the order are tested.
 * 4. All matches are looked up and sorted.
 * So a page costs a bounded amount more than by the better way, with any statistics and any kept plan.
 */
export function textSearchPage(page: TextSearchPage, row: SQL): SQL | null {
  const [key, ...furtherKeys] =
    page.resource.uniques.find((one) => one.isPrimary)?.attributes ?? [];
  if (key === undefined || furtherKeys.length > 0) return null;
  const { reach, along } = page;
  const id = sql.identifier(key);
  const walk = walkOf(page, key);
  if (!walk)
    return sql`${row}.${id} = any (array(${firstOf(sql`(${lookedUp(page, id)} offset 0)`, along, reach)}))`;

  const far = Math.max(walk.far, 32 * reach);
  const most = Math.max(fewMatches, 4 * reach);
  const names = { near: sql.identifier(Symbol("near")), few: sql.identifier(Symbol("few")) };
  const further = sql.identifier(Symbol("far"));
  const found = (of: SQL) => sql`(select count(*) from ${of})`;
  const isFull = (of: SQL) => sql`${of} >= ${sql.literal(reach)}`;
  const isPromising = promising(page, walk, far, found(names.near));
  const mayBeMany = sql`(${isPromising} or ${found(names.few)} >= ${sql.literal(most)})`;
  const steps = {
    near: walked(page, id, [0, walk.near], sql.blank),
    few: sql`select * from (${lookedUp(page, id)} offset 0) as few where not (${isFull(found(names.near))} or ${isPromising}) limit ${sql.literal(most)}`,
    far: walked(
      page,
      id,
      [walk.near, far],
      sql` and not ${isFull(found(names.near))} and ${mayBeMany}`,
    ),
  };
  const fewRows = sql`(select * from ${names.few} where not ${mayBeMany})`;
  const allRows = sql`(select * from (${lookedUp(page, id)} offset 0) as rows
    where ${mayBeMany} and not ${isFull(sql`${found(names.near)} + ${found(further)}`)})`;
  return sql`${row}.${id} = any (array(
    with ${names.near} as materialized (${steps.near}), ${names.few} as materialized (${steps.few}),
      ${further} as materialized (${steps.far})
    select ${theId} from ${names.near} union all select ${theId} from ${further}
    union all (${firstOf(fewRows, along, reach)}) union all (${firstOf(allRows, along, reach)})))`;
}

/**
 * Whether the matches among the `near` rows promise that a walk fills the page, and sooner than a look-up of all matches would: after
 * `reach / share` rows, where a look-up finds `share` of the table.
 */
function promising({ resource, reach }: TextSearchPage, walk: Walk, far: number, found: SQL): SQL {
  const { near, perLookUp } = walk;
  const name = resource.extensions?.pg?.name ?? resource.name;
  const size = sql`(select reltuples from pg_class where oid = to_regclass(quote_ident(${sql.literal(name)})))`;
  const fills = sql`${found} >= ${sql.literal(Math.ceil((reach * near) / far))}`;
  const isSooner = sql`${found} * ${found} * ${sql.literal(perLookUp)} * ${size} > ${sql.literal(reach * near * near)}`;
  return sql`(${fills} and ${isSooner})`;
}

/** Not the name of a column of the order. */
const theId = sql`"the id"`;

/** The matches among the rows from one place in the order to another. */
function walked(
  { resource, matches, beyond, along, reach }: TextSearchPage,
  id: SQL,
  [from, to]: readonly [number, number],
  isWanted: SQL,
): SQL {
  const row = sql.identifier(Symbol("row"));
  const bounds = beyond(row, to);
  const where = bounds.length > 0 ? sql` where ${allOf(bounds)}` : sql.blank;
  const rows = sql`select ${row}.${id} as ${theId}, (${matches(row)}) as matches from ${resource.from as SQL} as ${row}${where}
    order by ${orderSql(along, row)} limit ${sql.literal(to - from)} offset ${sql.literal(from)}`;
  return sql`select tested.${theId} from (${rows}) as tested where tested.matches${isWanted} limit ${sql.literal(reach)}`;
}

/** All matches, with the columns of the order. An `offset` behind keeps the planner from looking for them in that order. */
function lookedUp({ resource, matches, beyond, along }: TextSearchPage, id: SQL): SQL {
  const row = sql.identifier(Symbol("row"));
  const columns = along.map(({ attribute }) => sql`${row}.${sql.identifier(attribute)}`);
  return sql`select ${row}.${id} as ${theId}, ${sql.join(columns, ", ")} from ${resource.from as SQL} as ${row}
    where ${allOf([matches(row), ...beyond(row, null)])}`;
}

/** The ids of the first of some rows. */
function firstOf(rows: SQL, along: readonly OrderColumn[], reach: number): SQL {
  const row = sql.identifier(Symbol("row"));
  return sql`select ${row}.${theId} from ${rows} as ${row} order by ${orderSql(along, row)} limit ${sql.literal(reach)}`;
}

/** How far rows are tested in the order; null where no index has that order, so that all would be sorted. */
function walkOf({ resource, table, kind, along }: TextSearchPage, key: string): Walk | null {
  const fallback = defaultOrder(resource);
  if (kind === "words" && table.words && isSameOrder(along, fallback)) return coveredWalk;
  const [first, second, ...rest] = along;
  const isOfOneColumn =
    rest.length === 0 &&
    (!second || (second.attribute === key && second.direction === first?.direction));
  // The rules of the database and the tests see to an index for these.
  return isOfOneColumn || isSameOrder(along, fallback) ? plainWalk : null;
}

/** Whether an order is another, or its opposite. */
function isSameOrder(one: readonly OrderColumn[], other: readonly OrderColumn[]): boolean {
  const isOpposite = one[0]?.direction !== other[0]?.direction;
  return (
    one.length === other.length &&
    one.every(({ attribute, direction }, index) => {
      const column = other[index];
      return column?.attribute === attribute && (column.direction !== direction) === isOpposite;
    })
  );
}

function orderSql(columns: readonly OrderColumn[], row: SQL): SQL {
  return sql.join(
    columns.map(
      ({ attribute, direction }) =>
        sql`${row}.${sql.identifier(attribute)} ${direction === "ASC" ? sql`asc` : sql`desc`}`,
    ),
    ", ",
  );
}

function allOf(conditions: readonly SQL[]): SQL {
  return sql.join(
    conditions.map((condition) => sql.parens(condition, true)),
    " and ",
  );
}
