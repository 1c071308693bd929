/** CPU time of an operation for inputs of growing size. */
export interface Growth {
  /** Milliseconds for an eighth, a quarter, a half and the whole of the largest input. */
  costs: number[];
  /** Milliseconds for eight times the largest input, which exceeds the limit. */
  beyond: number;
}

/** Minimum CPU time of a measurement, because some clocks advance in steps of 4 ms. */
const enoughMs = 24;
const mostRuns = 200;

/** CPU milliseconds per run on this thread. The smaller of two means excludes garbage collection. */
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

/** Measures `run` with inputs of growing size. Creating an input is not measured, and a refusal counts as a run. */
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
        // The refusal is what is measured.
      }
    });
  };
  const costs: number[] = [];
  // Lets the engine compile the code first.
  await costOf(largest / 8);
  for (const part of [8, 4, 2, 1]) costs.push(await costOf(largest / part));
  return { costs, beyond: await costOf(largest * 8) };
}

/** Shorter times are noise, in milliseconds. */
const floorMs = 1;
/** Allowed factor above linear growth, for inputs that exceed a CPU cache. */
const margin = 2.5;

/** The problems of a growth: superlinear, or above `boundMs` milliseconds. */
export function growthFaults({ costs, beyond }: Growth, boundMs: number): string[] {
  const [first = 0, , , last = 0] = costs;
  return [
    ...(last > 8 * margin * Math.max(first, floorMs) ? ["grows faster than its input"] : []),
    ...(last > boundMs ? [`costs more than ${boundMs} ms`] : []),
    // A refusal reads the input at most once.
    ...(beyond > 8 * margin * Math.max(last, floorMs) ? ["grows faster beyond its bound"] : []),
  ];
}
