import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const normalized = (text: string) => text.normalize("NFC").replace(spaces, " ").trim() || null;

/** Each character up to the combining marks, alone and before, between and after others. */
const texts = Array.from({ length: 0x37f }, (_, index) => String.fromCodePoint(index + 1)).flatMap(
  (character) => [
    character,
    `${character}Zz`,
    `Zz${character}`,
    ...["z", " ", "  ", "\u0301", "\u030a", "\u00a0", "\u00ad", "\n"].flatMap((other) => [
      `É${character}${other}1`,
      `É${other}${character}1`,
    ]),
  ],
);

test.each([
  ["normalize_name", normalized],
  [
    "name_key",
    (text: string) => normalized(text.replace(/\u00ad|\u034f/gu, ""))?.toLowerCase() ?? null,
  ],
])("%s gives each text the normal form of Unicode and single spaces", async (name, expected) => {
  const { rows } = await database.pool.query<{ text: string; found: string | null }>(
    `select text, extensions.${name}(text) as found from unnest($1::text[]) as text`,
    [texts],
  );
  expect(rows).toEqual(texts.map((text) => ({ text, found: expected(text) })));
});
