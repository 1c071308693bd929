import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { buildSchema, parse, validate } from "graphql";
import { searchCampaigns } from "../../src/assistant/campaignTool.ts";
import { readTools } from "../../src/assistant/readTools.ts";
import { writeTools } from "../../src/assistant/writeTools.ts";

const schema = readFile(join(import.meta.dirname, "../../schema.graphql"), "utf8").then((sdl) =>
  buildSchema(sdl),
);

test.each(Object.entries({ ...readTools, ...writeTools }))(
  "the operation of %s is valid for the schema",
  async (_name, { operation }) => {
    expect(validate(await schema, parse(operation))).toEqual([]);
  },
);

describe("searches campaigns page by page", () => {
  const day = (n: number) => new Date(Date.UTC(2030, 0, 1) - n * 86_400_000).toISOString();
  const calendar = (count: number) =>
    Array.from({ length: count }, (_value, n) => ({
      ...{ id: String(n), title: n % 500 === 499 ? "Barolo week" : "Other", note: null },
      ...{ status: "DRAFT", medium: "WEB", scheduledAt: day(n), product: null },
    }));
  async function look(count: number, given: object) {
    const all = calendar(count);
    const asked: number[] = [];
    const found = await searchCampaigns.find?.(
      (variables) => {
        const { offset } = variables as { offset: number };
        asked.push(offset);
        return Promise.resolve({ campaigns: all.slice(offset, offset + 250) });
      },
      given as Record<string, unknown>,
    );
    const { campaigns, ...rest } = found as { campaigns: { id: string }[] };
    return { ids: campaigns.map(({ id }) => id), asked, ...rest };
  }

  test("until the requested number is found", async () => {
    const first = await look(2_000, { text: "barolo", first: 2 });
    expect(first).toEqual({
      ids: ["499", "999"],
      asked: [0, 250, 500, 750, 1000],
      nextOffset: 1000,
    });
    expect(await look(2_000, { text: "barolo", first: 5, offset: 1000 })).toEqual({
      ...{ ids: ["1499", "1999"], asked: [1000, 1250, 1500, 1750, 2000], nextOffset: null },
    });
  });

  test("until all start before the first requested day", async () => {
    const from = day(700).slice(0, 10);
    expect(await look(5_000, { text: "barolo", from })).toEqual({
      ...{ ids: ["499"], asked: [0, 250, 500], nextOffset: null },
    });
  });

  test("up to the limit of a call, which the result states", async () => {
    const cut = await look(6_000, { text: "nothing like it" });
    expect(cut).toMatchObject({
      ids: [],
      nextOffset: 5_000,
      remark: expect.stringContaining("5000"),
    });
  });
});
