import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { erpCustomer, erpOrder, importErpResponse, resetRules } from "../helpers/erpRecords.ts";
import { type ExportService, startExportService } from "../helpers/exports/exportService.ts";
import type { Answer } from "../helpers/service.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";

let exports: ExportService;
let reader: { token: string; userId: string };

beforeAll(async () => {
  exports = await startExportService();
  const { pool } = exports.service.database;
  reader = await exports.service.login([
    ...["exports.create", "exports.read", "orders.read", "customers.read", "audit.read"],
  ]);
  await resetRules(pool);
  await importErpResponse(pool, {
    customers: [erpCustomer("C1", { name: "Vinbaren" }), erpCustomer("C2", { name: "Ærø Vin" })],
    orders: [
      erpOrder("1001"),
      erpOrder("1002", { customerNumber: "C2", orderDate: "2026-04-01" }),
      erpOrder("1003", { orderDate: "2026-05-01", totalAmount: "1000" }),
    ],
  });
  await exports.startWorker();
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});

const ask = (input: object, token = reader.token) =>
  exports.service.ask(
    `mutation ($input: CreateListExportInput!) { createListExport(input: $input) { id source entity totalRows } }`,
    { token, variables: { input: { query: "id:*", ...input } } },
  );
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
async function start(input: object, token = reader.token) {
  const { data, errors } = await ask(input, token);
  expect(errors).toBeUndefined();
  return data.createListExport as { id: string; source: string; entity: string; totalRows: number };
}
async function rowsOf(input: object, token = reader.token): Promise<string[][]> {
  const { id } = await start({ format: "CSV", ...input }, token);
  await exports.reaches(id, ["completed"], token);
  const bytes = await exports.bytes(id, token);
  return parse(bytes, { bom: true, record_delimiter: "\r\n" });
}

describe("createListExport", () => {
  test("writes the named columns of the rows that match, in the requested order", async () => {
    expect(
      await rowsOf({
        entity: "orders",
        query: "placedAt:>=2026-04",
        orderBy: ["PLACED_AT_DESC"],
        columns: ["erpOrderNumber", "customer.name", "placedAt", "status", "totalAmount"],
      }),
    ).toEqual([
      ["Number", "Customer name", "Placed", "Status", "Total"],
      ["1003", "Vinbaren", "2026-05-01T00:00:00.000Z", "OPEN", "1000.00"],
      ["1002", "Ærø Vin", "2026-04-01T00:00:00.000Z", "OPEN", "750.00"],
    ]);
  });

  test("writes all fields of the row by default, with typed numbers and times in a workbook", async () => {
    const { id, source, totalRows } = await start({ entity: "orders", query: "1003" });
    expect({ source, totalRows }).toEqual({ source: "Orders", totalRows: 1 });
    await exports.reaches(id, ["completed"], reader.token);
    const sheet = (await exports.open(id, reader.token)).worksheets[0];
    const titles = (sheet?.getRow(1).values as string[]).slice(1);
    const cell = (title: string) => sheet?.getRow(2).getCell(titles.indexOf(title) + 1).value;
    expect(titles).toEqual(expect.arrayContaining(["ID", "Net amount", "Delivery city"]));
    expect(titles).not.toContain("Search words");
    expect(cell("Total")).toBe(1000);
    // Midnight UTC in the time zone of the office.
    expect(cell("Placed")).toEqual(new Date("2026-05-01T02:00:00Z"));
  });

  test("exports the audit log with the changed values", async () => {
    const [titles, ...rows] = await rowsOf({
      entity: "auditLogs",
      query: "entityType:Customer operation:CREATE",
      columns: ["operation", "entityType", "after"],
    });
    expect(titles).toEqual(["Operation", "Entity type", "After"]);
    expect(rows.map(([, , after = ""]) => JSON.parse(after).name as string).sort()).toEqual([
      "Vinbaren",
      "Ærø Vin",
    ]);
  });

  test("counts the rows that are added after the request, such as its own in the audit log", async () => {
    const { id, totalRows } = await start({ entity: "auditLogs", query: "entityType:ExportJob" });
    const job = await exports.reaches(id, ["completed"], reader.token);
    expect(job.exportedRows).toBeGreaterThan(totalRows);
    expect(job.totalRows).toBe(job.exportedRows);
  });

  test("writes JSON values unchanged in JSON Lines, with all digits", async () => {
    const { pool } = exports.service.database;
    await pool.query(
      `insert into audit_log (operation, entity_type, entity_id, after) values ('UPDATE', 'Planted', '1', '{"amount": 12345678901234567890.50, "text": "a\\nb"}')`,
    );
    const { id } = await start({
      ...{ entity: "auditLogs", query: "entityType:Planted", format: "JSONL" },
      columns: ["entityType", "after", "before"],
    });
    await exports.reaches(id, ["completed"], reader.token);
    expect((await exports.bytes(id, reader.token)).toString()).toBe(
      '{"entityType":"Planted","after":{"text": "a\\nb", "amount": 12345678901234567890.50},"before":null}\n',
    );
  });

  test("records the export, and the reads of audited lists and related rows", async () => {
    const { id } = await start({ entity: "orders", columns: ["customer.name"] });
    const { rows } = await exports.service.database.pool.query(
      `select entity_type, metadata ->> 'field' as field, metadata #>> '{arguments,query}' as query from audit_log
       where correlation_id = (select correlation_id from audit_log where entity_type = 'ExportJob' and entity_id = $1 and operation = 'CREATE')
         and operation = 'READ' and metadata ->> 'field' = 'createListExport' order by 1`,
      [id],
    );
    expect(rows).toEqual([
      { entity_type: "Customer", field: "createListExport", query: "id:*" },
      { entity_type: "Order", field: "createListExport", query: "id:*" },
    ]);
  });

  test("contains what the user can read when it runs", async () => {
    const { token, userId } = await exports.service.login([
      ...["exports.create", "exports.read", "orders.read", "customers.read"],
    ]);
    const { pool } = exports.service.database;
    await pool.query(
      "delete from role_permissions using permissions p where p.id = permission_id and p.key = 'customers.read' and role_id in (select role_id from user_roles where user_id = $1)",
      [userId],
    );
    const again = await exports.service.ask("{ me { id } }", { token });
    expect(again.errors).toBeUndefined();
    const rows = await rowsOf(
      { entity: "orders", query: "1001", columns: ["erpOrderNumber", "customer.name"] },
      token,
    );
    expect(rows[1]).toEqual(["1001", ""]);
  });

  test.each<[string, object, string]>([
    [
      "an unknown list",
      { entity: "order" },
      "entity: there is no list `order` (did you mean `orders`?)",
    ],
    [
      "an empty search",
      { entity: "orders", query: " " },
      "query: an empty search exports nothing (`id:*` matches every row)",
    ],
    [
      "a search of an unknown field",
      { entity: "orders", query: "nmae:x" },
      "query: `nmae` is not a field that can be searched",
    ],
    [
      "an unknown column",
      { entity: "orders", columns: ["erpOrderNumbr"] },
      "columns: `erpOrderNumbr` is not a column that can be exported (did you mean `erpOrderNumber`?)",
    ],
    [
      "a column of many rows",
      { entity: "customers", columns: ["orders.erpOrderNumber"] },
      "columns: `orders.erpOrderNumber` is not one value of a row",
    ],
    [
      "an unknown order",
      { entity: "orders", orderBy: ["PLACED_ATT_ASC"] },
      "orderBy: `PLACED_ATT_ASC` is not an order of this list (did you mean `PLACED_AT_ASC`, ",
    ],
    ["a search without rows", { entity: "orders", query: "nothing" }, "query: no row matches"],
    [
      "a column that is named twice",
      { entity: "orders", columns: ["status", "erpOrderNumber", "status"] },
      "columns: `status` is named twice",
    ],
    ["no column", { entity: "orders", columns: [] }, "columns: name 1 to 200 columns"],
  ])("rejects %s", async (_what, input, message) => {
    const { code, message: actual } = refusal(await ask(input));
    expect(code).toBe("BAD_USER_INPUT");
    expect(actual).toContain(message);
  });

  test("is rejected without exports.create, and without the permission of the list", async () => {
    const one = await exports.service.login(["orders.read"]);
    expect(refusal(await ask({ entity: "orders" }, one.token)).message).toBe(
      "Missing required permission: exports.create",
    );
    const other = await exports.service.login(["exports.create"]);
    expect(refusal(await ask({ entity: "customers" }, other.token))).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: customers.read",
    });
  });

  test("fails when the user has lost the permission of the list", async () => {
    const { token, userId } = await exports.service.login([
      ...["exports.create", "exports.read", "orders.read"],
    ]);
    const { pool } = exports.service.database;
    const lock = await pool.connect();
    try {
      // Delays the start of the export until the permission is revoked.
      await lock.query("begin");
      await lock.query(
        "select pg_advisory_xact_lock(hashtextextended('backoffice.start_exports', 0))",
      );
      const { id } = await start({ entity: "orders" }, token);
      await pool.query("delete from user_roles where user_id = $1", [userId]);
      await pool.query(
        "insert into user_roles (user_id, role_id) select $1, ur.role_id from user_roles ur where ur.user_id = $2",
        [userId, exports.exporter.userId],
      );
      await lock.query("commit");
      await expect(exports.reaches(id, ["completed"], token)).rejects.toThrow(
        "The user of this export no longer holds the permission orders.read",
      );
    } finally {
      lock.release();
    }
  });

  /** Runs an export of orders with the names of their customers, whose user loses a permission while it runs. */
  async function losingWhileItRuns(key: string) {
    const { token, roleId } = await exports.service.login([
      ...["exports.create", "exports.read", "orders.read", "customers.read"],
    ]);
    const { pool } = exports.service.database;
    const [starts, table] = [await pool.connect(), await pool.connect()];
    try {
      await starts.query("begin");
      await starts.query(
        "select pg_advisory_xact_lock(hashtextextended('backoffice.start_exports', 0))",
      );
      const { id } = await start(
        { entity: "orders", columns: ["erpOrderNumber", "customer.name"] },
        token,
      );
      // The export has begun, and cannot read before the permission is withdrawn.
      await table.query("begin");
      await table.query("lock table backoffice.orders in access exclusive mode");
      await starts.query("commit");
      await exports.reaches(id, ["running"], token);
      await withdraw(roleId, key);
      await table.query("commit");
      return { id, token };
    } finally {
      starts.release();
      table.release();
    }
  }
  const withdraw = (roleId: string, key: string) =>
    exports.service.database.pool.query(
      "delete from role_permissions where role_id = $1 and permission_id = (select id from permissions where key = $2)",
      [roleId, key],
    );

  test.each([
    [
      "of the list",
      "orders.read",
      "The user of this export no longer holds the permission orders.read",
    ],
    [
      "of a column",
      "customers.read",
      "The user of this export lost a permission while it ran: start it again",
    ],
  ])("fails when the permission %s is withdrawn while it runs", async (_which, key, message) => {
    const { id, token } = await losingWhileItRuns(key);
    await expect(exports.reaches(id, ["completed"], token)).rejects.toThrow(message);
    const { rows } = await exports.service.database.pool.query(
      "select from stored_files where job_id = $1 and delete_after is null and removed_at is null",
      [id],
    );
    expect(rows).toEqual([]);
  });

  test("gives its file only to callers who may still read its rows and columns", async () => {
    const { token, roleId } = await exports.service.login([
      ...["exports.create", "exports.read", "orders.read", "customers.read"],
    ]);
    const make = async (columns: string[]) => {
      const { id } = await start({ entity: "orders", columns }, token);
      await exports.reaches(id, ["completed"], token);
      return id;
    };
    const numbers = await make(["erpOrderNumber"]);
    const names = await make(["erpOrderNumber", "customer.name"]);
    const answer = async (id: string) => (await exports.download(id, token)).status;
    expect([await answer(numbers), await answer(names)]).toEqual([200, 200]);
    await withdraw(roleId, "customers.read");
    expect([await answer(numbers), await answer(names)]).toEqual([200, 403]);
    await withdraw(roleId, "orders.read");
    const { status, body } = await exports.download(numbers, token);
    expect(status).toBe(403);
    expect(JSON.stringify(body)).toContain("Missing required permission: orders.read");
  });

  test("redirects a browser to the file", async () => {
    const { id } = await start({ entity: "orders" });
    await exports.reaches(id, ["completed"], reader.token);
    const { data } = await exports.service.ask(
      `query ($id: ID!) { exportJob(id: $id) { downloadPath } }`,
      { token: reader.token, variables: { id } },
    );
    const response = await fetch(`${exports.service.url}${data.exportJob.downloadPath}`, {
      redirect: "manual",
      headers: { authorization: `Bearer ${reader.token}`, accept: "text/html,*/*;q=0.8" },
    });
    expect(response.status).toBe(303);
    const file = await fetch(response.headers.get("location") ?? "");
    expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="Orders 20/);
  });
});
