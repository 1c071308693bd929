import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrateTenant } from "../src/migration/migrateTenant.ts";
import { prepareDatabase } from "../src/migration/prepare.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { maxTotal } from "../src/audit/auditFilter.ts";
import { readCounts } from "./readCounts.ts";

// Database time of `auditLogs` with a million rows: the first page, the page after 10,000 rows, and the total, for
// single filters, pairs and triples of them; then the cost of each index for writes:
//   npm run bench -- auditLog [rows] [rounds]
// The rows are deterministic except for their dates: 400 days of writes and 90 of reads, ending today, by 200
// users. A few users and types have most of the rows.

const { rows, rounds } = readCounts({ rows: 1_000_000, rounds: 7 });
const tenant = "bench";

/** A deterministic number from 0 to below 1 for row `i`; `salt` makes independent ones. */
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

// Monthly partitions like those of the job, for the time before this month.
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

/** A frequent and a rare value of each parameter. */
const choices: [string, Filter][] = [
  ["actor, who did much", actor(0)],
  ["actor, who did little", actor(199)],
  ["actor, unknown", actor(1000)],
  ["entity type, half of all", type("Product")],
  ["entity type, one in 10,000", type("Role")],
  ["entity type, unknown", type("Nothing")],
  ["entity id", entity],
  ["operation UPDATE", operation("UPDATE")],
  ["operation DELETE, one in 100", operation("DELETE")],
  ["operation READ", operation("READ")],
  ["correlation id", correlation],
  ["from 30 days ago", from(30)],
  ["from 300 days ago", from(300)],
  ["to 30 days ago", to(30)],
  ["to 300 days ago", to(300)],
];

/** Every combination of this many filters on different parameters. */
function combinations(size: number, start = 0): [string, Filter][] {
  if (size === 0) return [["", {}]];
  return choices.flatMap(([name, filter], index) =>
    index < start
      ? []
      : combinations(size - 1, index + 1)
          .filter(([, more]) => Object.keys(filter).every((parameter) => !(parameter in more)))
          .map(([others, more]): [string, Filter] => [
            [name, others].filter(Boolean).join(" + "),
            { ...filter, ...more },
          ]),
  );
}

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `audit-log-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
try {
  await prepareDatabase(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await migrateTenant(client, tenant);
  await client.query(`set search_path to ${tenant}, extensions; set role office_owner`);
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
  const heading = ["page 1", "after 10,000", "total", "is"];
  console.log(`${rows} rows, medians of ${rounds}, in milliseconds`);
  for (const size of [0, 1, 2, 3]) {
    const measured: { name: string; ms: number[]; is: string }[] = [];
    for (const [name, filter] of combinations(size)) {
      const values = parameters.map((parameter) => filter[parameter] ?? "null").join(", ");
      const first = await median(`select * from search_audit_log(${values}, 50, 0)`);
      const deep = await median(`select * from search_audit_log(${values}, 50, 10000)`);
      const total = await median(`select count_audit_log(${values}, ${maxTotal + 1}) as total`);
      const is = total.result > maxTotal ? `${maxTotal}+` : String(total.result);
      measured.push({ name: name || "none", ms: [first.ms, deep.ms, total.ms], is });
    }
    // The slowest of the triples.
    const slowest = measured.toSorted((one, other) => Math.max(...other.ms) - Math.max(...one.ms));
    const shown = size < 3 ? measured : slowest.slice(0, 15);
    const which = size < 3 ? "" : `, the ${shown.length} slowest of ${measured.length}`;
    console.log(
      `\n${`${size} filters${which}`.padEnd(80)}${heading.map((h) => cell(h, 14)).join("")}`,
    );
    for (const { name, ms, is } of shown)
      console.log(name.padEnd(80) + ms.map((m) => cell(m.toFixed(1), 14)).join("") + cell(is, 14));
    for (const [index, what] of ["page 1", "after 10,000", "total"].entries())
      console.log(
        `slowest ${what}: ${Math.max(...measured.map(({ ms }) => ms[index] ?? NaN)).toFixed(1)} ms`,
      );
  }
  await client.query("rollback");
  await measureWriting(client);
  await client.end();
} finally {
  await server.stop();
}

/**
 * Rows recorded per second by statements of 1,000 rows, with all indexes and without each of them. The variants
 * alternate and only the fastest tenth counts, which limits the effect of other load.
 */
async function measureWriting(client: pg.Client): Promise<void> {
  await client.query(`set search_path to ${tenant}, extensions`);
  const { rows: indexes } = await client.query<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid in ('audit_log'::regclass, 'audit_log_writes'::regclass) and not i.indisprimary
       and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)
     order by 1`,
  );
  const all = indexes.map(({ name }) => name);
  const pairs = all.filter((name) => /actor_entity|_(actor|type)_operation/.test(name));
  const names = ["", ...all, pairs.join(", ")];
  const ms = new Map<string, number[]>(names.map((name) => [name, []]));
  // The amount of WAL, which does not depend on other load on the machine.
  const bytes = new Map<string, number>();
  const position = async () =>
    Number(
      (await client.query<{ at: string }>("select pg_current_wal_insert_lsn() - '0/0' as at"))
        .rows[0]?.at,
    );
  for (let round = 0; round < 8; round++)
    for (const [name, times] of ms) {
      await client.query("begin");
      if (name) await client.query(`drop index ${name}`);
      const start = await position();
      for (let batch = 0; batch < 10; batch++) {
        const started = performance.now();
        await client.query(
          `insert into audit_log (
             actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, before, after, metadata
           )
           select md5('actor ' || floor(200 * power(random(), 3)))::uuid, 'UPDATE',
             (array['Product', 'Order', 'Campaign', 'User'])[1 + floor(4 * power(random(), 2))::integer], gen_random_uuid()::text,
             gen_random_uuid()::text, '192.0.2.1', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
             '{"name": "before"}', '{"name": "after"}', '{"source": "api"}'
           from generate_series(1, 1000)`,
        );
        times.push(performance.now() - started);
      }
      bytes.set(name, ((await position()) - start) / 10_000);
      await client.query("rollback");
    }
  const perRow = (name: string) => bytes.get(name) ?? NaN;
  const perSecond = (name: string) => {
    const times = (ms.get(name) ?? []).toSorted((a, b) => a - b);
    return 1_000_000 / (times[Math.floor(times.length / 10)] ?? NaN);
  };
  console.log(
    `\nrows recorded a second: ${perSecond("").toFixed(0)}, each ${perRow("").toFixed(0)} bytes of write-ahead log`,
  );
  for (const name of names.slice(1)) {
    const cost = ((perSecond(name) / perSecond("") - 1) * 100).toFixed(0);
    console.log(
      `  without ${name}`.padEnd(146) +
        `${perSecond(name).toFixed(0)} (${cost} % more), ${(perRow("") - perRow(name)).toFixed(0)} bytes less`,
    );
  }
}
