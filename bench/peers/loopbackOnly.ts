import dns from "node:dns";

// Keeps the measured programs on this machine: libraries cannot look up the names of other hosts.
const { lookup } = dns;
const isLocal = (name: string) => name === "localhost" || name === "127.0.0.1";
dns.lookup = ((name: string, ...rest: unknown[]) => {
  if (isLocal(name)) {
    Reflect.apply(lookup, dns, [name, ...rest]);
    return;
  }
  const tell = rest.at(-1) as (error: Error) => void;
  const refused = Object.assign(new Error(`${name} is not looked up here`), { code: "ENOTFOUND" });
  process.nextTick(tell, refused);
}) as typeof dns.lookup;
