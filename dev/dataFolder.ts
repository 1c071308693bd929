import { constants } from "node:fs";
import { access, mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { ConfigError } from "../src/config.ts";

/**
 * Creates the data folder and its subfolders where they are missing. @throws ConfigError naming DATA_DIR and the folder that
 * cannot be created or written to
 */
export async function prepareDataFolder(
  dataDir: string,
  subfolders: readonly string[],
): Promise<void> {
  for (const folder of [dataDir, ...subfolders.map((name) => path.join(dataDir, name))])
    try {
      await createFolder(folder);
      await access(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/,.*/s, "") : String(error);
      throw new ConfigError([
        `DATA_DIR ${dataDir}: ${folder} cannot be written to (${reason}); choose another folder or give it to this user`,
      ]);
    }
}

/** Creates one folder after the other: Node's recursive mkdir does not return in file systems like /proc. */
async function createFolder(folder: string): Promise<void> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    },
  );
  if (isFolder) return;
  if (isFolder === false) throw new Error("it is a file");
  await createFolder(path.dirname(folder));
  await mkdir(folder).catch((error: unknown) => {
    // Another process created it concurrently.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  });
}
