import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Cluster, startCluster } from "../helpers/cluster.ts";
import { type Standby, startStandby } from "../helpers/standby.ts";
import { type Service, startService } from "../helpers/service.ts";

let cluster: Cluster;
let standby: Standby;
let services: [Service, Service];

beforeAll(async () => {
  console.log(process.cpuUsage(), Date.now());
  cluster = await startCluster();
  console.log("cluster", Date.now());
  standby = await startStandby(cluster);
  console.log("standby", Date.now());
  const start = () =>
    startService({ database: cluster.database, env: { DATABASE_REPLICA_URL: standby.url, METRICS_PORT: "0" } });
  services = await Promise.all([start(), start()]);
  console.log("services", Date.now());
}, 60_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await standby.drop();
  await cluster.database.drop();
});

test("x", async () => {
  const { token } = await services[0].login(["products.read", "campaigns.read"]);
  for (const q of ["{ products { nodes { id name } } }", "{products(includeTotalCount: true){totalCount nodes{id}}}", "{campaigns{id title}}", "{me{email}}"]) {
    for (let i=0;i<5;i++) { const t=performance.now(); const a = await services[0].ask(q, {token}); console.log(q, performance.now()-t, JSON.stringify(a.data), JSON.stringify(a.errors)); }
  }
  const url = /"metrics":"([^"]+)\/metrics"/.exec(services[0].output())?.[1];
  console.log((await (await fetch(url + "/metrics")).text()).split("\n").filter(l=>/replica/.test(l)).join("\n"));
  console.log(await (await fetch(url + "/health")).text());
  console.log(await standby.pool.query("select wait_for_mark('a b', 1)").catch(String));
  expect(1).toBe(1);
});
