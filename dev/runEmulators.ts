import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { startEmulators } from "./emulators/startEmulators.ts";
import { onStop, reportReady } from "../src/process/lifecycle.ts";

// Runs the emulators in a separate process, so that their work does not block the server's event loop.

try {
  const config = readConfig(process.env, ["server", "worker"]);
  const { values } = parseArgs({ options: { "erp-orders": { type: "string", default: "3000" } } });
  const printLine = (line: string) => process.stdout.write(`${line}\n`);
  const emulators = startEmulators(config, process.env, printLine, Number(values["erp-orders"]));
  onStop(async () => (await emulators).stop());
  const { env, pages } = await emulators;
  reportReady({ env, pages });
} catch (error) {
  console.error(error);
  process.exit(1);
}
