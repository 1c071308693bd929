import type { GraphQLField } from "graphql";
import { LRUCache } from "lru-cache";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type CompiledSearch, searchOfArguments } from "../paging/connectionSearch.ts";
import { type Bound, checkCursor } from "../paging/cursors.ts";
import {
  MAX_LIST_SIZE,
  type PageArguments,
  checkOffset,
  checkSize,
  nextPowerOfTwo,
  readPage,
} from "../paging/pageArguments.ts";
import { pageRows } from "../paging/pageConditions.ts";
import { type Bindable, bindValue } from "../query/bind.ts";
import { cursorText, orderColumns } from "./order.ts";
import { pageJson } from "./pageJson.ts";
import { type FieldPart, rowJson } from "./rowJson.ts";
import { type Part, type Row, listJson, oneJson } from "./rows.ts";
import { assertOnly, typeOf } from "./selection.ts";
import type { ListField } from "./sqlJsonField.ts";

type Field = GraphQLField<unknown, unknown>;

/** The numbers of fields in the cache. */
const fieldNumbers = new WeakMap<Field, number>();
let lastNumber = 0;

/** Requests repeat arguments. */
const listParts = new LRUCache<string, FieldPart>({
  max: 2_000,
  maxSize: 1_000_000,
  sizeCalculation: (_part, key) => key.length,
});

/** Resolves the arguments of a list or a connection. @throws Error where the request is wrong or Grafast has to answer */
export function listPart(...input: Parameters<typeof resolvedPart>): FieldPart {
  const [, field, args] = input;
  let number = fieldNumbers.get(field);
  if (number === undefined) fieldNumbers.set(field, (number = ++lastNumber));
  const key = `${number} ${JSON.stringify(args)}`;
  const known = listParts.get(key);
  if (known) return known;
  const part = resolvedPart(...input);
  if (part.isCacheable) listParts.set(key, part);
  return part;
}

function resolvedPart(
  { kind, resource, table, join, within: own }: ListField,
  field: Field,
  args: Record<string, unknown>,
): FieldPart {
  const { orderBy, first, offset, after, includeTotalCount, ...rest } = args;
  assertOnly(rest, table ? ["query", "queryValues", ...table.filters.keys()] : []);
  // Coercion has checked the types. Pages from the end belong to Grafast.
  const paging = { first, offset, after } as PageArguments;
  const page = kind === "page" ? readPage(paging) : listRange(paging);
  const order = orderColumns(field, orderBy, resource);
  const search = table && parameterizedSearch(searchOfArguments(table, args));
  const isWholeTable = !join && !own;
  const counts = includeTotalCount === true;
  const cursor = page.after;
  if (cursor) checkCursor("after", cursor, order, resource);

  // Parameters in this order: offset, search, cursor.
  const values: Bindable[] = [page.offset ?? 0, ...(search?.values ?? [])];
  const start = values.length;
  if (cursor) values.push(...cursor.map(([, value]) => value));
  // Only for a page after skipped rows: the last row that may be read, rounded up to a power of two, with the one that
  // shows whether more follow.
  const reach =
    page.offset && page.first !== null ? nextPowerOfTwo(page.offset + page.first + 1) : null;

  const json: FieldPart["json"] = (compilation, node, bind, parent) => {
    const within = parent ?? own;
    const withinRow = (row: Row) => (within ? [within(row)] : []);
    const matches = (row: SQL) => {
      let n = 1;
      return search?.matches(row, () => bind(n++)) ?? sql.true;
    };
    const bounds: Bound[] = cursor
      ? [{ name: "after", values: cursor, bind: (n) => bind(start + n) }]
      : [];
    const request = { resource, page, order, bounds, isWholeTable };
    const from = resource.from as SQL;
    const part: Part = {
      from,
      order,
      first: page.first,
      ...(page.offset && { skip: { by: bind(0), reach } }),
      rows(row) {
        const found = pageRows({ ...request, search: search && { ...search, matches } }, row.alias);
        return { ...found, conditions: [...withinRow(row), ...found.conditions] };
      },
    };
    // Rows of a parent row are within its object.
    const isSplittable = parent === undefined;
    if (kind === "list") {
      const object = (row: Row) => rowJson(compilation, typeOf(field), node, row);
      return listJson(field.name, object, part, isSplittable);
    }
    const matching = (row: Row) => ({ conditions: [...withinRow(row), matches(row.alias)] });
    const count = { from, order: [], rows: matching };
    return pageJson(compilation, typeOf(field), node, {
      part: { ...part, first: page.first ?? 0 },
      cursor: (row) => cursorText(resource, order, row),
      total: counts ? oneJson(field.name, () => [sql`count(*)::text`], count) : sql`'null'`,
      isSplittable,
    });
  };
  const shape = [
    page.first,
    page.offset ? `skip ${reach}` : "all",
    ...order.map(({ attribute, direction }) => attribute + direction),
    counts ? "counted" : "",
    // Null needs a comparison of a different form.
    cursor ? `after${JSON.stringify(cursor.map(([, value]) => value === null))}` : "",
    search?.shape,
  ].join(" ");
  // Pages of text searches are found in steps, by one plan for all.
  const isSearchLeftToPlanner = search !== null && (search.kind === "values" || !isWholeTable);
  const usesCustomPlan = isSearchLeftToPlanner && counts;
  return { shape, values, isCacheable: !search?.relativeTime, usesCustomPlan, json };
}

/** The part of a plain list. @throws PublicError */
function listRange({ first, offset }: PageArguments): ReturnType<typeof readPage> {
  return {
    first: checkSize("first", first, MAX_LIST_SIZE),
    offset: checkOffset(offset),
    last: null,
    before: null,
    after: null,
  };
}

/** A search with its parameters, and the text of its SQL. */
interface ParameterizedSearch extends CompiledSearch {
  shape: string;
  values: readonly Bindable[];
}

function parameterizedSearch(search: CompiledSearch | null): ParameterizedSearch | null {
  if (search === null) return null;
  const values: Bindable[] = [];
  const example = search.matches(sql.identifier("row"), (value) => {
    values.push(value);
    return bindValue(value);
  });
  return { ...search, shape: sql.compile(example).text, values };
}
