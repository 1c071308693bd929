import { setFlagsFromString } from "node:v8";

// PostgreSQL's parser, compiled to WebAssembly. The optimizing compiler would use 600 MB and seconds at import; without
// it, all migrations are parsed in less than a second.
for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"])
  setFlagsFromString(flag);
const parser = await import("libpg-query");
await parser.loadModule();

export const { hasSqlDetails, parsePlPgSQLSync, parseSync, scanSync } = parser;
