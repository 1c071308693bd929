import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/searchTable.ts";
import type { SearchKind } from "../query/searchKind.ts";
import type { OrderColumn } from "./defaultOrder.ts";
import { defaultOrder, orderSql, singleKey } from "./defaultOrder.ts";
import { allOf, anyOf, firstRowsSql } from "./indexRanges.ts";
import { databaseName } from "../schema/databaseName.ts";

/** A page of a text search. */
export interface TextSearchPage {
  resource: PgResource;
  table: SearchTable;
  kind: SearchKind;
  /** The order in which the page is read. */
  order: readonly OrderColumn[];
  /** The most rows to return, from the start of the page. */
  rowLimit: number;
  matches: (row: SQL) => SQL;
  /** The conditions of cursors, and the ranges of an index in which the page starts, if it starts at a cursor. */
  startOf: (row: SQL) => { conditions: readonly SQL[]; ranges: readonly SQL[] };
}

/** How many rows are tested in list order, in the first step and at most, before all matches are looked up. */
interface OrderedScan {
  near: number;
  far: number;
  /** How many rows can be tested in the time of one look-up. */
  perLookUp: number;
}

/** An index holds order and words, so no table rows are read: about 0.4 microseconds each. */
const indexOnlyScan: OrderedScan = { near: 1_024, far: 16_384, perLookUp: 5 };
/** Table rows are read and their text is computed. */
const tableScan: OrderedScan = { near: 512, far: 8_192, perLookUp: 1 };
/** Up to this many matches are looked up before a long walk, which takes about the same time. */
const fewMatches = 6_144;

/**
 * The condition for the rows of a page of a text search. Common words are found fastest by testing rows in list order,
 * rare ones by looking all matches
 * up and sorting them. The planner can only guess, so the statement tries, each step only if those before did not
 * decide:
 * 1. `near`: test the first rows of the order.
 * 2. `few`: look matches up and sort them if they are few, unless step 1 promises that step 3 fills the page faster.
 * 3. `far`: test many more rows of the order.
 * 4. Look up and sort all matches.
 * The cost exceeds that of the better way by a constant at most, with any statistics and any kept plan.
 */
export function textSearchCondition(page: TextSearchPage, row: SQL): SQL | null {
  const key = singleKey(page.resource);
  if (key === null) return null;
  const { rowLimit, order } = page;
  const id = sql.identifier(key);
  const scan = orderedScanOf(page, key);
  if (!scan)
    return sql`${row}.${id} = any (array(${firstIds(sql`(${allMatches(page, id)} offset 0)`, order, rowLimit)}))`;

  const far = Math.max(scan.far, 32 * rowLimit);
  const most = Math.max(fewMatches, 4 * rowLimit);
  const names = { near: sql.identifier(Symbol("near")), few: sql.identifier(Symbol("few")) };
  const further = sql.identifier(Symbol("far"));
  const countRows = (of: SQL) => sql`(select count(*) from ${of})`;
  const isFull = (of: SQL) => sql`${of} >= ${sql.literal(rowLimit)}`;
  const isPromising = isScanPromising(page, scan, far, countRows(names.near));
  const mayBeMany = sql`(${isPromising} or ${countRows(names.few)} >= ${sql.literal(most)})`;
  const steps = {
    near: matchesInRange(page, id, [0, scan.near], sql.blank),
    few: sql`select * from (${allMatches(page, id)} offset 0) as few where not (${isFull(countRows(names.near))} or ${isPromising}) limit ${sql.literal(most)}`,
    far: matchesInRange(
      page,
      id,
      [scan.near, far],
      sql` and not ${isFull(countRows(names.near))} and ${mayBeMany}`,
    ),
  };
  const fewRows = sql`(select * from ${names.few} where not ${mayBeMany})`;
  const allRows = sql`(select * from (${allMatches(page, id)} offset 0) as rows
    where ${mayBeMany} and not ${isFull(sql`${countRows(names.near)} + ${countRows(further)}`)})`;
  return sql`${row}.${id} = any (array(
    with ${names.near} as materialized (${steps.near}), ${names.few} as materialized (${steps.few}),
      ${further} as materialized (${steps.far})
    select ${idAlias} from ${names.near} union all select ${idAlias} from ${further}
    union all (${firstIds(fewRows, order, rowLimit)}) union all (${firstIds(allRows, order, rowLimit)})))`;
}

/**
 * Whether the matches among the `near` rows promise that a walk fills the page faster than a look-up of all matches:
 * after `reach / share` rows, where
 * a look-up finds `share` of the table.
 */
function isScanPromising(
  { resource, rowLimit }: TextSearchPage,
  scan: OrderedScan,
  far: number,
  found: SQL,
): SQL {
  const { near, perLookUp } = scan;
  const name = databaseName(resource);
  const size = sql`(select reltuples from pg_class where oid = to_regclass(quote_ident(${sql.literal(name)})))`;
  const fills = sql`${found} >= ${sql.literal(Math.ceil((rowLimit * near) / far))}`;
  const isSooner = sql`${found} * ${found} * ${sql.literal(perLookUp)} * ${size} > ${sql.literal(rowLimit * near * near)}`;
  return sql`(${fills} and ${isSooner})`;
}

/** Not a valid name of an order column. */
const idAlias = sql`"the id"`;

/** The matches within a range of rows in list order. */
function matchesInRange(
  { resource, matches, startOf, order, rowLimit }: TextSearchPage,
  id: SQL,
  [from, to]: readonly [number, number],
  extraCondition: SQL,
): SQL {
  const row = sql.identifier(Symbol("row"));
  const { conditions, ranges } = startOf(row);
  const rows = firstRowsSql(
    {
      from: resource.from as SQL,
      row,
      columns: sql`${row}.${id} as ${idAlias}, (${matches(row)}) as matches`,
      conditions,
      order,
    },
    ranges,
    { limit: to - from, offset: from },
  );
  return sql`select tested.${idAlias} from (${rows}) as tested where tested.matches${extraCondition} limit ${sql.literal(rowLimit)}`;
}

/** All matches with the order columns. The `offset` keeps the planner from searching in list order. */
function allMatches({ resource, matches, startOf, order }: TextSearchPage, id: SQL): SQL {
  const row = sql.identifier(Symbol("row"));
  const columns = order.map(({ attribute }) => sql`${row}.${sql.identifier(attribute)}`);
  const { conditions, ranges } = startOf(row);
  return sql`select ${row}.${id} as ${idAlias}, ${sql.join(columns, ", ")} from ${resource.from as SQL} as ${row}
    where ${allOf([matches(row), ...conditions, ...(ranges.length > 0 ? [anyOf(ranges)] : [])])}`;
}

/** The ids of the first rows. */
function firstIds(rows: SQL, order: readonly OrderColumn[], rowLimit: number): SQL {
  const row = sql.identifier(Symbol("row"));
  return sql`select ${row}.${idAlias} from ${rows} as ${row} order by ${orderSql(order, row)} limit ${sql.literal(rowLimit)}`;
}

/** How far rows are tested in list order; null where no index has that order. */
function orderedScanOf(
  { resource, table, kind, order }: TextSearchPage,
  key: string,
): OrderedScan | null {
  const fallback = defaultOrder(resource);
  if (kind === "words" && table.words && isSameOrder(order, fallback)) return indexOnlyScan;
  const [first, second, ...rest] = order;
  if (first?.codec) return null;
  const isOfOneColumn =
    rest.length === 0 &&
    (!second || (second.attribute === key && second.direction === first?.direction));
  // The schema lint ensures an index for these.
  return isOfOneColumn || isSameOrder(order, fallback) ? tableScan : null;
}

/** Whether two orders are equal or opposite. */
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
