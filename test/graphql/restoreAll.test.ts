import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const deletions = [...read("schema.graphql").matchAll(/^ {2}delete([A-Z]\w+)/gm)].map(
  ([, type = ""]) => type,
);
/** Mutations of many rows, such as `deleteReviewers`, have the samples of those of one row. */
const isOfMany = (type: string) => type.endsWith("s") && deletions.includes(type.slice(0, -1));
/** The table of `docs/audit.md`. */
const final = [...read("docs/audit.md").matchAll(/^\| `delete(\w+)` \|/gm)].map(
  ([, type = ""]) => type,
);

let service: Service;
let owner: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  const { rows } = await service.database.pool.query<{ key: string }>(
    "select key from permissions",
  );
  owner = await service.login(
    rows.map(({ key }) => key),
    "owner@example.com",
  );
});
afterAll(() => service.stop());

const ask = async (query: string, variables: Record<string, unknown>) => {
  const { data, errors } = await service.ask(query, { token: owner.token, variables });
  expect(errors).toBeUndefined();
  return data;
};
async function make(type: string, input: Record<string, unknown>): Promise<string> {
  const data = await ask(
    `mutation ($input: Create${type}Input!) { row: create${type}(input: $input) { id } }`,
    { input },
  );
  return data.row.id as string;
}
async function insert(text: string, values: unknown[] = []): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(text, values);
  return rows[0]!.id;
}
let year = 2041;
const name = () => `Row ${randomUUID()}`;
const product = () => make("Product", { erpProductNumber: randomUUID(), name: "Barolo" });
const campaign = () =>
  make("Campaign", {
    ...{ title: "Spring", price: "12", medium: "EMAIL", color: "#7A0019", note: "A note" },
    ...{ authorUserId: owner.userId, scheduledAt: "2040-01-01T00:00:00Z" },
  });

/** For each `delete…` mutation: the table, and a new row in it with values in most columns. */
const samples: Record<string, [string, () => Promise<string>]> = {
  AiConversation: [
    "ai_conversations",
    () =>
      insert(
        "insert into ai_conversations (id, user_id, title) values ($1, $2, 'T') returning id",
        [randomUUID(), owner.userId],
      ),
  ],
  AllCampaigns: ["campaigns", campaign],
  Campaign: ["campaigns", campaign],
  CustomerNote: [
    "customer_notes",
    async () =>
      make("CustomerNote", {
        body: "Likes Barolo",
        customerId: await insert(
          "insert into customers (erp_customer_number, name) values ($1, 'Customer') returning id",
          [randomUUID().slice(0, 20)],
        ),
      }),
  ],
  Department: ["departments", () => make("Department", { name: name(), description: "D" })],
  DocumentationPage: [
    "documentation_pages",
    () =>
      make("DocumentationPage", {
        ...{ title: name(), body: "Text", tags: ["one", "two"], isPublished: true, position: 3 },
      }),
  ],
  ErpMappingRule: [
    "erp_mapping_rules",
    () =>
      make("ErpMappingRule", {
        ...{ code: "currency.unmapped", key: randomUUID(), target: "EUR", note: "N" },
      }),
  ],
  ErpMappingTarget: [
    "erp_mapping_targets",
    () =>
      make("ErpMappingTarget", {
        ...{
          code: "payment_method.unmapped",
          title: name(),
          value: `v${randomUUID().slice(0, 8)}`,
        },
      }),
  ],
  ExportJob: [
    "export_jobs",
    () =>
      insert(
        "insert into export_jobs (user_id, source, state, total_rows) values ($1, 'S', 'failed', 1) returning id",
        [owner.userId],
      ),
  ],
  ExportTemplate: [
    "export_templates",
    () =>
      make("ExportTemplate", {
        ...{ name: name(), kind: "TABLE", entity: "products", description: "D" },
        columns: [{ field: "name", title: "Name", width: 30 }],
      }),
  ],
  ProductImage: [
    "product_images",
    async () =>
      make("ProductImage", {
        ...{ productId: await product(), url: "https://example.com/a.png", altText: "A" },
      }),
  ],
  ProductPrice: [
    "product_prices",
    async () =>
      make("ProductPrice", {
        ...{ productId: await product(), type: "retail", currency: "EUR", amount: "12.50" },
      }),
  ],
  ProductRating: [
    "product_ratings",
    async () =>
      make("ProductRating", {
        ...{ productId: await product(), points: "91.5", year: 2020, review: "Long" },
        reviewerId: await make("Reviewer", { name: name() }),
      }),
  ],
  PublicHoliday: [
    "public_holidays",
    // A day has one public holiday.
    () => make("PublicHoliday", { name: name(), holidayOn: `${year++}-05-17` }),
  ],
  Resource: [
    "resources",
    () =>
      make("Resource", {
        ...{ name: name(), kind: "ROOM", capacity: 8, color: "#7A0019", location: "Yard" },
      }),
  ],
  Reviewer: ["reviewers", () => make("Reviewer", { name: name() })],
  Role: [
    "roles",
    () => make("Role", { name: name(), description: "D", permissionKeys: ["products.read"] }),
  ],
  SavedView: [
    "saved_views",
    () =>
      make("SavedView", {
        ...{ name: name(), entity: "products", query: "country:Italy", position: 2 },
        ...{ orderBy: ["NAME_DESC"], columns: ["name", "vintage"] },
      }),
  ],
  SearchWatch: [
    "search_watches",
    () =>
      make("SearchWatch", {
        ...{ name: name(), entity: "products", query: "barolo", delivery: "WEEKLY" },
        ...{ events: ["LEAVES", "CHANGED"], channels: ["EMAIL"] },
      }),
  ],
  WineType: ["wine_types", () => make("WineType", { name: name(), color: "#7A0019" })],
};

async function rowOf(table: string, id: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await service.database.pool.query<{ row: Record<string, unknown> }>(
    `select to_jsonb(t) - 'updated_at' as row from ${table} t where id::text = $1`,
    [id],
  );
  return rows[0]?.row;
}

/** A restored watch is paused, and its search compiled again when it is resumed. */
const shownOf = (type: string, row: Record<string, unknown> | undefined) =>
  type === "SearchWatch" && row
    ? Object.fromEntries(
        ["id", "user_id", "name", "entity", "query", "events", "delivery", "channels"].map(
          (column) => [column, row[column]],
        ),
      )
    : row;

test("the samples are those of all deletions of the API", () => {
  const ofOne = deletions.filter((type) => !isOfMany(type));
  expect(ofOne.toSorted()).toEqual(Object.keys(samples).toSorted());
  expect(ofOne.length).toBeLessThan(deletions.length);
  expect(final.length).toBeGreaterThan(0);
});

test.each(deletions)("delete%s is undone, or refused as documented", async (field) => {
  const type = isOfMany(field) ? field.slice(0, -1) : field;
  const sample = samples[type];
  if (!sample) throw new Error(`Add to \`samples\` above how a row for delete${type} is made`);
  const [table, insertRow] = sample;
  const id = await insertRow();
  const before = shownOf(type, await rowOf(table, id));
  expect(before).toBeDefined();
  const argument = type === "AiConversation" ? "String!" : "ID!";
  await (type === "AllCampaigns"
    ? ask("mutation { deleteAllCampaigns }", {})
    : isOfMany(field)
      ? ask(`mutation ($id: ID!) { delete${field}(ids: [$id]) { changed } }`, { id })
      : ask(`mutation ($id: ${argument}) { delete${type}(id: $id) }`, { id }));
  expect(await rowOf(table, id)).toBeUndefined();
  const deletion = await insert(
    "select id from audit_log where entity_id = $1 and operation = 'DELETE' order by id desc limit 1",
    [id],
  );
  const { data, errors } = await service.ask("mutation ($id: ID!) { restore(auditLogId: $id) }", {
    token: owner.token,
    variables: { id: deletion },
  });
  if (final.includes(type)) {
    expect(errors?.[0]).toMatchObject({
      message: `The ${type} cannot be restored: its values or files are not kept`,
      extensions: { code: "CONFLICT", path: ["auditLogId"] },
    });
    return;
  }
  expect(errors).toBeUndefined();
  expect(data.restore).toBeGreaterThanOrEqual(1);
  expect(shownOf(type, await rowOf(table, id))).toEqual(before);
});

test("an unknown deletion is not found, also for readers of the audit log", async () => {
  const { errors } = await service.ask("mutation ($id: ID!) { restore(auditLogId: $id) }", {
    token: owner.token,
    variables: { id: randomUUID() },
  });
  expect(errors?.[0]).toMatchObject({ extensions: { code: "NOT_FOUND", path: ["auditLogId"] } });
});

test("a final deletion is unknown to callers who neither made it nor read the audit log", async () => {
  const id = await samples["ExportJob"]![1]();
  await ask("mutation ($id: ID!) { deleteExportJob(id: $id) }", { id });
  const deletion = await insert(
    "select id from audit_log where entity_id = $1 and operation = 'DELETE'",
    [id],
  );
  const other = await service.login(["exports.read"], "other@example.com");
  const { errors } = await service.ask("mutation ($id: ID!) { restore(auditLogId: $id) }", {
    token: other.token,
    variables: { id: deletion },
  });
  expect(errors?.[0]?.extensions.code).toBe("NOT_FOUND");
});
