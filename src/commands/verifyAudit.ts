import type pg from "pg";
import { UsageError } from "../process/commandLine.ts";
import { asOwner, runCommand } from "./runCommand.ts";

// `npm run audit:verify`: compares the audit log with its seals. Names the first row that differs, and exits with 1.

interface ChainState {
  tree: string;
  links: string;
  head: string | null;
  sealed_up_to: Date | null;
  unsealed: string;
}

interface Problem {
  tree: string;
  position: string;
  row_id: string | null;
  problem: string;
}

interface Erasure {
  erasure_id: string;
  created_at: Date | null;
  actor_user_id: string | null;
  entity_type: string | null;
  entity_id: string | null;
  rows: string;
  is_recorded: boolean;
}

const command = {
  usage: `Usage: npm run audit:verify -- [--all] [--head <digest> ...]
  --all            name every problem, not only the first of each chain
  --head <digest>  a head from the log ("audit rows sealed"): its chain must contain it`,
  options: {
    all: { type: "boolean", default: false },
    head: { type: "string", multiple: true },
  },
} as const;

await runCommand(command, async (config, { values, positionals }) => {
  if (positionals.length > 0)
    throw new UsageError(`${positionals.join(" ")}: it takes options only`, command.usage);
  const { all, head: heads = [] } = values;
  const wrong = heads.find((head) => !/^[0-9a-f]{64}$/.test(head));
  if (wrong !== undefined)
    throw new UsageError(
      `--head ${wrong} is not a head: it has 64 of the digits 0-9 and a-f`,
      command.usage,
    );
  return asOwner(config, async (client) => {
    // One snapshot: sealing and retention continue meanwhile.
    await client.query("begin isolation level repeatable read read only");
    const { rows: chains } = await client.query<ChainState>("select * from audit_seal_state()");
    let problems = 0;
    for (const chain of chains) {
      const found = await check(client, chain, all);
      problems += found.length;
      for (const problem of found) console.log(describe(problem));
      const unsealed = Number(chain.unsealed) >= 100_000 ? "100000 or more" : chain.unsealed;
      console.log(
        `${chain.tree}: ${chain.links} links${found.length === 0 ? " as they were sealed" : ""}, sealed up to ${chain.sealed_up_to?.toISOString() ?? "nothing yet"}, ${unsealed} rows not sealed yet, head ${chain.head ?? "none"}`,
      );
    }
    const { rows: erasures } = await client.query<Erasure>("select * from audit_erasures_made()");
    for (const erasure of erasures) {
      if (!erasure.is_recorded) problems++;
      console.log(describeErasure(erasure));
    }
    for (const head of heads) {
      const { rowCount } = await client.query(
        "select from audit_seals where digest = decode($1, 'hex')",
        [head],
      );
      if (rowCount === 1) continue;
      problems++;
      console.log(`BROKEN: no chain has the head ${head}: links were removed or replaced`);
    }
    return problems === 0 ? 0 : 1;
  });
});

async function check(client: pg.ClientBase, { tree, links }: ChainState, all: boolean) {
  const found: Problem[] = [];
  for (let position = 1; position <= Number(links); position++) {
    const { rows } = await client.query<Problem>(
      `select $1 as tree, $2::bigint as position, v.row_id, v.problem from verify_audit_seal($1, $2) as v limit $3`,
      [tree, position, all ? 1000 : 1],
    );
    found.push(...rows);
    if (rows.length > 0 && !all) break;
  }
  return found;
}

function describeErasure(erasure: Erasure): string {
  const { erasure_id: id, created_at: at, actor_user_id: actor, rows, is_recorded } = erasure;
  if (!is_recorded)
    return `BROKEN: the audit log does not record the erasure ${id} of ${rows} rows`;
  const what = `${erasure.entity_type} ${erasure.entity_id}`;
  return `erasure ${id}: ${rows} rows about ${what}, by ${actor ?? "nobody"} at ${at?.toISOString()}`;
}

function describe({ tree, position, row_id: id, problem }: Problem): string {
  return id === null
    ? `BROKEN: ${tree}, link ${position}: ${problem}`
    : `BROKEN: ${tree}, link ${position}, audit row ${id}: ${problem}`;
}
