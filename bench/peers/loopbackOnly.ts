import dns from "node:dns";

// What is measured stays on this machine: no name of another is looked up, whatever a library would like to tell or to ask there.
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
