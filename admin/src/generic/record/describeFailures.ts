import type { Outcome } from "../../api/requestEach.ts";
import { enRecord } from "../../text/enRecord.ts";

/** The number of rows in a message. */
const mostShown = 5;

/** For how many of several rows something is done, and the others by name with the reason, one in a line. */
export function describeFailures<Target>(
  { done, failed, untried }: Outcome<Target, unknown>,
  nameOf: (target: Target) => string,
): string {
  const lines = failed.slice(0, mostShown).map(({ target, error }) => {
    const reason = error instanceof Error ? error.message : String(error);
    return `${nameOf(target)}: ${reason}`;
  });
  const left = failed.length + untried.length;
  const more = left - lines.length;
  return [
    enRecord.selected.someDone(done.length, done.length + left),
    ...lines,
    ...(more > 0 ? [enRecord.selected.more(more)] : []),
  ].join("\n");
}
