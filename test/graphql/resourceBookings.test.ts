import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let manager: { token: string; userId: string };
let anna: { token: string; userId: string };
let bert: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  manager = await service.login(["resources.update", "resourcebookings.update"]);
  anna = await service.login([], `anna-${randomUUID()}@example.com`);
  bert = await service.login([]);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token = anna.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});

async function makeResource(input: Record<string, unknown> = {}): Promise<string> {
  const { data, errors } = await ask(
    `mutation ($input: CreateResourceInput!) { createResource(input: $input) { id } }`,
    { input: { name: `Room ${randomUUID()}`, kind: "ROOM", capacity: 8, ...input } },
    manager.token,
  );
  expect(errors).toBeUndefined();
  return data.createResource.id;
}

/** A time on a day of next year, in hours and minutes. */
const at = (time: string, day = "15") =>
  `${new Date().getFullYear() + 1}-03-${day}T${time}:00.000Z`;
const book = (resourceId: string, input: Record<string, unknown> = {}, token = anna.token) =>
  ask(
    `mutation ($input: CreateResourceBookingInput!) {
       createResourceBooking(input: $input) { id title startsAt endsAt status bookedBy { id } resource { id } } }`,
    {
      input: { resourceId, title: "Tasting", startsAt: at("10:00"), endsAt: at("12:00"), ...input },
    },
    token,
  );
const update = (id: string, input: Record<string, unknown>, token = anna.token) =>
  ask(
    `mutation ($id: ID!, $input: UpdateResourceBookingInput!) {
       updateResourceBooking(id: $id, input: $input) { title startsAt endsAt note attendees } }`,
    { id, input },
    token,
  );
const cancel = (id: string, token = anna.token) =>
  ask(`mutation ($id: ID!) { cancelResourceBooking(id: $id) { status } }`, { id }, token);
const booked = async (resourceId: string, input: Record<string, unknown> = {}) =>
  (await book(resourceId, input)).data.createResourceBooking as { id: string };

describe("a booking", () => {
  test("belongs to the caller, is visible to every logged-in user, and is audited", async () => {
    const resourceId = await makeResource();
    const { data, errors } = await book(resourceId);
    expect(errors).toBeUndefined();
    const { id } = data.createResourceBooking;
    expect(data.createResourceBooking).toEqual({
      id,
      title: "Tasting",
      startsAt: at("10:00"),
      endsAt: at("12:00"),
      status: "BOOKED",
      bookedBy: { id: anna.userId },
      resource: { id: resourceId },
    });
    const seen = await ask(
      `query ($query: String!) { resourceBookings(query: $query) { nodes { id bookedByName bookedBy { email } } } }`,
      { query: `resourceId:${resourceId}` },
      bert.token,
    );
    expect(seen.errors).toBeUndefined();
    expect(seen.data.resourceBookings.nodes).toEqual([
      { id, bookedByName: expect.stringMatching(/^anna-/), bookedBy: null },
    ]);
    const { rows } = await service.database.pool.query(
      "select operation, actor_user_id from audit_log where entity_type = 'ResourceBooking' and entity_id = $1",
      [id],
    );
    expect(rows).toEqual([{ operation: "CREATE", actor_user_id: anna.userId }]);
  });

  test("that overlaps another is rejected with the conflicting one, an adjacent one is accepted", async () => {
    const resourceId = await makeResource({ name: `Cellar ${randomUUID()}` });
    const first = await booked(resourceId, { title: "Barolo evening" });
    for (const [startsAt, endsAt] of [
      ["09:00", "10:01"],
      ["11:59", "13:00"],
      ["10:30", "11:00"],
      ["09:00", "13:00"],
    ]) {
      const { errors } = await book(resourceId, { startsAt: at(startsAt!), endsAt: at(endsAt!) });
      expect(errors?.[0]).toMatchObject({
        message: expect.stringMatching(
          /^Cellar \S+ is booked from \d{4}-03-15 11:00 to \d{4}-03-15 13:00: Barolo evening$/,
        ),
        extensions: {
          code: "CONFLICT",
          path: ["input", "startsAt"],
          booking: {
            id: first.id,
            title: "Barolo evening",
            startsAt: at("10:00"),
            endsAt: at("12:00"),
          },
        },
      });
    }
    expect(
      (await book(resourceId, { startsAt: at("12:00"), endsAt: at("13:00") })).errors,
    ).toBeUndefined();
    expect(
      (await book(resourceId, { startsAt: at("09:00"), endsAt: at("10:00") })).errors,
    ).toBeUndefined();
    const other = await makeResource();
    expect((await book(other)).errors).toBeUndefined();
  });

  test("is created once in fifty concurrent requests for the same slot", async () => {
    const resourceId = await makeResource();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) =>
        book(
          resourceId,
          { title: `Booking ${number}` },
          number % 2 === 0 ? anna.token : bert.token,
        ),
      ),
    );
    const won = answers.filter(({ errors }) => errors === undefined);
    expect(won).toHaveLength(1);
    const { id, title } = won[0]?.data.createResourceBooking as { id: string; title: string };
    for (const { errors } of answers.filter((answer) => answer !== won[0]))
      expect(errors?.[0]).toMatchObject({
        message: expect.stringMatching(new RegExp(`: ${title}$`)),
        extensions: { code: "CONFLICT", booking: { id } },
      });
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ["end", { endsAt: at("10:00") }, "endsAt must be after startsAt", "endsAt"],
    [
      "duration",
      { endsAt: at("12:00", "15").replace("-03-", "-05-") },
      "endsAt must be within 31 days of startsAt",
      "endsAt",
    ],
    [
      "title",
      { title: " " },
      "title must be 1 to 200 visible characters without spaces at its ends",
      "title",
    ],
    [
      "past end",
      { startsAt: "2020-01-01T10:00:00Z", endsAt: "2020-01-01T12:00:00Z" },
      "endsAt must be in the future",
      "endsAt",
    ],
    ["resource", { resourceId: randomUUID() }, "There is no resource with this id", "resourceId"],
  ])(
    "with an invalid %s is rejected with the name of the field",
    async (_what, input, message, field) => {
      const answer = await book(await makeResource(), input);
      expect(refusal(answer)).toEqual({ code: "BAD_USER_INPUT", message, path: ["input", field] });
    },
  );

  test("keeps its attendees when the capacity is reduced later, and may have fewer", async () => {
    const resourceId = await makeResource({ capacity: 8 });
    const { id } = await booked(resourceId, { attendees: 8 });
    await ask(
      "mutation ($id: ID!) { updateResource(id: $id, input: { capacity: 3 }) { id } }",
      { id: resourceId },
      manager.token,
    );
    expect((await update(id, { note: "With bread" })).errors).toBeUndefined();
    expect((await update(id, { attendees: 5 })).data.updateResourceBooking).toMatchObject({
      note: "With bread",
      attendees: 5,
    });
    expect(refusal(await update(id, { attendees: 6 }))).toMatchObject({
      message: expect.stringContaining("attendees must be at most 3"),
    });
    const other = await makeResource({ capacity: 3 });
    expect(refusal(await update(id, { resourceId: other }))).toMatchObject({
      message: expect.stringContaining("attendees must be at most 3"),
    });
  });

  test("needs an active resource with enough capacity", async () => {
    const name = `Van ${randomUUID()}`;
    const resourceId = await makeResource({ name, capacity: 3 });
    expect(refusal(await book(resourceId, { attendees: 4 }))).toEqual({
      code: "BAD_USER_INPUT",
      message: `attendees must be at most 3, the capacity of ${name}`,
      path: ["input", "attendees"],
    });
    const { id } = await booked(resourceId);
    await ask(
      `mutation ($id: ID!) { updateResource(id: $id, input: {isActive: false}) { id } }`,
      { id: resourceId },
      manager.token,
    );
    expect(refusal(await book(resourceId))).toMatchObject({
      code: "CONFLICT",
      message: `${name} is not in use and cannot be booked`,
    });
    expect((await update(id, { note: "Tidy up" })).errors).toBeUndefined();
  });

  test("can be changed and cancelled by its owner and by holders of `resourcebookings.update`", async () => {
    const resourceId = await makeResource();
    const { id } = await booked(resourceId);
    const denied = {
      code: "FORBIDDEN",
      message: "Missing required permission: resourcebookings.update",
    };
    expect(refusal(await update(id, { title: "Mine" }, bert.token))).toMatchObject(denied);
    expect(refusal(await cancel(id, bert.token))).toMatchObject(denied);
    const moved = await update(id, {
      startsAt: at("11:00"),
      note: " Bring glasses ",
      attendees: 8,
    });
    expect(moved.errors).toBeUndefined();
    expect(moved.data.updateResourceBooking).toEqual({
      title: "Tasting",
      startsAt: at("11:00"),
      endsAt: at("12:00"),
      note: "Bring glasses",
      attendees: 8,
    });
    expect(refusal(await update(id, { title: null }))).toMatchObject({
      message: "title cannot be null",
    });
    expect(
      (await update(id, { note: null }, manager.token)).data.updateResourceBooking.note,
    ).toBeNull();
    expect((await cancel(id, manager.token)).data.cancelResourceBooking.status).toBe("CANCELLED");
    expect(refusal(await update(id, { title: "Again" }))).toMatchObject({
      code: "CONFLICT",
      message: "The booking is cancelled",
    });
    expect((await book(resourceId)).errors).toBeUndefined();
  });

  test("in the past cannot be changed", async () => {
    const { id } = await booked(await makeResource());
    await service.database.pool.query(
      "update resource_bookings set starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour' where id = $1",
      [id],
    );
    expect(refusal(await cancel(id))).toMatchObject({
      code: "CONFLICT",
      message: "The booking is over",
    });
  });

  test("cannot be moved onto another one", async () => {
    const resourceId = await makeResource();
    const { id } = await booked(resourceId);
    const later = await booked(resourceId, { startsAt: at("14:00"), endsAt: at("16:00") });
    expect(
      (await update(later.id, { startsAt: at("11:00") })).errors?.[0]?.extensions,
    ).toMatchObject({
      code: "CONFLICT",
      booking: { id },
    });
  });
});

test("the database rejects overlapping bookings", async () => {
  const resourceId = await makeResource();
  const { id } = await booked(resourceId);
  await expect(
    service.database.pool.query(
      `insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at)
       select resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at from resource_bookings where id = $1`,
      [id],
    ),
  ).rejects.toMatchObject({ code: "23P01", constraint: "resource_bookings_overlap_excl" });
});

test("freeResources lists unbooked resources by kind and capacity", async () => {
  const day = "20";
  const small = await makeResource({ kind: "TASTING_SET", capacity: 4 });
  const large = await makeResource({ kind: "TASTING_SET", capacity: 20 });
  const free = async (more = "", from = "10:00", to = "12:00") => {
    const { data, errors } = await ask(
      `query ($from: DateTime!, $to: DateTime!) {
         freeResources(from: $from, to: $to, kind: TASTING_SET ${more}) { id } }`,
      { from: at(from, day), to: at(to, day) },
      bert.token,
    );
    expect(errors).toBeUndefined();
    return data.freeResources.map(({ id }: { id: string }) => id);
  };
  expect(new Set(await free())).toEqual(new Set([small, large]));
  expect(await free("capacity: 5")).toEqual([large]);
  const { id } = await booked(small, { startsAt: at("11:00", day), endsAt: at("13:00", day) });
  expect(await free()).toEqual([large]);
  expect(new Set(await free("", "13:00", "14:00"))).toEqual(new Set([small, large]));
  await cancel(id);
  expect(new Set(await free())).toEqual(new Set([small, large]));
  const wrong = await ask(`query ($at: DateTime!) { freeResources(from: $at, to: $at) { id } }`, {
    at: at("10:00"),
  });
  expect(refusal(wrong)).toEqual({
    code: "BAD_USER_INPUT",
    message: "to must be after from",
    path: ["to"],
  });
});

test("resources can be changed with `resources.update` only, and cannot be deleted while they have bookings", async () => {
  const resourceId = await makeResource();
  const remove = (token: string) =>
    ask(`mutation ($id: ID!) { deleteResource(id: $id) }`, { id: resourceId }, token);
  expect(refusal(await remove(anna.token))).toMatchObject({
    code: "FORBIDDEN",
    message: "Missing required permission: resources.update",
  });
  await booked(resourceId);
  expect(refusal(await remove(manager.token))).toMatchObject({
    code: "CONFLICT",
    message: "Other rows still refer to this one: bookings",
  });
});

test("scoped tokens are rejected, unscoped ones accepted", async () => {
  const resourceId = await makeResource();
  const { token: scoped } = await insertApiToken(service.database, manager.userId, [
    "resources.update",
    "resourcebookings.update",
  ]);
  const { token: unscoped } = await insertApiToken(service.database, manager.userId);
  const message = "This needs a full login: a scoped token is not enough";
  for (const query of [
    "{ resources { id } }",
    `{ resource(id: "${resourceId}") { id } }`,
    "{ resourceBookings { nodes { id } } }",
    `{ freeResources(from: "${at("10:00")}", to: "${at("11:00")}") { id } }`,
  ]) {
    expect(refusal(await ask(query, {}, scoped))).toMatchObject({ code: "FORBIDDEN", message });
    expect((await ask(query, {}, unscoped)).errors).toBeUndefined();
    const { errors } = await service.ask(query);
    expect(errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  }
  expect(refusal(await book(resourceId, {}, scoped))).toMatchObject({ code: "FORBIDDEN", message });
  expect((await book(resourceId, {}, unscoped)).errors).toBeUndefined();
});

test("freeResources excludes resources that are not in use", async () => {
  const [used, unused] = [
    await makeResource({ kind: "VEHICLE" }),
    await makeResource({ kind: "VEHICLE" }),
  ];
  const { errors } = await ask(
    `mutation ($id: ID!) { updateResource(id: $id, input: { isActive: false }) { id } }`,
    { id: unused },
    manager.token,
  );
  expect(errors).toBeUndefined();
  const { data } = await ask(
    `{ freeResources(from: "${at("10:00")}", to: "${at("11:00")}", kind: VEHICLE) { id } }`,
    {},
  );
  const found = data.freeResources.map(({ id }: { id: string }) => id);
  expect(found).toContain(used);
  expect(found).not.toContain(unused);
});

test("freeResources rejects a capacity below 1", async () => {
  for (const capacity of [0, -1]) {
    const { errors } = await ask(
      `{ freeResources(from: "${at("10:00")}", to: "${at("11:00")}", capacity: ${capacity}) { id } }`,
      {},
    );
    expect(errors?.[0]).toMatchObject({
      message: "capacity must be 1 at least",
      extensions: { code: "BAD_USER_INPUT", path: ["capacity"] },
    });
  }
});
