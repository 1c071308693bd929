import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { timed } from "../helpers/http.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { type Service, startService } from "../helpers/service.ts";

const rounds = 200;

let service: Service;
let userId: string;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "error" } });
  ({ userId } = await service.login(["users.read"]));
});
afterAll(async () => {
  await service.stop();
});

async function makeApiToken(expires: string, revoked: string | null = null): Promise<string> {
  const token = makeToken("api");
  await service.database.pool.query(
    `insert into api_tokens (user_id, created_by_user_id, name, token_hash, is_scoped, expires_at, revoked_at)
     values ($1, $1, $2, $3, false, now() + $4::interval, now() + $5::interval)`,
    [userId, token.slice(4, 20), hashToken(token), expires, revoked],
  );
  return token;
}

const ask = (token: string) => service.ask("{ users { id } }", { token });
/** The same token with another checksum. */
const miswritten = (token: string) => token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");

test("a token with a wrong checksum is rejected without a query to the database", async () => {
  const live = await makeApiToken("1 day");
  await locked(service.database.pool, "api_tokens", async (release) => {
    const answer = await ask(miswritten(live));
    expect(answer.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
    // Checks that the lock blocks a look-up.
    const looked = ask(live);
    await waitForWaiter(service.database.pool);
    await release();
    expect((await looked).errors).toBeUndefined();
  });
});

test("responses to unknown, revoked and expired tokens are the same and take the same time", async () => {
  const tokens = {
    unknown: makeToken("api"),
    revoked: await makeApiToken("1 day", "-1 minute"),
    expired: await makeApiToken("-1 minute"),
  };
  const names = Object.keys(tokens) as (keyof typeof tokens)[];
  const times = { unknown: [] as number[], revoked: [] as number[], expired: [] as number[] };
  const answers = new Set<string>();
  for (let round = -20; round < rounds; round++) {
    // Each runs first equally often, so that a slow period affects all of them.
    const turn = (round + 30) % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const { ms, result } = await timed(() => ask(tokens[name]));
      if (round < 0) continue;
      times[name].push(ms);
      answers.add(
        JSON.stringify([
          result.status,
          result.headers.get("www-authenticate"),
          result.errors?.map(({ message, extensions: { code } }) => [message, code]),
        ]),
      );
    }
  }
  expect([...answers]).toHaveLength(1);
  // Two equally fast ones are each slower in about half of the rounds, also on a busy machine.
  for (const name of names.filter((one) => one !== "unknown")) {
    const slower = times[name].filter((ms, round) => ms > (times.unknown[round] ?? 0)).length;
    expect({ name, slower, alike: Math.abs(slower / rounds - 0.5) < 0.2 }).toMatchObject({
      alike: true,
    });
  }
});
