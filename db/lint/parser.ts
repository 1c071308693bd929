import { setFlagsFromString } from "node:v8";

// PostgreSQL's own parser, compiled to WebAssembly. The optimizing compiler would take 600 MB and seconds for it as soon as it is
// imported, and all migrations are parsed in less than a second without.
for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"])
  setFlagsFromString(flag);
const parser = await import("libpg-query");
await parser.loadModule();

export const { hasSqlDetails, parsePlPgSQLSync, parseSync, scanSync } = parser;
