/** Reads rows one at a time with a lookahead. */
export interface RowCursor<T> {
  /** The next row; undefined after the last one. */
  next(): Promise<T | undefined>;
  more(): Promise<boolean>;
  /** Stops the source. May be called at any time and repeatedly. */
  close(): void;
}

/**
 * A cursor over `rows` that closes them when the signal is aborted. A pending read then fails at once, so that its caller
 * releases what it holds, even if the source never answers.
 */
export function rowCursor<T>(rows: AsyncIterable<T>, signal: AbortSignal): RowCursor<T> {
  const source = rows[Symbol.asyncIterator]();
  let ahead: IteratorResult<T, unknown> | undefined;
  let closed = false;
  let endPending: (reason: Error) => void = () => {};
  const close = () => {
    if (closed) return;
    closed = true;
    signal.removeEventListener("abort", close);
    // Ignored, because the error that caused the close is already reported.
    source.return?.().catch(() => {});
    endPending(new Error("The rows are closed", { cause: signal.reason }));
  };
  signal.addEventListener("abort", close, { once: true });
  const pull = async (): Promise<IteratorResult<T, unknown>> => {
    signal.throwIfAborted();
    const result = await new Promise<IteratorResult<T, unknown>>((resolve, reject) => {
      endPending = reject;
      source.next().then(resolve, reject);
    });
    signal.throwIfAborted();
    return result;
  };
  return {
    close,
    next: async () => {
      const result = ahead ?? (await pull());
      // The end is stored, so that the source is not read again after it.
      ahead = result.done === true ? result : undefined;
      return result.done === true ? undefined : result.value;
    },
    more: async () => {
      ahead ??= await pull();
      return ahead.done !== true;
    },
  };
}
