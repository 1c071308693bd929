import { AuthorizationResponseError, ClientError, ResponseBodyError } from "openid-client";

/** Why a login failed, for its error page. */
export class LoginProblem extends Error {
  override name = "LoginProblem";
  readonly status: number;
  readonly title: string;
  /** The address that starts the same login again. */
  again: string | null = null;
  /** Seconds to wait before a retry; null where waiting does not help. */
  retryAfter: number | null = null;

  constructor(status: number, title: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.title = title;
  }
}

const askAdministrator = "Ask an administrator of the back office.";

/** Texts for a person whom the provider confirms and the back office refuses. */
const refusals: Record<string, string> = {
  unknown: `No user has your e-mail address, and you have not been invited. ${askAdministrator}`,
  no_email: `Your provider did not send your e-mail address, by which users are recognised here. ${askAdministrator}`,
  unverified_email:
    "Your provider has not verified your e-mail address. Verify it there, then log in again.",
  invitation_expired: "Your invitation is no longer valid. Ask for a new one.",
  inactive: `Your account is not active. ${askAdministrator}`,
  other_identity: `Your e-mail address belongs to an account that logs in with another identity. Ask an administrator to unlink the former one.`,
};

/** The problem for a reason that `complete_login` returned. */
export function refusedLoginProblem(reason: string): LoginProblem {
  return new LoginProblem(403, "You cannot log in", refusals[reason] ?? askAdministrator);
}

/** The problem of a login attempt that is unknown for this browser. */
export function unknownLoginProblem(): LoginProblem {
  return new LoginProblem(
    400,
    "This login cannot be finished",
    "It took too long, was finished already, or was started in another browser. Start again.",
  );
}

/** The problem for an error of the provider `name`. The error itself is not shown. */
export function providerProblem(error: unknown, name: string): LoginProblem {
  if (error instanceof LoginProblem) return error;
  const cause = { cause: error };
  if (error instanceof AuthorizationResponseError)
    return new LoginProblem(
      502,
      "The login failed",
      `${name} did not log you in. Try again in a moment.`,
      cause,
    );
  if (error instanceof ResponseBodyError && error.error === "invalid_grant")
    return new LoginProblem(
      400,
      "This login cannot be finished",
      `${name} no longer accepts it: it took too long or was finished already. Start again.`,
      cause,
    );
  if (
    error instanceof ClientError &&
    (error.code === "OAUTH_TIMEOUT" || error.code === "OAUTH_ABORT")
  )
    return new LoginProblem(504, `${name} does not answer`, "Try again in a moment.", cause);
  if (error instanceof TypeError && error.message === "fetch failed")
    return new LoginProblem(502, `${name} cannot be reached`, "Try again in a moment.", cause);
  return new LoginProblem(
    502,
    "The login failed",
    `${name} sent a response that is not valid. Try again in a moment; if it fails again, tell an administrator.`,
    cause,
  );
}

/** The fields of a provider's error that are safe to log: names and codes. Its response may hold tokens. */
export function toLogFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error };
  const {
    code,
    error: oauthError,
    status,
  } = error as { code?: unknown; error?: unknown; status?: unknown };
  return {
    name: error.name,
    message: error.message,
    code,
    oauthError,
    status,
    ...(error.cause instanceof Error ? { cause: toLogFields(error.cause) } : {}),
  };
}
