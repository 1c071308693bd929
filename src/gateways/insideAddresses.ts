import { lookup as systemLookup } from "node:dns";
import { BlockList, type LookupFunction, isIP } from "node:net";

// Networks that request-filtering-agent takes for public ones.
const inside = new BlockList();
// IPv4 addresses within IPv6, in the old form without `ffff`.
inside.addSubnet("::", 96, "ipv6");
// The host agent of Azure, which virtual machines reach at this public address.
inside.addAddress("168.63.129.16", "ipv4");

/** Whether an IP address, in brackets or not, is in one of these networks; false for a name. */
export function isInsideAddress(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  const version = isIP(address);
  return version !== 0 && inside.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** A resolver that fails for names that lead to such an address, so that the check and the connection see the same one. */
export function outsideLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const all = Array.isArray(address) ? address.map((one) => one.address) : [address];
      if (!error && all.some(isInsideAddress))
        callback(new Error("the name leads to an inside address"), address, family);
      else callback(error, address, family);
    });
  };
}
