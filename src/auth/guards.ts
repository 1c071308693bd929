import { PublicError, UnauthenticatedError, missingPermission } from "../errors/PublicError.ts";
import type { RequestInfo } from "./identity.ts";

/**
 * Who may use a root field: anyone (`public`); any valid credential (`principal`); a full login, which is a session or an unscoped
 * API token (`login`); a session, and no API token whatever (`session`); or whoever holds every one of the permission keys, before
 * which `login` or `session` may stand to ask for that as well.
 */
export type Guard = "public" | "principal" | Login | readonly string[];
/** What a guard can ask of the login itself. */
export type Login = "login" | "session";

/** Reads a guard as it is written in a tag or an SDL directive; undefined when it says nothing. */
export function parseGuard(text: string | undefined): Guard | undefined {
  const words = text?.split(/[\s,]+/).filter(Boolean) ?? [];
  const [first] = words;
  if (first === undefined) return undefined;
  if (words.length === 1 && (first === "public" || first === "principal" || isLogin(first)))
    return first;
  return words;
}

/** The guard of a table's root fields: its tag `@read`, after `@session` or `@login`; undefined when there is none. */
export function readGuard(tags: Record<string, unknown> | undefined): string | undefined {
  if (typeof tags?.read !== "string") return undefined;
  const login = (["session", "login"] as const).find((tag) => tags[tag] !== undefined);
  return login === undefined ? tags.read : `${login} ${tags.read}`;
}

type Caller = Pick<RequestInfo, "identity" | "hasToken">;

/** Refuses a caller whom the guard does not let pass. @throws PublicError */
export function checkGuard(guard: Guard, caller: Caller): void {
  const refusal = refusalBy(guard, caller);
  if (refusal) throw refusal;
}

export function passesGuard(guard: Guard, caller: Caller): boolean {
  return refusalBy(guard, caller) === null;
}

function refusalBy(guard: Guard, { identity, hasToken }: Caller): PublicError | null {
  if (guard === "public") return null;
  if (!identity) return new UnauthenticatedError(hasToken);
  if (guard === "principal") return null;
  const login = loginIn(guard);
  if (login === "login" && identity.scoped)
    return new PublicError(
      "FORBIDDEN",
      "This needs a full login: a token narrowed to scopes does not suffice",
    );
  if (login === "session" && identity.sessionId === null)
    return new PublicError(
      "FORBIDDEN",
      "This needs a session: log in; no API token suffices, whatever its scopes",
    );
  if (typeof guard === "string") return null;
  const keys = permissionKeys(guard);
  // A list of no permissions opens nothing.
  if (keys.length === 0) return new PublicError("FORBIDDEN", "Nobody may do this");
  const missing = keys.find((key) => !identity.permissions.has(key));
  return missing === undefined ? null : missingPermission(missing);
}

/** What a guard asks of the login itself; undefined when any credential will do. */
export function loginIn(guard: Guard): Login | undefined {
  const first = typeof guard === "string" ? guard : guard[0];
  return isLogin(first) ? first : undefined;
}

function isLogin(word: string | undefined): word is Login {
  return word === "login" || word === "session";
}

/** The permissions that a guard asks for, beside what it asks of the login. */
export function permissionKeys(guard: readonly string[]): readonly string[] {
  return loginIn(guard) === undefined ? guard : guard.slice(1);
}

/** The guard of a root field; one without lets nobody pass. */
export function guardOf({ extensions }: { extensions: object }): Guard {
  return (extensions as { office?: { guard?: Guard } }).office?.guard ?? [];
}
