import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import { timed } from "../helpers/http.ts";
import { locked } from "../helpers/locked.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService({ env: { DATABASE_STATEMENT_TIMEOUT_MS: "2000" } });
  ({ token } = await service.login(["users.read", "campaigns.delete", "campaigns.read"]));
});
afterAll(async () => {
  await service.stop();
});

const users = () => service.ask("{ users { id } }", { token });

describe("an unexpected error", () => {
  test("returns only its correlation id and is logged completely", async () => {
    await service.database.pool.query(
      `create function tg_boom() returns trigger as $$ begin raise exception 'boom in the cellar'; end $$ language plpgsql;
       create trigger boom before delete on campaigns for each statement execute function tg_boom()`,
    );
    try {
      const answer = await service.ask("mutation { deleteAllCampaigns }", {
        token,
        headers: { "x-correlation-id": "boom-1" },
      });
      expect(answer).toMatchObject({
        status: 200,
        errors: [
          {
            message: "Internal error",
            path: ["deleteAllCampaigns"],
            extensions: { code: "INTERNAL", correlationId: "boom-1" },
          },
        ],
      });
      expect(Object.keys(answer.errors?.[0] ?? {}).sort()).toEqual([
        "extensions",
        "locations",
        "message",
        "path",
      ]);
      expect(Object.keys(answer.errors?.[0]?.extensions ?? {}).sort()).toEqual([
        "code",
        "correlationId",
      ]);
      const line = await waitFor("the line in the log", () =>
        service
          .output()
          .split("\n")
          .find((text) => text.includes("boom in the cellar")),
      );
      expect(JSON.parse(line)).toMatchObject({
        level: "error",
        correlationId: "boom-1",
        err: { message: "boom in the cellar", code: "P0001", stack: expect.any(String) },
      });
    } finally {
      await service.database.pool.query("drop trigger boom on campaigns; drop function tg_boom()");
    }
  });

  test("in the audit of a read prevents the response", async () => {
    await service.database.pool.query(
      "alter function record_reads(text[], text[], jsonb[]) rename to record_reads_away",
    );
    try {
      const answer = await users();
      expect(answer.data ?? null).toBeNull();
      expect(answer).toMatchObject({
        status: 200,
        errors: [{ message: "Internal error", extensions: { code: "INTERNAL" } }],
      });
      expect(JSON.stringify(answer)).not.toMatch(/record_read|function/);
    } finally {
      await service.database.pool.query(
        "alter function record_reads_away(text[], text[], jsonb[]) rename to record_reads",
      );
    }
  });

  test("during authentication is answered the same way", async () => {
    await service.database.pool.query(
      "alter function enter_with_session(bytea, integer) rename to session_away",
    );
    try {
      const answer = await users();
      expect(answer).toMatchObject({
        status: 200,
        errors: [{ message: "Internal error", extensions: { code: "INTERNAL" } }],
      });
      expect(JSON.stringify(answer)).not.toMatch(/session|function/);
    } finally {
      await service.database.pool.query(
        "alter function session_away(bytea, integer) rename to enter_with_session",
      );
    }
  });
});

test("a statement beyond its timeout is stopped, and the next request succeeds", async () => {
  await locked(service.database.pool, "campaigns", async () => {
    const { ms, result } = await timed(() => service.ask("{ campaigns { id } }", { token }));
    expect(result).toMatchObject({
      status: 200,
      errors: [
        {
          message: expect.stringMatching(/took too long/),
          path: ["campaigns"],
          extensions: { code: "UNAVAILABLE" },
        },
      ],
    });
    expect(ms).toBeGreaterThan(1_900);
    expect(ms).toBeLessThan(20_000);
  });
  expect((await service.ask("{ campaigns { id } }", { token })).errors).toBeUndefined();
});

test.each([
  ["a query", "{ a: campaigns { id } b: campaigns { title } }", ["a"]],
  ["a mutation", "mutation { deleteAllCampaigns }", ["deleteAllCampaigns"]],
])("a statement of %s that timed out is not repeated by Grafast", async (_what, query, paths) => {
  await locked(service.database.pool, "campaigns", async () => {
    const { ms, result } = await timed(() => service.ask(query, { token }));
    expect(result.status).toBe(200);
    expect(result.errors?.map(({ path }) => path?.[0])).toEqual(paths);
    for (const { extensions } of result.errors ?? []) expect(extensions.code).toBe("UNAVAILABLE");
    expect(ms).toBeLessThan(3_950);
  });
});
