import { mkdir } from "node:fs/promises";
import {
  createSystem,
  generateArtifacts,
  generatePrismaClient,
} from "@keystone-6/core/___internal-do-not-use-will-break-in-patch/artifacts";
import { build } from "esbuild";
import { folder, keystone, prismaClient } from "./keystoneConfig.ts";
import { makeOwnDatabase } from "./tables.ts";

// Creates Keystone's database with our rows, and the files of its own `build`.
//   npm run bench -- peers/prepareKeystone <our database's address> <its own>

const [ourUrl = "", ownUrl = ""] = process.argv.slice(2);
// Prisma's convention: the columns of a join table are in alphabetical order of the type names.
const joining = (name: string, columns: string, a: string, b: string) => ({
  name: `"${name}"`,
  definition: `"A" uuid not null references ${a} on delete cascade,
    "B" uuid not null references ${b} on delete cascade, primary key ("A", "B")`,
  columns,
  indexes: [`"${name}" ("B")`],
});
await makeOwnDatabase(ourUrl, ownUrl, {
  userRoles: joining("_User_roles", `"B", "A"`, "roles", "users"),
  rolePermissions: joining("_Role_permissions", `"B", "A"`, "permissions", "roles"),
});

Object.assign(process.env, {
  // Prisma's program would fetch an engine for migrations, which is not used: a program that is there already stands in for it.
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  CHECKPOINT_DISABLE: "1",
  NODE_OPTIONS: `--import ${import.meta.resolve("./loopbackOnly.ts")}`,
});
await mkdir(folder, { recursive: true });
const system = createSystem(keystone);
await generateArtifacts(folder, system);
await generatePrismaClient(folder, system, "capture");
await build({
  entryPoints: [system.getPaths(folder).prisma],
  outfile: prismaClient,
  bundle: true,
  platform: "node",
  packages: "external",
  define: { "import.meta.url": JSON.stringify(import.meta.url) },
  logLevel: "warning",
});
