import fs from "node:fs";
import type { DestinationStream, Logger, LoggerOptions } from "pino";
import { pino } from "pino";

// Fields that must not be logged, up to two levels deep in an object.
const hidden = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "token",
  "accessToken",
  "apiKey",
  "tokenHash",
  "token_hash",
  "connectionString",
];
const places = ["", "*.", "*.*."];

/**
 * The log: one JSON object per line, on standard output unless `destination` is set, with ISO 8601 times in UTC and
 * secrets replaced by `[hidden]`.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        ...places.flatMap((place) => hidden.map((name) => place + name)),
        "req.headers.authorization",
        "req.headers.cookie",
        'res.headers["set-cookie"]',
      ],
      censor: "[hidden]",
    },
  };
  return pino(options, destination ?? standardOutput());
}

// The size of the buffer while the reader of the log is blocked, in bytes; further lines are dropped.
const maxBufferedBytes = 16 * 1024 * 1024;

/**
 * Standard output, written asynchronously: a slow reader of the log blocks nothing. At the end of the process the rest
 * is written, or dropped when the reader is gone or the disk is full: the library would retry without end (sonic-boom
 * 4.2, `flushSync`).
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: maxBufferedBytes });
  // A full disk ends no process: the buffer is written again with the next line, and dropped while it is full.
  output.on("error", () => failedWrites++);
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    const { writeSync } = fs;
    const dropRest = (fd: number, data: string | Buffer, encoding?: BufferEncoding) => {
      try {
        return typeof data === "string" ? writeSync(fd, data, null, encoding) : writeSync(fd, data);
      } catch (error) {
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        if (retryableCodes.has(code)) throw error;
        return Buffer.byteLength(data);
      }
    };
    fs.writeSync = dropRest as typeof fs.writeSync;
    try {
      flushSync();
    } finally {
      fs.writeSync = writeSync;
    }
  };
  return output;
}

let failedWrites = 0;

/** How often the log could not be written, as on a full disk. */
export const failedLogWrites = (): number => failedWrites;

// Errors after which a retry can succeed.
const retryableCodes = new Set(["EAGAIN", "EBUSY"]);
