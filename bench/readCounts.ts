import { parseArgs } from "node:util";

/**
 * Reads the arguments of a program that are counts, in the order of `defaults`; one that is left out has its default.
 *
 * @throws when an argument is not a whole number from 1, and for options and further arguments
 */
export function readCounts<Name extends string>(
  defaults: Record<Name, number>,
): Record<Name, number> {
  const { positionals } = parseArgs({ options: {}, allowPositionals: true });
  const names = Object.keys(defaults) as Name[];
  const usage = names.map((name) => `[${name}]`).join(" ");
  if (positionals.length > names.length)
    throw new Error(`There are ${positionals.length} arguments; write ${usage}`);
  const counts = { ...defaults };
  for (const [place, text] of positionals.entries()) {
    const name = names[place]!;
    if (!/^[1-9]\d{0,9}$/.test(text))
      throw new Error(`"${text}" is no number of ${name}; write ${usage} as whole numbers`);
    counts[name] = Number(text);
  }
  return counts;
}
