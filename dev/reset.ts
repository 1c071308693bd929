import { rm } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { readRunningService } from "../src/settings/runningService.ts";
import { lockFolder } from "./emulators/folderLock.ts";
import { choosePlace } from "./emulators/postgresPlace.ts";
import { emulatorFolders } from "./emulators/startEmulators.ts";

// `npm run db:reset`: removes the development database and the emulators' data.

class ResetRefusal extends Error {}

async function reset(): Promise<void> {
  const { values: flags } = parseArgs({ options: { yes: { type: "boolean", default: false } } });
  const config = readConfig(process.env);
  if (config.production)
    throw new ResetRefusal("NODE_ENV is production: db:reset is for development");
  if (config.database.url !== undefined)
    throw new ResetRefusal(
      "DATABASE_URL is set: db:reset removes only the database that npm start creates",
    );
  const { dataDir } = config;
  const running = readRunningService(dataDir);
  if (running)
    throw new ResetRefusal(
      `The service runs with ${dataDir} (process ${running.pid}): stop it with Ctrl-C, then repeat the command`,
    );
  if (!flags.yes && !(await isConfirmed(dataDir)))
    throw new ResetRefusal("Nothing was removed: answer yes, or give --yes");

  const place = await choosePlace(path.join(dataDir, "postgres"), false);
  const unlock = lockFolder(place.folder);
  unlock();
  const folders = [...place.folders, ...emulatorFolders.map((name) => path.join(dataDir, name))];
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  console.log(
    `Removed the database and the emulators' data in ${dataDir}. npm start creates them again.`,
  );
}

async function isConfirmed(dataDir: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await prompt.question(
      `Remove the database and all other data in ${dataDir}? Type yes: `,
    );
    return answer.trim().toLowerCase() === "yes";
  } finally {
    prompt.close();
  }
}

try {
  await reset();
} catch (error) {
  // Error messages are written for the user of the command; a stack trace would hide them.
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
