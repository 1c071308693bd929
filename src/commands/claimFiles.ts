import {
  BucketOwnerError,
  describeDatabase,
  identifyDatabase,
  isSameDatabase,
  readOwner,
  writeOwner,
} from "../exports/ownBucket.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { UsageError } from "../process/commandLine.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { runCommand, withPool } from "./runCommand.ts";

// `npm run files:claim`: makes the bucket belong to the database of the settings, after that was restored, moved or
// upgraded. Workers of the database that it belonged to before delete no file there any more.

const command = { usage: "Usage: npm run files:claim", options: {} };

await runCommand(command, async ({ database, files: settings }, { positionals }) => {
  if (positionals.length > 0)
    throw new UsageError(`${positionals.join(" ")}: it takes no argument`, command.usage);
  const { workerUrl } = database;
  if (workerUrl === undefined || settings.endpoint === undefined)
    throw new OperatorError(
      "DATABASE_WORKER_URL (or DATABASE_URL) and S3_ENDPOINT must be set, as for the worker",
    );
  const own = await withPool(database, workerUrl, "office_worker", identifyDatabase);
  const files = makeS3Files(settings);
  try {
    const owner = await readOwner(files).catch((error: unknown) => {
      if (error instanceof BucketOwnerError) return null;
      throw error;
    });
    if (owner !== null && isSameDatabase(owner, own)) {
      console.log(`The bucket ${settings.bucket} belongs to ${describeDatabase(own)} already`);
      return 0;
    }
    await writeOwner(files, own);
    const before = owner === null ? "to no database" : `to ${describeDatabase(owner)}`;
    console.log(
      `The bucket ${settings.bucket} belongs to ${describeDatabase(own)} now; before, ${before}`,
    );
    return 0;
  } finally {
    files.close();
  }
});
