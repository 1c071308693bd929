import { administrator } from "./staff.ts";

/** Returns a working day by its number: 0 is the first one from today on, -1 the last one before today. */
export type WorkingDays = (number: number) => string;

/** Counts Monday to Friday without the holidays. Dates are `YYYY-MM-DD`. */
export function makeWorkingDays(now: Date, holidays: readonly string[]): WorkingDays {
  const dayMs = 86_400_000;
  const today = Date.parse(now.toISOString().slice(0, 10));
  const isWorkingDay = (time: number) =>
    ![0, 6].includes(new Date(time).getUTCDay()) && !holidays.includes(dateOf(time));
  return (number) => {
    const step = number < 0 ? -dayMs : dayMs;
    let time = number < 0 ? today - dayMs : today;
    for (let left = number < 0 ? -number - 1 : number; ; time += step)
      if (isWorkingDay(time) && left-- === 0) return dateOf(time);
  };
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** An absence from one working day to another, by their numbers. */
interface DemoAbsence {
  email: string;
  type: "VACATION" | "SICK" | "PARENTAL" | "TRAINING" | "OTHER";
  days: readonly [first: number, last: number];
  startsHalfDay?: boolean;
  endsHalfDay?: boolean;
  note?: string;
}

/** Absences of the demo's users, which the administrator enters. */
export const demoAbsences: readonly DemoAbsence[] = [
  // Includes today in every time zone, also at a weekend.
  { email: "david@wine.example", type: "SICK", days: [-1, 1], note: "Emma takes his calls." },
  {
    ...{ email: "bo@wine.example", type: "TRAINING", days: [1, 2], endsHalfDay: true },
    note: "Course on fortified wines, until noon of the second day.",
  },
  {
    ...{ email: "emma@wine.example", type: "OTHER", days: [3, 3], startsHalfDay: true },
    note: "Moves house in the afternoon.",
  },
  { email: "clara@wine.example", type: "VACATION", days: [6, 10] },
  { email: "david@wine.example", type: "PARENTAL", days: [12, 31] },
];

/** A working day in the vacation of the campaigns' author. */
export const authorAwayDay = 7;

/** Absences that users request. `refusal` is the note with which the administrator declines one. */
export const demoRequests: readonly DemoRequest[] = [
  {
    ...{ email: "emma@wine.example", type: "VACATION", days: [14, 18] },
    note: "The school holidays.",
  },
  {
    ...{ email: "bo@wine.example", type: "OTHER", days: [5, 5] },
    refusal: "We count the stock on that day.",
  },
  { email: "clara@wine.example", type: "VACATION", days: [22, 23], isCancelled: true },
];

export interface DemoRequest extends DemoAbsence {
  refusal?: string;
  isCancelled?: boolean;
}

/** The calendar feeds of the demo, by owner. */
export const demoFeeds = [
  { owner: administrator.email, name: "Phone" },
  { owner: "bo@wine.example", name: "Phone" },
  { owner: "clara@wine.example", name: "Laptop" },
];

/** The resources of the demo. */
export const resources = [
  {
    ...{ name: "Tasting room", kind: "ROOM", location: "Ground floor", capacity: 12 },
    color: "#7A0019",
    description: "Glasses for twelve are in the cupboard. Spittoons in the kitchen.",
  },
  {
    ...{ name: "Meeting room North", kind: "ROOM", location: "First floor", capacity: 8 },
    color: "#2F6F4E",
  },
  {
    ...{ name: "Delivery van", kind: "VEHICLE", location: "Yard", capacity: 3 },
    color: "#1F4E79",
  },
  { name: "Projector", kind: "EQUIPMENT", location: "Store room" },
  {
    ...{ name: "Burgundy set", kind: "TASTING_SET", location: "Store room", capacity: 24 },
    color: "#A23B72",
    description: "24 large glasses, four decanters.",
  },
] as const;

/** The working day, the hour and the duration of each booking. */
const plans = [
  [administrator.email, "Tasting room", "Barolo evening", 2, 17, 3, 10],
  [administrator.email, "Burgundy set", "Barolo evening", 2, 16, 5, 10],
  [administrator.email, "Meeting room North", "Weekly planning", 3, 8, 1, 5],
  ["clara@wine.example", "Meeting room North", "Pictures for the next campaigns", 2, 12, 2, 3],
  ["david@wine.example", "Delivery van", "Restaurants in Aarhus", 4, 7, 8, 2],
  ["emma@wine.example", "Projector", "Training of the order desk", 4, 9, 2, null],
  ["bo@wine.example", "Tasting room", "New arrivals from Tokaj", 7, 13, 2, 6],
  ["bo@wine.example", "Projector", "New arrivals from Tokaj", 7, 13, 2, null],
] as const;

export interface DemoBooking {
  owner: string;
  resource: string;
  title: string;
  startsAt: Date;
  endsAt: Date;
  attendees: number | null;
  isCancelled: boolean;
  /** Set for a series of bookings. */
  repeatWeeks?: 1 | 2;
  repeatUntil?: string;
}

/** Bookings of the next seven working days, one of them cancelled, and a series of ten weeks. */
export function demoBookings(workingDays: WorkingDays): DemoBooking[] {
  return plans.map(([owner, resource, title, day, hour, hours, attendees]) => {
    const startsAt = new Date(Date.parse(workingDays(day)) + hour * 3_600_000);
    const endsAt = new Date(startsAt.getTime() + hours * 3_600_000);
    const repeatUntil = dateOf(startsAt.getTime() + 9 * 7 * 86_400_000);
    const series = title === "Weekly planning" ? { repeatWeeks: 1 as const, repeatUntil } : {};
    const isCancelled = title === "Training of the order desk";
    return { owner, resource, title, startsAt, endsAt, attendees, isCancelled, ...series };
  });
}

/** Notes about the first customers. */
export const demoNotes = [
  "Wants wooden cases. Deliver at the back door before ten.",
  "Asked for a tasting of Nebbiolo in spring.",
];

/** The search watches of the demo, by owner. */
export const demoWatches = [
  {
    ...{ owner: "bo@wine.example", name: "Sold out", entity: "products" },
    ...{ query: "stockQuantity:0", events: ["MATCHES", "LEAVES"], delivery: "DAILY" },
  },
  {
    ...{ owner: administrator.email, name: "New Barolo", entity: "products" },
    ...{ query: "barolo", events: ["CREATED"] },
  },
  {
    ...{ owner: "david@wine.example", name: "Large orders", entity: "orders" },
    ...{ query: "totalAmount:>=20000", events: ["CREATED"] },
  },
  {
    ...{ owner: administrator.email, name: "Failed imports", entity: "erpSyncRuns" },
    ...{ query: "status:FAILED", delivery: "WEEKLY", channels: ["INBOX", "EMAIL"] },
  },
] as const;

/** A mapping rule for a code that no rule of a new database maps. */
export const demoRule = {
  ...{ code: "shipping_method.unmapped", key: "BIKE", target: "COURIER" },
  note: "Cargo bikes in the city. The next recheck clears the orders.",
} as const;
