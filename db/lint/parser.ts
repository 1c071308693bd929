import { setFlagsFromString } from "node:v8";
import { loadModule } from "libpg-query";

/**
 * Loads PostgreSQL's own parser, compiled to WebAssembly. The optimizing compiler would take 600 MB and seconds for it, and a
 * migration parses for less than a second.
 */
export async function loadParser(): Promise<void> {
  setFlagsFromString("--liftoff-only");
  await loadModule();
}
