import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import Sequencer from "@jest/test-sequencer";

const file = join(import.meta.dirname, "../durations.json");
/** Assumed seconds of files without a recorded duration, so that they start early. */
const untimed = 15;

/**
 * Starts the slowest test files first, so that none of them delays the end of a run.
 * A run with UPDATE_DURATIONS=1 records the durations.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const seconds = JSON.parse(readFileSync(file, "utf8"));
    const of = ({ path, context }) => seconds[nameOf(path, context.config)] ?? untimed;
    return [...tests].sort((a, b) => of(b) - of(a) || a.path.localeCompare(b.path));
  }

  cacheResults(tests, results) {
    super.cacheResults(tests, results);
    if (process.env.UPDATE_DURATIONS !== "1" || tests.length === 0) return;
    const { config } = tests[0].context;
    const seconds = JSON.parse(readFileSync(file, "utf8"));
    for (const { testFilePath, perfStats } of results.testResults)
      seconds[nameOf(testFilePath, config)] = Math.ceil(perfStats.runtime / 1000);
    const entries = Object.entries(seconds)
      .filter(([name]) => existsSync(join(import.meta.dirname, "..", name)))
      .sort(([a], [b]) => a.localeCompare(b));
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
}

function nameOf(path, config) {
  return relative(join(config.rootDir, "test"), path);
}
