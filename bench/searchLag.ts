/**
 * The time until a change can be found: `npm run bench -- searchLag <session token> [base URL] [changes]` creates campaigns one after the other and polls the search engine with a front end's key until it finds each. The
 * token's user needs permissions to create, read and delete campaigns. Prints milliseconds from the mutation's response,
 * and deletes the campaigns.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "typesense";

const [token, base = "http://127.0.0.1:4000", changes = "50"] = process.argv.slice(2);
if (token === undefined) throw new Error("Say with which session token");

// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function ask(query: string, variables: object = {}): Promise<any> {
  const response = await fetch(`${base}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: object[] };
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

const { me, searchConfig } = await ask(
  `{ me { id } searchConfig(type: "campaigns") { collectionName scopedApiKey nodes { host port protocol } } }`,
);
const client = new Client({ nodes: searchConfig.nodes, apiKey: searchConfig.scopedApiKey });
const documents = client.collections(searchConfig.collectionName).documents();
const took: number[] = [];
for (let round = 0; round < Number(changes); round++) {
  const { createCampaign } = await ask(
    `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }`,
    {
      input: {
        ...{ authorUserId: me.id, title: `Lag ${round}`, price: "1", medium: "EMAIL" },
        scheduledAt: "2039-01-01T00:00:00Z",
      },
    },
  );
  const since = performance.now();
  const filter_by = `id:${createCampaign.id}`;
  while ((await documents.search({ q: "*", filter_by })).found === 0) await delay(5);
  took.push(performance.now() - since);
  await ask("mutation ($id: ID!) { deleteCampaign(id: $id) }", { id: createCampaign.id });
  // Varies the time between two polls of the workers.
  await delay(Math.random() * 300);
}
const sorted = took.toSorted((a, b) => a - b);
const at = (part: number) => Math.round(sorted[Math.ceil(part * sorted.length) - 1] ?? 0);
console.log(
  `${changes} changes found after ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(1)} ms (most)`,
);
