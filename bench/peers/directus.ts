import type { Server } from "node:http";
import { api, withoutScripts } from "./directusSettings.ts";

interface Emitter {
  onFilter: (event: "authenticate", handler: (caller: object) => object) => void;
}

// Directus, started like its own CLI, on a database of prepareDirectus.ts. Every caller is an administrator: there is no
// authentication, and permissions are not looked up.
const { default: emitter } = (await import(`${api}/emitter`)) as { default: Emitter };
const { createServer } = (await import(`${api}/server`)) as { createServer: () => Promise<Server> };
emitter.onFilter("authenticate", (caller) => ({
  ...caller,
  admin: true,
  app: true,
}));
const server = await createServer();
// All of it is loaded; what is imported while a request is answered need not pass here.
withoutScripts.deregister();
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address)
    process.send?.({ url: `http://127.0.0.1:${address.port}/graphql` });
});
process.on("disconnect", () => process.exit());
