import type { RequestHandler } from "express";
import { HttpError } from "../errors/HttpError.ts";
import { isPrivateName } from "../settings/server.ts";

/**
 * Outside production everyone who reaches the server can log in. A page of the internet reaches one on this machine when
 * its own name resolves to 127.0.0.1 (DNS rebinding); so requests for other hosts are refused. Such a page cannot have an
 * IP address, a name without a dot or a name below `localhost`, `local`, `internal` or `test`, which nobody can register.
 */
export function ownHosts(publicUrl: () => string): RequestHandler {
  return ({ headers: { host } }, _response, next) => {
    const name = hostnameOf(host);
    if (
      name === null ||
      (name !== "" && isPrivateName(name)) ||
      name === new URL(publicUrl()).hostname
    )
      next();
    else
      throw new HttpError(
        403,
        "FORBIDDEN",
        "Outside production this server does not answer for this host: set PUBLIC_URL to its address",
      );
  };
}

/** The name in a Host header; null without one, "" for one that is malformed. */
function hostnameOf(host: string | undefined): string | null {
  if (host === undefined) return null;
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
}
