import type { RequestInfo } from "../auth/identity.ts";
import type { WithRequestClient } from "../postgres/service.ts";

interface Context {
  requestContext: RequestInfo;
  withPgClient: WithRequestClient;
}

/** Answers an operation whose statement the database has stopped with that error, instead of running its statements again. */
export const StoppedPlugin: GraphileConfig.Plugin = {
  name: "StoppedPlugin",
  version: "1.0.0",
  grafast: {
    middleware: {
      execute(next, { args }) {
        const context = args.contextValue as Context;
        const { stopped } = context.requestContext;
        if (stopped) context.withPgClient = () => Promise.reject(stopped);
        return next();
      },
    },
  },
};
