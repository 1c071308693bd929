import express, { type RequestHandler } from "express";
import { HttpError } from "./HttpError.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
// Texts that PostgreSQL cannot store, or that would be stored as something else than was sent.
const suspicious = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/** Reads a JSON object from the body, strictly: type, encoding and shape are refused with their own status. */
export function jsonBody(limitBytes: number): RequestHandler[] {
  const raw = express.raw({ type: () => true, limit: limitBytes });
  const parse: RequestHandler = (request, _response, next) => {
    if (!request.is("application/json"))
      throw new HttpError(
        415,
        "UNSUPPORTED_MEDIA_TYPE",
        "Send the body as Content-Type: application/json",
      );
    const body: unknown = request.body;
    if (!Buffer.isBuffer(body) || body.length === 0)
      throw new HttpError(400, "BAD_USER_INPUT", "The body is empty");
    let text: string;
    try {
      text = strictUtf8.decode(body);
    } catch {
      throw new HttpError(400, "BAD_USER_INPUT", "The body is not valid UTF-8");
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new HttpError(400, "BAD_USER_INPUT", "The body is not valid JSON");
    }
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new HttpError(
        400,
        "BAD_USER_INPUT",
        "The body must be one JSON object; batches are not taken",
      );
    if (suspicious.test(text)) refuseBrokenText(value, []);
    request.body = value;
    next();
  };
  return [raw, parse];
}

function refuseBrokenText(value: unknown, path: string[]): void {
  if (typeof value === "string" && (!value.isWellFormed() || value.includes("\0")))
    throw new HttpError(
      400,
      "BAD_USER_INPUT",
      `${path.join(".")} holds a character that no text may hold (NUL, or half of a surrogate pair)`,
    );
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) refuseBrokenText(inner, [...path, key]);
}
