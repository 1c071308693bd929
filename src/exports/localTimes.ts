/** Offsets change at most at quarters of an hour. */
const quarter = 15 * 60_000;
const maxCachedOffsets = 5_000;

/**
 * Moves timestamps by the offset of a time zone, so that their UTC parts are the local time: cells of a workbook have no
 * time zone. Summer time is that of each timestamp.
 * @throws RangeError for an unknown time zone
 */
export function localTimes(timeZone: string): (moment: Date) => Date {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const offsets = new Map<number, number>();
  return (moment) => {
    const time = moment.getTime();
    const key = Math.floor(time / quarter);
    let offset = offsets.get(key);
    if (offset === undefined) {
      if (offsets.size >= maxCachedOffsets) offsets.clear();
      offset = offsetOf(format, moment);
      offsets.set(key, offset);
    }
    return new Date(time + offset);
  };
}

/** The offset in milliseconds, from a name such as `GMT+02:00`; `GMT` is 0. */
function offsetOf(format: Intl.DateTimeFormat, moment: Date): number {
  const name = format.formatToParts(moment).find(({ type }) => type === "timeZoneName")?.value;
  const [, sign, hours, minutes, seconds = 0] =
    /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name ?? "") ?? [];
  if (sign === undefined) return 0;
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -offset : offset;
}
