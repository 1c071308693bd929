import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

let exports: ExportService;
let worker: WorkerProcess;
let ids: string[];
let priceList: string;

beforeAll(async () => {
  exports = await startExportService({ EXPORT_MAX_PRODUCTS: "4" });
  ids = await exports.addProducts(6);
  priceList = await exports.templateId("Price list");
  worker = await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

const needed = ["exports.create", "exports.read", "products.read"];
const create = `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`;
const refusalOf = async (query: string, variables: Record<string, unknown>, token?: string) => {
  const { errors = [] } = await exports.service.ask(query, { token: token ?? null, variables });
  return errors.map(({ message, extensions }) => ({ message, code: extensions.code }))[0];
};
const ended = (id: string, status: string, token?: string) =>
  waitFor(`the export to be ${status}`, async () => {
    const job = await exports.job(id, token);
    return job?.status === status && job;
  });

describe("the owner of an export", () => {
  test("sees it in all sessions, also when an API token made it; a token sees only its own", async () => {
    const { service } = exports;
    const { database } = service;
    const owner = await service.login(needed);
    const token = await insertApiToken(database, owner.userId);
    const scoped = await insertApiToken(database, owner.userId, needed);
    const stranger = await service.login([...needed, "users.update", "audit.read"]);
    const again = await service.ask("mutation ($e: String!) { devLogin(email: $e) { token } }", {
      variables: {
        e: (await database.pool.query("select email from users where id = $1", [owner.userId]))
          .rows[0].email,
      },
    });
    const principals = {
      session: owner.token,
      "other session": again.data.devLogin.token as string,
      token: token.token,
      "scoped token": scoped.token,
      stranger: stranger.token,
    };
    const makers = { session: owner.token, token: token.token, "scoped token": scoped.token };
    const seenBy: Record<string, string[]> = {};
    for (const [maker, with_] of Object.entries(makers)) {
      const { id } = await exports.start(priceList, ids.slice(0, 2), with_);
      await exports.reaches(id, ["completed"], with_);
      seenBy[maker] = [];
      for (const [name, principal] of Object.entries(principals)) {
        const job = await exports.job(id, principal);
        const { status } = await exports.download(id, principal);
        const { data } = await service.ask("{ exportJobs { nodes { id } } }", { token: principal });
        const listed = data.exportJobs.nodes.some((node: { id: string }) => node.id === id);
        const cancelled = await refusalOf(
          "mutation ($id: ID!) { cancelExportJob(id: $id) { id } }",
          { id },
          principal,
        );
        const sees = [job !== null, status === 200, listed, cancelled?.code === "CONFLICT"];
        expect([name, new Set(sees).size]).toEqual([name, 1]);
        if (sees[0]) seenBy[maker].push(name);
        else {
          expect(status).toBe(404);
          expect(cancelled).toEqual({
            code: "NOT_FOUND",
            message: "There is no export with this id",
          });
          expect(
            await refusalOf("mutation ($id: ID!) { deleteExportJob(id: $id) }", { id }, principal),
          ).toEqual({ code: "NOT_FOUND", message: "There is no export with this id" });
        }
      }
    }
    expect(seenBy).toEqual({
      session: ["session", "other session"],
      token: ["session", "other session", "token"],
      "scoped token": ["session", "other session", "scoped token"],
    });
  });

  test("keeps the exports of an API token after the token is revoked and deleted", async () => {
    const { service } = exports;
    const owner = await service.login(needed);
    const { token, tokenId } = await insertApiToken(service.database, owner.userId);
    const { id } = await exports.start(priceList, ids.slice(0, 1), token);
    await exports.reaches(id, ["completed"], token);
    const revoke = "mutation ($id: ID!) { revokeApiToken(id: $id) }";
    const { data } = await service.ask(revoke, { token: owner.token, variables: { id: tokenId } });
    expect(data.revokeApiToken).toBe(true);
    expect((await exports.download(id, token)).status).toBe(401);
    expect((await exports.job(id, owner.token))?.status).toBe("completed");
    expect((await exports.download(id, owner.token)).status).toBe(200);
    await service.database.pool.query("delete from api_tokens where id = $1", [tokenId]);
    expect((await exports.download(id, owner.token)).status).toBe(200);
  });

  test("needs the permissions of each step, with the published messages", async () => {
    const { service } = exports;
    const input = { templateId: priceList, productIds: ids.slice(0, 1) };
    for (const [missing, query, variables] of [
      ["exports.create", create, { input }],
      ["products.read", create, { input }],
      ["exports.read", "query ($id: ID!) { exportJob(id: $id) { id } }", { id: ids[0] }],
      ["exports.read", "{ exportJobs { nodes { id } } }", {}],
      ["exports.read", "{ exportTemplates { id } }", {}],
      ["exports.read", "{ exportFields { field } }", {}],
      ["exports.create", "mutation ($id: ID!) { cancelExportJob(id: $id) { id } }", { id: ids[0] }],
      ["exports.create", "mutation ($id: ID!) { deleteExportJob(id: $id) }", { id: ids[0] }],
    ] as const) {
      const { token } = await service.login(needed.filter((key) => key !== missing));
      expect(await refusalOf(query, { ...variables }, token)).toEqual({
        code: "FORBIDDEN",
        message: `Missing required permission: ${missing}`,
      });
      expect(await refusalOf(query, { ...variables })).toEqual({
        code: "UNAUTHENTICATED",
        message: "You are not logged in",
      });
    }
  });

  test.each(["session", "scoped token"])(
    "gets the created export without exports.read, by a %s",
    async (kind) => {
      const { service } = exports;
      const owner = await service.login(["exports.create", "products.read"]);
      const token =
        kind === "session"
          ? owner.token
          : (
              await insertApiToken(service.database, owner.userId, [
                "exports.create",
                "products.read",
              ])
            ).token;
      const createList = `mutation ($input: CreateListExportInput!) { createListExport(input: $input) { id source status } }`;
      const start = async (document: string, input: object) => {
        const { data, errors } = await service.ask(document, { token, variables: { input } });
        expect(errors).toBeUndefined();
        return Object.values(data)[0] as { id: string };
      };
      worker.signal("SIGSTOP");
      const created = [
        await start(create, { templateId: priceList, productIds: ids.slice(0, 1) }),
        await start(create, { templateId: priceList, query: 'name:"Wine 1"' }),
        await start(createList, { entity: "products", query: 'name:"Wine 1"' }),
      ];
      const cancel =
        "mutation ($id: ID!) { cancelExportJob(id: $id) { id status exportedRows errorMessage } }";
      for (const { id } of created) {
        const { data } = await service.ask(cancel, { token, variables: { id } });
        expect(data.cancelExportJob).toMatchObject({ id, status: "cancelled" });
        expect(
          await refusalOf("query ($id: ID!) { exportJob(id: $id) { id } }", { id }, token),
        ).toMatchObject({ code: "FORBIDDEN" });
      }
      worker.signal("SIGCONT");
    },
  );

  test("must still have the permissions when the export runs", async () => {
    const { service } = exports;
    const { pool } = service.database;
    const permission = async (roleId: string, key: string) =>
      pool.query(
        "delete from role_permissions where role_id = $1 and permission_id = (select id from permissions where key = $2)",
        [roleId, key],
      );
    const cases: [string, (owner: Awaited<ReturnType<typeof service.login>>) => Promise<string>][] =
      [
        [
          "The user of this export no longer holds the permission products.read",
          async (owner) => {
            const { id } = await exports.start(priceList, ids.slice(0, 1), owner.token);
            await permission(owner.roleId, "products.read");
            return id;
          },
        ],
        [
          "The user of this export no longer holds the permission exports.create",
          async (owner) => {
            const { id } = await exports.start(priceList, ids.slice(0, 1), owner.token);
            await permission(owner.roleId, "exports.create");
            return id;
          },
        ],
        [
          "The user of this export is not active any more",
          async (owner) => {
            const { id } = await exports.start(priceList, ids.slice(0, 1), owner.token);
            await pool.query("update users set is_active = false where id = $1", [owner.userId]);
            return id;
          },
        ],
        [
          "The API token that asked for this export was revoked or has expired",
          async (owner) => {
            const { token, tokenId } = await insertApiToken(service.database, owner.userId);
            const { id } = await exports.start(priceList, ids.slice(0, 1), token);
            await pool.query("update api_tokens set revoked_at = now() where id = $1", [tokenId]);
            return id;
          },
        ],
        [
          "The template was deleted before the export ran",
          async (owner) => {
            const template = await exports.makeTemplate("TABLE", [{ field: "name" }]);
            const { id } = await exports.start(template, ids.slice(0, 1), owner.token);
            await pool.query("delete from export_templates where id = $1", [template]);
            return id;
          },
        ],
      ];
    for (const [reason, prepare] of cases) {
      worker.signal("SIGSTOP");
      const id = await prepare(await service.login(needed));
      worker.signal("SIGCONT");
      const row = await waitFor("the export to fail", async () => {
        const { rows } = await pool.query(
          "select state, error_message, file_key, exported_rows from export_jobs where id = $1 and state = 'failed'",
          [id],
        );
        return rows[0];
      });
      expect(row).toEqual({
        state: "failed",
        error_message: reason,
        file_key: null,
        exported_rows: 0,
      });
    }
  });

  test("gets empty cells for hidden columns, and a note that names them", async () => {
    const { service } = exports;
    const { pool } = service.database;
    await pool.query(
      `with r as (insert into reviewers (name) values ('Secret') returning id)
       insert into product_ratings (product_id, reviewer_id, points) select $1, id, 99 from r`,
      [ids[0]],
    );
    const template = await exports.makeTemplate(
      "TABLE",
      ["name", "ratings.average", "ratings.latest.reviewer"].map((field) => ({ field })),
    );
    const { token } = await service.login(needed);
    const { id } = await exports.start(template, ids.slice(0, 1), token);
    const job = await exports.reaches(id, ["completed"], token);
    expect(job.notes).toEqual([
      "Left empty for lack of permission: Average rating, Latest rating: reviewer",
    ]);
    const sheet = (await exports.open(id, token)).worksheets[0];
    expect(sheet?.getRow(2).values).toEqual([undefined, "Wine 1"]);
    const full = await exports.start(template, ids.slice(0, 1));
    await exports.reaches(full.id, ["completed"]);
    expect((await exports.open(full.id)).worksheets[0]?.getRow(2).values).toEqual([
      ...[undefined, "Wine 1", 99, "Secret"],
    ]);
  });
});

describe("an export request", () => {
  test.each<[string, () => object, string]>([
    [
      "no product",
      () => ({ templateId: priceList, productIds: [] }),
      "productIds must name at least one product",
    ],
    [
      "too many products",
      () => ({ templateId: priceList, productIds: ids.slice(0, 5) }),
      "productIds: 5 products are more than the 4 that one export may have",
    ],
    [
      "an unknown template",
      () => ({ templateId: "00000000-0000-7000-8000-000000000001", productIds: ids.slice(0, 1) }),
      "templateId: there is no export template 00000000-0000-7000-8000-000000000001",
    ],
    [
      "unknown products",
      () => ({
        templateId: priceList,
        productIds: [
          ids[0],
          "00000000-0000-7000-8000-000000000002",
          "00000000-0000-7000-8000-000000000001",
        ],
      }),
      "productIds: there are no products 00000000-0000-7000-8000-000000000002, 00000000-0000-7000-8000-000000000001",
    ],
  ])("is rejected for %s, and starts nothing", async (_what, input, message) => {
    const { pool } = exports.service.database;
    const before = await pool.query("select count(*) from export_jobs");
    expect(await refusalOf(create, { input: input() }, exports.exporter.token)).toEqual({
      code: "BAD_USER_INPUT",
      message,
    });
    expect((await pool.query("select count(*) from export_jobs")).rows).toEqual(before.rows);
  });

  test("for a form counts a repeated product once", async () => {
    const form = await exports.templateId("Tasting sheet");
    const [one = "", two = ""] = ids;
    expect(
      await refusalOf(
        create,
        { input: { templateId: form, productIds: [one, two] } },
        exports.exporter.token,
      ),
    ).toEqual({
      code: "BAD_USER_INPUT",
      message: "productIds: a form takes exactly one product, not 2",
    });
    expect((await exports.start(form, [one, one])).totalRows).toBe(1);
  });

  test("is listed newest first, in pages", async () => {
    const { service } = exports;
    const { token } = await service.login(needed);
    const made: string[] = [];
    for (let turn = 0; turn < 3; turn++)
      made.unshift((await exports.start(priceList, ids.slice(0, 1), token)).id);
    const page = await service.ask(
      "{ exportJobs(first: 2, includeTotalCount: true) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }",
      { token },
    );
    expect(page.data.exportJobs).toMatchObject({
      totalCount: 3,
      nodes: [{ id: made[0] }, { id: made[1] }],
      pageInfo: { hasNextPage: true },
    });
  });
});

describe("a download", () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${exports.service.url}${path}`, { headers });

  test("is rejected by status and code without a request to the store", async () => {
    const { service, exporter } = exports;
    worker.signal("SIGSTOP");
    const { id } = await exports.start(priceList, ids.slice(0, 1));
    const without = await service.login(["exports.create", "products.read"]);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const path = `/exports/${id}/download`;
    const unknown = `/exports/${randomUUID()}/download`;
    for (const [status, code, at, headers] of [
      [401, "UNAUTHENTICATED", path, {}],
      [401, "UNAUTHENTICATED", path, bearer("bos_nonsense00000000000000")],
      [401, "UNAUTHENTICATED", path, { authorization: "Basic abc" }],
      [401, "UNAUTHENTICATED", path, { cookie: `token=${exporter.token}` }],
      [401, "UNAUTHENTICATED", `${path}?token=${exporter.token}`, {}],
      [403, "FORBIDDEN", path, bearer(without.token)],
      [404, "NOT_FOUND", unknown, bearer(exporter.token)],
      [404, "NOT_FOUND", "/exports/1/download", bearer(exporter.token)],
      [404, "NOT_FOUND", "/exports/%00/download", bearer(exporter.token)],
      [409, "CONFLICT", path, bearer(exporter.token)],
    ] as const) {
      const response = await get(at, { ...headers });
      const body = (await response.json()) as { error: { code: string; message: string } };
      expect([at, response.status, body.error.code]).toEqual([at, status, code]);
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
    expect((await exports.download(id)).body.error?.message).toBe(
      "The export is queued: its file is not ready yet",
    );
    worker.signal("SIGCONT");
    await exports.reaches(id, ["completed"]);
    await service.ask("mutation ($id: ID!) { deleteExportJob(id: $id) }", {
      token: exporter.token,
      variables: { id },
    });
    expect((await exports.download(id)).status).toBe(404);
  });

  test("of a cancelled export is a conflict", async () => {
    worker.signal("SIGSTOP");
    const { id } = await exports.start(priceList, ids.slice(0, 1));
    const cancel = "mutation ($id: ID!) { cancelExportJob(id: $id) { status } }";
    for (let turn = 0; turn < 2; turn++) {
      const { data } = await exports.service.ask(cancel, {
        token: exports.exporter.token,
        variables: { id },
      });
      expect(data.cancelExportJob.status).toBe("cancelled");
    }
    worker.signal("SIGCONT");
    expect(await exports.download(id)).toMatchObject({
      status: 409,
      body: { error: { code: "CONFLICT", message: "The export was cancelled" } },
    });
    await ended(id, "cancelled");
  });

  test("and the other uses of an export are in the audit log, without signatures", async () => {
    const { service } = exports;
    const owner = await service.login([...needed, "audit.read"]);
    const { id } = await exports.start(priceList, ids.slice(0, 1), owner.token);
    await exports.reaches(id, ["completed"], owner.token);
    const { body } = await exports.download(id.toUpperCase(), owner.token);
    const { data } = await service.ask(
      `query ($id: String!) { auditLogs(input: { entityType: "ExportJob", entityId: $id, limit: 200 }) { items { operation actorUserId metadata before after } } }`,
      { token: owner.token, variables: { id } },
    );
    const items = data.auditLogs.items as {
      operation: string;
      actorUserId: string | null;
      metadata: Record<string, unknown>;
      after: Record<string, unknown> | null;
    }[];
    expect(items.filter(({ operation }) => operation === "CREATE")).toMatchObject([
      { actorUserId: owner.userId, after: { source: "Price list", totalRows: 1 } },
    ]);
    expect(items[0]).toMatchObject({
      operation: "READ",
      actorUserId: owner.userId,
      metadata: { field: "download", source: "api" },
    });
    expect(items.some(({ metadata }) => metadata.field === "exportJob")).toBe(true);
    expect(items.some(({ after }) => after?.status === "completed")).toBe(true);
    const signature = new URL(body.url ?? "").searchParams.get("X-Amz-Signature") ?? "none";
    expect(signature).toMatch(/^[0-9a-f]{64}$/);
    const { rows } = await service.database.pool.query(
      "select from audit_log a where a::text like '%' || $1 || '%'",
      [signature],
    );
    expect(rows).toEqual([]);
    expect(service.output() + worker.output()).not.toContain(signature);
  });
});
