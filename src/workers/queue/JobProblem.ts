/**
 * An expected failure whose message the person who started the job may read. The job is retried while attempts are
 * left; the message of any other error is not shown to users.
 */
export class JobProblem extends Error {
  override name = "JobProblem";
  /** Minimum delay before the next attempt; the queue's own backoff may be longer. */
  readonly notBeforeMs: number;

  constructor(message: string, options: { cause?: unknown; notBeforeMs?: number } = {}) {
    super(message, { cause: options.cause });
    this.notBeforeMs = options.notBeforeMs ?? 0;
  }
}

/** A {@link JobProblem} that requeues the job without consuming an attempt. */
export class JobPostponed extends JobProblem {
  override name = "JobPostponed";

  constructor(message: string, notBeforeMs: number, cause?: unknown) {
    // Without a delay, this process could take the job again before the queue has recorded the end of this attempt.
    super(message, { cause, notBeforeMs: Math.max(notBeforeMs, 1_000) });
  }
}
