import pg from "pg";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { bytesPerTurn } from "../../src/process/yieldToEventLoop.ts";
import { runPipelined } from "../../src/postgres/requestClient.ts";
import { collectText, type TextStatement } from "../../src/postgres/textAnswer.ts";
import { testDatabaseUrl } from "../helpers/environment.ts";

let client: pg.Client;

beforeEach(async () => {
  client = new pg.Client({ connectionString: testDatabaseUrl });
  await client.connect();
});
afterEach(() => client.end());

async function textOf(statement: TextStatement) {
  const gathered = collectText(statement);
  const { rows } = await runPipelined(client, [], [gathered.statement], 0);
  expect(rows).toEqual([]);
  return gathered.text();
}

test.each([
  ["no row", "select 'a' where false", ""],
  ["nothing", "select null::text", ""],
  ["a short text", "select 'é🍷'", "é🍷"],
  ["a short text in pieces", "select n::text from generate_series(1, 12) as n", "123456789101112"],
])("returns %s as a string", async (_name, text, expected) => {
  expect(await textOf({ text })).toBe(expected);
});

test("returns a long text as complete buffers", async () => {
  const text = "select n || repeat('é🍷', n) from generate_series(1, 1000) as n";
  const expected = Array.from({ length: 1000 }, (_none, n) => `${n + 1}${"é🍷".repeat(n + 1)}`);
  const blocks = await textOf({ text });
  expect(Buffer.concat(blocks as Buffer[]).toString()).toBe(expected.join(""));
});

test("rejects with an error that follows some rows", async () => {
  const text = "select repeat('x', 1000) || 1 / (1000 - n) from generate_series(1, 1000) as n";
  await expect(textOf({ text })).rejects.toMatchObject({ code: "22012" });
  expect(await textOf({ text: "select 'next'" })).toBe("next");
});

test("lets other work run while it reads a long text", async () => {
  const perTurn = [0];
  let isRead = false;
  const count = () => {
    if (isRead) return;
    perTurn.push(0);
    setImmediate(count);
  };
  const statement = {
    text: "select repeat('x', 1000) from generate_series(1, 8000)",
    onRow: () => perTurn.push((perTurn.pop() ?? 0) + 1000),
  };
  const read = runPipelined(client, [], [statement], 0).finally(() => (isRead = true));
  count();
  // The socket's buffer is filled before the first read.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await read;
  expect(perTurn.reduce((sum, one) => sum + one)).toBe(8_000_000);
  // One read of this process returns 64 KB.
  expect(Math.max(...perTurn)).toBeLessThan(bytesPerTurn + 2 * 65_536);
});
