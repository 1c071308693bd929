import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrateArea, prepareDatabase } from "../db/migrate.ts";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { countedAtMost } from "../src/plugins/auditFilter.ts";

// How long `auditLogs` takes in the database with a million rows, for each filter: the first page, the page after 10,000 rows,
// and the total:
//   node bench/auditLog.ts [rows] [rounds]
// The rows are the same each time but for their dates: 400 days of writes and 90 of reads, ending today, by 200 people of whom
// few do most, on types of which few have most.

const rows = Number(process.argv[2] ?? "1000000");
const rounds = Number(process.argv[3] ?? "7");
const area = "bench";

/** A number from 0 to below 1 for row `i`, the same each time; `salt` makes independent ones. */
const draw = (salt: string) =>
  `((hashtextextended(i::text, ${salt}) & 9007199254740991) / 9007199254740992.0)`;
const uuid = (text: string) => `md5(${text})::uuid`;

const fill = `
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata, created_at
  )
  select ${uuid("'actor ' || floor(200 * power(actor, 3))")},
    case when what < 0.2 then 'READ' when what < 0.5 then 'CREATE' when what < 0.99 then 'UPDATE' else 'DELETE' end,
    case when type < 0.5 then 'Product' when type < 0.8 then 'Order' when type < 0.9 then 'Campaign'
      when type < 0.99 then 'Session' when type < 0.9999 then 'User' else 'Role' end,
    case when what >= 0.2 then ${uuid("'entity ' || floor(i / 20)")}::text end,
    'request-' || floor(i / 5), '192.0.2.' || i % 250, 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    case when what >= 0.5 then jsonb_build_object('name', 'before ' || i) end,
    case when what >= 0.2 and what < 0.99 then jsonb_build_object('name', 'after ' || i, 'updatedBy', i) end,
    jsonb_build_object('source', 'api'),
    now() - make_interval(secs => (case when what < 0.2 then 90 else 400 end) * 86400.0 * (1 - i / $1::numeric))
  from (
    select i, ${draw("1")} as actor, ${draw("2")} as what, ${draw("3")} as type from generate_series(1, $1::integer) as i
  ) as drawn
`;

// As the job makes them month by month; here for the time before this month.
const partitions = `
  do $$
  declare
    v_month date;
  begin
    for v_month in
      select generate_series(date_trunc('month', now()) - interval '14 months', date_trunc('month', now()) - interval '1 month', '1 month')
    loop
      for v_index in 1..2 loop
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          (array['audit_log_writes', 'audit_log_reads'])[v_index] || to_char(v_month, '"_"YYYY"_"MM'),
          (array['audit_log_writes', 'audit_log_reads'])[v_index],
          v_month::timestamp at time zone 'UTC', (v_month + interval '1 month')::timestamp at time zone 'UTC');
      end loop;
    end loop;
  end;
  $$
`;

const parameters = [
  "actor_user_id",
  "entity_type",
  "entity_id",
  "operation",
  "correlation_id",
  "from",
  "to",
] as const;
type Filter = Partial<Record<(typeof parameters)[number], string>>;

const actor = (index: number) => ({ actor_user_id: `md5('actor ${index}')::uuid` });
const type = (name: string) => ({ entity_type: `'${name}'` });
const entity = { entity_id: `md5('entity ${Math.floor(rows / 40)}')::uuid::text` };
const operation = (name: string) => ({ operation: `'${name}'` });
const correlation = { correlation_id: `'request-${Math.floor(rows / 10)}'` };
const from = (days: number) => ({ from: `now() - interval '${days} days'` });
const to = (days: number) => ({ to: `now() - interval '${days} days'` });

const filters: [string, Filter][] = [
  ["none", {}],
  ["actor, who did much", actor(0)],
  ["actor, who did little", actor(199)],
  ["actor, unknown", actor(1000)],
  ["entity type, half of all", type("Product")],
  ["entity type, one in 10,000", type("Role")],
  ["entity type, unknown", type("Nothing")],
  ["entity type and id", { ...type("Product"), ...entity }],
  ["entity id", entity],
  ["correlation id", correlation],
  ["operation CREATE", operation("CREATE")],
  ["operation DELETE, one in 100", operation("DELETE")],
  ["operation READ", operation("READ")],
  ["from, last 30 days", from(30)],
  ["to, all but 30 days", to(30)],
  ["from and to, one day a year ago", { ...from(366), ...to(365) }],
  ["actor and entity type", { ...actor(0), ...type("Product") }],
  ["actor and rare entity type", { ...actor(0), ...type("Role") }],
  ["rare actor and entity type", { ...actor(199), ...type("Product") }],
  ["entity type and operation", { ...type("Session"), ...operation("DELETE") }],
  ["actor, operation, from, to", { ...actor(0), ...operation("UPDATE"), ...from(200), ...to(100) }],
  ["actor, entity type, operation", { ...actor(1), ...type("Campaign"), ...operation("DELETE") }],
  [
    "all of them",
    {
      ...actor(0),
      ...type("Product"),
      ...entity,
      ...operation("UPDATE"),
      ...correlation,
      ...from(399),
      ...to(1),
    },
  ],
];

const server = await startEmbeddedPostgres({
  dataDir: join(tmpdir(), `audit-log-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
try {
  await prepareDatabase(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await migrateArea(client, area);
  await client.query(`set search_path to ${area}, extensions; set role office_owner`);
  await client.query(partitions);
  await client.query("reset role");
  await client.query(fill, [rows]);
  await client.query("vacuum analyze audit_log");

  await client.query("begin");
  await client.query(
    "select set_config('role', 'office_api', true), set_config('office.permissions', 'audit.read', true)",
  );
  const median = async (text: string) => {
    const times: number[] = [];
    let result = 0;
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      const answer = await client.query<{ total?: number }>(text);
      times.push(performance.now() - started);
      result = answer.rows[0]?.total ?? answer.rows.length;
    }
    const sorted = times.toSorted((a, b) => a - b);
    return { ms: sorted[Math.floor(rounds / 2)] ?? NaN, result };
  };

  const cell = (text: string, width: number) => text.padStart(width);
  console.log(`${rows} rows, medians of ${rounds}, in milliseconds`);
  console.log(
    "filter".padEnd(36) +
      cell("page 1", 10) +
      cell("after 10,000", 14) +
      cell("total", 10) +
      cell("is", 10),
  );
  for (const [name, filter] of filters) {
    const values = parameters.map((parameter) => filter[parameter] ?? "null").join(", ");
    const first = await median(`select * from search_audit_log(${values}, 50, 0)`);
    const deep = await median(`select * from search_audit_log(${values}, 50, 10000)`);
    const total = await median(`select count_audit_log(${values}, ${countedAtMost + 1}) as total`);
    console.log(
      name.padEnd(36) +
        cell(first.ms.toFixed(1), 10) +
        cell(deep.ms.toFixed(1), 14) +
        cell(total.ms.toFixed(1), 10) +
        cell(total.result > countedAtMost ? `${countedAtMost}+` : String(total.result), 10),
    );
  }
  await client.query("rollback");
  await client.end();
} finally {
  await server.stop();
}
