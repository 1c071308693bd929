/** Rows taken one at a time, with a look at whether more follow. */
export interface RowCursor<T> {
  /** The next row; undefined after the last. */
  next(): Promise<T | undefined>;
  more(): Promise<boolean>;
  /** Tells the source that no more rows are wanted; safe to call at any time and again. */
  close(): void;
}

/** A cursor over `rows` that closes them as soon as the signal is aborted, even while they are waited for. */
export function rowCursor<T>(rows: AsyncIterable<T>, signal: AbortSignal): RowCursor<T> {
  const source = rows[Symbol.asyncIterator]();
  let ahead: IteratorResult<T, unknown> | undefined;
  let closed = false;
  const close = () => {
    if (closed) return;
    closed = true;
    signal.removeEventListener("abort", close);
    // Nobody waits for it: its failure would be the second one, after what made us close.
    source.return?.().catch(() => {});
  };
  signal.addEventListener("abort", close, { once: true });
  const pull = async (): Promise<IteratorResult<T, unknown>> => {
    signal.throwIfAborted();
    const result = await source.next();
    signal.throwIfAborted();
    return result;
  };
  return {
    close,
    next: async () => {
      const result = ahead ?? (await pull());
      // The end is kept, so that a source is not asked again after it.
      ahead = result.done === true ? result : undefined;
      return result.done === true ? undefined : result.value;
    },
    more: async () => {
      ahead ??= await pull();
      return ahead.done !== true;
    },
  };
}
