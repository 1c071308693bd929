import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Bind } from "./bind.ts";

/*
 * Conditions on text. The database's function `search_text` takes case and accents away, and indexes are over it. It
 * can bring forth signs that patterns give a meaning, so patterns are made of its result, in SQL; being immutable, all of
 * that happens once, when the statement is planned. An empty pattern would match every row: it is made null.
 *
 * Patterns that look anywhere in a text stand in a subquery. A plan that is kept for all values would compute them for each row, and
 * what the planner guesses of how many rows have a word is of no use: `pageOfTexts` does not depend on it.
 */

/** What separates the fields in a table's `words`, as the database's function `words_text` makes them. */
const separator = sql`chr(31)`;

function searched(text: SQL): SQL {
  return sql`search_text(${text})`;
}

function bound(text: string, bind: Bind): SQL {
  return searched(sql`${bind(text)}::text`);
}

/** Texts made comparable, as an array, once for each statement. */
export function boundTexts(texts: readonly string[], bind: Bind): SQL {
  return sql`(select search_texts(${bind(texts)}::text[]))::text[]`;
}

function pattern(text: string, bind: Bind): SQL {
  return sql`regexp_replace(nullif(${bound(text, bind)}, ''), '[\\\\%_]', '\\\\\\&', 'g')`;
}

/** The text is this one, whatever the case and accents of both. */
export function equalsText(column: SQL, text: string, bind: Bind): SQL {
  return sql`${searched(column)} = ${bound(text, bind)}`;
}

/** The text is one of these, ignoring case and accents. The column's text is normalised once, not once for each of them. */
export function equalsOneText(column: SQL, texts: readonly string[], bind: Bind): SQL {
  return sql`${searched(column)} = any (${boundTexts(texts, bind)})`;
}

/** The text begins with this, whatever the case and accents of both. */
export function beginsWithText(column: SQL, text: string, bind: Bind): SQL {
  return sql`${searched(column)} like ${pattern(text, bind)} || '%'`;
}

/** The text contains this, anywhere, whatever the case and accents of both. */
export function containsText(column: SQL, text: string, bind: Bind): SQL {
  return wordsContain(searched(column), text, bind);
}

/** The same of a table's `words`. */
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

/** Scripts that put no spaces between words, where one or two signs are a word and can stand anywhere. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}]/u;

/**
 * Whether a text is so short that no index finds it within words: trigrams have three letters. It is looked for where words begin,
 * which they have two blanks for.
 */
export function isTooShortWithin(text: string): boolean {
  const letters = text.normalize("NFD").replace(/\p{M}/gu, "");
  return Array.from(letters).length < 3 && !UNSPACED.test(letters);
}

/**
 * What stands before a word: the beginning, the separator of fields, or one of these. Spelt out, because the trigram index cannot
 * see into `\m`: with a class of few characters it finds even the words that begin with one or two letters.
 */
const beforeWord = sql`'(^|[]\t\n -/:-@[^\`{|}~«»\x1F])'`;

/**
 * The text contains a word that begins with one of these, or, where one begins with no letter or digit, contains it anywhere.
 * They are one regular expression: PostgreSQL caches 32 compiled ones, and a statement with more compiles each again for every row.
 */
export function hasWordBeginning(column: SQL, texts: readonly string[], bind: Bind): SQL {
  return wordsHaveWordBeginning(searched(column), texts, bind);
}

/** The same of a table's `words`. */
export function wordsHaveWordBeginning(words: SQL, texts: readonly string[], bind: Bind): SQL {
  const wanted = sql.identifier(Symbol("wanted"));
  const start = sql`case when ${wanted} ~ '^\\w' then ${beforeWord} else '' end`;
  const escaped = sql`regexp_replace(nullif(${wanted}, ''), '[].*+?^$\{}()|[\\\\]', '\\\\\\&', 'g')`;
  return sql`${words} ~ (select string_agg(${start} || ${escaped}, '|') from unnest(search_texts(${bind(texts)}::text[])) as ${wanted})`;
}

/** The text begins with this, byte for byte; an index of the column serves it where the collation is "C". */
export function beginsWithExactly(column: SQL, text: string, bind: Bind): SQL {
  return sql`${column} ^@ ${bind(text)}::text`;
}
