import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listIconPaths } from "../../admin/src/ui/listIconPaths.ts";
import { lintMigration } from "../../src/migration/lint/lint.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir, runMigrate } from "../helpers/migration/extraSqlDir.ts";

interface SqlExample {
  kind: "sql";
  folder: string;
  name: string;
  sql: string;
  refusal: string | undefined;
}
interface RequestExample {
  kind: "request";
  query: string;
  answer: string;
}
/** The page's examples in order. */
type Example = SqlExample | RequestExample;

/** The files that change what requests above them show. */
const changesEarlier = new Set(["logic/suppliers_search", "migrations/suppliers_country_code"]);

const page = await readFile(join(import.meta.dirname, "../../docs/database.md"), "utf8");
const [, reference = ""] = /^## Tags$(.*?)^## /ms.exec(page) ?? [];
const examples: Example[] = [
  ...page.matchAll(
    /`db\/(migrations|logic)\/(?:NNNN_)?(\w+)\.sql`[^`]*\n\n```sql\n([^]*?)```(?:\n```text\n([^]*?)```)?|```graphql\n([^]*?)```\n```json\n([^]*?)```/g,
  ),
].map(([, folder = "", name = "", sql = "", refusal, query, answer = ""]) =>
  query === undefined
    ? { kind: "sql", folder, name, sql, refusal: refusal?.trim() }
    : { kind: "request", query, answer },
);

let database: TestDatabase;
let own: ExtraSqlDir;
let service: Service;
let token: string;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
  service = await startService({ database });
  const { data } = await service.ask(
    `mutation { bootstrapFirstUser(email: "anna@example.com") { token } }`,
  );
  token = data.bootstrapFirstUser.token as string;
});
afterAll(async () => {
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

/** Applies the written files and starts a new server. */
async function rollOut(): Promise<void> {
  expect(await runMigrate(database.url, own.path)).toMatchObject({ code: 0 });
  await service.stop();
  service = await startService({ database, env: { DATABASE_EXTRA_SQL_DIR: own.path } });
}

/** Writes a file into its folder; SQL that is not expected to be rejected must also pass the linter. */
async function write({ folder, name, sql, refusal }: SqlExample) {
  if (folder === "logic") return own.logic(name, sql);
  const file = await own.migration(name, sql);
  if (refusal !== undefined) return;
  expect(lintMigration(file, sql).filter(({ severity }) => severity === "error")).toEqual([]);
}

/** Allows omissions: of a list that ends in `"…"`, only the listed elements are compared. */
function withGaps(shown: unknown): unknown {
  if (Array.isArray(shown)) {
    const elements = shown.map(withGaps);
    return shown.at(-1) === "…" ? expect.arrayContaining(elements.slice(0, -1)) : elements;
  }
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, withGaps(value)]));
}

/**
 * The examples that are accepted, in as few steps as their requests allow, because each step takes seconds: a migration that
 * changes what an earlier request shows begins another one.
 */
function stagesOf(all: readonly Example[]) {
  const stages: { changes: SqlExample[]; requests: RequestExample[] }[] = [
    { changes: [], requests: [] },
  ];
  for (const example of all) {
    if (example.kind === "sql" && changesEarlier.has(`${example.folder}/${example.name}`))
      stages.push({ changes: [], requests: [] });
    const stage = stages.at(-1);
    if (example.kind === "request") stage?.requests.push(example);
    else if (example.refusal === undefined) stage?.changes.push(example);
  }
  return stages;
}

describe("docs/database.md", () => {
  test("has all of its SQL and requests in the examples that this test runs", () => {
    const blocks = page.match(/^```(sql|graphql)$/gm) ?? [];
    expect(examples).toHaveLength(blocks.length);
    expect(blocks.length).toBeGreaterThan(20);
  });

  test("explains exactly the existing tags of each kind of object", async () => {
    const { rows } = await database.pool.query<{ kind: string; tags: string[] }>(
      "select kind, array_agg(distinct tag order by tag) as tags from known_tags() where instead is null group by kind",
    );
    const known = Object.fromEntries(rows.map(({ kind, tags }) => [kind, tags]));
    const [, ...parts] = reference.split(/^On a (?=[a-z ]+(?: \(.*)?:$)/m);
    const explained = parts.map((part) => {
      const kind = /^[a-z ]+?(?=:| \()/.exec(part)?.[0] ?? "";
      const cells = part.match(/^\| `@.*? \|/gm) ?? [];
      const tags = cells.flatMap((cell) => cell.match(/(?<=`@)\w+/g) ?? []);
      return [kind, [...new Set(tags)].sort()];
    });
    expect(Object.fromEntries(explained)).toEqual(
      Object.fromEntries(Object.entries(known).map(([kind, tags]) => [kind, [...tags].sort()])),
    );
  });

  test("names the symbols that the console has, which are the known ones", async () => {
    const { rows } = await database.pool.query<{ pattern: string }>(
      "select distinct pattern from known_tags() where tag = 'icon'",
    );
    const drawn = Object.keys(listIconPaths);
    expect(rows).toEqual([{ pattern: `^(${drawn.join("|")})$` }]);
    const [named = ""] = /(?<=^Symbols of `@icon`: )[^.]*/m.exec(page) ?? [];
    expect(named.match(/(?<=`)\w+(?=`)/g)).toEqual(drawn);
  });

  test("uses each tag in an example", async () => {
    const { rows } = await database.pool.query<{ tag: string }>(
      "select distinct tag from known_tags() where instead is null",
    );
    const shown = examples.flatMap((one) => (one.kind === "sql" ? one.sql : [])).join("\n");
    const isShown = (tag: string) => new RegExp(`@${tag}\\b`).test(shown);
    expect(rows.map(({ tag }) => tag).filter((tag) => !isShown(tag))).toEqual([]);
  });

  test("contains each tag that the code reads", async () => {
    const root = join(import.meta.dirname, "../..");
    const readers = ["auth", "paging", "plugins", "query", "schema", "search", "sqlJson"];
    const folders = [...readers.map((name) => join("src", name)), "db/logic"];
    const sources = await Promise.all(
      folders.map(async (folder) => {
        const files = await readdir(join(root, folder), { withFileTypes: true });
        const names = files.filter((file) => file.isFile()).map(({ name }) => name);
        return Promise.all(names.map((name) => readFile(join(root, folder, name), "utf8")));
      }),
    );
    const code = sources.flat().join("\n");
    const read = [
      // The forms in which plugins and SQL read tags.
      ...code.matchAll(/\btags\??\.(\w+)(?=\s*(?:[!=]==|\?\?|[;,:)\s]))/g),
      ...code.matchAll(/\btags\s*(?:\?|->>?)\s*'(\w+)'/g),
      ...[...code.matchAll(/\{ ([\w, ]+) \} = [^;]*?\btags\b/g)].flatMap(([, names = ""]) => [
        ...names.matchAll(/(\w+)/g),
      ]),
    ].map(([, name = ""]) => name);
    expect(read).toEqual(expect.arrayContaining(["audit", "inputType", "nullable"]));
    const { rows } = await database.pool.query<{ tag: string }>("select tag from known_tags()");
    const known = new Set(rows.map(({ tag }) => tag));
    expect([...new Set(read)].filter((name) => !known.has(name))).toEqual([]);
  });

  describe("after its migrations", () => {
    const answers: { expected: { errors?: string[] }; actual: Answer }[] = [];

    // The examples take minutes on a slow machine. Here, they do not count towards the timeout of a test.
    beforeAll(async () => {
      for (const { changes, requests } of stagesOf(examples)) {
        for (const example of changes) await write(example);
        await rollOut();
        for (const { query, answer } of requests)
          answers.push({
            expected: JSON.parse(answer) as { errors?: string[] },
            actual: await service.ask(query, { token }),
          });
      }
    });

    test("shows the actual result of each request", () => {
      expect(answers.length).toBeGreaterThan(10);
      for (const {
        expected,
        actual: { data, errors },
      } of answers)
        if (expected.errors) expect(errors?.map(({ message }) => message)).toEqual(expected.errors);
        else expect(errors ?? data).toEqual(withGaps(expected));
    });

    test("shows the actual refusal of each mistake", async () => {
      for (const example of examples) {
        if (example.kind !== "sql" || example.refusal === undefined) continue;
        await write(example);
        const { code, output } = await runMigrate(database.url, own.path);
        expect(output).toContain(example.refusal);
        expect(code).toBe(1);
        await own.removeLast();
      }
    });

    test("leaves a schema that fulfils the rules, with a deprecated field", async () => {
      const { data } = await service.ask(
        `{ __type(name: "Supplier") { fields(includeDeprecated: true) { name deprecationReason } } }`,
      );
      expect(data.__type.fields).toContainEqual({
        name: "country",
        deprecationReason: "Use `countryCode`; this goes on 2027-06-01.",
      });
      const { rows } = await database.pool.query("select * from schema_violations()");
      expect(rows).toEqual([]);
    });
  });
});
