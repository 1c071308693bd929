import { readConfig } from "../src/config.ts";
import { startStandIns } from "./emulators/standIns.ts";
import { onStop, reportReady } from "../src/lifecycle.ts";

// The process of what stands in for external systems outside production: the search engine alone may have work for both processors
// of a small machine, while people wait for the server's answers.

try {
  const config = readConfig(process.env, ["server", "worker"]);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const standIns = startStandIns(config, process.env, say);
  onStop(async () => (await standIns).stop());
  const { env, pages } = await standIns;
  reportReady({ env, pages });
} catch (error) {
  console.error(error);
  process.exit(1);
}
