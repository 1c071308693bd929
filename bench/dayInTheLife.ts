/**
 * A working day over real HTTP against the started service: `npm run bench -- dayInTheLife <wine-reviews.csv> [base URL]`.
 * The service must be empty and run with ENABLE_E2E_TEST_MODE=true (by default at http://127.0.0.1:4000). Each step is checked;
 * the figures are printed at the end.
 */
import assert from "node:assert/strict";
import { type Wine, readWines } from "./wines.ts";

interface Caller {
  token?: string;
  run?: string;
}

const [csv = "", base = "http://127.0.0.1:4000"] = process.argv.slice(2);
const figures: [string, string][] = [];

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Answer = { data?: any; errors?: { message: string; extensions: { code: string } }[] };

async function send(query: string, variables: object = {}, caller: Caller = {}): Promise<Answer> {
  const response = await fetch(`${base}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      ...(caller.token ? { authorization: `Bearer ${caller.token}` } : {}),
      ...(caller.run ? { "x-test-run-id": caller.run } : {}),
    },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as Answer;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function ask(query: string, variables: object = {}, caller: Caller = {}): Promise<any> {
  const answer = await send(query, variables, caller);
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
  return answer.data;
}

/** Wine types from the varieties: rough, but enough to give each wine a colour. */
function wineTypeOf(variety: string): string {
  if (/ros[eé]/i.test(variety)) return "Rosé";
  if (/sparkling|champagne|prosecco|glera|cava/i.test(variety)) return "Sparkling";
  if (/port|sherry|madeira/i.test(variety)) return "Fortified";
  const white =
    /white|chardonnay|riesling|sauvignon blanc|pinot gri|gew|chenin|viognier|albari|verd|moscat|muscat|sémillon|semillon|grüner|garganega|vermentino|trebbiano|torront|fiano|arneis|melon|friulano|greco|pinot blanc|pinot bianco|sylvaner|marsanne|roussanne|assyrtiko|furmint|catarratto|falanghina|godello|silvaner/i;
  return white.test(variety) ? "White" : "Red";
}

function toRow(wine: Wine) {
  const year = Number(wine.vintage);
  return {
    erpProductNumber: wine.erp_product_number,
    fields: {
      name: wine.name.trim().replace(/\s+/g, " "),
      vintage: Number.isInteger(year) && year > 1700 ? year : null,
      wineType: wineTypeOf(wine.variety),
      producer: wine.producer || null,
      grapeVariety: wine.variety || null,
      country: wine.country || null,
      province: wine.province || null,
      region: wine.region || null,
    },
    ...(wine.price_usd
      ? { prices: [{ type: "retail", currency: "USD", amount: wine.price_usd }] }
      : {}),
    ...(wine.reviewer_name
      ? {
          ratings: [{ reviewerName: wine.reviewer_name, points: wine.points, review: wine.review }],
        }
      : {}),
  };
}

const sync = `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) {
  createdCount updatedCount unchangedCount failedCount results { erpProductNumber status errors { code path message } } } }`;

async function syncAll(rows: object[], caller: Caller) {
  const sum = { created: 0, unchanged: 0, failed: 0, rows: 0 };
  const started = performance.now();
  for (let at = 0; at < rows.length; at += 1000) {
    const { syncProducts } = await ask(
      sync,
      { input: { products: rows.slice(at, at + 1000) } },
      caller,
    );
    sum.created += Number(syncProducts.createdCount);
    sum.unchanged += Number(syncProducts.unchangedCount);
    sum.failed += Number(syncProducts.failedCount);
    sum.rows += Number(syncProducts.results.length);
    for (const result of syncProducts.results)
      if (result.status === "FAILED") console.log("failed:", JSON.stringify(result));
  }
  const seconds = (performance.now() - started) / 1000;
  return { ...sum, perSecond: Math.round(sum.rows / seconds) };
}

async function theDay(caller: Caller, wines: ReturnType<typeof toRow>[]): Promise<void> {
  // The first user, created once in concurrent requests.
  const asked = await Promise.all(
    Array.from({ length: 50 }, (_value, n) =>
      send(
        `mutation ($email: String!) { bootstrapFirstUser(email: $email) { token user { id } } }`,
        { email: `first${n}@example.com` },
        caller,
      ),
    ),
  );
  const winners = asked.filter((answer) => answer.data);
  assert.equal(winners.length, 1);
  const root = { ...caller, token: winners[0]?.data.bootstrapFirstUser.token as string };
  const me = (await ask(`{ me { id email roles { name permissions { key } } } }`, {}, root)).me;
  assert.equal(me.roles[0].name, "Superadmin");

  // Roles and colleagues.
  const role = (
    await ask(
      `mutation { createRole(input: { name: "Marketing", permissionKeys: ["campaigns.read", "campaigns.create", "products.read"] }) { id } }`,
      {},
      root,
    )
  ).createRole;
  await ask(
    `mutation ($id: ID!) { updateRole(id: $id, input: { description: "Plans campaigns" }) { description } }`,
    { id: role.id },
    root,
  );
  const invitation = (
    await ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id status userId } }`,
      { input: { email: "mia@example.com", roleId: role.id } },
      root,
    )
  ).createInvitation;
  assert.equal(invitation.status, "pending");
  await ask(
    `mutation ($id: ID!) { activateUser(userId: $id) { isActive } }`,
    { id: invitation.userId },
    root,
  );
  await ask(
    `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Mia" }) { name } }`,
    { id: invitation.userId },
    root,
  );
  const mia = {
    ...caller,
    token: (await ask(`mutation { devLogin(email: "mia@example.com") { token } }`, {}, caller))
      .devLogin.token as string,
  };

  // The catalogue.
  const first = await syncAll(wines, root);
  assert.equal(first.failed, 0);
  assert.equal(first.created, wines.length);
  const again = await syncAll(wines, root);
  assert.equal(again.unchanged, wines.length);
  figures.push([
    `${caller.run ?? "main"}: syncProducts, new rows per second`,
    String(first.perSecond),
  ]);
  figures.push([
    `${caller.run ?? "main"}: syncProducts, unchanged rows per second`,
    String(again.perSecond),
  ]);
  const found = async (query: string) =>
    (
      await ask(
        `query ($query: String!) { products(query: $query, includeTotalCount: true, first: 1) { totalCount nodes { id name vintage wineType { color } } } }`,
        { query },
        mia,
      )
    ).products;
  for (const query of [
    `barolo`,
    `gewurz*`,
    `country:Italy vintage:[2010 TO 2012]`,
    `vintage:>=2014 (country:France OR country:Spain) -grapeVariety:Chardonnay`,
    `"Pinot Noir"`,
  ]) {
    const started = performance.now();
    const { totalCount } = await found(query);
    assert.ok(totalCount > 0, query);
    figures.push([
      `${caller.run ?? "main"}: products(query: ${JSON.stringify(query)})`,
      `${totalCount} in ${Math.round(performance.now() - started)} ms`,
    ]);
  }
  const [one, two] = wines;
  assert.equal(
    (
      await found(
        `erpProductNumber:IN("${one?.erpProductNumber}", "${two?.erpProductNumber}", "none")`,
      )
    ).totalCount,
    2,
  );
  const refused = await send(`{ products(query: "vintgae:2010") { nodes { id } } }`, {}, mia);
  assert.match(refused.errors?.[0]?.message ?? "", /vintage.*position 1/);

  // Campaigns.
  const product = (await found(`vintage:2013 wineType.name:Red`)).nodes[0];
  const input = {
    productId: product.id,
    title: "Autumn",
    price: "19,95",
    authorUserId: me.id,
    medium: "EMAIL",
    scheduledAt: "2026-10-01T08:00:00Z",
  };
  const campaign = (
    await ask(
      `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id vintage color product { id } author { email } } }`,
      { input },
      mia,
    )
  ).createCampaign;
  assert.equal(campaign.vintage, 2013);
  assert.equal(campaign.color, product.wineType.color);
  const detached = (
    await ask(
      `mutation ($id: ID!) { updateCampaign(id: $id, input: { productId: null }) { product { id } vintage } }`,
      { id: campaign.id },
      root,
    )
  ).updateCampaign;
  assert.deepEqual(detached, { product: null, vintage: 2013 });
  assert.equal(
    (await ask(`{ campaigns { id } campaignColors { color } }`, {}, mia)).campaigns.length,
    1,
  );
  const notHers = await send(
    `mutation ($id: ID!) { deleteCampaign(id: $id) }`,
    { id: campaign.id },
    mia,
  );
  assert.equal(notHers.errors?.[0]?.message, "Missing required permission: campaigns.delete");
  await ask(`mutation ($id: ID!) { deleteCampaign(id: $id) }`, { id: campaign.id }, root);
  assert.equal((await ask(`mutation { deleteAllCampaigns }`, {}, root)).deleteAllCampaigns, 0);

  // The audit log contains all changes.
  const logs = (
    await ask(
      `query ($input: AuditLogQueryInput) { auditLogs(input: $input) { total items { actorUserId before after correlationId ipAddress userAgent } } }`,
      { input: { entityType: "Campaign" } },
      root,
    )
  ).auditLogs;
  assert.equal(logs.total, 3);
  assert.ok(
    logs.items.every(
      (item: { correlationId: string; ipAddress: string; userAgent: string }) =>
        item.correlationId && item.ipAddress && item.userAgent,
    ),
  );
  assert.equal(
    (
      await ask(
        `{ auditLogs(input: { entityType: "AuditLog", operation: "READ" }) { total } }`,
        {},
        root,
      )
    ).auditLogs.total,
    1,
  );

  // Cleanup.
  await ask(
    `mutation ($id: ID!) { deactivateUser(userId: $id) { isActive } }`,
    { id: invitation.userId },
    root,
  );
  assert.equal((await send(`{ me { id } }`, {}, mia)).data.me, null);
  assert.equal((await ask(`mutation { logout }`, {}, root)).logout, true);
  assert.equal(
    (await send(`{ me { id } }`, {}, root)).errors?.[0]?.extensions.code,
    "UNAUTHENTICATED",
  );
}

const wines = readWines(csv).map(toRow);
console.log(`${wines.length} wines`);
await theDay({}, wines);
const tenantStarted = performance.now();
await send(`{ me { id } }`, {}, { run: "a" });
figures.push([
  "a test tenant made at first use",
  `${Math.round(performance.now() - tenantStarted)} ms`,
]);
await Promise.all([
  theDay({ run: "a" }, wines.slice(0, 2000)),
  theDay({ run: "b" }, wines.slice(2000, 3000)),
]);
for (const run of ["a", "b", "b"])
  assert.equal((await ask(`mutation { cleanupTestRun }`, {}, { run })).cleanupTestRun, true);
console.table(figures);
