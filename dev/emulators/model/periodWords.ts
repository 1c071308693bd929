import type { Facts } from "./facts.ts";

const seasons: Readonly<Record<string, number>> = {
  spring: 2,
  summer: 5,
  autumn: 8,
  fall: 8,
  winter: 11,
};

/** A time that a question names, as `from` (included) and `to` (excluded), days in UTC; nothing where it names none. */
export function readPeriod(lower: string, now: Date): Facts {
  const year = now.getUTCFullYear();
  const month = now.getUTCMonth();
  const season = /\b(?:this|next|last|in)\s+(spring|summer|autumn|fall|winter)\b/.exec(lower);
  const first = seasons[season?.[1] ?? ""];
  if (season !== null && first !== undefined) {
    const shift = season[0].startsWith("next") ? 1 : season[0].startsWith("last") ? -1 : 0;
    return period(Date.UTC(year + shift, first), Date.UTC(year + shift, first + 3));
  }
  const near = /\b(this|next|last)\s+(week|month|year)\b/.exec(lower);
  if (near !== null) {
    const shift = near[1] === "next" ? 1 : near[1] === "last" ? -1 : 0;
    if (near[2] === "year") return period(Date.UTC(year + shift, 0), Date.UTC(year + shift + 1, 0));
    if (near[2] === "month")
      return period(Date.UTC(year, month + shift), Date.UTC(year, month + shift + 1));
    const monday = now.getUTCDate() - ((now.getUTCDay() + 6) % 7) + 7 * shift;
    return period(Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7));
  }
  if (/\btoday\b/.test(lower))
    return period(
      Date.UTC(year, month, now.getUTCDate()),
      Date.UTC(year, month, now.getUTCDate() + 1),
    );
  return {};
}

function period(from: number, to: number): Facts {
  return { from: day(from), to: day(to) };
}

export function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
