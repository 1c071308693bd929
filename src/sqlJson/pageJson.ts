import type { Compilation } from "./fieldPart.ts";
import type { FieldNode, GraphQLObjectType } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { BindNth } from "../query/bind.ts";
import { UnsupportedSelection, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { cursorText } from "./order.ts";
import {
  type Part,
  arrayJson,
  conjunction,
  listJson,
  whereSql,
  type Row,
  tableRow,
  selectSql,
} from "./rows.ts";
import type { RequestedPage } from "./pagePart.ts";
import { type Text, objectJson, textSql } from "./jsonText.ts";

/** A page and its selection. */
interface PageSelection {
  type: GraphQLObjectType;
  node: FieldNode;
  page: RequestedPage;
  bind: BindNth;
  /** The JSON of a row's object, from its type, its field and the row. */
  objectOf: (type: GraphQLObjectType, node: FieldNode, row: Row) => Text;
  /** The condition that joins the rows to their parent row. */
  within?: (row: Row) => SQL;
}

/** A field of an object: response key and node. */
type Member = readonly [string, FieldNode];

/** The JSON of a connection: nodes, edges, cursors, total, page info. @throws UnsupportedSelection */
export function pageJson(compilation: Compilation, page: PageSelection): Text {
  return new PageWriter(compilation, page).text();
}

const yes = sql`'true'`;
const no = sql`'false'`;

class PageWriter {
  readonly #compilation: Compilation;
  readonly #selection: PageSelection;
  readonly #name: string;
  readonly #members: readonly Member[];
  /** The rows of the page. */
  readonly #part: Part & { first: number };
  readonly #lists: readonly Member[];
  readonly #asksForMore: boolean;
  readonly #asksForEnds: boolean;
  /** Rows that several fields need are read once, with one more where `hasNextPage` needs it. */
  readonly #isShared: boolean;
  readonly #found = new HoistedColumns();

  constructor(compilation: Compilation, selection: PageSelection) {
    const { type, node, page, bind, within } = selection;
    this.#compilation = compilation;
    this.#selection = selection;
    this.#name = node.name.value;
    this.#members = fieldsOf(compilation, node.selectionSet);
    const part = page.part(bind);
    this.#part = { ...part, ...conjunction(within, part.condition) };
    this.#lists = this.#members.filter(([, { name }]) => ["nodes", "edges"].includes(name.value));
    const infos = new Set(
      this.#members
        .filter(([, child]) => child.name.value === "pageInfo")
        .flatMap(([, child]) => this.#below(type, child).members.map(([, { name }]) => name.value)),
    );
    this.#asksForMore = infos.has("hasNextPage");
    this.#asksForEnds = infos.has("startCursor") || infos.has("endCursor");
    this.#isShared =
      this.#asksForEnds ||
      this.#lists.length > 1 ||
      (this.#lists.length === 1 && this.#asksForMore);
  }

  text(): Text {
    const { from } = this.#selection.page.rows;
    const text = objectJson(this.#members.map((member) => [member[0], this.#member(member)]));
    const { first } = this.#part;
    const read = { ...this.#part, first: this.#asksForMore ? first + 1 : first };
    return this.#found.around(text, from, this.#name, this.#isShared && first > 0 ? read : null);
  }

  #member(member: Member): Text {
    const { type, page } = this.#selection;
    const [, child] = member;
    switch (child.name.value) {
      case "__typename":
        return [`"${type.name}"`];
      case "nodes":
      case "edges":
        return this.#rows(member);
      case "totalCount":
        return page.counts ? [this.#found.once("total", () => this.#total())] : ["null"];
      case "pageInfo": {
        const { inner, members } = this.#below(type, child);
        return objectJson(members.map(([key, { name }]) => [key, this.#info(inner, name.value)]));
      }
      default:
        throw new UnsupportedSelection(child.name.value);
    }
  }

  #rows(member: Member): Text {
    const { page, within } = this.#selection;
    const { first } = this.#part;
    const isSplittable = within === undefined;
    if (!this.#isShared || first === 0)
      return listJson(page.rows.from, this.#name, this.#shownBy(member), this.#part, isSplittable);
    const read = this.#objects(member);
    const shown = this.#asksForMore ? sql`${read}[:${sql.literal(first)}]` : read;
    return arrayJson(shown, isSplittable);
  }

  #info(info: GraphQLObjectType, field: string): Text {
    const { skip, first } = this.#part;
    switch (field) {
      case "__typename":
        return [`"${info.name}"`];
      case "hasNextPage":
        return [this.#more()];
      case "hasPreviousPage":
        // As Grafast does: skipped rows count whether they exist or not, rows before a cursor do not.
        return [skip && first > 0 ? yes : no];
      case "startCursor":
        return [this.#end(true)];
      case "endCursor":
        return [this.#end(false)];
      default:
        throw new UnsupportedSelection(field);
    }
  }

  #more(): SQL {
    const { first } = this.#part;
    if (first === 0) return no;
    if (!this.#isShared)
      return this.#found.once("more", () =>
        isThereSql(this.#selection.page.rows.from, this.#name, this.#part),
      );
    const [list] = this.#lists;
    const read = this.#asksForEnds || !list ? this.#cursors() : this.#objects(list);
    return sql`(cardinality(${read}) > ${sql.literal(first)})::text`;
  }

  /** The cursor of the first or the last row. */
  #end(isFirst: boolean): SQL {
    const { first } = this.#part;
    if (first === 0) return sql`'null'`;
    const read = this.#cursors();
    const last = sql`least(cardinality(${read}), ${sql.literal(first)})`;
    return sql`coalesce(${read}[${isFirst ? sql`1` : last}], 'null')`;
  }

  #objects(member: Member): SQL {
    return this.#found.ofRows(`list ${member[0]}`, this.#shownBy(member));
  }

  #cursors(): SQL {
    return this.#found.ofRows("cursors", (row) => this.#cursor(row));
  }

  #cursor(row: Row): Text {
    const { rows, order } = this.#selection.page;
    return cursorText(rows.resource, order, row);
  }

  #shownBy([, child]: Member): (row: Row) => Text {
    const { type, objectOf } = this.#selection;
    const { inner } = this.#below(type, child);
    if (child.name.value === "edges") return (row) => this.#edge(child, row);
    return (row) => objectOf(inner, child, row);
  }

  #edge(child: FieldNode, row: Row): Text {
    const { type, objectOf } = this.#selection;
    const { inner, members } = this.#below(type, child);
    return objectJson(
      members.map(([key, field]) => {
        if (field.name.value === "__typename") return [key, [`"${inner.name}"`]];
        if (field.name.value === "cursor") return [key, this.#cursor(row)];
        if (field.name.value !== "node") throw new UnsupportedSelection(field.name.value);
        return [key, objectOf(typeOf(fieldOf(inner, field)), field, row)];
      }),
    );
  }

  /** The type and the selection of a field's objects. */
  #below(type: GraphQLObjectType, child: FieldNode) {
    const inner = typeOf(fieldOf(type, child));
    return { inner, members: fieldsOf(this.#compilation, child.selectionSet) };
  }

  /** The number of matching rows as text. */
  #total(): SQL {
    const { page, bind, within } = this.#selection;
    const row = tableRow(this.#name);
    const matching = conjunction(within, page.matching(bind));
    return sql`(select count(*)::text from ${page.rows.from} as ${row.alias}${whereSql(row, matching)})`;
  }
}

/** Whether rows follow those of a part, as text. */
function isThereSql(from: SQL, name: string, part: Part & { first: number }): SQL {
  const order = part.ranges ? part.order : [];
  const rows = selectSql(from, name, () => sql.blank, { ...part, order, first: part.first + 1 });
  return sql`(exists (${rows} offset ${sql.literal(part.first)}))::text`;
}

/** Columns of a subquery for expressions that the JSON of a row uses several times. */
class HoistedColumns {
  readonly #alias = sql.identifier(Symbol("found"));
  readonly #columns = new Map<string, { select: (row: Row) => SQL; column: SQL }>();

  /**
   * Hoists an expression under the name `what` and returns its column; `select` gets the row that `around` selects
   * from.
   */
  once(what: string, select: (row: Row) => SQL): SQL {
    const known = this.#columns.get(what) ?? { select, column: sql.identifier(Symbol(what)) };
    this.#columns.set(what, known);
    return sql`${this.#alias}.${known.column}`;
  }

  /** The array with the JSON of each row of a part. */
  ofRows(what: string, text: (row: Row) => Text): SQL {
    return this.once(what, (row) => sql`coalesce(array_agg(${textSql(text(row))}), '{}')`);
  }

  /** Wraps the expression in a subquery that selects the hoisted columns, from the rows of `part` where it is given. */
  around(text: Text, from: SQL, name: string, part: Part | null): Text {
    const columns = [...this.#columns.values()];
    if (columns.length === 0) return text;
    const selects = (row: Row) =>
      sql.join(
        columns.map(({ select, column }) => sql`${select(row)} as ${column}`),
        ", ",
      );
    const source = part
      ? selectSql(from, name, selects, part)
      : sql`select ${selects(tableRow(name))}`;
    // Without the offset the planner would inline each column at each of its uses.
    return [sql`(select ${textSql(text)} from (${source} offset 0) as ${this.#alias})`];
  }
}
