import pLimit from "p-limit";

export interface Outcome<Target, Result> {
  done: { target: Target; result: Result }[];
  failed: { target: Target; error: unknown }[];
  /** The targets after a first one whose error is that of all. */
  untried: readonly Target[];
}

/** The number of requests at a time: more would make other users of the service wait. */
const parallel = 4;

interface Options {
  /** Called after each request with the number of requests so far. */
  onProgress?: (count: number) => void;
  /** Whether an error of the first target would be that of every one: then the others are not tried. */
  isOfAll?: (error: unknown) => boolean;
}

/** Sends a request for each row or other target, the first alone. */
export async function requestEach<Target, Result>(
  targets: readonly Target[],
  request: (target: Target) => Promise<Result>,
  { onProgress = () => undefined, isOfAll = () => false }: Options = {},
): Promise<Outcome<Target, Result>> {
  const outcome: Outcome<Target, Result> = { done: [], failed: [], untried: [] };
  const [first, rest] = [targets.slice(0, 1), targets.slice(1)];
  const limit = pLimit(parallel);
  let count = 0;
  const send = async (target: Target) => {
    try {
      outcome.done.push({ target, result: await request(target) });
    } catch (error) {
      outcome.failed.push({ target, error });
    }
    onProgress((count += 1));
  };
  await limit.map(first, send);
  if (outcome.failed.some(({ error }) => isOfAll(error))) outcome.untried = rest;
  else await limit.map(rest, send);
  return outcome;
}
