import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { bindValue } from "../query/bind.ts";
import type { SearchField, SearchTable } from "../query/catalogue.ts";
import {
  beginsWithExactly,
  beginsWithText,
  containsText,
  isTooShortWithin,
  wordsHaveBeginning,
  wordsHaveWordBeginning,
} from "../query/textSql.ts";
import { defaultOrder } from "./defaultOrder.ts";
import type { AskedSearch } from "./connectionSearch.ts";

/** A row that a typed text may mean. */
export interface Suggestion {
  id: string;
  name: string;
  detail: string | null;
  color: string | null;
}

/** The columns of a suggestion. */
export interface SuggestionColumns {
  key: string | null;
  name: string;
  detail: string | null;
  color: string | null;
}

/** Rows that are looked at before they are ranked; what a broad text matches beyond them is not found. */
const maxCandidates = 500;

interface CandidatesAsked {
  text: string;
  search: AskedSearch | null;
  first: number;
  /** Name and detail in the query language, when that has them. */
  nameField: SearchField | undefined;
  detailField: SearchField | undefined;
}

/** The statement that finds the candidates for `text`. An empty text gives the first rows of the list. */
export function candidates(
  resource: PgResource,
  table: SearchTable,
  columns: SuggestionColumns,
  { text, search, first, nameField, detailField }: CandidatesAsked,
): SQL {
  const row = sql.identifier(Symbol("row"));
  const column = (name: string) => sql`${row}.${sql.identifier(name)}`;
  const textOf = (name: string | null) =>
    name === null ? sql`null::text` : sql`${column(name)}::text`;
  // A row without a name, such as a user who has given none, goes by its detail.
  const { attributes } = resource.codec as PgCodecWithAttributes;
  const isNamed = attributes[columns.name]?.notNull === true || columns.detail === null;
  const name = isNamed
    ? textOf(columns.name)
    : sql`coalesce(${textOf(columns.name)}, ${textOf(columns.detail)})`;
  const shown = sql`${textOf(columns.key ?? columns.name)} as id, ${name} as name, ${textOf(columns.detail)} as detail, ${textOf(columns.color)} as color`;
  const only = search === null ? sql.true : search.matches(row);
  const from = sql`select ${shown} from ${resource.from as SQL} as ${row}`;
  if (text === "") {
    const order = defaultOrder(resource).map(({ attribute, direction }) =>
      direction === "DESC" ? sql`${column(attribute)} desc` : sql`${column(attribute)}`,
    );
    const ordered = order.length === 0 ? sql.blank : sql` order by ${sql.join(order, ", ")}`;
    return sql`${from} where ${only} and ${name} is not null${ordered} limit ${sql.value(first)}`;
  }
  const limit = sql` limit ${sql.value(maxCandidates)}`;
  // What begins the name begins a field of the row's words, which have an index; the name itself need not have one.
  const within = isNamed ? nameField?.within : undefined;
  const implied = within ? wordsHaveBeginning(within(row), text, bindValue) : sql.true;
  const begins = beginsWithText(name, text, bindValue);
  const found = [sql`(${from} where ${implied} and ${begins} and ${only}${limit})`];
  const detailed = detailBegins(table, detailField, row, text);
  if (detailed) found.push(sql`(${from} where ${detailed} and ${only}${limit})`);
  // The index within words serves three letters and more; the name alone decides which rows count.
  if (table.words && !isTooShortWithin(text)) {
    const words = wordsHaveWordBeginning(table.words(row), [text], bindValue);
    found.push(sql`(${from} where ${words} and ${only}${limit})`);
  } else if (!table.words)
    found.push(sql`(${from} where ${containsText(name, text, bindValue)} and ${only}${limit})`);
  return sql.join(found, " union ");
}

/** Whether the detail, such as a number or an address, begins with the text; null where no index would serve that in a large table. */
function detailBegins(
  table: SearchTable,
  detail: SearchField | undefined,
  row: SQL,
  text: string,
): SQL | null {
  if (!detail) return null;
  if (detail.kind === "exact") {
    // Numbers are compared byte for byte, and their letters are capitals where people type small ones.
    const forms = [...new Set([text, text.toUpperCase()])];
    const begins = forms.map((form) => beginsWithExactly(detail.read(row), form, bindValue));
    return sql`(${sql.join(begins, " or ")})`;
  }
  if (detail.kind !== "text" || (table.words && !detail.within)) return null;
  const implied = detail.within
    ? wordsHaveBeginning(detail.within(row), text, bindValue)
    : sql.true;
  return sql`${implied} and ${beginsWithText(detail.read(row), text, bindValue)}`;
}

/** Text without case and accents, as people compare names. */
function folded(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** The best of the candidates: the whole name, its beginning or that of the detail, the beginning of a word; the shorter first. */
export function ranked(found: readonly Suggestion[], text: string, first: number): Suggestion[] {
  const wanted = folded(text);
  if (wanted === "") return found.slice(0, first);
  const rankOf = ({ name, detail }: Suggestion): number => {
    const own = folded(name);
    const beside = folded(detail ?? "");
    if (own === wanted || beside === wanted) return 0;
    if (own.startsWith(wanted) || beside.startsWith(wanted)) return 1;
    return own.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted)) ? 2 : 3;
  };
  return found
    .map((suggestion) => ({ suggestion, rank: rankOf(suggestion) }))
    .filter(({ rank }) => rank < 3)
    .toSorted(
      (a, b) =>
        a.rank - b.rank ||
        a.suggestion.name.length - b.suggestion.name.length ||
        a.suggestion.name.localeCompare(b.suggestion.name, "en"),
    )
    .slice(0, first)
    .map(({ suggestion }) => suggestion);
}
