import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import ICAL from "ical.js";
import { makeToken } from "../../src/auth/tokens.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token: string) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const person = (permissions: string[] = []) =>
  service.login(permissions, `anna-${randomUUID()}@example.com`);
const createFeed = (token: string, name = "Phone") =>
  ask(
    `mutation ($name: String!) { createCalendarFeed(input: { name: $name }) { id name url lastUsedAt revokedAt } }`,
    { name },
    token,
  );
async function makeFeed(token: string): Promise<{ id: string; url: string }> {
  const { data, errors } = await createFeed(token);
  expect(errors).toBeUndefined();
  return data.createCalendarFeed as { id: string; url: string };
}

/** The events of the feed by title, read by an independent parser. */
async function read(url: string): Promise<Map<string, ICAL.Event>> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/calendar; charset=utf-8");
  const calendar = new ICAL.Component(ICAL.parse(await response.text()) as unknown[]);
  const events = calendar.getAllSubcomponents("vevent").map((event) => new ICAL.Event(event));
  return new Map(events.map((event) => [event.summary, event]));
}
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Creates a booking, absences and campaigns of a user; returns the id of the booking. */
async function fill(userId: string): Promise<string> {
  await sql(
    `insert into absences (user_id, type, starts_on, ends_on, starts_half_day, status, note) values
       ($1, 'VACATION', $2, $3, true, 'APPROVED', 'Italy'), ($1, 'SICK', $4, $4, false, 'CANCELLED', null),
       ($1, 'TRAINING', $4, $4, false, 'REQUESTED', null)`,
    [userId, day(10), day(12), day(20)],
  );
  await sql(
    `insert into campaigns (title, price, author_user_id, medium, scheduled_at)
     values ('Barolo; week, "one"', '1', $1, 'EMAIL', now() + interval '3 days'), ('Old', '1', $1, 'EMAIL', now() - interval '91 days')`,
    [userId],
  );
  const [booking] = await sql<{ id: string }>(
    `with room as (insert into resources (name, kind, location) values ('Room ' || $1::uuid, 'ROOM', 'First floor') returning id)
     insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at, note)
     select id, $1, 'Anna', 'Tasting', $2::date + timetz '09:00+00', $2::date + timetz '10:30+00', E'Two\\nlines' from room
     returning id`,
    [userId, day(5)],
  );
  return booking!.id;
}

describe("a calendar feed", () => {
  test("contains bookings, absences and campaigns of its owner only", async () => {
    const { token, userId } = await person(["campaigns.read"]);
    const other = await person();
    await fill(other.userId);
    const id = await fill(userId);
    const events = await read((await makeFeed(token)).url);
    expect([...events.keys()].toSorted()).toEqual([
      'Barolo; week, "one"',
      "Tasting",
      "Training (requested)",
      "Vacation from noon",
    ]);
    const booking = events.get("Tasting")!;
    expect(booking.startDate.toJSDate().toISOString()).toBe(`${day(5)}T09:00:00.000Z`);
    expect(booking.endDate.toJSDate().toISOString()).toBe(`${day(5)}T10:30:00.000Z`);
    expect(booking).toMatchObject({
      location: `Room ${userId}, First floor`,
      description: "Two\nlines",
    });
    expect(booking.uid.startsWith(`${id}@`)).toBe(true);
    expect(booking.component.getFirstPropertyValue("url")).toBe(
      `${service.url}/admin/resourceBookings/${id}`,
    );
    const vacation = events.get("Vacation from noon")!;
    expect(vacation.startDate.isDate).toBe(true);
    // The end of all-day events is the next day.
    expect([vacation.startDate.toString(), vacation.endDate.toString()]).toEqual([
      day(10),
      day(13),
    ]);
  });

  test("contains campaigns while its owner holds campaigns.read", async () => {
    const { token, userId, roleId } = await person(["campaigns.read"]);
    await fill(userId);
    const { url } = await makeFeed(token);
    await sql("delete from role_permissions where role_id = $1", [roleId]);
    expect([...(await read(url)).keys()]).not.toContain('Barolo; week, "one"');
  });

  test("shows its address once and the time of the last read", async () => {
    const { token } = await person();
    const { id, url } = await makeFeed(token);
    expect(url).toMatch(new RegExp(`^${service.url}/calendar/boc_[\\w-]{51}\\.ics$`));
    const list = async () =>
      (await ask("{ calendarFeeds { id name url lastUsedAt } }", {}, token)).data.calendarFeeds as {
        lastUsedAt: string | null;
      }[];
    expect(await list()).toEqual([{ id, name: "Phone", url: null, lastUsedAt: null }]);
    await read(url);
    expect((await list())[0]?.lastUsedAt).not.toBeNull();
    expect(service.output()).not.toContain(url.split("/").at(-1));
    expect(service.output()).toContain("/calendar/[left out].ics");
  });

  test("returns 404 when it is revoked or its owner is inactive", async () => {
    const { token, userId } = await person();
    const [first, second] = [await makeFeed(token), await makeFeed(token)];
    const stranger = await person();
    const revoke = (by: string) =>
      ask(
        `mutation ($id: ID!) { revokeCalendarFeed(id: $id) { revokedAt } }`,
        { id: first.id },
        by,
      );
    expect(refusal(await revoke(stranger.token))).toEqual({
      code: "NOT_FOUND",
      message: "There is no calendar feed of yours with this id",
    });
    expect((await revoke(token)).data.revokeCalendarFeed.revokedAt).not.toBeNull();
    const other = await person();
    const feed = await makeFeed(other.token);
    await sql("update users set is_active = false where id = $1", [other.userId]);
    expect((await fetch(feed.url)).status).toBe(404);
    const manager = await service.login([], "boss@example.com");
    await sql(
      "insert into user_roles (user_id, role_id) select $1, id from roles where name = 'Superadmin'",
      [manager.userId],
    );
    // Nor does it come back when the owner does.
    for (const mutation of ["deactivateUser", "activateUser"]) {
      const { errors } = await ask(
        `mutation ($userId: ID!) { ${mutation}(userId: $userId) { id } }`,
        { userId },
        manager.token,
      );
      expect(errors).toBeUndefined();
      for (const { url } of [first, second]) {
        const response = await fetch(url);
        expect([response.status, await response.json()]).toMatchObject([
          404,
          { errors: [{ message: "There is no calendar at this address" }] },
        ]);
      }
    }
  });

  test("gives a changed event a higher sequence", async () => {
    const { token, userId } = await person();
    const id = await fill(userId);
    const { url } = await makeFeed(token);
    const sequence = async () => (await read(url)).get("Tasting")?.sequence;
    expect(await sequence()).toBe(0);
    await sql(
      "update resource_bookings set created_at = created_at - interval '90 s' where id = $1",
      [id],
    );
    expect(await sequence()).toBeGreaterThanOrEqual(90);
  });

  test.each([
    ["another secret", () => makeToken("calendar")],
    ["a session's token", () => makeToken("session")],
    ["no secret", () => "calendar"],
  ])("returns 404 for %s", async (_what, secret) => {
    expect((await fetch(`${service.url}/calendar/${secret()}.ics`)).status).toBe(404);
  });

  test("is rejected as a credential", async () => {
    const { token } = await person();
    const { url } = await makeFeed(token);
    const secret = /boc_[\w-]+/.exec(url)?.[0] ?? "";
    expect(refusal(await ask("{ me { id } }", {}, secret)).code).toBe("UNAUTHENTICATED");
  });

  test("is made by sessions only: it would outlive a token, and show more than a scoped one reads", async () => {
    const { userId } = await person(["campaigns.read"]);
    for (const scopes of [null, ["campaigns.read"]]) {
      const { token } = await insertApiToken(service.database, userId, scopes);
      expect(refusal(await createFeed(token))).toEqual({
        code: "FORBIDDEN",
        message: "This needs a session: log in; an API token is not enough, with or without scopes",
      });
    }
    expect(await sql("select from calendar_feeds where user_id = $1", [userId])).toEqual([]);
  });

  test("rejects blank names and more than twenty feeds", async () => {
    const { token } = await person();
    expect(refusal(await createFeed(token, " "))).toEqual({
      code: "BAD_USER_INPUT",
      message: "name must be 1 to 100 visible characters without spaces at its ends",
    });
    const answers = await Promise.all(Array.from({ length: 21 }, () => createFeed(token)));
    const refused = answers.filter(({ errors }) => errors);
    expect(refused.map(refusal)).toEqual([
      { code: "CONFLICT", message: "You have 20 calendar feeds: revoke one first" },
    ]);
  });
});
