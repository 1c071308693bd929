import type { FieldNode, GraphQLField } from "graphql";
import { LRUCache } from "lru-cache";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { LARGEST_LIST_PART, checkOffset, checkSize, readPage } from "../plugins/pageArguments.ts";
import { type Bind, type Bindable, bindValue } from "../query/bind.ts";
import { type Condition, compileQuery } from "../query/compile.ts";
import { parseQuery } from "../query/parse.ts";
import type { SearchTable } from "../query/catalogue.ts";
import { type DirectField, directFieldOf, type Members, type Rows } from "./directField.ts";
import { type Part, reachOf } from "./listText.ts";
import { orderColumns } from "./orderColumns.ts";
import { type Compilation, IndirectError, fieldsOf, typeOf } from "./selection.ts";

type Arguments = Record<string, unknown>;

/** What a root field's arguments come to: what the SQL is made by, and what it is given. */
export interface RootPart {
  /** The same for all arguments that the same SQL serves. */
  shape: string;
  /** The parameters. */
  values: readonly Bindable[];
  /** Whether the same arguments come to the same at another time. */
  isLasting: boolean;
  /** What the SQL is made of, with `bind` for the nth of these values. */
  kind: RootKind;
}

type RootKind =
  | { kind: "one"; rows: Rows; wanted: (bind: BindNth) => SQL }
  | ({ kind: "list" } & RowsRoot)
  | ({ kind: "page" } & PageRoot)
  | { kind: "object"; members: (bind: BindNth) => Members };

interface RowsRoot {
  rows: Rows;
  part: (bind: BindNth) => Part;
}

/** A page of rows. */
export interface PageRoot extends RowsRoot {
  /** Whether it is told how many match in all. */
  counts: boolean;
}

/** Makes the nth parameter of a root field. */
export type BindNth = (n: number) => SQL;

const keptParts = new LRUCache<string, RootPart>({
  max: 2_000,
  maxSize: 1_000_000,
  sizeCalculation: (_part, key) => key.length,
});

/** The same as {@link rootPart}, kept for those asked last. `owner` stands for the field of the document. @throws Error as it does */
export function keptRootPart(owner: string, ...asked: Parameters<typeof rootPart>): RootPart {
  const [, field, , args] = asked;
  // Made as quickly as it is found.
  if (directFieldOf(field.extensions)?.kind === "rootOne") return rootPart(...asked);
  const key = `${owner} ${JSON.stringify(args)}`;
  const known = keptParts.get(key);
  if (known) return known;
  const part = rootPart(...asked);
  if (part.isLasting) keptParts.set(key, part);
  return part;
}

/** @throws Error for what is refused, or left to Grafast */
export function rootPart(
  compilation: Compilation,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  args: Arguments,
): RootPart {
  const direct = directFieldOf(field.extensions);
  switch (direct?.kind) {
    case "rootOne": {
      const { id, ...rest } = args;
      if (typeof id !== "string" || Object.keys(rest).length > 0) throw new IndirectError("id");
      const { rows } = direct;
      return {
        shape: "",
        values: [id],
        isLasting: true,
        kind: { kind: "one", rows, wanted: (bind) => sql`${bind(0)}::uuid` },
      };
    }
    case "rootMany": {
      const { first, offset, orderBy, ...rest } = args;
      refuseOthers(rest);
      const { root, ...part } = rowsPart(direct.rows, field, {
        orderBy,
        first: checkSize("first", first as number | null, LARGEST_LIST_PART),
        offset: checkOffset(offset as number | null),
      });
      return { ...part, kind: { kind: "list", ...root } };
    }
    case "rootPage":
      return pagePart(direct, field, args);
    case "rootObject": {
      const asked = new Set(
        fieldsOf(compilation, typeOf(field), node.selectionSet).map(([, { name }]) => name.value),
      );
      return objectPart((bind) => direct.members(args, asked, bind));
    }
    default:
      throw new IndirectError(node.name.value);
  }
}

function pagePart(
  direct: DirectField & { kind: "rootPage" },
  field: GraphQLField<unknown, unknown>,
  args: Arguments,
): RootPart {
  const { query, orderBy, first, last, offset, before, after, includeTotalCount, ...rest } = args;
  const known = { first, last, offset, before, after };
  const page = readPage(known as Parameters<typeof readPage>[0]);
  if (page.first === null || page.before || page.after) throw new IndirectError("page");
  refuseOthers(rest);
  const search = query == null || !direct.table ? null : searchOf(direct.table, query as string);
  const { root, shape, ...part } = rowsPart(direct.rows, field, { ...page, orderBy, search });
  const counts = includeTotalCount === true;
  return {
    ...part,
    shape: counts ? `${shape} counted` : shape,
    kind: { kind: "page", ...root, counts },
  };
}

function refuseOthers(args: Arguments): void {
  if (Object.values(args).some((value) => value != null)) throw new IndirectError("argument");
}

interface Wanted {
  orderBy: unknown;
  first: number | null;
  offset: number | null;
  search?: Search | null;
}

function rowsPart(
  rows: Rows,
  field: GraphQLField<unknown, unknown>,
  { orderBy, first, offset, search }: Wanted,
): Omit<RootPart, "kind"> & { root: RowsRoot } {
  const order = orderColumns(field, orderBy, rows);
  const reach = reachOf(first, offset);
  const shape = [
    first,
    offset ? `skip ${reach}` : "all",
    ...order.map(({ attribute, direction }) => attribute + direction),
  ];
  const part = (bind: BindNth): Part => ({
    order,
    first,
    ...(offset ? { skip: { by: bind(0), reach } } : {}),
    ...(search
      ? {
          condition: (row) => {
            let n = 1;
            return search.condition(row.alias, () => bind(n++));
          },
        }
      : {}),
  });
  return {
    shape: shape.join(" ") + (search?.shape ?? ""),
    values: [offset ?? 0, ...(search?.values ?? [])],
    isLasting: search?.isLasting ?? true,
    root: { rows, part },
  };
}

function objectPart(members: (bind: Bind) => Members): RootPart {
  const values: Bindable[] = [];
  const found = members((value) => {
    values.push(value);
    return bindValue(value);
  });
  const texts = Object.entries(found).flatMap(([name, member]) =>
    member ? [sql`${sql.identifier(name)} ${"text" in member ? member.text : member.from}`] : [],
  );
  return {
    shape: sql.compile(sql.join(texts, " ")).text,
    values,
    isLasting: true,
    kind: {
      kind: "object",
      members: (bind) => {
        let n = 0;
        return members(() => bind(n++));
      },
    },
  };
}

/** What a text in the query language asks for. */
interface Search {
  condition: Condition;
  shape: string;
  values: readonly Bindable[];
  /** Relative dates are counted anew each time. */
  isLasting: boolean;
}

function searchOf(table: SearchTable, text: string): Search {
  let usesClock = false;
  const condition = compileQuery(parseQuery(text), table, () => {
    usesClock = true;
    return new Date();
  });
  const values: Bindable[] = [];
  const row = sql.identifier("row");
  const example = condition(row, (value) => {
    values.push(value);
    return bindValue(value);
  });
  return { condition, shape: sql.compile(example).text, values, isLasting: !usesClock };
}
