import { afterEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { FieldKind } from "../../src/xlsx/values.ts";
import type { UploadLimits } from "../../src/uploads/uploadReader.ts";
import { makeUploadReader } from "../../src/uploads/uploadReader.ts";
import { shareOfThread } from "../helpers/cpuTime.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { FIELDS, smallBook } from "../helpers/xlsx/template/wineFields.ts";
import { hostileBook } from "../helpers/xlsx/template/hostileBooks.ts";

const fields: [string, FieldKind][] = [...FIELDS];
const kind = "TABLE";
let stop = () => Promise.resolve();
afterEach(() => stop());

function makeReader(limits: Partial<UploadLimits> = {}) {
  const registry = new Registry();
  const log: string[] = [];
  const reader = makeUploadReader(
    { threads: 1, timeoutMs: 60_000, waitMs: 60_000, memoryMb: 512, ...limits },
    { registry, log: pino({ level: "warn" }, { write: (line: string) => log.push(line) }) },
  );
  stop = () => reader.stop();
  const refusals = async (reason: string) =>
    (await registry.getSingleMetric("office_uploads_refused_total")?.get())?.values.find(
      ({ labels }) => labels["reason"] === reason,
    )?.value;
  return { reader, log, refusals };
}

/** A template that is read quickly. */
const small = await smallBook({ S: { A1: "{{name}}" } });
/** A workbook that takes seconds to read. */
const slow = await hostileBook("attributes with prefixes in nested elements").make(7_400);
const accepted = {
  placeholders: [{ sheet: "S", cell: "A1", field: "name" }],
  problems: [],
  problemCount: 0,
};

describe("an uploaded workbook", () => {
  test("with 69,990 misspelt placeholders is read off the main thread", async () => {
    const { reader } = makeReader();
    const bytes = await hostileBook("cells with one misspelt placeholder").make(69_990);
    await reader.checkWorkbook({ bytes: small, fields, hasPrices: false, kind });
    const { result: checked, share } = await shareOfThread(() =>
      reader.checkWorkbook({ bytes, fields, hasPrices: false, kind }),
    );
    expect(share).toBeLessThan(0.3);
    expect(checked.problemCount).toBe(69_990);
    expect(checked.problems).toHaveLength(20);
    expect(checked.problems[19]).toEqual({
      sheet: "S",
      cell: "J3",
      reason: "There is no field nmae (did you mean `name`?)",
    });
  });

  test("that takes too long is rejected, and its thread is replaced", async () => {
    const { reader, refusals, log } = makeReader({ timeoutMs: 1_000 });
    await expect(
      reader.checkWorkbook({ bytes: slow, fields, hasPrices: false, kind }),
    ).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      message: "Reading the file takes too long: make it smaller",
    });
    expect(await refusals("slow")).toBe(1);
    expect(JSON.parse(log[0] ?? "{}")).toMatchObject({
      msg: "upload not read",
      task: "checkWorkbook",
      reason: "slow",
    });
    // On a busy machine the new thread may need longer to start.
    const checked = await waitFor("a file to be read", () =>
      reader.checkWorkbook({ bytes: small, fields, hasPrices: false, kind }).catch(() => undefined),
    );
    expect(checked).toEqual(accepted);
  });

  test("that takes too much memory is rejected, and its thread is replaced", async () => {
    const { reader, refusals } = makeReader({ memoryMb: 40 });
    const bytes = await hostileBook("cells with numbers").make(120_000);
    await expect(
      reader.checkWorkbook({ bytes, fields, hasPrices: false, kind }),
    ).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      message: "Reading the file takes too much memory: make it smaller",
    });
    expect(await refusals("memory")).toBe(1);
    expect(await reader.checkWorkbook({ bytes: small, fields, hasPrices: false, kind })).toEqual(
      accepted,
    );
  });

  test("that waits too long for a thread is answered UNAVAILABLE", async () => {
    const { reader, refusals } = makeReader({ waitMs: 50 });
    const bytes = await hostileBook("cells with numbers").make(60_000);
    const first = reader.checkWorkbook({ bytes, fields, hasPrices: false, kind });
    const second = reader.checkWorkbook({ bytes: small, fields, hasPrices: false, kind });
    const results = await Promise.allSettled([first, second]);
    expect(results).toMatchObject([
      { status: "fulfilled" },
      {
        reason: {
          code: "UNAVAILABLE",
          message: "The server reads too many files: try again in a moment",
        },
      },
    ]);
    expect(await refusals("waited")).toBe(1);
  });

  test("beyond the queue is answered UNAVAILABLE at once", async () => {
    const { reader, refusals } = makeReader();
    const check = () => reader.checkWorkbook({ bytes: small, fields, hasPrices: false, kind });
    const results = await Promise.allSettled(Array.from({ length: 20 }, check));
    expect(results.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 17 }, () => "fulfilled"),
      ...Array.from({ length: 3 }, () => "rejected"),
    ]);
    expect(await refusals("full")).toBe(3);
  });
});
