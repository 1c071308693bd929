import { createHash } from "node:crypto";
import type { Request } from "express";
import type { IdempotencyKey } from "../auth/identity.ts";
import { badUserInput } from "../errors/PublicError.ts";

const name = "Idempotency-Key";
const keyPattern = /^[\x20-\x7e]{1,255}$/;

/**
 * The request's `Idempotency-Key` and its body, both hashed, since a key may be a secret sent by mistake. Null without
 * the header. @throws PublicError BAD_USER_INPUT
 */
export function idempotencyKeyOf(request: Request): IdempotencyKey | null {
  const given = request.rawHeaders.filter(
    (_value, index) =>
      index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === name.toLowerCase(),
  );
  const [key] = given;
  if (key === undefined) return null;
  if (given.length > 1 || !keyPattern.test(key))
    throw badUserInput(`${name} must be 1 to 255 printable ASCII characters, given once`, {
      header: name,
    });
  const { query, operationName, variables } = request.body as Record<string, unknown>;
  const wanted = JSON.stringify([query, operationName ?? null, variables ?? null]);
  return { keyHash: hash(key), requestHash: hash(wanted) };
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
