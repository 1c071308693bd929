/**
 * What keeps a task from being done this time, in words for the person who started it: thrown by a task, it stands on the job's
 * record, and the job is tried again as long as it has attempts left. (Of any other error a person is told only that there was one.)
 */
export class JobProblem extends Error {
  override name = "JobProblem";
  /** Not to be tried again before so many milliseconds have passed; the queue's own wait may be longer. */
  readonly notBeforeMs: number;

  constructor(message: string, options: { cause?: unknown; notBeforeMs?: number } = {}) {
    super(message, { cause: options.cause });
    this.notBeforeMs = options.notBeforeMs ?? 0;
  }
}

/** As {@link JobProblem}, for what is not even tried just now: the job waits at no attempt's cost. */
export class JobPostponed extends JobProblem {
  override name = "JobPostponed";

  constructor(message: string, notBeforeMs: number, cause?: unknown) {
    // A job that is free again at once could be taken by this very process before the queue hears how the attempt ended.
    super(message, { cause, notBeforeMs: Math.max(notBeforeMs, 1_000) });
  }
}
