import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readSources } from "../../src/migration/sources.ts";

let own: string;

beforeEach(async () => {
  own = await mkdtemp(join(tmpdir(), "names-"));
  await mkdir(join(own, "migrations"));
  await mkdir(join(own, "logic"));
  await writeFile(join(own, "migrations", "0001_suppliers.sql"), "select 1;");
});
afterEach(() => rm(own, { recursive: true }));

const migration = (name: string, sql = "select 1;") =>
  writeFile(join(own, "migrations", name), sql);
const refusal = () => readSources(own).then(String, (error: unknown) => (error as Error).message);

describe("The name of a migration", () => {
  test.each([
    ["vat.sql", "vat.sql has no number, which says when it runs: rename it to 0002_vat.sql"],
    [
      "12_vat.sql",
      "12_vat.sql has a number of 2 digits instead of four: rename it to 0012_vat.sql",
    ],
    [
      "20260131_vat.sql",
      "20260131_vat.sql has a number of 8 digits instead of four: rename it to 0002_vat.sql",
    ],
    [
      "0002_Vat Rates.sql",
      "0002_Vat Rates.sql is not written in small letters, digits and single underscores: rename it to 0002_vat_rates.sql",
    ],
    [
      "0002-vat.sql",
      "0002-vat.sql is not written in small letters, digits and single underscores: rename it to 0002_vat.sql",
    ],
    [
      "0002_vat.SQL",
      '0002_vat.SQL does not end in ".sql" in small letters: rename it to 0002_vat.sql',
    ],
    [
      "0001_vat.sql",
      "0001_vat.sql has the number of 0001_suppliers.sql: give the newer of the two the next free number, 0002",
    ],
    ["notes.md", "notes.md is no migration: only files such as 0002_vat.sql belong in this folder"],
    [
      "0002_vat.sql~",
      "0002_vat.sql~ is no migration: only files such as 0002_vat.sql belong in this folder",
    ],
  ])("is rejected with the rule: %s", async (name, message) => {
    await migration(name);
    const [first = "", ...lines] = (await refusal()).split("\n");
    expect(first).toMatch(/migrations has files that cannot be applied, nothing was changed:$/);
    expect(lines.map((line) => line.replace(/^ {2}- /, ""))).toEqual([message]);
  });

  test("is rejected for a folder", async () => {
    await mkdir(join(own, "migrations", "0002_vat"));
    expect(await refusal()).toContain(
      "  - 0002_vat is a folder: a migration is one file, such as 0002_vat.sql",
    );
  });

  test("is ignored when it starts with a dot", async () => {
    await migration(".0002_vat.sql.swp");
    const { migrations } = await readSources(own);
    expect(migrations.at(-1)?.files).toHaveLength(1);
  });

  test("may leave gaps in the numbers", async () => {
    await migration("0009_vat.sql");
    const { migrations } = await readSources(own);
    expect(migrations.at(-1)?.files).toHaveLength(2);
  });
});

test("is rejected for an empty file", async () => {
  await migration("0002_vat.sql", " \n");
  expect(await refusal()).toContain(
    "  - 0002_vat.sql is empty: write the migration or remove the file",
  );
});

test("is reported together with all other invalid names", async () => {
  await Promise.all([migration("vat.sql"), migration("0002_Vat.sql")]);
  expect((await refusal()).split("\n")).toHaveLength(3);
});

test("A file that cannot be read, or is not in plain UTF-8, is rejected by name", async () => {
  const logic = (name: string) => join(own, "logic", name);
  await Promise.all([
    symlink(join(own, "nowhere"), logic("link.sql")),
    writeFile(logic("latin.sql"), Buffer.from([0x2d, 0x2d, 0xe6])),
    writeFile(logic("mark.sql"), "\uFEFFselect 1;"),
    writeFile(logic("utf16.sql"), Buffer.from("select 1;", "utf16le")),
  ]);
  const lines = (await refusal()).split("\n").slice(1);
  expect(lines.toSorted()).toEqual([
    "  - latin.sql has bytes of another encoding: save it as UTF-8",
    expect.stringMatching(/^ {2}- link\.sql cannot be read: ENOENT/),
    "  - mark.sql begins with a byte order mark: save it as UTF-8 without one",
    "  - utf16.sql has NUL characters, as text in UTF-16 has: save it as UTF-8",
  ]);
});

describe("A file beside migrations and logic", () => {
  test("runs as prepare.sql, which may be the only file", async () => {
    await writeFile(join(own, "prepare.sql"), "select 1;");
    await rm(join(own, "migrations"), { recursive: true });
    await rm(join(own, "logic"), { recursive: true });
    expect((await readSources(own)).prepare?.text).toBe("select 1;");
  });

  test("is rejected when it would never run", async () => {
    await writeFile(join(own, "Prepare.sql"), "select 1;");
    await writeFile(join(own, "README.md"), "Our tables.");
    expect((await refusal()).split("\n").slice(1)).toEqual([
      '  - Prepare.sql would never run: move it to "migrations" or "logic", or name it prepare.sql if it creates extensions or roles',
    ]);
  });
});

describe("A file of logic", () => {
  test("needs no number", async () => {
    await writeFile(join(own, "logic", "suppliers.sql"), "select 1;");
    expect((await readSources(own)).logic.at(-1)?.path).toMatch(/suppliers\.sql$/);
  });

  test("is rejected when the file would never run", async () => {
    await writeFile(join(own, "logic", "suppliers.SQL"), "select 1;");
    await mkdir(join(own, "logic", "more"));
    const message = await refusal();
    expect(message).toContain('suppliers.SQL does not end in ".sql", so it would never run');
    expect(message).toContain("more is a folder: move its files up");
  });
});
