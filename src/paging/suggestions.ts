import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { bindValue } from "../query/bind.ts";
import type { SearchField, SearchTable } from "../query/searchTable.ts";
import {
  beginsWithExactly,
  beginsWithText,
  containsText,
  equalsText,
  isTooShortWithin,
  wordsHaveBeginning,
  wordsHaveText,
  wordsHaveWordBeginning,
} from "../query/textSql.ts";
import { foldName } from "../schema/rowNames.ts";
import { defaultOrder, orderSql } from "./defaultOrder.ts";
import type { CompiledSearch } from "./connectionSearch.ts";

/** A row that matches a typed text. */
export interface Suggestion {
  id: string;
  name: string;
  detail: string | null;
  color: string | null;
}

/** A row that the statement finds; its name can be missing. */
export type Candidate = Omit<Suggestion, "name"> & { name: string | null };

/** The columns of a suggestion. */
export interface SuggestionColumns {
  key: string | null;
  name: string;
  detail: string | null;
  color: string | null;
}

/** The maximum number of rows of each kind of match that are ranked; of further matches, only an equal name is found. */
export const maxCandidates = 500;

interface CandidatesRequest {
  text: string;
  search: CompiledSearch | null;
  first: number;
  /** The searchable fields of name and detail, if they are searchable. */
  nameField: SearchField | undefined;
  detailField: SearchField | undefined;
  /** Whether to find only rows whose name equals the text. */
  isExact?: boolean;
}

/** Builds the statement that finds candidates for `text`. An empty text selects the first rows of the list. */
export function candidatesStatement(
  resource: PgResource,
  table: SearchTable,
  columns: SuggestionColumns,
  { text, search, first, nameField, detailField, isExact = false }: CandidatesRequest,
): SQL {
  const row = sql.identifier(Symbol("row"));
  const column = (name: string) => sql`${row}.${sql.identifier(name)}`;
  const { attributes } = resource.codec as PgCodecWithAttributes;
  const textOf = (name: string | null) => {
    if (name === null) return sql`null::text`;
    // The form of the API, which a front end can show in the time zone of its user.
    return attributes[name]?.codec.name === "timestamptz"
      ? sql`to_char(${column(name)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
      : sql`${column(name)}::text`;
  };
  // People can neither read nor type an id. A row without a name, such as a user who has not entered one, is named by its
  // detail.
  const isId = attributes[columns.name]?.codec.name === "uuid";
  const isNamed = !isId && (attributes[columns.name]?.notNull === true || columns.detail === null);
  const name = isNamed
    ? textOf(columns.name)
    : sql`coalesce(${textOf(isId ? null : columns.name)}, ${textOf(columns.detail)})`;
  const shown = sql`${textOf(columns.key ?? columns.name)} as id, ${name} as name, ${textOf(columns.detail)} as detail, ${textOf(columns.color)} as color`;
  const only = search === null ? sql.true : search.matches(row);
  const from = sql`select ${shown} from ${resource.from as SQL} as ${row}`;
  if (text === "") {
    const order = defaultOrder(resource);
    const ordered = order.length === 0 ? sql.blank : sql` order by ${orderSql(order, row)}`;
    // Without a key, the name identifies the row.
    const isIdentified = columns.key === null ? sql`${name} is not null` : sql.true;
    return sql`${from} where ${only} and ${isIdentified}${ordered} limit ${sql.value(first)}`;
  }
  const limit = sql` limit ${sql.value(maxCandidates)}`;
  // A beginning of the name is also one of a field in the row's `words`, which have an index, unlike most names.
  const within = isNamed ? nameField?.within : undefined;
  if (isExact && isNamed && attributes[columns.name]?.extensions?.isIndexed !== false) {
    const forms = sql`${bindValue(usualForms(text))}::text[]`;
    return sql`${from} where ${column(columns.name)} = any (${forms}) and ${only}${limit}`;
  }
  if (isExact) {
    const isField = within ? wordsHaveText(within(row), text, bindValue) : sql.true;
    return sql`${from} where ${isField} and ${equalsText(name, text, bindValue)} and ${only}${limit}`;
  }
  const implied = within ? wordsHaveBeginning(within(row), text, bindValue) : sql.true;
  const begins = beginsWithText(name, text, bindValue);
  const found = [sql`(${from} where ${implied} and ${begins} and ${only}${limit})`];
  const detailed = detailBegins(table, detailField, row, text);
  if (detailed) found.push(sql`(${from} where ${detailed} and ${only}${limit})`);
  // The trigram index of `words` needs three characters. Matches in other fields than the name are dropped when ranking.
  if (table.words && !isTooShortWithin(text)) {
    const words = wordsHaveWordBeginning(table.words(row), [text], bindValue);
    found.push(sql`(${from} where ${words} and ${only}${limit})`);
  } else if (!table.words)
    found.push(sql`(${from} where ${containsText(name, text, bindValue)} and ${only}${limit})`);
  return sql.join(found, " union ");
}

/**
 * The ways in which a name is usually written. An index of the names finds only texts that are equal byte for byte, but in
 * a large table it reads few pages.
 */
function usualForms(text: string): string[] {
  const typed = text.normalize("NFC");
  const small = typed.toLowerCase();
  const capitalized = small.replace(/^\p{L}/u, (letter) => letter.toUpperCase());
  const title = small.replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase());
  return [...new Set([typed, small, capitalized, title, typed.toUpperCase()])];
}

/** The condition that the detail, such as a number or an address, begins with the text; null without an index for it. */
function detailBegins(
  table: SearchTable,
  detail: SearchField | undefined,
  row: SQL,
  text: string,
): SQL | null {
  if (!detail) return null;
  if (detail.kind === "exact") {
    // Exact fields are compared byte by byte. Letters in numbers are capitals, but users may type small letters.
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

/** Ranks candidates: equal name or detail, then beginning of either, then beginning of a word; shorter names first. */
export function rankCandidates(
  found: readonly Suggestion[],
  text: string,
  first: number,
): Suggestion[] {
  const wanted = foldName(text);
  if (wanted === "") return found.slice(0, first);
  const rankOf = ({ name, detail }: Suggestion): number => {
    const own = foldName(name);
    const beside = foldName(detail ?? "");
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
