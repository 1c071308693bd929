import { execFile, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { withPermissionTables } from "../../dev/permissionTables.ts";
import { buildApi } from "../../src/migration/printApi.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import { codeOf, frontEnd, fullLogin, startLoginService } from "../helpers/loginFlow.ts";
import type { Service } from "../helpers/service.ts";

const file = join(import.meta.dirname, "../../docs/access.md");
const run = promisify(execFile);

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"]);
  await service.ask(`mutation { bootstrapFirstUser(email: "anna@example.com") { token } }`);
  // The page uses one session, from its first example.
  await service.database.pool.query("delete from sessions");
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

test("the permission tables of docs/access.md are generated from the guards", async () => {
  const page = await readFile(file, "utf8");
  const { pool } = service.database;
  expect(page).toContain("<!-- permissions -->");
  expect(await withPermissionTables(page, await buildApi(pool, "backoffice"), pool)).toBe(page);
});

/** The shell variables for the next command. */
async function prepare(command: string, values: Record<string, string>): Promise<void> {
  if (!command.includes("$CODE")) return;
  const claims = { sub: "anna", email: "anna@example.com", email_verified: true };
  values.CODE = await codeOf(await fullLogin(service, fake, { claims }));
}

/** The values that later commands take from a response. */
function learn(answer: string, values: Record<string, string>): void {
  values.TOKEN ??= /bos_[\w-]+/.exec(answer)?.[0] as string;
  values.API_TOKEN ??= /boa_[\w-]+/.exec(answer)?.[0] as string;
  values.API_TOKEN_ID ??= /"id":"([\w-]+)"/.exec(answer)?.[1] as string;
}

/** A response as in the page: shortened secrets and ids, only messages of errors, and no cost. */
function asShown(answer: string): unknown {
  if (!answer.startsWith("{")) return answer;
  const short = answer.replace(/\b(bos_|boa_)[\w-]+/g, "$1…").replace(/"id":"[\w-]+"/g, '"id":"…"');
  const { extensions: _cost, ...parsed } = JSON.parse(short) as {
    errors?: { message: string }[];
    extensions?: unknown;
  };
  return parsed.errors ? { errors: parsed.errors.map(({ message }) => message) } : parsed;
}

test("the page's commands return the responses that it shows", async () => {
  if (spawnSync("curl", ["--version"]).status !== 0) {
    console.warn("NOT TESTED: the commands in docs/access.md, since this machine has no curl");
    return;
  }
  const page = await readFile(file, "utf8");
  const pairs = [...page.matchAll(/```sh\n([\s\S]*?)```\n\n```(json|text)\n([\s\S]*?)```/g)];
  expect(pairs).toHaveLength(page.match(/^```sh$/gm)?.length ?? 0);
  expect(pairs.length).toBeGreaterThan(8);
  const values: Record<string, string> = { BASE: service.url, RETURN_TO: frontEnd };
  for (const [, command = "", kind, expected = ""] of pairs) {
    await prepare(command, values);
    // Runs in sh and in bash, because the page does not require a particular shell.
    const { stdout } = await run("sh", ["-euc", command], {
      // eslint-disable-next-line no-restricted-properties -- the path of curl
      env: { PATH: process.env.PATH, ...values },
    });
    learn(stdout, values);
    expect(asShown(stdout)).toEqual(kind === "json" ? JSON.parse(expected) : expected);
  }
});
