import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { startService } from "../helpers/service.ts";
import type { Service } from "../helpers/service.ts";

let service: Service;
let roleId: string;

const needed = ["invitations.create", "roles.read"];

beforeAll(async () => {
  service = await startService();
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into roles (name) values ('Taster') returning id",
  );
  roleId = rows[0]?.id ?? "";
});

afterAll(() => service.stop());

const invite = async (token: string, email: string) => {
  const { errors } = await service.ask(
    `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }`,
    { token, variables: { input: { email, roleId } } },
  );
  expect(errors).toBeUndefined();
};
const mine = async (token: string, args = "") => {
  const { data, errors } = await service.ask(
    `{ myJobs${args} { totalCount nodes { id kind title subject state attempts maxAttempts error createdAt startedAt finishedAt
       nextAttemptAt userId apiTokenId canRetry canCancel } } }`,
    { token },
  );
  expect(errors).toBeUndefined();
  return data.myJobs.nodes as Record<string, unknown>[];
};
const subjects = async (token: string, args?: string) =>
  (await mine(token, args)).map((job) => job["subject"]);
const change = (verb: "retryJob" | "cancelJob", id: unknown, token: string | null) =>
  service.ask(`mutation ($id: ID!) { ${verb}(id: $id) { state attempts error canRetry } }`, {
    token,
    variables: { id },
  });
/** Writes the record that a worker would write. */
const record = (id: unknown, state: string, error: string | null) =>
  service.database.pool.query(
    "select record_job((select queue_job_id from jobs where id = $1), $2, 12, null, $3)",
    [id, state, error],
  );

describe("myJobs", () => {
  test("lists jobs that the caller started, newest first, in pages", async () => {
    const { token, userId } = await service.login(needed);
    const { token: other } = await service.login(needed);
    for (const name of ["a", "b", "c"]) await invite(token, `${name}@mine.example`);
    await invite(other, "d@others.example");
    const jobs = await mine(token);
    expect(jobs.map((job) => job["subject"])).toEqual([
      "Invitation of c@mine.example",
      "Invitation of b@mine.example",
      "Invitation of a@mine.example",
    ]);
    expect(jobs[0]).toEqual({
      id: expect.any(String),
      kind: "send_invitation",
      title: "Invitation by mail",
      subject: "Invitation of c@mine.example",
      state: "QUEUED",
      attempts: 0,
      maxAttempts: 12,
      error: null,
      createdAt: expect.any(String),
      startedAt: null,
      finishedAt: null,
      nextAttemptAt: null,
      userId,
      apiTokenId: null,
      canRetry: false,
      canCancel: false,
    });
    expect(await subjects(token, "(first: 1, offset: 1)")).toEqual([
      "Invitation of b@mine.example",
    ]);
    await record(jobs[1]?.["id"], "FAILED", "No such mailbox");
    expect(await subjects(token, '(query: "state:FAILED")')).toEqual([
      "Invitation of b@mine.example",
    ]);
    const { data } = await service.ask(
      "{ myJobs(includeTotalCount: true) { totalCount aggregates { count } } }",
      { token },
    );
    expect(data.myJobs).toEqual({ totalCount: 3, aggregates: { count: 3 } });
  });

  test("shows one job for two requests before it ran", async () => {
    const { token } = await service.login(needed);
    await invite(token, "twice@mine.example");
    const { rows } = await service.database.pool.query<{ id: string }>(
      "select id from invitations where email = 'twice@mine.example'",
    );
    await service.ask(`mutation ($id: ID!) { resendInvitation(id: $id) { id } }`, {
      token,
      variables: { id: rows[0]?.id },
    });
    expect(await subjects(token)).toEqual(["Invitation of twice@mine.example"]);
  });

  test("shows an API token its own jobs, its owner's session all of them, and others none", async () => {
    const { token: session, userId } = await service.login(needed);
    const { token: apiToken } = await insertApiToken(service.database, userId);
    const { token: second } = await insertApiToken(service.database, userId);
    await invite(session, "session@mine.example");
    await invite(apiToken, "token@mine.example");
    expect(await subjects(apiToken)).toEqual(["Invitation of token@mine.example"]);
    expect(await subjects(second)).toEqual([]);
    expect(await subjects(session)).toEqual([
      "Invitation of token@mine.example",
      "Invitation of session@mine.example",
    ]);
    const { token: auditor } = await service.login(["audit.read"]);
    expect(await subjects(auditor)).toEqual([]);
    const [job] = await mine(session);
    const { errors } = await change("retryJob", job?.["id"], second);
    expect(errors?.[0]?.extensions.code).toBe("NOT_FOUND");
  });

  test.each([
    "{ myJobs { nodes { id } } }",
    'mutation { retryJob(id: "ID") { id } }',
    'mutation { cancelJob(id: "ID") { id } }',
  ])("is rejected for a scoped token, and without a login: %s", async (operation) => {
    const { token: session, userId } = await service.login(needed);
    const { token: scoped } = await insertApiToken(service.database, userId, [
      "invitations.create",
    ]);
    await invite(scoped, `${userId}@mine.example`);
    const [job] = await mine(session);
    const document = operation.replace("ID", String(job?.["id"]));
    const { errors } = await service.ask(document, { token: scoped });
    expect(errors?.[0]).toMatchObject({
      message: "This needs a full login: a scoped token is not enough",
      extensions: { code: "FORBIDDEN" },
    });
    const without = await service.ask(document, { token: null });
    expect(without.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});

describe("a failed job", () => {
  const failed = async () => {
    const { token, roleId: role, userId } = await service.login(needed);
    await invite(token, `${userId}@mine.example`);
    const [job] = await mine(token);
    await service.database.pool.query("delete from graphile_worker._private_jobs");
    await record(job?.["id"], "FAILED", "No such mailbox");
    return { token, role, userId, id: job?.["id"] };
  };

  test("is queued again when its owner retries it, which is audited", async () => {
    const { token, id, userId } = await failed();
    expect((await mine(token))[0]).toMatchObject({ error: "No such mailbox", canRetry: true });
    const { data, errors } = await change("retryJob", id, token);
    expect(errors).toBeUndefined();
    expect(data.retryJob).toEqual({ state: "QUEUED", attempts: 0, error: null, canRetry: false });
    const queue = await service.database.pool.query(
      `select from graphile_worker._private_jobs where id = (select queue_job_id from jobs where id = $1)
        and payload -> 'input' ->> 'invitationId' is not null and attempts = 0`,
      [id],
    );
    expect(queue.rowCount).toBe(1);
    const audit = await service.database.pool.query(
      "select actor_user_id, operation, before, after from audit_log where entity_type = 'Job' and entity_id = $1",
      [id],
    );
    expect(audit.rows).toEqual([
      {
        actor_user_id: userId,
        operation: "UPDATE",
        before: { state: "FAILED" },
        after: { state: "QUEUED" },
      },
    ]);
    const again = await change("retryJob", id, token);
    expect(again.errors?.[0]).toMatchObject({
      message: "Only a failed or cancelled job can be retried: this one is QUEUED",
      extensions: { code: "CONFLICT", state: "QUEUED" },
    });
  });

  test("cannot be retried by an owner who can no longer start it", async () => {
    const { token, id, role } = await failed();
    await service.database.pool.query("delete from role_permissions where role_id = $1", [role]);
    const { errors } = await change("retryJob", id, token);
    expect(errors?.[0]).toMatchObject({
      message: "Missing required permission: invitations.create",
      extensions: { code: "FORBIDDEN" },
    });
    expect((await mine(token))[0]).toMatchObject({ state: "FAILED" });
  });

  test("cannot be retried, cancelled or seen by others, except that auditors see it", async () => {
    const { id } = await failed();
    const { token: other } = await service.login([...needed, "audit.read"]);
    for (const verb of ["retryJob", "cancelJob"] as const) {
      const { errors } = await change(verb, id, other);
      expect(errors?.[0]).toMatchObject({
        message: "There is no job of yours with this id",
        extensions: { code: "NOT_FOUND", path: ["id"] },
      });
    }
    const seen = await service.ask("query ($id: ID!) { job(id: $id) { state } }", {
      token: other,
      variables: { id },
    });
    expect(seen.data.job).toEqual({ state: "FAILED" });
    const { token: plain } = await service.login(needed);
    const refused = await service.ask("{ jobs { nodes { id } } }", { token: plain });
    expect(refused.errors?.[0]?.message).toBe("Missing required permission: audit.read");
  });
});

test("an invitation's mail cannot be cancelled, only revoked", async () => {
  const { token } = await service.login(needed);
  await invite(token, "uncancelled@mine.example");
  const [job] = await mine(token);
  const { errors } = await change("cancelJob", job?.["id"], token);
  expect(errors?.[0]).toMatchObject({
    message: "Jobs of this kind cannot be cancelled",
    extensions: { code: "CONFLICT" },
  });
});
