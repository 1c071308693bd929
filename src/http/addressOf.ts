import { isIP } from "node:net";
import type { Request } from "express";

const known = new WeakMap<Request, string>();

/** Where a request comes from. What a header says counts only when it is an address at all. */
export function addressOf(request: Request): string {
  let address = known.get(request);
  if (address === undefined) known.set(request, (address = findAddress(request)));
  return address;
}

function findAddress(request: Request): string {
  const address = isIP(request.ip ?? "") ? request.ip : request.socket.remoteAddress;
  return (address ?? "").replace(/^::ffff:(?=[\d.]+$)/, "");
}
