/** How the processor time of a piece of work grew with its input. */
export interface Growth {
  /** Milliseconds for an eighth, a quarter, a half and the whole of the largest input. */
  costs: number[];
  /** Milliseconds for eight times the largest input, which is beyond the bound. */
  beyond: number;
}

/** So much processor time is measured at a time, in milliseconds: the clock of some machines counts in steps of four. */
const enoughMs = 24;
const mostRuns = 200;

/** The processor time of this thread for one run, in milliseconds: the smaller of two means, since garbage is collected in some runs. */
async function timeOf(work: () => unknown): Promise<number> {
  const mean = async () => {
    const before = process.threadCpuUsage();
    for (let runs = 1; ; runs++) {
      await work();
      const { user, system } = process.threadCpuUsage(before);
      const ms = (user + system) / 1000;
      if (ms >= enoughMs || runs === mostRuns) return ms / runs;
    }
  };
  return Math.min(await mean(), await mean());
}

/** Measures `run` on what `make` gives for growing sizes. Making is not counted, and a refusal counts as work. */
export async function growthOf<Input>(
  largest: number,
  make: (size: number) => Input,
  run: (input: Input) => unknown,
): Promise<Growth> {
  const costOf = async (size: number) => {
    const input = make(Math.floor(size));
    return timeOf(async () => {
      try {
        await run(input);
      } catch {
        // A refusal.
      }
    });
  };
  const costs: number[] = [];
  // What is run for the first time is compiled.
  await costOf(largest / 8);
  for (const part of [8, 4, 2, 1]) costs.push(await costOf(largest / part));
  return { costs, beyond: await costOf(largest * 8) };
}

/** Less than this is not told from nothing, in milliseconds. */
const floorMs = 1;
/** Times more than in proportion, for caches that a larger input no longer fits into. */
const margin = 2.5;

/** What is wrong with a growth: more than in proportion, or too much beside a bound in milliseconds. Empty when all is well. */
export function growthFaults({ costs, beyond }: Growth, boundMs: number): string[] {
  const [first = 0, , , last = 0] = costs;
  return [
    ...(last > 8 * margin * Math.max(first, floorMs) ? ["grows faster than its input"] : []),
    ...(last > boundMs ? [`costs more than ${boundMs} ms`] : []),
    // A refusal looks at the input once at most.
    ...(beyond > 8 * margin * Math.max(last, floorMs) ? ["grows faster beyond its bound"] : []),
  ];
}
