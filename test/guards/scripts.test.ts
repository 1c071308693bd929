import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { programPath } from "../helpers/environment.ts";
import { type Service, startService } from "../helpers/service.ts";

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, "../..");
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const page = await readFile(path.join(root, "docs", "scripts.md"), "utf8");
/** The examples of docs/scripts.md by the file name in the comment above each. */
const examples = new Map(
  [...page.matchAll(/<!-- (\S+) -->\n```\w+\n([\s\S]*?)```/g)].map(([, name = "", text = ""]) => [
    name,
    text,
  ]),
);
const count = 503;

let service: Service;
let folder: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  service = await startService();
  const { userId } = await service.login(["products.read"]);
  const { token } = await insertApiToken(service.database, userId, ["products.read"]);
  await service.database.pool.query(
    `insert into products (erp_product_number, name, vintage)
     select lpad(n::text, 4, '0'), 'Wine ' || n, 2015 + n % 5 from generate_series(1, ${count}) n
     union all select 'old', 'Old wine', 1990`,
  );
  folder = await mkdtemp(path.join(os.tmpdir(), "scripts-"));
  await mkdir(path.join(folder, "src"));
  for (const [name, text] of examples) await writeFile(path.join(folder, name), text);
  await writeFile(path.join(folder, "package.json"), '{ "type": "module" }');
  await cp(path.join(root, "schema.graphql"), path.join(folder, "schema.graphql"));
  await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  environment = { PATH: programPath, BACK_OFFICE_URL: service.url, BACK_OFFICE_TOKEN: token };
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await service.stop();
});

function expectAllProducts(output: string): void {
  const lines = output.trimEnd().split("\n");
  expect(new Set(lines).size).toBe(count);
  expect(lines).toContain("0007 Wine 7 2017");
  expect(output).not.toContain("Old wine");
}

test("the page has the examples that run here", () => {
  expect([...examples.keys()]).toEqual(["products.py", "codegen.ts", "src/products.ts"]);
});

const withPython = hasPython ? test : test.skip;
withPython(
  `the Python example reads all pages${hasPython ? "" : " (NOT RUN: no python3 on this machine)"}`,
  async () => {
    const { stdout } = await run("python3", ["products.py"], { cwd: folder, env: environment });
    expectAllProducts(stdout);
  },
);

test("the TypeScript example is generated, has no type error and reads all pages", async () => {
  const bin = (name: string) => path.join(root, "node_modules", ".bin", name);
  const options = { cwd: folder, env: environment };
  await run(bin("graphql-codegen"), ["--config", "codegen.ts"], options);
  await writeFile(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, module: "nodenext", target: "es2024" },
        ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true },
        types: ["node"],
      },
      include: ["src", "codegen.ts"],
    }),
  );
  await run(bin("tsc"), ["-p", "."], options);
  const { stdout } = await run(process.execPath, ["src/products.ts"], options);
  expectAllProducts(stdout);
});
