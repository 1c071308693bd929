import express, { type RequestHandler } from "express";
import { brokenText, isStorable } from "../graphql/literals.ts";
import { HttpError, tooLarge } from "./HttpError.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
/** What nests deeper is no input of ours; following it would run out of stack. */
const depthLimit = 50;

/**
 * Reads a JSON object from the body, strictly: type, encoding and shape are refused with their own status. A compressed body
 * is bounded by what it inflates to.
 */
export function jsonBody(limitBytes: number): RequestHandler[] {
  const checkHead: RequestHandler = (request, _response, next) => {
    const { headers } = request;
    const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers["content-type"] ?? "")?.[1];
    if (headers["content-length"] === "0") throw malformed("The body is empty");
    if (!request.is("application/json") || !/^utf-?8$/i.test(charset ?? "utf-8"))
      throw new HttpError(
        415,
        "BAD_USER_INPUT",
        "Send the body as Content-Type: application/json, in UTF-8",
      );
    // The reader would answer only when all of it has come.
    if (Number(headers["content-length"]) > limitBytes) throw tooLarge();
    headers["content-type"] = "application/json";
    next();
  };
  const raw = express.raw({ type: () => true, limit: limitBytes });
  const parse: RequestHandler = (request, _response, next) => {
    const value = parseJson(request.body);
    const fault = findFault(value, 0);
    if (fault) throw malformed(fault.message(fault.path.join(".")), fault.path);
    request.body = value;
    next();
  };
  return [checkHead, raw, parse];
}

function malformed(message: string, path?: readonly string[]): HttpError {
  return new HttpError(400, "BAD_USER_INPUT", message, path?.length ? { path } : {});
}

function parseJson(body: unknown): object {
  if (!Buffer.isBuffer(body) || body.length === 0) throw malformed("The body is empty");
  let text: string;
  try {
    text = strictUtf8.decode(body);
  } catch {
    throw malformed("The body is not valid UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed("The body is not valid JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw malformed("The body must be one JSON object; batches are not taken");
  return value;
}

interface Fault {
  path: string[];
  message: (place: string) => string;
}

/** The first text that cannot be stored, or the first value that is nested too deeply. */
function findFault(value: unknown, depth: number): Fault | null {
  if (typeof value === "string")
    return isStorable(value) ? null : { path: [], message: brokenText };
  if (typeof value !== "object" || value === null) return null;
  if (depth === depthLimit)
    return { path: [], message: (place) => `${place} is nested too deeply` };
  for (const key in value) {
    const fault = isStorable(key)
      ? findFault((value as Record<string, unknown>)[key], depth + 1)
      : { path: [], message: (place: string) => brokenText(`A key of ${place}`) };
    if (!fault) continue;
    if (isStorable(key)) fault.path.unshift(key);
    return fault;
  }
  return null;
}
