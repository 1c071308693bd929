import { createRequire } from "node:module";
import {
  createExpressServer,
  createSystem,
} from "@keystone-6/core/___internal-do-not-use-will-break-in-patch/artifacts";
import { keystone, prismaClient } from "./keystoneConfig.ts";

// Keystone, started like its own `start` without the admin pages, on a database of prepareKeystone.ts.
const system = createSystem(keystone);
const running = system.getKeystone(createRequire(import.meta.url)(prismaClient));
await running.connect();
const { httpServer } = await createExpressServer(system.config, running.context);
httpServer.keepAliveTimeout = 65_000;
httpServer.listen(0, "127.0.0.1", () => {
  const address = httpServer.address();
  if (typeof address === "object" && address)
    process.send?.({ url: `http://127.0.0.1:${address.port}${system.config.graphql.path}` });
});
process.on("disconnect", () => process.exit());
