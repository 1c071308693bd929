import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { findStale, generateHandbook, generateSettings } from "../../dev/generate.ts";
import { type ModelServer, startModelServer } from "../../dev/emulators/modelServer.ts";
import { type Service, startService } from "../helpers/service.ts";

const docs = join(import.meta.dirname, "../../docs");
const tutorial = join(docs, "tutorial.md");
const assistant = join(docs, "assistant.md");
const readmeFile = join(import.meta.dirname, "../../README.md");
const recorded = /(<!-- conversation -->\n\n?```text\n)([\s\S]*?)(```)/;

test("the README has 150 lines at most", async () => {
  const lines = (await readFile(readmeFile, "utf8")).split("\n");
  expect(lines.length).toBeLessThanOrEqual(151);
});

test("docs/settings.md, .env.example and the handbook's pages are current", async () => {
  expect(await findStale([...(await generateSettings()), ...(await generateHandbook())])).toEqual(
    [],
  );
});

describe("the tutorial", () => {
  let model: ModelServer;
  let service: Service;
  beforeAll(async () => {
    model = await startModelServer();
    service = await startService({ env: model.env });
  });
  afterAll(async () => {
    await service.stop();
    await model.stop();
  });

  test("shows the actual responses, like docs/assistant.md for a first conversation", async () => {
    const readme = await readFile(tutorial, "utf8");
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
    const page = await readFile(assistant, "utf8");
    const body = /ai\/chat [^']*'[^']*' -d '([^']+)'/.exec(page)?.[1] ?? "";
    const response = await fetch(`${service.url}/ai/chat`, {
      method: "POST",
      headers: { authorization: `Bearer ${token ?? ""}`, "content-type": "application/json" },
      body,
    });
    const stream = shortened(await response.text());
    // eslint-disable-next-line no-restricted-properties -- UPDATE_DOCS=1 rewrites the page's conversation
    if (process.env.UPDATE_DOCS === "1")
      await writeFile(
        assistant,
        page.replace(recorded, (_all, open: string, _old, close: string) => open + stream + close),
      );
    expect(recorded.exec(await readFile(assistant, "utf8"))?.[2]).toBe(stream);
  });
});

/** A stream as in the page: joined deltas of a text, and shortened values that differ between runs. */
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
    .replace(/(\\?")(id|toolCallId|messageId|endCursor)\1:\1[^"\\]+\1/g, "$1$2$1:$1…$1");
}

/** Session tokens differ between runs; the page shows their prefix. */
function withoutSecrets(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replace(/bos_[\w-]+/g, "bos_…"));
}
