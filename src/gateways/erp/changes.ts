import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError } from "../erp.ts";
import type { Position, Run } from "./cursor.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { Company, ODataPage, ODataQuery } from "./odata.ts";
import { instantLiteral, textLiteral } from "./odata.ts";
import { OversizedRecord, readableString } from "./readRecord.ts";
import { ResponseTooLargeError } from "./transport.ts";

export interface ChangesOptions {
  /** The entity set, which has `number` and `lastModifiedDateTime`. */
  set: string;
  query: Pick<ODataQuery, "select" | "expand">;
  pageSize: number;
  /** How long a change may take to become visible after its timestamp, in milliseconds. */
  lateMs: number;
}

export interface Changes {
  raw: unknown[];
  cursor: string;
  done: boolean;
}

// The API returns milliseconds, but SQL Server stores other steps: a returned time may differ this much from the
// compared one.
const toleranceMs = 10;
const yearOne = Date.parse("0001-01-01T00:00:00Z");
const changed = "lastModifiedDateTime";
const comparedFields = ["number", changed];
// Orders change at any time, so two responses may differ once or twice without an error.
const attempts = 4;

/**
 * Reads one page of the changes in an entity set.
 *
 * Pages are requested by filter from the end of the previous page, not by the ERP's links, because a link may refer to
 * a record that has moved meanwhile. A record that changes during a run moves behind the run's end and appears in the
 * next run. When more records than fit in a page have the same timestamp (a crowd), they are paged by number.
 *
 * To include changes that commit late, the next run starts `lateMs` before the newest change of this run, by the ERP's
 * clock. Without newer changes the overlap ends after `lateMs` of this service's clock, so that records are not
 * repeated forever. The next run never starts later than `lateMs` before this one, so timestamps in the future hide no
 * later changes.
 */
export async function readChanges(
  company: Company,
  { set, query, pageSize, lateMs }: ChangesOptions,
  cursor: string | null,
  options: ErpCallOptions,
): Promise<Changes> {
  const position = limitToPresent(readCursor(cursor, set), lateMs);
  const run = position.run ?? (await begin(company, set, position, options));
  if (run === null) return { raw: [], cursor: writeCursor(position), done: true };

  for (let attempt = 0; attempt < attempts; attempt++) {
    const runQuery = queryOf(run, position.floor);
    const { page, size } = await readFittingPage({ pageSize, query }, (fields, top) =>
      company.page(set, { ...fields, ...runQuery, top }, options),
    );
    const more = page.value.length >= size || page.nextLink !== null;
    if (more && page.value.length === 0)
      throw new ErpAnswerError("The ERP returned an empty page with a next link");
    if (isBeyond(run, page.value))
      throw new ErpAnswerError(`The ERP's pages of ${set} contain records newer than requested`);
    // A page out of order would skip records.
    if (run.crowd === null && !isInOrder(page.value)) continue;
    if (isRepeated(run, page.value)) continue;
    // Where an incomplete page would lose records, a second response must agree with the first.
    if ((run.crowd !== null || !more) && !(await agrees(page.value))) continue;
    const next =
      run.crowd === null
        ? positionAfterPage(run, page.value, more)
        : positionAfterCrowd(run, page.value, more);
    return next === null
      ? { raw: page.value, cursor: writeCursor(end(position, run, lateMs)), done: true }
      : { raw: page.value, cursor: writeCursor({ ...position, run: next }), done: false };

    async function agrees(records: readonly unknown[]): Promise<boolean> {
      const again = await company.page(
        set,
        { select: comparedFields, ...runQuery, top: 1 },
        options,
      );
      return visibleState(again.value[0]) === visibleState(records[0]);
    }
  }
  throw new ErpAnswerError(`The ERP's pages of ${set} contradict each other`);
}

/** Reduces the page size when records are large. Of a record that alone is too large, only the compared fields are read. */
async function readFittingPage(
  { pageSize, query }: Pick<ChangesOptions, "pageSize" | "query">,
  ask: (query: ChangesOptions["query"], top: number) => Promise<ODataPage>,
): Promise<{ page: ODataPage; size: number }> {
  for (let size = pageSize; ; size = Math.ceil(size / 2)) {
    try {
      return { page: await ask(query, size), size };
    } catch (error) {
      if (!(error instanceof ResponseTooLargeError)) throw error;
      if (size > 1) continue;
      const page = await ask({ select: comparedFields }, 1);
      const value = page.value.map(
        (record) =>
          new OversizedRecord(readableString(record, "number"), readableString(record, changed)),
      );
      return { page: { ...page, value }, size };
    }
  }
}

/** Reads the newest change, where the run ends. Null when nothing has changed since the last run. */
async function begin(
  company: Company,
  set: string,
  { floor }: Position,
  options: ErpCallOptions,
): Promise<Run | null> {
  const newestFirst = { select: comparedFields, orderby: `${changed} desc`, top: 1 };
  const page = await company.page(set, newestFirst, options);
  if (page.value.length === 0) return null;
  const newest = instantOf(page.value[0]);
  if (newest === null) throw new ErpAnswerError(`The newest of the ERP's ${set} has no timestamp`);
  if (floor !== null && newest <= floor) return null;
  return { newest, startedAt: Date.now(), from: null, crowd: null };
}

function queryOf(run: Run, floor: number | null): Pick<ODataQuery, "filter" | "orderby"> {
  return {
    filter: filterOf(run, floor),
    orderby: run.crowd === null ? `${changed},number` : "number",
  };
}

function filterOf({ newest, from, crowd }: Run, floor: number | null): string {
  const start =
    from !== null
      ? `${changed} ge ${instantLiteral(from)} and `
      : floor !== null
        ? `${changed} gt ${instantLiteral(floor)} and `
        : "";
  if (crowd === null) return `${start}${changed} le ${instantLiteral(newest + toleranceMs)}`;
  const after = crowd.after === null ? "" : ` and number gt ${textLiteral(crowd.after)}`;
  return `${start}${changed} le ${instantLiteral(crowd.to)}${after}`;
}

/** Whether a record is newer than requested; such pages could continue forever. */
function isBeyond({ newest, crowd }: Run, records: readonly unknown[]): boolean {
  const last = (crowd === null ? newest : crowd.to) + 2 * toleranceMs;
  return instantsOf(records).some((instant) => instant > last);
}

/** Whether this is an earlier page, repeated by something between client and server. */
function isRepeated({ from, crowd }: Run, records: readonly unknown[]): boolean {
  const instants = instantsOf(records);
  const [first = Infinity] = instants;
  const last = instants.at(-1) ?? Infinity;
  return (
    crowd === null && from !== null && first < from - toleranceMs && last <= from + toleranceMs
  );
}

function visibleState(record: unknown): string {
  return JSON.stringify(comparedFields.map((property) => readableString(record, property)));
}

/** The position after a page ordered by time; null at the end of the run. */
function positionAfterPage(run: Run, records: readonly unknown[], more: boolean): Run | null {
  if (!more) return null;
  const last = lastInstant(records);
  const from = Math.max(last - toleranceMs, yearOne);
  if (run.from === null || from > run.from) return { ...run, from };
  // The page ends at the instant where it started, so all its records form one crowd.
  return { ...run, crowd: { to: run.from + 2 * toleranceMs, after: null } };
}

/** The position after a page of a crowd, ordered by number. After the crowd, the run continues by time. */
function positionAfterCrowd(run: Run, records: readonly unknown[], more: boolean): Run {
  const { crowd } = run;
  if (crowd === null || !more) return { ...run, from: crowd?.to ?? run.from, crowd: null };
  const after = records
    .map((record) => readableString(record, "number"))
    .findLast((n) => n !== null);
  if (after == null || after === crowd.after)
    throw new ErpAnswerError("The ERP returned the same page twice");
  return { ...run, crowd: { ...crowd, after } };
}

/** Limits the floor to the present; stored positions of earlier releases may be in the future. */
function limitToPresent(position: Position, lateMs: number): Position {
  const { floor } = position;
  return floor === null ? position : { ...position, floor: Math.min(floor, Date.now() - lateMs) };
}

/** The position where the next run starts. */
function end({ v, set, floor, mark }: Position, run: Run, lateMs: number): Position {
  const settled = mark !== null && run.startedAt - mark.seenAt > lateMs ? mark.newest : null;
  const reached = [floor, run.newest - lateMs, settled]
    .filter((instant) => instant !== null)
    .map((instant) => Math.min(instant, run.startedAt - lateMs))
    .filter((instant) => instant >= yearOne);
  const pending = mark !== null && (settled === null || mark.newest === run.newest);
  return {
    v,
    set,
    floor: reached.length === 0 ? null : Math.max(...reached),
    mark: pending ? mark : { newest: run.newest, seenAt: run.startedAt },
    run: null,
  };
}

/** The timestamp of the page's last legible record. */
function lastInstant(records: readonly unknown[]): number {
  const last = instantsOf(records).at(-1);
  if (last === undefined) throw new ErpAnswerError("The ERP's records have no timestamps");
  return last;
}

function isInOrder(records: readonly unknown[]): boolean {
  const instants = instantsOf(records);
  return instants.every(
    (instant, place) => instant >= (instants[place - 1] ?? instant) - toleranceMs,
  );
}

function instantsOf(records: readonly unknown[]): number[] {
  return records.map(instantOf).filter((instant) => instant !== null);
}

function instantOf(record: unknown): number | null {
  const instant = Date.parse(readableString(record, changed) ?? "");
  return Number.isNaN(instant) ? null : instant;
}
