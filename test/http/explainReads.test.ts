import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let service: Service;

beforeAll(async () => {
  service = await startService({ env: { SQL_JSON: "explain" } });
});
afterAll(() => service.stop());

describe("a server with SQL_JSON=explain", () => {
  test("logs the plan of a list under the caller's policies and audits the read once", async () => {
    const { token } = await service.login(["users.read"]);
    const { data, headers } = await service.ask("{ users { id } }", { token });
    expect(data.users).toHaveLength(1);
    const correlationId = headers.get("x-correlation-id");
    const lineOf = () =>
      service
        .output()
        .split("\n")
        .find(
          (line) => line.includes("sql statement explained") && line.includes(correlationId ?? ""),
        );
    await waitFor("the plan", () => lineOf() !== undefined);
    const { plan } = JSON.parse(lineOf() ?? "{}") as { plan: string[] };
    const text = plan.join("\n");
    expect(text).toMatch(/Scan .*on users .*actual time=/);
    // The table's policy.
    expect(text).toMatch(/Filter: .*InitPlan/);
    const { rows } = await service.database.pool.query(
      "select from audit_log where operation = 'READ' and correlation_id = $1",
      [correlationId],
    );
    expect(rows).toHaveLength(1);
  });
});
