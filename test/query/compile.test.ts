import { describe, expect, test } from "@jest/globals";
import { sql } from "postgraphile/pg-sql2";
import type { SearchTable } from "../../src/query/searchTable.ts";
import { listFields } from "../../src/query/searchTable.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { describeSearch } from "../../src/query/describe.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { refusal } from "../helpers/query/refusals.ts";
import { wines } from "../helpers/query/tables.ts";

const now = new Date("2026-02-03T12:00:00.000Z");

function compiled(query: string, clock: () => Date = () => now) {
  const condition = compileQuery(parseQuery(query), wines, clock)(sql.identifier("w"));
  const { text, values } = sql.compile(condition);
  return { text: text.replaceAll('"', ""), values };
}

const reasonOf = (query: string) => refusal(() => compiled(query)).message;

describe("values", () => {
  test.each([
    ["vintage:2015", "w.vintage = $1::int4", [2015]],
    ["vintage:-3", "w.vintage = $1::int4", [-3]],
    ["sold:>9007199254740993", "w.sold > $1::int8", ["9007199254740993"]],
    ["alcohol:<=12.50", "w.alcohol <= $1::numeric", ["12.50"]],
    ["weight:>=1.5e3", "w.weight >= $1::float8", ["1.5e3"]],
    ["isActive:true", "w.is_active = $1::bool", [true]],
    ["color:RED", "w.color = $1::enum", ["red"]],
    ["number:007", "w.number = $1::text", ["007"]],
    ["number:00*", "w.number ^@ $1::text", ["00"]],
    ["vintage:IN(2015, 2016)", "w.vintage = any ($1::int4[])", [[2015, 2016]]],
    ["number:IN(007)", "w.number = any ($1::text[])", [["007"]]],
    ["vintage:*", "w.vintage is not null", []],
    ["vintage:[2000 TO 2010}", "w.vintage >= $1::int4 and w.vintage < $2::int4", [2000, 2010]],
    ["vintage:{2000 TO *]", "w.vintage > $1::int4", [2000]],
    ["alcohol:[* TO 12]", "w.alcohol <= $1::numeric", ["12"]],
    ["country:FR", "search_text(w.country) = search_text($1::text)", ["FR"]],
    [
      "grapes:Merlot",
      "search_texts(w.grapes) && (select search_texts($1::text[]))::text[]",
      [["Merlot"]],
    ],
    ["medals:IN(A, b)", "w.medals && $1::text[]", [["A", "b"]]],
    ["scores:90", "w.scores && $1::int4[]", [[90]]],
    ["scores:*", "cardinality(w.scores) > 0", []],
    [
      "scores:>90",
      "exists (select from unnest(w.scores) as __element__ where __element__ > $1::int4)",
      [90],
    ],
    [
      "country:IN(FR, IT)",
      "search_text(w.country) = any ((select search_texts($1::text[]))::text[])",
      [["FR", "IT"]],
    ],
    ["country:IN(FR)", "search_text(w.country) = search_text($1::text)", ["FR"]],
  ])("%s becomes %s", (query, text, values) => {
    expect(compiled(query)).toEqual({ text, values });
  });

  test("every value is bound as a parameter", () => {
    const evil = "'; drop table wines; --";
    for (const query of [
      `"${evil}"`,
      `"${evil}"*`,
      `name:"${evil}"`,
      `name:"${evil}"*`,
      `number:"${evil}"`,
    ]) {
      const { text, values } = compiled(query);
      expect(text).not.toContain("drop");
      expect(new Set(values.flat())).toEqual(new Set([evil]));
    }
  });
});

describe("times", () => {
  const from = "2026-01-01T00:00:00.000Z";
  const to = "2026-02-01T00:00:00.000Z";

  test.each([
    [
      "createdAt:2026-01",
      "(w.created_at >= $1::timestamptz and w.created_at < $2::timestamptz)",
      [from, to],
    ],
    ["createdAt:>2026-01", "(w.created_at >= $1::timestamptz)", [to]],
    ["createdAt:>=2026-01", "(w.created_at >= $1::timestamptz)", [from]],
    ["createdAt:<2026-01", "(w.created_at < $1::timestamptz)", [from]],
    ["createdAt:<=2026-01", "(w.created_at < $1::timestamptz)", [to]],
    ["createdAt:[2026-01 TO *]", "(w.created_at >= $1::timestamptz)", [from]],
    ["createdAt:{2026-01 TO *]", "(w.created_at >= $1::timestamptz)", [to]],
    ["createdAt:<=9999", "(w.created_at < $1::timestamptz)", ["10000-01-01T00:00:00.000Z"]],
    ["bottledOn:<2026-01", "(w.bottled_on < $1::date)", ["2026-01-01"]],
    ["bottledOn:<=9999", "(w.bottled_on < $1::date)", ["10000-01-01"]],
    // A date is midnight: the first one after noon is the next day.
    ['bottledOn:>="2026-01-01T12:00Z"', "(w.bottled_on >= $1::date)", ["2026-01-02"]],
    [
      'bottledOn:"2026-01-01T00:00Z"',
      "(w.bottled_on >= $1::date and w.bottled_on < $2::date)",
      ["2026-01-01", "2026-01-02"],
    ],
    ["createdAt:>=now-1d", "(w.created_at >= $1::timestamptz)", ["2026-02-02T12:00:00.000Z"]],
  ])("%s becomes %s", (query, text, values) => {
    expect(compiled(query)).toEqual({ text, values });
  });

  test("the clock is read only for relative dates", () => {
    let asked = 0;
    const clock = () => {
      asked++;
      return now;
    };
    compiled("createdAt:2026-01 vintage:2015", clock);
    expect(asked).toBe(0);
    compiled("createdAt:yesterday", clock);
    expect(asked).toBe(1);
  });
});

describe("combinations", () => {
  test("AND, OR and NOT keep their structure by parentheses", () => {
    expect(compiled("vintage:1 OR vintage:2 -(vintage:3 OR vintage:4)").text).toBe(
      "(w.vintage = $1::int4) or ((w.vintage = $2::int4) and (((w.vintage = $3::int4) or (w.vintage = $4::int4)) is not true))",
    );
  });

  test("a word is searched in every default text field, and only accents match nothing", () => {
    const { text, values } = compiled("riesling");
    expect(text).toContain("search_text(w.name) like");
    expect(text).toContain("or search_text(w.producer) like");
    expect(text).not.toContain("country");
    // An empty pattern would match every row.
    expect(text).toContain("nullif(search_text($1::text), '')");
    expect(values).toEqual(["riesling", "riesling"]);
  });

  test("a group of a relation requires one related row that matches all of it", () => {
    expect(compiled("ratings:(points:>=90 OR -points:80)").text).toBe(
      "exists (select 1 from ratings as __ratings__ where __ratings__.wine_id = w.id and (" +
        "(__ratings__.points >= $1::numeric) or ((__ratings__.points = $2::numeric) is not true)))",
    );
    expect(compiled("ratings:(points:90 reviewer:(name:Anna))").text.match(/exists/g)).toHaveLength(
      2,
    );
    expect(compiled("ratings.reviewer:(name:Anna name:B*)").text.match(/exists/g)).toHaveLength(2);
  });

  test("a related field requires a matching related row", () => {
    expect(compiled("ratings.points:>=90").text).toBe(
      "exists (select 1 from ratings as __ratings__ where __ratings__.wine_id = w.id and (__ratings__.points >= $1::numeric))",
    );
    expect(compiled("-ratings.reviewer.name:Anna").text).toMatch(
      /^\(exists \(.*exists \(.*search_text\(__reviewers__\.name\).*\) is not true$/,
    );
  });
});

/** Texts that no index can find without another condition: the query, the text, its position. */
const signs: [string, string, number][] = [
  ["%", "%", 1],
  ["%%%%", "%%%%", 1],
  ["&*", "&", 1],
  ['"- -"', "- -", 1],
  ["🍷", "🍷", 1],
  ["& %", "&", 1],
  ["& -riesling", "&", 1],
  ["riesling OR &", "&", 13],
  ["(riesling OR &) -sweet", "&", 14],
  ["name:&", "&", 6],
  ['name:"%"*', "%", 6],
  ["name:IN(Chinon, &)", "&", 17],
  ["ratings.reviewer.name:&", "&", 23],
  ["ratings:(reviewer.name:&)", "&", 24],
];

describe("rejections", () => {
  test.each([
    [
      "vintag:2015",
      "query: `vintag` is not a field that can be searched (did you mean `vintage`?) at position 1",
    ],
    [
      "a points:90",
      "query: `points` is not a field that can be searched (did you mean `ratings.points`?) at position 3",
    ],
    ["constructor:1", "query: `constructor` is not a field that can be searched at position 1"],
    ["name.x:1", "query: `name.x` is not a field that can be searched at position 1"],
    [
      "ratings:5",
      "query: `ratings` is a relation (name a field of it, such as `ratings.points`) at position 1",
    ],
    [
      "ratings:(point:5)",
      "query: `point` is not a field that can be searched (did you mean `points`?) at position 10",
    ],
    [
      "rating:(points:5)",
      "query: `rating` is not a relation that can be searched (did you mean `ratings` or `ratings.reviewer`?) at position 1",
    ],
    [
      "reviewer:(name:a)",
      "query: `reviewer` is not a relation that can be searched (did you mean `ratings.reviewer`?) at position 1",
    ],
    [
      "name:(points:5)",
      "query: `name` is no relation, so its group holds values without fields at position 1",
    ],
    [
      "ratings:(90)",
      "query: `ratings` is a relation (name a field of it, such as `ratings.points`) at position 1",
    ],
    [
      "ratings:(reviewer:(ratings:(reviewer.name:a)))",
      "query: `reviewer.name` crosses more than 3 relations at position 29",
    ],
    [
      "grape:Merlot",
      "query: `grape` is not a field that can be searched (did you mean `grapes`?) at position 1",
    ],
    ["scores:dry", "query: `dry` is not a whole number at position 8"],
    ["scores:IN(1, x)", "query: `x` is not a whole number at position 14"],
    [
      "scores:9*",
      "query: `scores` (whole number list) has no beginnings: `*` does not go with it at position 1",
    ],
    [
      "grapes:>a",
      "query: `grapes` (text list) cannot be greater or less than a value at position 1",
    ],
    [
      "tastedOn:soon",
      "query: `soon` is not a date (such as 2026-01-31, 2026-01-31T12:00:00Z or now-7d) at position 10",
    ],
    ["ratings.points:dry", "query: `dry` is not a number (such as 12 or 12.50) at position 16"],
    ["id:12", "query: `12` is not an id (a UUID) at position 4"],
    ["id:1*", "query: `id` (id) has no beginnings: `*` does not go with it at position 1"],
    [
      "color:>RED",
      "query: `color` (enumeration) cannot be greater or less than a value at position 1",
    ],
    ["isActive:yes", "query: `yes` is neither true nor false at position 10"],
    ["sold:99999999999999999999", "query: `99999999999999999999` is beyond 64 bits at position 6"],
    [
      "ratings.reviewer.ratings.reviewer.name:a",
      "query: `ratings.reviewer.ratings.reviewer.name` crosses more than 3 relations at position 1",
    ],
    ["vintage:dry", "query: `dry` is not a whole number at position 9"],
    [
      "vintage:20*",
      "query: `vintage` (whole number) has no beginnings: `*` does not go with it at position 1",
    ],
    ["name:>a", "query: `name` (text) cannot be greater or less than a value at position 1"],
    [
      "isActive:[false TO true]",
      "query: `isActive` (boolean) cannot be greater or less than a value at position 1",
    ],
    ["vintage:[2010 TO 2000]", "query: the range ends before it starts at position 1"],
    [
      "sold:[9007199254740993 TO 9007199254740992]",
      "query: the range ends before it starts at position 1",
    ],
    ["createdAt:[2026 TO 2025]", "query: the range ends before it starts at position 1"],
    ...signs.map(([query, sign, position]): [string, string] => [
      query,
      `query: \`${sign}\` has no letter or digit by which it could be found (put a word or a term beside it) at position ${position}`,
    ]),
    ["color:red", "query: `red` is not one of RED (did you mean `RED`?) at position 7"],
  ])("%s", (query, message) => {
    expect(reasonOf(query)).toBe(message);
  });

  test.each([
    "moët & chandon",
    "riesling (dry OR (& !))",
    "name:& vintage:2015",
    "-%",
    "number:&",
    "grapes:&",
    "ratings:(points:90 reviewer.name:&)",
    "日 &",
  ])("punctuation is accepted in %s", (query) => {
    expect(compiled(query).text).not.toBe("");
  });

  test("words are rejected without a default text field", () => {
    const table: SearchTable = { ...wines, fields: new Map([...wines.fields].slice(0, 2)) };
    expect(refusal(() => compileQuery(parseQuery("dry"), table, () => now)).reason).toMatch(
      /^words alone search nothing here/,
    );
  });
});

describe("the description", () => {
  test("lists every field with its operators, once through each table", () => {
    const text = describeSearch(wines);
    for (const { name } of listFields(wines)) expect(text).toContain(`\`${name}\``);
    expect(listFields(wines).map(({ name }) => name)).toContain("ratings.reviewer.name");
    expect(text).not.toContain("ratings.reviewer.ratings");
    expect(text).toContain("- whole number (`>`, `>=`");
    expect(text).toContain("`color` (RED)");
    expect(text).toContain("searched in `name`, `producer`");
  });
});
