import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let boss: { token: string; userId: string };
let anna: { token: string; userId: string };
let bo: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  boss = await service.login(["resources.update", "resourcebookings.update"], "boss@example.com");
  anna = await service.login([], "anna@example.com");
  bo = await service.login([], "bo@example.com");
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token: string) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions["path"],
});

async function makeResource(input: Record<string, unknown> = {}): Promise<string> {
  const { data } = await ask(
    `mutation ($input: CreateResourceInput!) { createResource(input: $input) { id } }`,
    { input: { name: `Room ${randomUUID()}`, kind: "ROOM", ...input } },
    boss.token,
  );
  return data.createResource.id as string;
}

interface Booking {
  id: string;
  startsAt: string;
  endsAt: string;
  title: string;
  status: string;
  seriesId: string | null;
}
const fields = "id startsAt endsAt title status seriesId";

/** By default five weekly bookings around the clock change of 25 March 2040, at 10:00 in Copenhagen. */
const book = (resourceId: string, input: Record<string, unknown> = {}, token = anna.token) =>
  ask(
    `mutation ($input: CreateResourceBookingInput!) { createResourceBooking(input: $input) { ${fields} repeatWeeks repeatUntil } }`,
    {
      input: {
        resourceId,
        title: "Planning",
        startsAt: "2040-03-12T09:00:00Z",
        endsAt: "2040-03-12T10:30:00Z",
        repeatWeeks: 1,
        repeatUntil: "2040-04-09",
        ...input,
      },
    },
    token,
  );
async function booked(resourceId: string, input: Record<string, unknown> = {}): Promise<Booking> {
  const { data, errors } = await book(resourceId, input);
  expect(errors).toBeUndefined();
  return data.createResourceBooking as Booking;
}
async function bookingsOf(resourceId: string): Promise<Booking[]> {
  const { data } = await ask(
    `query ($query: String!) { resourceBookings(query: $query, orderBy: [STARTS_AT_ASC], first: 200) { nodes { ${fields} } } }`,
    { query: `resourceId:${resourceId}` },
    bo.token,
  );
  return data.resourceBookings.nodes as Booking[];
}
const startsOf = async (resourceId: string) =>
  (await bookingsOf(resourceId)).map(({ startsAt }) => startsAt.replace(/:00\.000Z$/, ""));
const update = (id: string, input: Record<string, unknown>, token = anna.token) =>
  ask(
    `mutation ($id: ID!, $input: UpdateResourceBookingSeriesInput!) {
      updateResourceBookingSeries(id: $id, input: $input) { ${fields} } }`,
    { id, input },
    token,
  );
const updateOne = (id: string, input: Record<string, unknown>) =>
  ask(
    `mutation ($id: ID!, $input: UpdateResourceBookingInput!) { updateResourceBooking(id: $id, input: $input) { id } }`,
    { id, input },
    anna.token,
  );
const cancel = (id: string, token = anna.token) =>
  ask(`mutation ($id: ID!) { cancelResourceBookingSeries(id: $id) { ${fields} } }`, { id }, token);
/** The notifications of the owner about changed bookings, newest first. */
const told = async () =>
  (
    await ask(
      `{ notifications(query: "kind:BOOKING_CHANGED") { nodes { title body entityId occurrences } } }`,
      {},
      anna.token,
    )
  ).data.notifications.nodes as object[];

describe("a series", () => {
  test("keeps its local time when clocks go forward", async () => {
    const resourceId = await makeResource();
    const first = await booked(resourceId);
    expect(first).toMatchObject({ startsAt: "2040-03-12T09:00:00.000Z", repeatWeeks: 1 });
    expect(await startsOf(resourceId)).toEqual([
      "2040-03-12T09:00",
      "2040-03-19T09:00",
      "2040-03-26T08:00",
      "2040-04-02T08:00",
      "2040-04-09T08:00",
    ]);
    const all = await bookingsOf(resourceId);
    expect(new Set(all.map(({ seriesId }) => seriesId))).toEqual(new Set([first.seriesId]));
    for (const { startsAt, endsAt } of all)
      expect(Date.parse(endsAt) - Date.parse(startsAt)).toBe(90 * 60_000);
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    [
      "back, every second week",
      {
        startsAt: "2040-10-15T12:00:00Z",
        endsAt: "2040-10-15T13:00:00Z",
        repeatWeeks: 2,
        repeatUntil: "2040-11-17",
      },
      ["2040-10-15T12:00", "2040-10-29T13:00", "2040-11-12T13:00"],
    ],
    [
      "forward in the night: a time that does not exist is an hour later",
      {
        startsAt: "2040-03-18T01:30:00Z",
        endsAt: "2040-03-18T01:45:00Z",
        repeatUntil: "2040-04-01",
      },
      ["2040-03-18T01:30", "2040-03-25T01:30", "2040-04-01T00:30"],
    ],
    [
      "forward in the night, over the whole hour that does not exist",
      {
        startsAt: "2040-03-18T01:30:00Z",
        endsAt: "2040-03-18T02:00:00Z",
        repeatUntil: "2040-04-01",
      },
      ["2040-03-18T01:30", "2040-03-25T01:30", "2040-04-01T00:30"],
    ],
    [
      "back in the night: of a time that exists twice it is the second",
      {
        startsAt: "2040-10-21T00:30:00Z",
        endsAt: "2040-10-21T00:45:00Z",
        repeatUntil: "2040-10-28",
      },
      ["2040-10-21T00:30", "2040-10-28T01:30"],
    ],
    [
      "back in the first booking, which keeps its given time",
      {
        startsAt: "2040-10-28T00:30:00Z",
        endsAt: "2040-10-28T00:45:00Z",
        repeatUntil: "2040-11-04",
      },
      ["2040-10-28T00:30", "2040-11-04T01:30"],
    ],
    [
      "back in the first booking, which ends at the local time of its start",
      {
        startsAt: "2040-10-28T00:30:00Z",
        endsAt: "2040-10-28T01:30:00Z",
        repeatUntil: "2040-11-04",
      },
      ["2040-10-28T00:30", "2040-11-04T01:30"],
    ],
    [
      "forward on 29 March",
      {
        startsAt: "2043-03-28T09:00:00Z",
        endsAt: "2043-03-28T10:00:00Z",
        repeatUntil: "2043-04-04",
      },
      ["2043-03-28T09:00", "2043-04-04T08:00"],
    ],
    [
      "back on 25 October",
      {
        startsAt: "2043-10-24T08:00:00Z",
        endsAt: "2043-10-24T09:00:00Z",
        repeatUntil: "2043-10-31",
      },
      ["2043-10-24T08:00", "2043-10-31T09:00"],
    ],
  ])("keeps its local time when clocks go %s", async (_name, input, expected) => {
    const resourceId = await makeResource();
    await booked(resourceId, input);
    expect(await startsOf(resourceId)).toEqual(expected);
  });

  test("may last until the next booking begins, also when clocks go back between them", async () => {
    const resourceId = await makeResource();
    // A whole local week around 28 October 2040 in Copenhagen.
    const { errors } = await book(resourceId, {
      startsAt: "2040-10-22T08:00:00Z",
      endsAt: "2040-10-29T09:00:00Z",
      repeatUntil: "2040-11-12",
    });
    expect(errors).toBeUndefined();
  });

  test("keeps the local time of the office for a user in another time zone", async () => {
    const { token, userId } = await service.login([], "new-yorker@example.com");
    await service.database.pool.query(
      "update users set time_zone = 'America/New_York' where id = $1",
      [userId],
    );
    const resourceId = await makeResource();
    expect((await book(resourceId, {}, token)).errors).toBeUndefined();
    // Clocks in New York do not change between these bookings.
    expect(await startsOf(resourceId)).toEqual([
      "2040-03-12T09:00",
      "2040-03-19T09:00",
      "2040-03-26T08:00",
      "2040-04-02T08:00",
      "2040-04-09T08:00",
    ]);
    const [, second] = await bookingsOf(resourceId);
    const { errors } = await update(
      second!.id,
      { startsAt: "2040-03-27T08:00:00Z", endsAt: "2040-03-27T09:30:00Z" },
      token,
    );
    expect(errors).toBeUndefined();
    expect(await startsOf(resourceId)).toEqual([
      "2040-03-12T09:00",
      "2040-03-27T08:00",
      "2040-04-03T08:00",
      "2040-04-10T08:00",
      "2040-04-17T08:00",
    ]);
  });

  test("is rejected with all conflicting bookings when one time is taken", async () => {
    const resourceId = await makeResource({ name: `Cellar ${randomUUID()}` });
    const single = { repeatWeeks: null, repeatUntil: null };
    const second = await booked(resourceId, {
      ...single,
      title: "Barolo evening",
      startsAt: "2040-03-19T10:00:00Z",
      endsAt: "2040-03-19T12:00:00Z",
    });
    const fourth = await booked(resourceId, {
      ...single,
      startsAt: "2040-04-02T06:00:00Z",
      endsAt: "2040-04-02T08:01:00Z",
    });
    const answer = await book(resourceId, {}, bo.token);
    expect(refusal(answer)).toEqual({
      code: "CONFLICT",
      message: expect.stringMatching(
        /^Cellar \S+ is booked at some of these times by 2 bookings, the first from 2040-03-19 11:00 to 2040-03-19 13:00: Barolo evening$/,
      ),
      path: ["input", "startsAt"],
    });
    const bookings = answer.errors?.[0]?.extensions["bookings"] as { id: string }[];
    expect(bookings.map(({ id }) => id)).toEqual([second.id, fourth.id]);
    expect(await bookingsOf(resourceId)).toHaveLength(2);
  });

  test("has 104 bookings at most", async () => {
    const resourceId = await makeResource();
    const years = { repeatUntil: "2042-03-03" };
    expect(
      (await book(resourceId, { ...years, repeatUntil: "2042-03-10" })).errors?.[0],
    ).toMatchObject({ message: "repeatUntil must be earlier: a series has 104 bookings at most" });
    await booked(resourceId, years);
    expect(await bookingsOf(resourceId)).toHaveLength(104);
    expect((await cancel((await bookingsOf(resourceId))[0]!.id)).errors).toBeUndefined();
    const { rows } = await service.database.pool.query<{ count: number }>(
      "select count(*)::int as count from resource_bookings where resource_id = $1 and status = 'CANCELLED'",
      [resourceId],
    );
    expect(rows).toEqual([{ count: 104 }]);
  });

  test.each<[Record<string, unknown>, string, string]>([
    [{ repeatWeeks: 3 }, "repeatWeeks", "repeatWeeks must be 1 or 2"],
    [{ repeatWeeks: null }, "repeatWeeks", "repeatWeeks must be 1 or 2"],
    [{ repeatUntil: null }, "repeatUntil", "repeatUntil must be given with repeatWeeks"],
    [
      { repeatUntil: "2040-03-18" },
      "repeatUntil",
      "repeatUntil must be late enough for a second booking",
    ],
    [
      { repeatUntil: "9999-12-31" },
      "repeatUntil",
      "repeatUntil must be earlier: a series has 104 bookings at most",
    ],
    [
      { endsAt: "2040-03-19T09:00:01Z" },
      "endsAt",
      "endsAt must be before the next booking of the series begins",
    ],
  ])("rejects %j", async (input, field, message) => {
    expect(refusal(await book(await makeResource(), input))).toEqual({
      code: "BAD_USER_INPUT",
      message,
      path: ["input", field],
    });
  });
});

describe("a booking of a series", () => {
  test("moves with all later bookings by the same interval", async () => {
    const resourceId = await makeResource();
    await booked(resourceId);
    const [, second] = await bookingsOf(resourceId);
    const { data, errors } = await update(second!.id, {
      title: "Planning of the week",
      startsAt: "2040-03-26T06:30:00Z",
      endsAt: "2040-03-26T07:30:00Z",
    });
    expect(errors).toBeUndefined();
    expect(data.updateResourceBookingSeries).toHaveLength(4);
    expect(await startsOf(resourceId)).toEqual([
      "2040-03-12T09:00",
      "2040-03-26T06:30",
      "2040-04-02T06:30",
      "2040-04-09T06:30",
      "2040-04-16T06:30",
    ]);
    const all = await bookingsOf(resourceId);
    expect(all.map(({ title }) => title)).toEqual([
      "Planning",
      ...Array(4).fill("Planning of the week"),
    ]);
    for (const { startsAt, endsAt } of all.slice(1))
      expect(Date.parse(endsAt) - Date.parse(startsAt)).toBe(60 * 60_000);
  });

  test("returns the bookings by start", async () => {
    const resourceId = await makeResource();
    await booked(resourceId, { repeatUntil: "2041-03-12" });
    const all = await bookingsOf(resourceId);
    // The rows are stored in another order.
    for (const { id } of all.slice(0, 10)) await updateOne(id, { note: "Bring the list" });
    const { data } = await update(all[0]!.id, { title: "Planning of the week" });
    const returned = data.updateResourceBookingSeries as Booking[];
    expect(returned.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  });

  test("keeps the times of the series when only other fields change", async () => {
    const resourceId = await makeResource();
    await booked(resourceId);
    const [first, , third] = await bookingsOf(resourceId);
    await updateOne(third!.id, {
      startsAt: "2040-03-27T08:00:00Z",
      endsAt: "2040-03-27T09:00:00Z",
    });
    expect((await update(first!.id, { note: "Bring the list" })).errors).toBeUndefined();
    expect(await startsOf(resourceId)).toEqual([
      "2040-03-12T09:00",
      "2040-03-19T09:00",
      "2040-03-27T08:00",
      "2040-04-02T08:00",
      "2040-04-09T08:00",
    ]);
  });

  test("changes only the given fields of later bookings that were changed by themselves", async () => {
    const [resourceId, larger] = [await makeResource(), await makeResource({ capacity: 50 })];
    await booked(resourceId, { attendees: 5 });
    const [first, , third, last] = await bookingsOf(resourceId);
    const own = { resourceId: larger, attendees: 40, note: "With guests", title: "Open house" };
    const { errors } = await updateOne(third!.id, {
      ...own,
      startsAt: "2040-03-26T12:00:00Z",
      endsAt: "2040-03-26T16:00:00Z",
    });
    expect(errors).toBeUndefined();
    const changes = { startsAt: "2040-03-13T09:00:00Z", endsAt: "2040-03-13T10:30:00Z" };
    expect(
      (await update(first!.id, { ...changes, note: "Bring the list" })).errors,
    ).toBeUndefined();
    const rows = await service.database.pool.query<Record<string, unknown>>(
      `select resource_id as "resourceId", attendees, note, title, starts_at::text, ends_at::text
       from resource_bookings where id = any ($1) order by starts_at`,
      [[third!.id, last!.id]],
    );
    expect(rows.rows).toEqual([
      {
        ...own,
        note: "Bring the list",
        starts_at: "2040-03-27 12:00:00+00",
        ends_at: "2040-03-27 16:00:00+00",
      },
      {
        ...{ resourceId, attendees: 5, note: "Bring the list", title: "Planning" },
        starts_at: "2040-04-03 08:00:00+00",
        ends_at: "2040-04-03 09:30:00+00",
      },
    ]);
    // A new duration is for all of them.
    expect((await update(first!.id, { endsAt: "2040-03-13T11:00:00Z" })).errors).toBeUndefined();
    const [moved] = await bookingsOf(larger);
    expect(moved).toMatchObject({ endsAt: "2040-03-27T14:00:00.000Z", title: "Open house" });
  });

  test("keeps its attendees when the capacity is reduced later", async () => {
    const resourceId = await makeResource({ capacity: 8 });
    const first = await booked(resourceId, { attendees: 8 });
    await ask(
      "mutation ($id: ID!) { updateResource(id: $id, input: { capacity: 3 }) { id } }",
      { id: resourceId },
      boss.token,
    );
    expect((await update(first.id, { title: "Renamed" })).errors).toBeUndefined();
    expect(refusal(await update(first.id, { attendees: 9 }))).toMatchObject({
      message: expect.stringContaining("attendees must be at most 3"),
    });
  });

  test("is rejected with the resource of a later booking that has not enough places", async () => {
    const [resourceId, small] = [await makeResource(), await makeResource({ capacity: 4 })];
    await booked(resourceId);
    const [first, , third] = await bookingsOf(resourceId);
    expect((await updateOne(third!.id, { resourceId: small })).errors).toBeUndefined();
    expect(refusal(await update(first!.id, { attendees: 5 }))).toMatchObject({
      code: "BAD_USER_INPUT",
      message: expect.stringMatching(/^attendees must be at most 4, the capacity of Room /),
    });
  });

  test("is rejected with the times of bookings of the series that would overlap", async () => {
    const resourceId = await makeResource({ name: `Cellar ${randomUUID()}` });
    await booked(resourceId);
    const before = await bookingsOf(resourceId);
    const longer = { endsAt: "2040-03-20T09:00:00Z" };
    expect(refusal(await update(before[0]!.id, longer))).toEqual({
      code: "CONFLICT",
      message: expect.stringMatching(
        /^Two bookings of the series overlap: Cellar \S+ would be booked from 2040-03-12 10:00 to 2040-03-20 10:00 and from 2040-03-19 10:00 to 2040-03-27 10:00$/,
      ),
      path: ["input", "endsAt"],
    });
    expect(await bookingsOf(resourceId)).toEqual(before);
    // A week that has an hour less: the second booking would begin before the end of the first.
    const week = { startsAt: "2040-03-24T09:00:00Z", endsAt: "2040-03-31T09:00:00Z" };
    expect(refusal(await book(await makeResource(), week))).toMatchObject({
      code: "CONFLICT",
      message: expect.stringMatching(
        / from 2040-03-24 10:00 to 2040-03-31 11:00 and from 2040-03-31 10:00 to /,
      ),
    });
  });

  test("moves no booking when one conflicts", async () => {
    const resourceId = await makeResource();
    await booked(resourceId);
    const other = await booked(resourceId, {
      ...{ repeatWeeks: null, repeatUntil: null },
      startsAt: "2040-04-03T08:00:00Z",
      endsAt: "2040-04-03T09:00:00Z",
    });
    const before = await bookingsOf(resourceId);
    const answer = await update(before[0]!.id, {
      startsAt: "2040-03-13T09:00:00Z",
      endsAt: "2040-03-13T10:30:00Z",
    });
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: "CONFLICT",
      bookings: [{ id: other.id }],
    });
    expect(await bookingsOf(resourceId)).toEqual(before);
  });

  test("is cancelled with all later bookings", async () => {
    const resourceId = await makeResource();
    await booked(resourceId);
    const [, , third] = await bookingsOf(resourceId);
    expect((await cancel(third!.id)).data.cancelResourceBookingSeries).toMatchObject({
      id: third!.id,
      status: "CANCELLED",
    });
    expect((await bookingsOf(resourceId)).map(({ status }) => status)).toEqual([
      "BOOKED",
      "BOOKED",
      ...Array(3).fill("CANCELLED"),
    ]);
  });

  test("notifies its owner of the first booking and the number when another user changes it", async () => {
    const resourceId = await makeResource();
    const { id } = await booked(resourceId);
    for (const answer of [await cancel(id, bo.token), await update(id, { title: "x" }, bo.token)])
      expect(refusal(answer)).toMatchObject({ code: "FORBIDDEN" });
    const [first] = await bookingsOf(resourceId);
    expect((await cancel(id, boss.token)).errors).toBeUndefined();
    expect(await told()).toEqual([
      {
        title: expect.stringMatching(
          /^boss cancelled 5 of your bookings “Planning” in Room \S+, from 2040-03-12 10:00 on$/,
        ),
        body: "The first was from 2040-03-12 10:00 to 2040-03-12 11:30.",
        entityId: first!.id,
        occurrences: 1,
      },
    ]);
  });

  test("notifies its owner separately of a move and of a later cancellation", async () => {
    const resourceId = await makeResource();
    await booked(resourceId);
    const [, , , fourth] = await bookingsOf(resourceId);
    const moved = await update(
      fourth!.id,
      { startsAt: "2040-04-02T09:00:00Z", endsAt: "2040-04-02T10:00:00Z" },
      boss.token,
    );
    expect(moved.errors).toBeUndefined();
    await cancel(fourth!.id, boss.token);
    expect((await told()).slice(0, 2)).toMatchObject([
      {
        title: expect.stringMatching(
          /^boss cancelled 2 of your bookings .*, from 2040-04-02 11:00 on$/,
        ),
        body: "The first was from 2040-04-02 11:00 to 2040-04-02 12:00.",
        entityId: fourth!.id,
        occurrences: 1,
      },
      {
        title: expect.stringMatching(
          /^boss changed 2 of your bookings .*, from 2040-04-02 10:00 on$/,
        ),
        body: "The first was from 2040-04-02 10:00 to 2040-04-02 11:30, and is from 2040-04-02 11:00 to 2040-04-02 12:00.",
        entityId: fourth!.id,
        occurrences: 1,
      },
    ]);
  });

  test("without a series is rejected", async () => {
    const { id } = await booked(await makeResource(), { repeatWeeks: null, repeatUntil: null });
    for (const answer of [await cancel(id), await update(id, { title: "x" })])
      expect(refusal(answer)).toEqual({
        code: "CONFLICT",
        message: "The booking belongs to no series",
        path: ["id"],
      });
  });
});
