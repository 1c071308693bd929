import fs from "node:fs";
import type { DestinationStream, Logger, LoggerOptions } from "pino";
import { pino } from "pino";

// What may never stand in a log, wherever up to two levels deep an object carries it.
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

/** The log: one JSON object a line, on standard output where no `destination` is given, times in ISO 8601 (UTC), secrets replaced by `[hidden]`. */
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

// What waits for a reader that takes nothing, in bytes; further lines are left out.
const mostWaiting = 16 * 1024 * 1024;

/**
 * Standard output, written to beside other work: who reads the log keeps nobody waiting. What is left at the end of the process is
 * written then, and given up where it cannot be, because nobody reads any more or a disk is full: the library would try it
 * without end (sonic-boom 4.2, `flushSync`), and with it the process.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: mostWaiting });
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    const { writeSync } = fs;
    const giveUp = (fd: number, data: string | Buffer, encoding?: BufferEncoding) => {
      try {
        return typeof data === "string" ? writeSync(fd, data, null, encoding) : writeSync(fd, data);
      } catch (error) {
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        if (waits.has(code)) throw error;
        return Buffer.byteLength(data);
      }
    };
    fs.writeSync = giveUp as typeof fs.writeSync;
    try {
      flushSync();
    } finally {
      fs.writeSync = writeSync;
    }
  };
  return output;
}

// There will be room in a moment.
const waits = new Set(["EAGAIN", "EBUSY"]);
