import type { RequestHandler } from "express";
import { Router } from "express";
import type { Pool } from "pg";
import ical from "ical-generator";
import type { RequestSettings } from "../auth/identity.ts";
import { inRequestTransaction } from "../auth/requestTransaction.ts";
import { hashToken, isCalendarToken } from "../auth/tokens.ts";
import { notFound } from "../errors/PublicError.ts";
import { requestContextOf } from "./requestInfo.ts";

interface CalendarFeedsOptions {
  pool: Pool;
  settings: RequestSettings;
  publicUrl: () => string;
  /** Finds the request's tenant and counts it. */
  readRequestContext: RequestHandler[];
}

/** A calendar as `read_calendar_feed` returns it. */
interface Calendar {
  name: string;
  events: CalendarEvent[];
}

/** Either with moments or with whole days, the last one included. */
type Times =
  | { starts_at: string; ends_at: string; starts_on: null; ends_on: null }
  | { starts_at: null; ends_at: null; starts_on: string; ends_on: string };

type CalendarEvent = Times & {
  entity: string;
  id: string;
  title: string;
  location: string | null;
  description: string | null;
  updated_at: string;
  sequence: number;
};

/** `GET /calendar/<secret>.ics`: a person's bookings, absences and campaigns as iCalendar (RFC 5545). */
export function calendarFeeds(options: CalendarFeedsOptions): Router {
  const { pool, settings, publicUrl, readRequestContext } = options;
  const router = Router();
  router.get("/calendar/:file", ...readRequestContext, async (request, response) => {
    const secret = String(request.params.file).replace(/\.ics$/, "");
    if (!isCalendarToken(secret)) throw missing();
    const requestContext = requestContextOf(response.locals);
    const { tenant } = requestContext;
    const calendar = await inRequestTransaction(
      pool,
      requestContext,
      settings,
      "server",
      async (client) => {
        const { rows } = await client.query<{ calendar: Calendar | null }>(
          `select "${tenant}".read_calendar_feed($1) as calendar`,
          [hashToken(secret)],
        );
        return rows[0]?.calendar ?? null;
      },
    );
    if (!calendar) throw missing();
    response
      .setHeader("Cache-Control", "no-store")
      .setHeader("Content-Disposition", 'inline; filename="calendar.ics"')
      .type("text/calendar; charset=utf-8")
      .send(writeCalendar(calendar, publicUrl()));
  });
  return router;
}

/** The same error for an unknown address, a revoked one and one of an inactive user. */
const missing = () => notFound("There is no calendar at this address");

function writeCalendar({ name, events }: Calendar, base: string): string {
  const calendar = ical({
    name: `Back office, ${name}`,
    prodId: { company: "Back office", product: "Calendar", language: "EN" },
  });
  const { host } = new URL(base);
  for (const event of events)
    calendar.createEvent({
      id: `${event.id}@${host}`,
      ...timesOf(event),
      sequence: event.sequence,
      stamp: new Date(event.updated_at),
      lastModified: new Date(event.updated_at),
      summary: event.title,
      location: event.location,
      description: event.description,
      url: `${base}/admin/${event.entity}/${event.id}`,
    });
  return calendar.toString();
}

/** RFC 5545 requires an end after the start: an event without a duration, such as a campaign, has none. */
function timesOf({ starts_at, ends_at, starts_on, ends_on }: Times) {
  if (starts_at !== null)
    return {
      start: new Date(starts_at),
      ...(ends_at !== starts_at && { end: new Date(ends_at) }),
    };
  const dayAfter = new Date(`${ends_on}T00:00:00Z`);
  dayAfter.setUTCDate(dayAfter.getUTCDate() + 1);
  return { start: new Date(`${starts_on}T00:00:00Z`), end: dayAfter, allDay: true };
}
