import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError } from "../erp.ts";
import type { Position, Run } from "./cursor.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { Company, ODataPage, ODataQuery } from "./odata.ts";
import { instantLiteral, textLiteral } from "./odata.ts";
import { legible } from "./readRecord.ts";
import { AnswerTooLargeError } from "./transport.ts";

export interface ChangesOptions {
  /** The entity set, which has `number` and `lastModifiedDateTime`. */
  set: string;
  query: Pick<ODataQuery, "select" | "expand">;
  pageSize: number;
  /** How long a change may take from the time that it bears until others see it, in milliseconds. */
  lateMs: number;
}

export interface Changes {
  raw: unknown[];
  cursor: string;
  done: boolean;
}

// Times are shown in milliseconds, and kept by SQL Server in other steps: what is shown may be this far from what is compared.
const blurMs = 10;
const yearOne = Date.parse("0001-01-01T00:00:00Z");
const changed = "lastModifiedDateTime";
const shown = ["number", changed];
// Orders change at any time: two answers may differ once or twice without anything being wrong.
const attempts = 4;

/**
 * One page of what changed in a set.
 *
 * Pages are asked for by filter, each from where the one before ended, never by the ERP's links: a link's place may be that of
 * a record that has moved meanwhile. A record that changes during a run moves behind the run's end and comes with the next
 * one. Where more records than a page holds bear the same instant, that instant is gone through by number.
 *
 * A change that was still uncommitted when its instant was passed is not lost either: the next run begins `lateMs` before the
 * newest change of this one, by the ERP's own times. When nothing newer comes, that is settled after `lateMs` of ours, so that
 * the same records do not come for ever. The next run never begins later than `lateMs` before this one by our clock: changes
 * that bear a time in the future, as of a clock that is put right, hide no later ones.
 */
export async function readChanges(
  company: Company,
  { set, query, pageSize, lateMs }: ChangesOptions,
  cursor: string | null,
  options: ErpCallOptions,
): Promise<Changes> {
  const position = withoutFuture(readCursor(cursor, set), lateMs);
  const run = position.run ?? (await begin(company, set, position, options));
  if (run === null) return { raw: [], cursor: writeCursor(position), done: true };

  for (let attempt = 0; attempt < attempts; attempt++) {
    const asked = questionOf(run, position.floor);
    const { page, size } = await pageThatFits(pageSize, (top) =>
      company.page(set, { ...query, ...asked, top }, options),
    );
    const more = page.value.length >= size || page.nextLink !== null;
    if (more && page.value.length === 0)
      throw new ErpAnswerError("The ERP returned an empty page with a next link");
    if (isBeyond(run, page.value))
      throw new ErpAnswerError(`The ERP's pages of ${set} hold records beyond those asked for`);
    // Out of order, some would be passed over.
    if (run.crowd === null && !isInOrder(page.value)) continue;
    if (isOld(run, page.value)) continue;
    // Where a page too few would lose what is behind it, a second answer must agree with the first.
    if ((run.crowd !== null || !more) && !(await agrees(page.value))) continue;
    const next =
      run.crowd === null ? onward(run, page.value, more) : through(run, page.value, more);
    return next === null
      ? { raw: page.value, cursor: writeCursor(end(position, run, lateMs)), done: true }
      : { raw: page.value, cursor: writeCursor({ ...position, run: next }), done: false };

    async function agrees(records: readonly unknown[]): Promise<boolean> {
      const again = await company.page(set, { select: shown, ...asked, top: 1 }, options);
      return markOf(again.value[0]) === markOf(records[0]);
    }
  }
  throw new ErpAnswerError(`The ERP's pages of ${set} contradict each other`);
}

/** Smaller pages for larger records. */
async function pageThatFits(
  pageSize: number,
  ask: (top: number) => Promise<ODataPage>,
): Promise<{ page: ODataPage; size: number }> {
  for (let size = pageSize; ; size = Math.ceil(size / 2)) {
    try {
      return { page: await ask(size), size };
    } catch (error) {
      if (!(error instanceof AnswerTooLargeError) || size === 1) throw error;
    }
  }
}

/** Asks for the newest change, where the run is to end. Null when there is none since the last run. */
async function begin(
  company: Company,
  set: string,
  { floor }: Position,
  options: ErpCallOptions,
): Promise<Run | null> {
  const newestFirst = { select: shown, orderby: `${changed} desc`, top: 1 };
  const page = await company.page(set, newestFirst, options);
  if (page.value.length === 0) return null;
  const newest = instantOf(page.value[0]);
  if (newest === null) throw new ErpAnswerError(`The newest of the ERP's ${set} bears no time`);
  if (floor !== null && newest <= floor) return null;
  return { newest, startedAt: Date.now(), from: null, crowd: null };
}

function questionOf(run: Run, floor: number | null): Pick<ODataQuery, "filter" | "orderby"> {
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
  if (crowd === null) return `${start}${changed} le ${instantLiteral(newest + blurMs)}`;
  const after = crowd.after === null ? "" : ` and number gt ${textLiteral(crowd.after)}`;
  return `${start}${changed} le ${instantLiteral(crowd.to)}${after}`;
}

/** Whether a record bears a later time than was asked for: such pages could go on for ever. */
function isBeyond({ newest, crowd }: Run, records: readonly unknown[]): boolean {
  const last = (crowd === null ? newest : crowd.to) + 2 * blurMs;
  return instantsOf(records).some((instant) => instant > last);
}

/** Whether this is a page from before, which something on the way gave once more. */
function isOld({ from, crowd }: Run, records: readonly unknown[]): boolean {
  const instants = instantsOf(records);
  const [first = Infinity] = instants;
  const last = instants.at(-1) ?? Infinity;
  return crowd === null && from !== null && first < from - blurMs && last <= from + blurMs;
}

function markOf(record: unknown): string {
  return JSON.stringify(shown.map((property) => legible(record, property)));
}

/** After a page in order of time. Null at the end of the run. */
function onward(run: Run, records: readonly unknown[], more: boolean): Run | null {
  if (!more) return null;
  const last = lastInstant(records);
  const from = Math.max(last - blurMs, yearOne);
  if (run.from === null || from > run.from) return { ...run, from };
  // No later than what the page was asked from: all of it is one crowd.
  return { ...run, crowd: { to: run.from + 2 * blurMs, after: null } };
}

/** After a page of a crowd, in order of number. The run goes on in order of time once the crowd is through. */
function through(run: Run, records: readonly unknown[], more: boolean): Run {
  const { crowd } = run;
  if (crowd === null || !more) return { ...run, from: crowd?.to ?? run.from, crowd: null };
  const after = records.map((record) => legible(record, "number")).findLast((n) => n !== null);
  if (after == null || after === crowd.after)
    throw new ErpAnswerError("The ERP returned the same page twice");
  return { ...run, crowd: { ...crowd, after } };
}

/** A position whose floor is not in the future; one from before that was bounded may be. */
function withoutFuture(position: Position, lateMs: number): Position {
  const { floor } = position;
  return floor === null ? position : { ...position, floor: Math.min(floor, Date.now() - lateMs) };
}

/** Where the next run begins. */
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

/** The instant of the page's last legible record. */
function lastInstant(records: readonly unknown[]): number {
  const last = instantsOf(records).at(-1);
  if (last === undefined) throw new ErpAnswerError("The ERP's records bear no times");
  return last;
}

function isInOrder(records: readonly unknown[]): boolean {
  const instants = instantsOf(records);
  return instants.every((instant, place) => instant >= (instants[place - 1] ?? instant) - blurMs);
}

function instantsOf(records: readonly unknown[]): number[] {
  return records.map(instantOf).filter((instant) => instant !== null);
}

function instantOf(record: unknown): number | null {
  const instant = Date.parse(legible(record, changed) ?? "");
  return Number.isNaN(instant) ? null : instant;
}
