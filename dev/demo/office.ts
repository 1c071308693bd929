/** Absences of the demo's users, which the administrator enters: days from now, and for how many more days. */
export const demoAbsences = [
  ["bo@wine.example", "TRAINING", 1, 1],
  ["clara@wine.example", "VACATION", 8, 6],
  ["david@wine.example", "PARENTAL", 12, 27],
] as const;

/** Absences that users request. `refusal` is the note with which the administrator declines one. */
export const demoRequests: readonly DemoRequest[] = [
  { email: "emma@wine.example", type: "VACATION", inDays: 20, more: 4 },
  {
    ...{ email: "bo@wine.example", type: "OTHER", inDays: 5, more: 0 },
    refusal: "We count the stock on that day.",
  },
  { email: "clara@wine.example", type: "VACATION", inDays: 30, more: 1, isCancelled: true },
];

export interface DemoRequest {
  email: string;
  type: string;
  inDays: number;
  more: number;
  refusal?: string;
  isCancelled?: boolean;
}

/** The calendar feeds of the administrator. */
export const demoFeeds = [{ name: "Phone" }];

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

const plans = [
  ["Tasting room", "Barolo evening", 2, 17, 3, 10],
  ["Burgundy set", "Barolo evening", 2, 16, 5, 10],
  ["Meeting room North", "Weekly planning", 3, 8, 1, 5],
  ["Delivery van", "Restaurants in Aarhus", 4, 7, 8, 2],
  ["Tasting room", "New arrivals from Tokaj", 9, 13, 2, 6],
  ["Projector", "New arrivals from Tokaj", 9, 13, 2, null],
] as const;

export interface DemoBooking {
  resource: string;
  title: string;
  startsAt: Date;
  endsAt: Date;
  attendees: number | null;
  /** Set for a series of bookings. */
  repeatWeeks?: 1 | 2;
  repeatUntil?: string;
}

/** Bookings of the two weeks after `now`, and a series of ten weeks. */
export function demoBookings(now: Date): DemoBooking[] {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  return plans.map(([resource, title, day, hour, hours, attendees]) => {
    const startsAt = new Date(today + (day * 24 + hour) * 3_600_000);
    const endsAt = new Date(startsAt.getTime() + hours * 3_600_000);
    const repeatUntil = new Date(startsAt.getTime() + 9 * 7 * 86_400_000)
      .toISOString()
      .slice(0, 10);
    const series = title === "Weekly planning" ? { repeatWeeks: 1 as const, repeatUntil } : {};
    return { resource, title, startsAt, endsAt, attendees, ...series };
  });
}

/** Notes about the first customers. */
export const demoNotes = [
  "Wants wooden cases. Deliver at the back door before ten.",
  "Asked for a tasting of Nebbiolo in spring.",
];

/** The search watches of the demo. */
export const demoWatches = [
  {
    ...{ name: "Sold out", entity: "products", query: "stockQuantity:0" },
    ...{ events: ["MATCHES", "LEAVES"], delivery: "DAILY" },
  },
  { name: "New Barolo", entity: "products", query: "barolo", events: ["CREATED"] },
  {
    ...{ name: "Failed imports", entity: "erpSyncRuns", query: "status:FAILED" },
    ...{ delivery: "WEEKLY", channels: ["INBOX", "EMAIL"] },
  },
] as const;
