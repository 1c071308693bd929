import { isIP } from "node:net";
import type { Request } from "express";

/** Where a request comes from. What a header says counts only when it is an address at all. */
export function addressOf(request: Request): string {
  const address = isIP(request.ip ?? "") ? request.ip : request.socket.remoteAddress;
  return (address ?? "").replace(/^::ffff:(?=[\d.]+$)/, "");
}
