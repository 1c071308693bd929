import { resolve } from "node:path";

const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/**
 * Limits and time-outs that no deployment has a reason to change. They are part of the configuration, so that a test can pass
 * others to `readConfig`; no environment variable sets them.
 */
export const constants = {
  /** Longer than any step of a request or a job; a health check of an orchestrator gives up after about the same time. */
  eventLoopTimeoutMs: 20_000,
  invitationDays: 7,
  database: {
    /** Test tenants have schemas beside it, named after it. */
    schema: "backoffice",
    /** Reads from the primary are faster than a longer wait for the replica. */
    replicaWaitMs: 50,
  },
  worker: {
    /** A worker without six heartbeats in a row loses its jobs. */
    heartbeatMs: 4_000,
    /** Only for jobs whose time comes: new jobs are announced by `notify`. */
    pollMs: 2_000,
    /** Changes must be searchable, and watches evaluated, within two seconds. */
    changePollMs: 200,
    /** A job handles a whole import or export in one statement at times. */
    statementTimeoutMs: 10 * minuteMs,
  },
  /** A GraphQL request of the front end needs about a tenth of each. */
  limits: {
    bodyBytes: 5 * mebibyte,
    tokens: 4_000,
    depth: 14,
    aliases: 50,
    fields: 2_000,
    rootFields: 20,
    /** Nodes, estimated from the page sizes. */
    cost: 200_000,
    variableValues: 250_000,
    /** GraphQL documents whose plans are cached. */
    planCache: 200,
  },
  load: {
    /** How long a request may be queued; while the oldest has waited for half of that, new requests get 503 at once. */
    waitMs: 2_000,
  },
  /** Reading a workbook occupies a processor core while the server must still answer requests. */
  uploads: { threads: 1, memoryMb: 512, timeoutMs: 15_000, waitMs: 15_000 },
  login: { timeoutMs: 5_000 },
  console: {
    /** The name of the service in the console. */
    title: "Back office",
    /** The output folder of `npm run admin:build`. */
    folder: resolve(import.meta.dirname, "../../admin/dist"),
  },
  mail: { timeoutMs: 30_000 },
  erp: {
    timeoutMs: minuteMs,
    /** Orders or customers of one request. */
    pageSize: 200,
    retries: 4,
    /** When the ERP requests a longer delay (`Retry-After`), the job is postponed instead. */
    longestWaitMs: 30_000,
    /** Requests in a row without a response that open the circuit breaker. */
    breakerFailures: 5,
    breakerMs: 30_000,
    /** A change may become visible this long after its time stamp: each run looks back this far. */
    lateMs: 5 * minuteMs,
  },
  workflow: { timeoutMs: 10_000 },
  files: {
    timeoutMs: 30_000,
    /** Every S3 store serves `endpoint/bucket`; a host name for each bucket needs DNS and certificates. */
    forcePathStyle: true,
    /** How long a check of the bucket's owner counts. */
    ownerCheckMs: 30_000,
  },
  exports: {
    /** Always fewer than EXPORT_CONCURRENCY, unless that is 1. */
    atOncePerUser: 2,
    linkSeconds: 300,
    workbookBytes: 10 * mebibyte,
    images: { bytes: 5 * mebibyte, timeoutMs: 10_000 },
  },
  assistant: {
    /** Requests to the model for one answer: one more than it uses tools. */
    maxSteps: 10,
    /** Tokens that the model may write for one answer, in all its steps. */
    maxOutputTokens: 8_000,
    /** The beginning of a longer conversation is left out. */
    maxContextCharacters: 200_000,
    /** A longer conversation takes no further question: it is read whole, by the server and by its reader. */
    conversationCharacters: 2_000_000,
    /** Uses of tools in one answer, and how many of them run at a time: they share the database with all users. */
    toolCalls: 50,
    parallelToolCalls: 2,
    /** Streams of answers in progress that one user reads at a time from one server, besides those of the questions. */
    streamsPerUser: 10,
    answerTimeoutMs: 3 * minuteMs,
    /** Models that reason may be silent for half a minute. */
    silenceTimeoutMs: 45_000,
    messageCharacters: 20_000,
    approvalMinutes: 15,
    attachmentBytes: 10 * mebibyte,
    attachmentsPerMessage: 5,
    attachmentsPerDay: 200,
    /** Of all files of one user. */
    storedBytes: 1024 * mebibyte,
    /** Characters of a workbook or a CSV file that the model gets. */
    attachmentCharacters: 40_000,
  },
  search: { timeoutMs: 5_000 },
};

export type Constants = typeof constants;

type DeepPartial<T> = { [K in keyof T]?: T[K] extends object ? DeepPartial<T[K]> : T[K] };

/** Other values for a test. */
export type ConstantOverrides = DeepPartial<Constants>;

/** The constants with other values for those that `overrides` names. */
export function withOverrides<T extends object>(values: T, overrides: DeepPartial<T>): T {
  const entries = Object.entries(values).map(([name, value]: [string, unknown]) => {
    const override: unknown = overrides[name as keyof T];
    if (override === undefined) return [name, value];
    const isGroup = typeof value === "object" && value !== null;
    return [name, isGroup ? withOverrides(value, override as object) : override];
  });
  return Object.fromEntries(entries) as T;
}
