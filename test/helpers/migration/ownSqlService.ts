import { createDatabase } from "../database.ts";
import { type Service, startService } from "../service.ts";
import { runMigrate } from "./extraSqlDir.ts";

/** A service on a database with the migrations of an extra SQL folder, and the session of its first user. */
interface OwnSqlService extends Service {
  token: string;
  userId: string;
}

/** Migrates a new database with the folder `ownSql` and starts a service on it; `stop` drops the database too. */
export async function startOwnSqlService(
  ownSql: string,
  env: Record<string, string> = {},
): Promise<OwnSqlService> {
  const database = await createDatabase();
  const { code, output } = await runMigrate(database.url, ownSql);
  if (code !== 0) throw new Error(output);
  const service = await startService({
    database,
    env: { DATABASE_EXTRA_SQL_DIR: ownSql, ...env },
  });
  const { data } = await service.ask(
    `mutation { bootstrapFirstUser(email: "anna@example.com") { token user { id } } }`,
  );
  return {
    ...service,
    token: String(data.bootstrapFirstUser.token),
    userId: String(data.bootstrapFirstUser.user.id),
    async stop() {
      await service.stop();
      await database.drop();
    },
  };
}
