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
  return destination === undefined ? pino(options) : pino(options, destination);
}
