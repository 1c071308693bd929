import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { timed } from "../helpers/http.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import { type Service, startService } from "../helpers/service.ts";

const rounds = 200;

let service: Service;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "error" } });
  await service.login([], "active@example.com");
  await makeUser(service, "inactive@example.com", false);
});
afterAll(async () => {
  await service.stop();
});

const devLogin = (email: string) =>
  service.ask(`mutation ($email: String!) { devLogin(email: $email) { token } }`, {
    variables: { email },
  });

const cases: Record<string, () => string> = {
  unknown: () => `${randomUUID()}@example.com`,
  inactive: () => "inactive@example.com",
  malformed: () => "no address at all",
  empty: () => "",
};

test("a login answers the same for unknown, inactive and malformed addresses", async () => {
  const answers = await Promise.all(
    Object.values(cases).map(async (email) => {
      const { status, data, errors } = await devLogin(email());
      const [{ extensions, ...error } = { extensions: {} }] = errors ?? [];
      return { status, data, error, extensions: { ...extensions, correlationId: "" } };
    }),
  );
  for (const answer of answers)
    expect(answer).toEqual({
      status: 200,
      data: null,
      error: {
        message: "No active user has this e-mail address",
        path: ["devLogin"],
        locations: expect.any(Array),
      },
      extensions: { code: "UNAUTHENTICATED", path: ["email"], correlationId: "" },
    });
});

/** The median time of a login with each kind of address, in milliseconds. */
async function middleTimes(): Promise<{ unknown: number; inactive: number }> {
  const times: Record<string, number[]> = { unknown: [], inactive: [] };
  for (let round = -20; round < rounds; round++)
    // In alternating order, so that a slow period affects both.
    for (const name of round % 2 ? ["unknown", "inactive"] : ["inactive", "unknown"]) {
      const email = cases[name]?.() ?? "";
      const { ms } = await timed(() => devLogin(email));
      if (round >= 0) times[name]?.push(ms);
    }
  const middle = (name: string) =>
    times[name]?.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN;
  return { unknown: middle("unknown"), inactive: middle("inactive") };
}

test("a login takes the same time for unknown and inactive addresses", async () => {
  // Both run the same statements, so any difference is noise. A leak would add or save whole statements
  // in every measurement; a busy machine disturbs only some.
  const measured: object[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    const { unknown, inactive } = await middleTimes();
    if (Math.abs(unknown - inactive) < 0.25 * unknown) return;
    measured.push({ unknown, inactive });
  }
  expect(measured).toEqual([]);
});
