import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, jest, test } from "@jest/globals";
import { checkTemplate } from "../../src/xlsx/template/checkTemplate.ts";
import { TemplateError } from "../../src/xlsx/template/problems.ts";
import { startTestFiles } from "../helpers/fileServer.ts";
import { startServerProcess } from "../helpers/service.ts";
import { FIELDS, WINES, fillWithRecords } from "../helpers/xlsx/template/wineFields.ts";
import { HOSTILE_BOOKS, hostileBook } from "../helpers/xlsx/template/hostileBooks.ts";

// Everything that can grow in a workbook costs linear time, from an eighth of the permitted size to all of it.
jest.setTimeout(240_000);

/** Twice the linear growth, to allow for garbage collection and compilation. */
const growth = 16;
/** A lower limit for the measured time. */
const floorMs = 40;
/** The longest allowed time for a permitted workbook. */
const longestMs = 12_000;

/** The lowest CPU time of this thread in three runs. */
async function leastTime(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < 3; run++) {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

describe.each(HOSTILE_BOOKS.map((book) => [book.name, book] as const))("%s", (_name, book) => {
  test("are checked in linear time", async () => {
    const [small, large] = [await book.make(book.most / 8), await book.make(book.most)];
    const first = await leastTime(() => checkTemplate(small, FIELDS, "TABLE"));
    const last = await leastTime(() => checkTemplate(large, FIELDS, "TABLE"));
    const { problems } = await checkTemplate(large, FIELDS, "TABLE");
    const texts = problems.map(({ sheet, cell, reason }) =>
      cell === null
        ? sheet === null
          ? reason
          : `${sheet}: ${reason}`
        : `${sheet}!${cell}: ${reason}`,
    );
    const refused = book.refused ?? "";
    expect((texts[0] ?? "").slice(0, refused.length || undefined)).toBe(refused);
    expect(last).toBeLessThan(Math.max(first, floorMs) * growth);
    expect(last).toBeLessThan(longestMs);
  });

  if (book.refused === undefined)
    test("are filled in linear time", async () => {
      const fill = async (bytes: Buffer) =>
        fillWithRecords(bytes, "TABLE", WINES).catch((error: unknown) => {
          if (!(error instanceof TemplateError)) throw error;
        });
      const [small, large] = [await book.make(book.most / 8), await book.make(book.most)];
      const first = await leastTime(() => fill(small));
      const last = await leastTime(() => fill(large));
      expect(last).toBeLessThan(Math.max(first, floorMs) * growth);
      expect(last).toBeLessThan(longestMs);
    });
});

test("a server answers health checks at once while it reads the largest workbooks", async () => {
  const files = await startTestFiles();
  const server = await startServerProcess({ env: files.env() });
  try {
    const { token } = await server.login(["exporttemplates.update"]);
    const upload = async (body: Buffer) => {
      const response = await fetch(`${server.url}/exports/workbooks?kind=TABLE&name=A.xlsx`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
        body: new Uint8Array(body),
      });
      return [response.status, ((await response.json()) as { error?: { message: string } }).error];
    };
    const books = [
      "cells with one misspelt placeholder",
      "cells with numbers",
      "empty rows",
      "attributes with prefixes in nested elements",
      "a long text",
      "styles",
    ];
    let longest = 0;
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        const began = performance.now();
        await (await fetch(`${server.url}/healthz`)).text();
        longest = Math.max(longest, performance.now() - began);
        await delay(10);
      }
    })();
    for (const name of books) {
      const book = hostileBook(name);
      const [status] = await upload(await book.make(book.most));
      expect([name, status]).toEqual([name, book.refused === undefined ? 201 : 400]);
    }
    isOver = true;
    await watching;
    expect(longest).toBeLessThan(250);
  } finally {
    await server.stop();
    await files.stop();
  }
});
