import { isIP } from "node:net";
import type { Request } from "express";

const known = new WeakMap<Request, string>();

/** The client's address. A header counts only if it holds an IP address. */
export function clientAddress(request: Request): string {
  let address = known.get(request);
  if (address === undefined) known.set(request, (address = findAddress(request)));
  return address;
}

function findAddress(request: Request): string {
  const address = isIP(request.ip ?? "") ? request.ip : request.socket.remoteAddress;
  return (address ?? "").replace(/^::ffff:(?=[\d.]+$)/, "");
}
