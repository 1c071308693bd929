import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

// Preloaded into each Node process of a service: refuses connections and look-ups beyond this machine, and records
// them. A network namespace would need rights that not every machine of the tests gives.

const isHere = (host: string) =>
  host === "localhost" ||
  host === "::1" ||
  /^(::ffff:)?127\./.test(host) ||
  host === "0.0.0.0" ||
  host === process.env["DATABASE_HOST_OF_TESTS"];

/** Records a refused connection; returns its error. */
function refuse(target: string): Error {
  appendFileSync(process.env["REFUSED_CONNECTIONS"] ?? "", `${target} ${process.argv[1] ?? ""}\n`);
  return Object.assign(new Error(`connect ENETUNREACH ${target}`), { code: "ENETUNREACH" });
}

/** The host in the arguments of `connect`; undefined for a socket file and for the default host. */
function hostOf(given: readonly unknown[]): string | undefined {
  const [first, second] = given;
  // `net.connect` passes its arguments as a list.
  if (Array.isArray(first)) return hostOf(first);
  if (typeof first === "object" && first !== null) return (first as { host?: string }).host;
  return typeof first === "number" && typeof second === "string" ? second : undefined;
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the socket below
const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (this: net.Socket, ...given: unknown[]) {
  const host = hostOf(given);
  if (host !== undefined && !isHere(host)) {
    refuse(host);
    // Nothing listens there, so it fails like any connection, after the caller has added its listeners.
    return Reflect.apply(connect, this, [{ host: "127.0.0.1", port: 1 }]);
  }
  return Reflect.apply(connect, this, given);
} as typeof connect;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the socket below
const { send } = dgram.Socket.prototype;
dgram.Socket.prototype.send = function (this: dgram.Socket, ...given: unknown[]) {
  const host = given.findLast((item) => typeof item === "string");
  if (host !== undefined && !isHere(host)) throw refuse(host);
  return Reflect.apply(send, this, given);
} as typeof send;

type LookUp = (...given: unknown[]) => unknown;
for (const [functions, isPromised] of [
  [dns as unknown as Record<string, LookUp>, false],
  [dns.promises as unknown as Record<string, LookUp>, true],
] as const)
  for (const name of Object.keys(functions).filter((key) => /^(lookup|resolve)/.test(key))) {
    const original = functions[name];
    if (original === undefined) continue;
    functions[name] = (...given: unknown[]) => {
      const host = String(given[0]);
      if (isHere(host) || net.isIP(host) !== 0) return original(...given);
      const error = refuse(host);
      if (isPromised) return Promise.reject(error);
      process.nextTick(given.at(-1) as (error: Error) => void, error);
      return undefined;
    };
  }
syncBuiltinESMExports();
