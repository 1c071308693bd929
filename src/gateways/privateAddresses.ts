import { lookup as systemLookup } from "node:dns";
import { BlockList, type LookupFunction, isIP } from "node:net";

// Non-public networks that request-filtering-agent treats as public.
const nonPublicNetworks = new BlockList();
// IPv4-compatible IPv6 addresses, the deprecated form without `ffff`.
nonPublicNetworks.addSubnet("::", 96, "ipv6");
// Azure's host agent, which virtual machines reach at this public address.
nonPublicNetworks.addAddress("168.63.129.16", "ipv4");

/** Whether an IP address, with or without brackets, is in one of these networks; false for a host name. */
export function isPrivateAddress(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  const version = isIP(address);
  return version !== 0 && nonPublicNetworks.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** A resolver that rejects names with such an address, so that check and connection use the same address. */
export function publicLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const all = Array.isArray(address) ? address.map((one) => one.address) : [address];
      if (!error && all.some(isPrivateAddress))
        callback(new Error("the name resolves to a private address"), address, family);
      else callback(error, address, family);
    });
  };
}
