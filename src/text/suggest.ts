/** Longer names are not compared by edit distance, which is quadratic. */
const MAX_COMPARED_LENGTH = 64;

/**
 * The known names most similar to `name`, best first, at most `max`: equal but for case, last part of a dotted name,
 * prefix, then few edits away.
 */
export function nearest(name: string, known: readonly string[], max = 3): string[] {
  if (name === "" || max <= 0) return [];
  const wanted = name.toLowerCase();
  return known
    .map((candidate) => ({ candidate, score: scoreOf(wanted, candidate.toLowerCase()) }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => (a.score ?? 0) - (b.score ?? 0))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Shorter names are near to many others. */
const MIN_MISSPELT_LENGTH = 8;

/** The known name that `name` misspells: one or two edits away, and long enough that this is no coincidence; null otherwise. */
export function misspelt(name: string, known: readonly string[]): string | null {
  if (name.length < MIN_MISSPELT_LENGTH || name.length > MAX_COMPARED_LENGTH) return null;
  const isNear = (candidate: string) =>
    Math.abs(candidate.length - name.length) <= 2 && editDistance(name, candidate) <= 2;
  return nearest(name, known.filter(isNear), 1)[0] ?? null;
}

/** A hint to append to a message, such as " (did you mean `vintage`?)"; empty without a near name. */
export function didYouMean(name: string, known: readonly string[]): string {
  const names = nearest(name, known).map((candidate) => `\`${candidate}\``);
  const last = names.pop();
  if (last === undefined) return "";
  return names.length === 0
    ? ` (did you mean ${last}?)`
    : ` (did you mean ${names.join(", ")} or ${last}?)`;
}

/** Lower is nearer; null if too far. */
function scoreOf(wanted: string, candidate: string): number | null {
  if (candidate === wanted) return 0;
  if (candidate.endsWith(`.${wanted}`)) return 0.25;
  if (candidate.startsWith(wanted)) return 0.5;
  const longest = Math.max(wanted.length, candidate.length);
  const allowed = Math.max(1, Math.floor(Math.min(wanted.length, candidate.length) * 0.4));
  if (longest > MAX_COMPARED_LENGTH) return null;
  if (Math.abs(wanted.length - candidate.length) > allowed) return null;
  const distance = editDistance(wanted, candidate);
  return distance <= allowed ? distance : null;
}

/** The number of insertions, deletions, substitutions and transpositions between two texts. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, substituted);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, at(beforeLast, j - 2) + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
