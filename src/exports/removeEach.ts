// A store that is down fails for every file.
const maxFailuresInARow = 5;

interface RemoveEachOptions {
  remove: (key: string) => Promise<unknown>;
  /** Called for a file that cannot be removed, such as one under a retention lock. */
  postpone?: (key: string) => Promise<unknown>;
  signal: AbortSignal;
}

/**
 * Removes files one after the other, and returns their number; a file that cannot be removed does not keep the others.
 * @throws Error after all files when some could not be removed, or after several in a row
 */
export async function removeEach(
  keys: Iterable<string> | AsyncIterable<string>,
  { remove, postpone, signal }: RemoveEachOptions,
): Promise<number> {
  const failures: unknown[] = [];
  let inARow = 0;
  let count = 0;
  for await (const key of keys) {
    signal.throwIfAborted();
    count += 1;
    try {
      await remove(key);
      inARow = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (++inARow >= maxFailuresInARow) throw error;
      failures.push(error);
      await postpone?.(key);
    }
  }
  if (failures.length > 0)
    throw new Error(`${failures.length} of ${count} files could not be removed`, {
      cause: failures[0],
    });
  return count;
}
