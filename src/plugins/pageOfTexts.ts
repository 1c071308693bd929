import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/catalogue.ts";
import type { SearchKind } from "../query/searchKind.ts";
import type { OrderColumn } from "./defaultOrder.ts";
import { defaultOrder } from "./defaultOrder.ts";

/** A page of what a search of texts finds. */
export interface PageOfTexts {
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
}

/** An index has the order and the words, so that no rows are read: some 0.4 microseconds for each. */
const coveredWalk: Walk = { near: 1_024, far: 16_384 };
/** Rows are read, and texts computed. */
const plainWalk: Walk = { near: 256, far: 4_096 };

/**
 * The condition for the rows of a page that texts are searched for. Common words are found soonest by testing rows in the order of
 * the list, rare ones by looking up all that match and sorting them. The planner can only guess which a word is, so it is tried:
 * `near` rows are tested; where these promise that `far` ones fill the page, so many; all matches are looked up only where that did
 * not fill it. So neither costs much more than the better of the two, whatever the statistics say and whatever plan is kept.
 */
export function pageOfTexts(page: PageOfTexts, row: SQL): SQL | null {
  const [key, ...furtherKeys] =
    page.resource.uniques.find((one) => one.isPrimary)?.attributes ?? [];
  if (key === undefined || furtherKeys.length > 0) return null;
  const id = sql.identifier(key);
  const all = lookedUp(page, id);
  const walk = walkOf(page, key);
  if (!walk) return sql`${row}.${id} = any (array(${all(sql.blank)}))`;

  const { reach } = page;
  const far = Math.max(walk.far, 32 * reach);
  // Half of what it takes on average, since the first rows may have fewer by chance.
  const promising = Math.max(1, Math.ceil((reach * walk.near) / far / 2));
  const [near, further] = [sql.identifier(Symbol("near")), sql.identifier(Symbol("far"))];
  const found = (of: SQL) => sql`(select count(*) from ${of})`;
  const most = sql.literal(reach);
  const isPromising = sql` and ${found(near)} between ${sql.literal(promising)} and ${sql.literal(reach - 1)}`;
  return sql`${row}.${id} = any (array(
    with ${near} as materialized (${walked(page, id, 0, walk.near, sql.blank)}),
      ${further} as materialized (${walked(page, id, walk.near, far, isPromising)})
    select ${id} from ${near} union all select ${id} from ${further}
    union all (${all(sql` where ${found(near)} + ${found(further)} < ${most}`)})))`;
}

/** The matches among the rows from one place in the order to another. */
function walked(page: PageOfTexts, id: SQL, from: number, to: number, isWanted: SQL): SQL {
  const { matches, beyond, along, reach } = page;
  const [row, tested] = [sql.identifier(Symbol("row")), sql.identifier(Symbol("tested"))];
  const bounds = beyond(row, to);
  const where = bounds.length > 0 ? sql` where ${allOf(bounds)}` : sql.blank;
  const rows = sql`select ${row}.${id}, (${matches(row)}) as matches from ${page.resource.from as SQL} as ${row}${where}
    order by ${orderSql(along, row)} limit ${sql.literal(to - from)} offset ${sql.literal(from)}`;
  return sql`select ${tested}.${id} from (${rows}) as ${tested} where ${tested}.matches${isWanted} limit ${sql.literal(reach)}`;
}

/** The first of all matches. The offset keeps the planner from looking for them in the order. */
function lookedUp({ resource, matches, beyond, along, reach }: PageOfTexts, id: SQL) {
  const [row, match] = [sql.identifier(Symbol("row")), sql.identifier(Symbol("match"))];
  const names = new Set(along.map(({ attribute }) => attribute));
  const columns = [...names].map((name) => sql`${row}.${sql.identifier(name)}`);
  const rows = sql`select ${row}.${id} as "the id", ${sql.join(columns, ", ")} from ${resource.from as SQL} as ${row}
    where ${allOf([matches(row), ...beyond(row, null)])} offset 0`;
  return (where: SQL) =>
    sql`select ${match}."the id" from (${rows}) as ${match}${where} order by ${orderSql(along, match)} limit ${sql.literal(reach)}`;
}

/** How far rows are tested in the order; null where no index has that order, so that all would be sorted. */
function walkOf({ resource, table, kind, along }: PageOfTexts, key: string): Walk | null {
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
