import type pg from "pg";
import { migrateTenant } from "../../../src/migration/migrateTenant.ts";
import { waitFor } from "../waitFor.ts";
import { actAs, createDatabase } from "../database.ts";

export interface InvitationRow {
  state: string;
  expires_at: Date;
  mailed_at: Date | null;
  mail_error: string | null;
  mail_attempts: number;
  mail_number: number;
}

/** A database whose user Ines Vega may invite. */
export interface InvitationDatabase {
  url: string;
  pool: pg.Pool;
  makeTenant(tenant: string): Promise<void>;
  /** Runs `work` in a transaction as the inviter. */
  asInviter<T>(work: (client: pg.ClientBase) => Promise<T>, tenant?: string): Promise<T>;
  /** Creates an invitation and runs the statement `also` with its id in the same transaction. Returns the id. */
  invite(email: string, also?: string, tenant?: string): Promise<string>;
  invitation(id: string, tenant?: string): Promise<InvitationRow>;
  /** Returns the invitation once it has no job left. */
  waitUntilSettled(id: string, tenant?: string): Promise<InvitationRow>;
  /** Lets the waiting job run at once. */
  runJobNow(id: string): Promise<void>;
  /** Queues the mail job again. */
  enqueueAgain(id: string): Promise<void>;
  drop(): Promise<void>;
}

const main = "backoffice";
const roleName = "Tasting & <Sales>";

export async function createInvitationDatabase(): Promise<InvitationDatabase> {
  const database = await createDatabase();
  const { pool } = database;

  const populate = (tenant: string) =>
    pool.query(`
      insert into ${tenant}.users (email, name, is_active) values ('ines@example.com', 'Ines Vega', true);
      insert into ${tenant}.roles (name) values ('${roleName}')`);
  await populate(main);

  const invitation = async (id: string, tenant = main) => {
    const { rows } = await pool.query<InvitationRow>(
      `select * from ${tenant}.invitations where id = $1`,
      [id],
    );
    return rows[0]!;
  };
  const jobs = async (id: string) => {
    const { rows } = await pool.query<{ id: string; locked_at: Date | null }>(
      "select id, locked_at from graphile_worker._private_jobs where payload -> 'input' ->> 'invitationId' = $1",
      [id],
    );
    return rows;
  };
  const asInviter: InvitationDatabase["asInviter"] = async (work, tenant = main) => {
    const client = await pool.connect();
    try {
      await client.query(`begin; set local search_path to ${tenant}, extensions, pg_temp`);
      const { rows } = await client.query<{ id: string }>(
        "select id from users where email = 'ines@example.com'",
      );
      await actAs(client, {
        userId: rows[0]?.id,
        permissions: ["invitations.create", "users.update"],
      });
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  };

  return {
    url: database.url,
    pool,
    asInviter,
    invitation,
    async makeTenant(tenant) {
      const client = await pool.connect();
      try {
        await migrateTenant(client, tenant);
      } finally {
        client.release();
      }
      await populate(tenant);
    },
    invite: (email, also, tenant) =>
      asInviter(async (client) => {
        const { rows } = await client.query<{ id: string }>(
          "select (create_invitation(row($1, (select id from roles where name = $2)))).id",
          [email, roleName],
        );
        const { id } = rows[0]!;
        if (also?.startsWith("update")) await client.query("reset role");
        if (also !== undefined) await client.query(also, [id]);
        return id;
      }, tenant),
    async waitUntilSettled(id, tenant) {
      await waitFor("the mail's job to end", async () => (await jobs(id)).length === 0);
      return invitation(id, tenant);
    },
    async runJobNow(id) {
      const waiting = await waitFor("the job to wait", async () => {
        const [job] = await jobs(id);
        return job?.locked_at === null && job.id;
      });
      await pool.query(
        "select graphile_worker.reschedule_jobs(array[$1::bigint], run_at => now())",
        [waiting],
      );
    },
    async enqueueAgain(id) {
      await pool.query(`select ${main}.queue_invitation_mail($1)`, [id]);
    },
    drop: () => database.drop(),
  };
}
