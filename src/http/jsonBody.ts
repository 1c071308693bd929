import express, { type Request, type RequestHandler, type Response } from "express";
import { invalidTextMessage, isStorable } from "../graphql/literals.ts";
import { badRequest, HttpError, tooLarge, unsupportedMediaType } from "../errors/HttpError.ts";
import { exceededLimit } from "../graphql/jsonSize.ts";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";

declare global {
  namespace Express {
    interface Locals {
      /** The body is long: its processing yields to the event loop between the steps. */
      isLong?: boolean;
    }
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const longBytes = 100_000;
/** Deeper values are no valid input and would exhaust the stack. */
const depthLimit = 50;
/** Values of a body besides those that a route limits itself. */
const spareValues = 1_000;
const usualValues = 250_000;

/**
 * Reads a JSON object from the body. Wrong type, encoding and shape each have their own status; a compressed body is
 * limited by its inflated size. `onInvalidText` handles text that PostgreSQL cannot store, which is rejected by default.
 * A long body with more than `values` values is rejected before it is parsed.
 */
export function jsonBody(
  limitBytes: number,
  onInvalidText: (fault: InvalidText, response: Response) => void = rejectInvalidText,
  values = usualValues,
): RequestHandler[] {
  const limits = { depth: depthLimit, values: values + spareValues };
  const checkHead: RequestHandler = (request, _response, next) => {
    const { headers } = request;
    const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers["content-type"] ?? "")?.[1];
    if (headers["content-length"] === "0") throw malformed("The body is empty");
    if (!request.is("application/json") || !/^utf-?8$/i.test(charset ?? "utf-8"))
      throw unsupportedMediaType("Send the body as Content-Type: application/json, in UTF-8");
    // The body reader would answer only after the whole body.
    if (Number(headers["content-length"]) > limitBytes) throw tooLarge();
    headers["content-type"] = "application/json";
    next();
  };
  const raw = express.raw({ type: () => true, limit: limitBytes });
  const read = (request: Request, response: Response) => {
    const text = readText(request.body);
    const value = parseJson(text);
    // In valid UTF-8 and JSON such characters appear only as escapes.
    const fault = findFault(value, 0, text.includes("\\u"));
    if (fault?.isText === false)
      throw malformed(`${fault.path.join(".")} is nested too deeply`, fault.path);
    if (fault) onInvalidText(fault, response);
    request.body = value;
  };
  const parse: RequestHandler = async (request, response, next) => {
    if (Buffer.isBuffer(request.body) && request.body.length > longBytes) {
      response.locals.isLong = true;
      await yieldToEventLoop();
      const exceeded = exceededLimit(request.body, limits);
      if (exceeded === "depth") throw malformed("The body is nested too deeply");
      if (exceeded === "values")
        throw new HttpError(413, "BAD_USER_INPUT", `The body has more than ${values} values`, {
          limit: values,
        });
    }
    read(request, response);
    next();
  };
  return [checkHead, raw, parse];
}

/** @throws HttpError 400 that names the place of the text */
export function rejectInvalidText({ path, message }: InvalidText): never {
  throw malformed(message(path.join(".")), path);
}

function malformed(message: string, path?: readonly (string | number)[]): HttpError {
  return badRequest(message, path?.length ? { path } : {});
}

function readText(body: unknown): string {
  if (!Buffer.isBuffer(body) || body.length === 0) throw malformed("The body is empty");
  try {
    return strictUtf8.decode(body);
  } catch {
    throw malformed("The body is not valid UTF-8");
  }
}

function parseJson(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed("The body is not valid JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw malformed("The body must be one JSON object; batches are not accepted");
  return value;
}

/** Text that PostgreSQL cannot store, and its place in the body. */
export interface InvalidText {
  path: (string | number)[];
  message: (place: string) => string;
}

type Fault = InvalidText & { isText: boolean };

/** The first text that cannot be stored, if `looksAtTexts`, or the first value that is nested too deeply. */
function findFault(value: unknown, depth: number, looksAtTexts: boolean): Fault | null {
  if (typeof value === "string")
    return !looksAtTexts || isStorable(value)
      ? null
      : { path: [], message: invalidTextMessage, isText: true };
  if (typeof value !== "object" || value === null) return null;
  if (depth === depthLimit) return { path: [], message: invalidTextMessage, isText: false };
  if (Array.isArray(value)) {
    // No Object.keys here: lists can hold ten thousands of ids.
    for (let index = 0; index < value.length; index++) {
      const fault = findFault(value[index], depth + 1, looksAtTexts);
      if (fault) return within(index, fault);
    }
    return null;
  }
  for (const key in value) {
    if (looksAtTexts && !isStorable(key))
      return {
        path: [],
        message: (place) => invalidTextMessage(`A key of ${place}`),
        isText: true,
      };
    const fault = findFault((value as Record<string, unknown>)[key], depth + 1, looksAtTexts);
    if (fault) return within(key, fault);
  }
  return null;
}

function within(key: string | number, fault: Fault): Fault {
  fault.path.unshift(key);
  return fault;
}
