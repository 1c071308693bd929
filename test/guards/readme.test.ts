import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { withSettingsTable } from "../../dev/settingsTable.ts";
import { type ModelHarness, startModel } from "../helpers/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";

const file = join(import.meta.dirname, "../../README.md");
const recorded = /(<!-- conversation -->\n\n?```text\n)([\s\S]*?)(```)/;

test("the README's table of settings is generated from the configuration", async () => {
  const readme = await readFile(file, "utf8");
  expect(readme).toContain("<!-- settings -->");
  expect(withSettingsTable(readme)).toBe(readme);
});

describe("the README's first session", () => {
  let model: ModelHarness;
  let service: Service;
  beforeAll(async () => {
    model = await startModel();
    service = await startService({ env: model.env });
  });
  afterAll(async () => {
    await service.stop();
    await model.stop();
  });

  test("gets the answers that it shows, request by request, and so does the first conversation; UPDATE_DOCS=1 writes the latter anew", async () => {
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
    const body = /ai\/chat [^']*'[^']*' -d '([^']+)'/.exec(readme)?.[1] ?? "";
    const response = await fetch(`${service.url}/ai/chat`, {
      method: "POST",
      headers: { authorization: `Bearer ${token ?? ""}`, "content-type": "application/json" },
      body,
    });
    const stream = shortened(await response.text());
    // eslint-disable-next-line no-restricted-properties -- how a person asks for it to be written anew
    if (process.env.UPDATE_DOCS === "1")
      await writeFile(
        file,
        (await readFile(file, "utf8")).replace(
          recorded,
          (_all, open: string, _old, close: string) => open + stream + close,
        ),
      );
    expect(recorded.exec(await readFile(file, "utf8"))?.[2]).toBe(stream);
  });
});

/** A stream as the README shows it: pieces of one text together, and what differs each time cut short. */
function shortened(stream: string): string {
  const lines = stream.split("\n\n").filter((line) => line.startsWith("data: {"));
  const chunks = lines.map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);
  const together: Record<string, unknown>[] = [];
  for (const chunk of chunks) {
    const last = together.at(-1);
    if (["finish-step", "start-step"].includes(String(chunk.type))) continue;
    if (last && chunk.type === last.type && chunk.type === "text-delta")
      last.delta = String(last.delta) + String(chunk.delta);
    else if (last && chunk.type === last.type && chunk.type === "tool-input-delta")
      last.inputTextDelta = String(last.inputTextDelta) + String(chunk.inputTextDelta);
    else together.push(chunk);
  }
  return together
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n`)
    .join("\n")
    .replace(/"(id|toolCallId|messageId|endCursor)":"[^"]+"/g, '"$1":"…"');
}

/** The session token differs each time; the README shows its recognisable beginning. */
function withoutSecrets(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replace(/bos_[\w-]+/g, "bos_…"));
}
