import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { settings } from "../../src/config.ts";
import { type Service, startService } from "../helpers/service.ts";

const file = join(import.meta.dirname, "../../README.md");
const marked = /(<!-- settings -->\n)([\s\S]*?)(<!-- \/settings -->)/;

function settingsTable(): string {
  const rows = Object.entries(settings).map(
    ([name, { fallback, meaning }]) =>
      `| \`${name}\` | ${fallback === undefined || fallback === "" ? "" : `\`${fallback}\``} | ${meaning} |`,
  );
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

test("the README's table of settings is what the configuration knows; UPDATE_DOCS=1 writes it anew", async () => {
  const readme = await readFile(file, "utf8");
  // eslint-disable-next-line no-restricted-properties -- how a person asks for the table to be written anew
  if (process.env.UPDATE_DOCS === "1")
    await writeFile(
      file,
      readme.replace(
        marked,
        (_all, open: string, _old, close: string) => open + settingsTable() + close,
      ),
    );
  expect(marked.exec(await readFile(file, "utf8"))?.[2]).toBe(settingsTable());
});

describe("the README's first session", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(async () => {
    await service.stop();
  });

  test("gets the answers that it shows, request by request", async () => {
    const readme = await readFile(file, "utf8");
    const pairs = [...readme.matchAll(/```graphql\n([\s\S]*?)```\n```json\n([\s\S]*?)```/g)];
    expect(pairs.length).toBeGreaterThan(5);
    let token: string | undefined;
    for (const [, query = "", shown = ""] of pairs) {
      const answer = await service.ask(query, { token });
      const expected = JSON.parse(shown) as Record<string, unknown> & { errors?: string[] };
      if (expected.errors)
        expect(answer.errors?.map((error) => error.message)).toEqual(expected.errors);
      else {
        expect(answer.errors).toBeUndefined();
        token ??= answer.data.bootstrapFirstUser?.token;
        expect(withoutSecrets(answer.data)).toEqual(expected);
      }
    }
  });
});

/** The session token differs each time; the README shows its recognisable beginning. */
function withoutSecrets(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replace(/bos_[\w-]+/g, "bos_…"));
}
