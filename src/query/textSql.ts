import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Bind } from "./bind.ts";

/**
 * Conditions on text. The function `search_text` removes case and accents, and indexes use it. Its result can contain
 * pattern characters, so patterns are built from it in SQL; it is immutable and runs once, at planning. An empty
 * pattern would match every row and becomes null.
 *
 * Patterns that match anywhere are subqueries: a kept plan would otherwise compute them per row. The planner's
 * estimates for them do not matter, since `textSearchCondition` does not depend on them.
 */

/** Separates the fields in a table's `words`, as the function `words_text` writes it. */
const separator = sql`chr(31)`;

function searched(text: SQL): SQL {
  return sql`search_text(${text})`;
}

function bound(text: string, bind: Bind): SQL {
  return searched(sql`${bind(text)}::text`);
}

/** Normalised texts as an array, computed once per statement. */
export function boundTexts(texts: readonly string[], bind: Bind): SQL {
  return sql`(select search_texts(${bind(texts)}::text[]))::text[]`;
}

function pattern(text: string, bind: Bind): SQL {
  return sql`regexp_replace(nullif(${bound(text, bind)}, ''), '[\\\\%_]', '\\\\\\&', 'g')`;
}

/** The text equals this one, ignoring case and accents. */
export function equalsText(column: SQL, text: string, bind: Bind): SQL {
  return sql`${searched(column)} = ${bound(text, bind)}`;
}

/** The longest list whose texts are looked up one by one in the index of words; a longer one is compared with each row. */
export const maxLookedUpTexts = 10;

/**
 * The text is one of these, ignoring case and accents. Normalises the column's text once. A long list is a hash table:
 * `is true` keeps it a subquery, which a join would not be.
 */
export function equalsOneText(column: SQL, texts: readonly string[], bind: Bind): SQL {
  if (texts.length <= maxLookedUpTexts)
    return sql`${searched(column)} = any (${boundTexts(texts, bind)})`;
  return sql`(${searched(column)} in (select unnest(search_texts(${bind(texts)}::text[])))) is true`;
}

/** The text begins with this one, ignoring case and accents. */
export function beginsWithText(column: SQL, text: string, bind: Bind): SQL {
  return sql`${searched(column)} like ${pattern(text, bind)} || '%'`;
}

/** The text contains this one, ignoring case and accents. */
export function containsText(column: SQL, text: string, bind: Bind): SQL {
  return wordsContain(searched(column), text, bind);
}

/** As containsText, on a table's `words`. */
export function wordsContain(words: SQL, text: string, bind: Bind): SQL {
  return sql`${words} like (select '%' || ${pattern(text, bind)} || '%')`;
}

/** A table's `words` have a field that is this text. */
export function wordsHaveText(words: SQL, text: string, bind: Bind): SQL {
  return sql`${words} like (select '%' || ${separator} || ${pattern(text, bind)} || ${separator} || '%')`;
}

/** A table's `words` have a field that begins with this text. */
export function wordsHaveBeginning(words: SQL, text: string, bind: Bind): SQL {
  return sql`${words} like (select '%' || ${separator} || ${pattern(text, bind)} || '%')`;
}

/** Scripts without spaces between words, where one or two characters are a word. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}]/u;

/**
 * Whether a text is too short for the trigram index within words. At the start of a word, trigrams include two blanks.
 */
export function isTooShortWithin(text: string): boolean {
  const letters = text.normalize("NFD").replace(/\p{M}/gu, "");
  return Array.from(letters).length < 3 && !UNSPACED.test(letters);
}

/**
 * What precedes a word: the start, the field separator, or one of these characters. Written as a class, because the
 * trigram index cannot use `\m`.
 */
const beforeWord = sql`'(^|[]\t\n -/:-@[^\`{|}~«»\x1F])'`;

/**
 * The text contains a word that begins with one of these. A text that begins with another character than a letter or digit
 * may occur anywhere. One regular expression tests all: PostgreSQL caches 32, and recompiles further ones for every row.
 */
export function hasWordBeginning(column: SQL, texts: readonly string[], bind: Bind): SQL {
  return wordsHaveWordBeginning(searched(column), texts, bind);
}

/**
 * As hasWordBeginning, on a table's `words`. A single text is compared by LIKE first, because a regular expression costs
 * about ten times as much for each row.
 */
export function wordsHaveWordBeginning(words: SQL, texts: readonly string[], bind: Bind): SQL {
  const [text, ...others] = texts;
  const begins = matchesWordBeginning(words, texts, bind);
  // The index cannot look up fewer than three characters anywhere in a text.
  if (text === undefined || others.length > 0 || isTooShortWithin(text)) return begins;
  return sql`${wordsContain(words, text, bind)} and ${begins}`;
}

function matchesWordBeginning(words: SQL, texts: readonly string[], bind: Bind): SQL {
  const wanted = sql.identifier(Symbol("wanted"));
  const start = sql`case when ${wanted} ~ '^\\w' then ${beforeWord} else '' end`;
  const escaped = sql`regexp_replace(nullif(${wanted}, ''), '[].*+?^$\{}()|[\\\\]', '\\\\\\&', 'g')`;
  return sql`${words} ~ (select string_agg(${start} || ${escaped}, '|') from unnest(search_texts(${bind(texts)}::text[])) as ${wanted})`;
}

/** The text begins with this, byte for byte; an index of the column serves it where the collation is "C". */
export function beginsWithExactly(column: SQL, text: string, bind: Bind): SQL {
  return sql`${column} ^@ ${bind(text)}::text`;
}
