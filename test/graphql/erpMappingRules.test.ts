import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { erpCustomer, erpLine, erpOrder, importErpResponse } from "../helpers/erpRecords.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let staff: { token: string };
let reader: { token: string };

beforeAll(async () => {
  service = await startService();
  staff = await service.login(["erpsync.read", "erpsync.run", "audit.read"]);
  reader = await service.login(["erpsync.read"]);
});
afterAll(() => service.stop());
beforeEach(() => service.database.pool.query("delete from erp_mapping_rules where key ~ '^TEST'"));

const ask = (query: string, variables: Record<string, unknown> = {}, who = staff) =>
  service.ask(query, { ...who, variables });
const fields = "id code key target isIgnored note";
const create = (input: object, who = staff) =>
  ask(
    `mutation ($input: CreateErpMappingRuleInput!) { createErpMappingRule(input: $input) { ${fields} } }`,
    { input },
    who,
  );
const update = (id: string, input: object) =>
  ask(
    `mutation ($id: ID!, $input: UpdateErpMappingRuleInput!) { updateErpMappingRule(id: $id, input: $input) { ${fields} } }`,
    { id, input },
  );
const remove = (id: string) => ask("mutation ($id: ID!) { deleteErpMappingRule(id: $id) }", { id });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  path: errors?.[0]?.extensions["path"],
  message: errors?.[0]?.message,
});
const glass = { code: "line_kind.unmapped", key: "TEST GLASS", target: "PRODUCT" };

describe("mapping rules", () => {
  test("are created, listed, changed and deleted, and each change is audited", async () => {
    const made = (await create({ ...glass, note: " Glasses " })).data.createErpMappingRule;
    expect(made).toMatchObject({ ...glass, isIgnored: false, note: "Glasses" });
    const listed = await ask(
      `{ erpMappingRules(query: "code:line_kind.unmapped key:\\"TEST GLASS\\"", includeTotalCount: true) { totalCount nodes { ${fields} } } }`,
    );
    expect(listed.data.erpMappingRules).toEqual({ totalCount: 1, nodes: [made] });
    const changed = await update(made.id, { target: null, isIgnored: true });
    expect(changed.data.updateErpMappingRule).toMatchObject({ target: null, isIgnored: true });
    expect((await remove(made.id)).data).toEqual({ deleteErpMappingRule: true });
    expect(refusal(await remove(made.id))).toMatchObject({ code: "NOT_FOUND" });
    const log = await ask(
      `query ($id: String) { auditLogs(input: { entityType: "ErpMappingRule", entityId: $id }) { items { operation before after } } }`,
      { id: made.id },
    );
    expect(log.data.auditLogs.items).toMatchObject([
      { operation: "DELETE" },
      { operation: "UPDATE", before: { target: "PRODUCT" }, after: { isIgnored: true } },
      { operation: "CREATE", after: { key: "TEST GLASS" } },
    ]);
  });

  test.each([
    [
      { target: "BOTTLE" },
      ["input", "target"],
      /^target: there is no line_kind "BOTTLE"; there are /,
    ],
    [
      { code: "warehouse.unmapped", target: "MIAN" },
      ["input", "target"],
      /there is no warehouse "MIAN"; there are MAIN/,
    ],
    [{ code: "size.unmapped" }, ["input", "code"], /^code must be line_kind.unmapped, /],
    [{ key: " " }, ["input", "key"], /^key is required/],
    [
      { target: null },
      ["input", "target"],
      /^target is required, or must be omitted when isIgnored is true/,
    ],
    [
      { isIgnored: true },
      ["input", "target"],
      /^target is required, or must be omitted when isIgnored is true/,
    ],
  ])("with %j are rejected with the field", async (changes, path, message) => {
    expect(refusal(await create({ ...glass, ...changes }))).toEqual({
      code: "BAD_USER_INPUT",
      path,
      message: expect.stringMatching(message),
    });
  });

  test("are unique by code and key", async () => {
    await create(glass);
    expect(refusal(await create(glass))).toMatchObject({
      code: "CONFLICT",
      message: "There is a rule for this code and key already.",
    });
  });

  test("are visible with `erpsync.read` and can be changed with `erpsync.run`", async () => {
    expect(refusal(await create(glass, reader)).message).toBe(
      "Missing required permission: erpsync.run",
    );
    const nobody = await service.login(["orders.read"]);
    for (const list of ["erpMappingRules { nodes { id } }", "erpMappingTargets { id }"])
      expect(refusal(await ask(`{ ${list} }`, {}, nobody)).message).toBe(
        "Missing required permission: erpsync.read",
      );
    const { data } = await ask("{ erpMappingRules { nodes { id } } }", {}, reader);
    expect(data.erpMappingRules.nodes.length).toBeGreaterThan(10);
  });
});

describe("the targets of mapping rules", () => {
  const createTarget = (input: object) =>
    ask(
      "mutation ($input: CreateErpMappingTargetInput!) { createErpMappingTarget(input: $input) { id value } }",
      { input },
    );

  test("can be extended, and cannot be deleted while a rule uses them", async () => {
    const made = await createTarget({ code: "warehouse.unmapped", value: "TENT", title: "Tent" });
    const { id } = made.data.createErpMappingTarget;
    expect(
      (await create({ code: "warehouse.unmapped", key: "TEST", target: "TENT" })).errors,
    ).toBeUndefined();
    const drop = () => ask("mutation ($id: ID!) { deleteErpMappingTarget(id: $id) }", { id });
    expect(refusal(await drop())).toMatchObject({ code: "CONFLICT" });
    await service.database.pool.query("delete from erp_mapping_rules where target = 'TENT'");
    expect((await drop()).data).toEqual({ deleteErpMappingTarget: true });
  });

  test.each([
    [{ code: "line_kind.unmapped", value: "BOTTLE" }, "value must be one of PRODUCT, SHIPPING"],
    [{ code: "currency.unmapped", value: "kr" }, "must be a currency code of three capitals"],
  ])("are rejected as %j", async (input, message) => {
    expect(refusal(await createTarget({ title: "x", ...input }))).toMatchObject({
      code: "BAD_USER_INPUT",
      message: expect.stringContaining(message),
    });
  });
});

describe("the inbox", () => {
  const inbox = `query ($kind: OrderImportIssueKind) { erpOrderImportIssues(kind: $kind) {
    code key orderCount suggestedRule { code key target similarity } } }`;
  const orders = [
    erpOrder("1", {
      paymentMethodCode: "BANK",
      shipmentMethodCode: "PALLETS",
      currencyCode: "EURO",
      lines: [
        erpLine(1, { productGroup: "RED", vatCode: "MOMS25", locationCode: "XYZ", unitPrice: "0" }),
      ],
    }),
  ];

  test("proposes the rule that resolves a group, with the nearest target if there is a similar one", async () => {
    await importErpResponse(service.database.pool, { orders, customers: [erpCustomer("C1")] });
    const { data } = await ask(inbox);
    expect(data.erpOrderImportIssues).toMatchObject([
      {
        key: "EURO",
        suggestedRule: { code: "currency.unmapped", key: "EURO", target: "EUR", similarity: 1 },
      },
      { suggestedRule: { code: "shipping_method.unmapped", key: "PALLETS", target: "FREIGHT" } },
      { suggestedRule: { code: "warehouse.unmapped", key: "XYZ", target: null, similarity: null } },
    ]);
    const other = await ask(inbox, { kind: "DATA" });
    expect(other.data.erpOrderImportIssues).toMatchObject([
      { code: "price.missing", suggestedRule: null },
    ]);
  });

  test("shows the rule that resolves a group at its next recheck, which can be requested", async () => {
    const { pool } = service.database;
    await importErpResponse(pool, { orders, customers: [erpCustomer("C1")] });
    const queued = async () =>
      (await pool.query("select from erp_sync_runs where kind = 'RECHECK' and status = 'QUEUED'"))
        .rowCount;
    const groups = async () =>
      (
        await ask(
          "{ erpOrderImportIssues { key waitingRule { target isIgnored } suggestedRule { key } } }",
        )
      ).data.erpOrderImportIssues;
    expect((await groups()).map(({ waitingRule }: { waitingRule: null }) => waitingRule)).toEqual([
      null,
      null,
      null,
    ]);
    await create({ code: "currency.unmapped", key: "EURO", target: "EUR" });
    expect(await queued()).toBe(0);
    const { errors } = await ask(
      `mutation { createErpMappingRule(recheck: true, input: { code: "warehouse.unmapped", key: "XYZ", isIgnored: true }) { id } }`,
    );
    expect(errors).toBeUndefined();
    expect(await queued()).toBe(1);
    expect(await groups()).toMatchObject([
      { key: "EURO", waitingRule: { target: "EUR", isIgnored: false } },
      { key: "PALLETS", waitingRule: null },
      { key: "XYZ", waitingRule: { target: null, isIgnored: true } },
    ]);
    await pool.query("delete from erp_mapping_rules where key in ('EURO', 'XYZ')");
  });

  test("is empty after the proposed rules are created and the order is imported again", async () => {
    await importErpResponse(service.database.pool, { orders, customers: [erpCustomer("C1")] });
    const { data } = await ask(inbox);
    for (const { suggestedRule } of data.erpOrderImportIssues) {
      const { code, key, target } = suggestedRule;
      const answer = await create({
        code,
        key,
        ...(target === null ? { isIgnored: true } : { target }),
      });
      expect(answer.errors).toBeUndefined();
    }
    await importErpResponse(service.database.pool, { orders });
    expect((await ask(inbox)).data).toEqual({ erpOrderImportIssues: [] });
  });
});
