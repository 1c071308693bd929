import { PublicError, UnauthenticatedError, missingPermission } from "../errors/PublicError.ts";
import type { RequestInfo } from "./identity.ts";

/**
 * Who may use a root field: anyone (`public`); any valid credential (`principal`); a session or an unscoped API token
 * (`login`); a session (`session`); or a caller with all permission keys, with `login` or `session` in front to require
 * that too.
 */
export type Guard = "public" | "principal" | LoginRequirement | readonly string[];
/** A requirement on the credential. */
export type LoginRequirement = "login" | "session";

/** Parses a guard of a tag or an SDL directive; undefined when it is empty. */
export function parseGuard(text: string | undefined): Guard | undefined {
  const words = text?.split(/[\s,]+/).filter(Boolean) ?? [];
  const [first] = words;
  if (first === undefined) return undefined;
  if (words.length === 1 && (first === "public" || first === "principal" || isLogin(first)))
    return first;
  return words;
}

/**
 * The guard of a table's root fields: its tag `@read` after `@session` or `@login`; undefined without it. `@read login`
 * needs no permission; a view can name permissions beside it.
 */
export function readGuard(tags: Record<string, unknown> | undefined): string | undefined {
  return verbGuard(tags, "read");
}

/** The guard of a table's mutations by the tag of the verb; a table that is read by logins only is changed by them only. */
export function verbGuard(
  tags: Record<string, unknown> | undefined,
  verb: "read" | "create" | "update" | "delete",
): string | undefined {
  if (typeof tags?.[verb] !== "string") return undefined;
  const wordsOf = (tag: unknown) =>
    typeof tag === "string" ? tag.split(/[\s,]+/).filter(Boolean) : [];
  const login = (["session", "login"] as const).find(
    (tag) => tags[tag] !== undefined || wordsOf(tags.read).includes(tag),
  );
  const keys = wordsOf(tags[verb]).filter((word) => !isLogin(word));
  return [...(login === undefined ? [] : [login]), ...keys].join(" ");
}

type Caller = Pick<RequestInfo, "identity" | "hasToken">;

/** Throws when the guard refuses the caller. @throws PublicError */
export function checkGuard(guard: Guard, caller: Caller): void {
  const refusal = guardError(guard, caller);
  if (refusal) throw refusal;
}

export function passesGuard(guard: Guard, caller: Caller): boolean {
  return guardError(guard, caller) === null;
}

/** The error by which a guard refuses the caller; null when it does not. */
export function guardError(guard: Guard, { identity, hasToken }: Caller): PublicError | null {
  if (guard === "public") return null;
  if (!identity) return new UnauthenticatedError(hasToken);
  if (guard === "principal") return null;
  const login = loginRequirement(guard);
  if (login === "login" && identity.scoped)
    return new PublicError("FORBIDDEN", "This needs a full login: a scoped token is not enough");
  if (login === "session" && identity.sessionId === null)
    return new PublicError(
      "FORBIDDEN",
      "This needs a session: log in; an API token is not enough, with or without scopes",
    );
  if (typeof guard === "string") return null;
  const keys = permissionKeys(guard);
  // An empty list refuses everyone.
  if (keys.length === 0) return new PublicError("FORBIDDEN", "No permission allows this");
  const missing = keys.find((key) => !identity.permissions.has(key));
  return missing === undefined ? null : missingPermission(missing);
}

/** The requirement on the credential; undefined when any credential suffices. */
export function loginRequirement(guard: Guard): LoginRequirement | undefined {
  const first = typeof guard === "string" ? guard : guard[0];
  return isLogin(first) ? first : undefined;
}

function isLogin(word: string | undefined): word is LoginRequirement {
  return word === "login" || word === "session";
}

/** The permission keys of a guard, without its requirement on the credential. */
export function permissionKeys(guard: readonly string[]): readonly string[] {
  return loginRequirement(guard) === undefined ? guard : guard.slice(1);
}

/** The guard of a root field; without a guard, the field refuses everyone. */
export function guardOf({ extensions }: { extensions: object }): Guard {
  return (extensions as { office?: { guard?: Guard } }).office?.guard ?? [];
}

/** What a guard needs, such as "a session (no API token) and `orders.read`". */
export function guardText(guard: Guard): string {
  if (guard === "public") return "no login";
  if (guard === "principal") return "a login or any API token";
  const login = loginRequirement(guard);
  const parts = [
    ...(login === undefined ? [] : [loginTexts[login]]),
    ...(typeof guard === "string" ? [] : permissionKeys(guard).map((key) => `\`${key}\``)),
  ];
  return parts.join(" and ") || "a permission that nobody has";
}

const loginTexts: Readonly<Record<LoginRequirement, string>> = {
  login: "a login or an unscoped API token",
  session: "a session (no API token)",
};
