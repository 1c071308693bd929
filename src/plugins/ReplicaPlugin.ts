import type { RequestInfo } from "../auth/identity.ts";
import type { Replica } from "../postgres/replica.ts";
import type { RequestClient, Rows } from "../postgres/requestClient.ts";
import type { WithRequestClient } from "../postgres/service.ts";

interface Context {
  requestContext: RequestInfo;
  withPgClient: WithRequestClient;
}

/** Sends each statement of an operation with a mark, which writes nothing, to the replica first. */
export function makeReplicaPlugin(replica: Replica): GraphileConfig.Plugin {
  return {
    name: "ReplicaPlugin",
    version: "1.0.0",
    grafast: {
      middleware: {
        execute(next, { args }) {
          const context = args.contextValue as Context;
          const { mark, tenant } = context.requestContext;
          if (mark != null)
            context.withPgClient = replicaFirst(replica, { mark, tenant }, context.withPgClient);
          return next();
        },
      },
    },
  };
}

/** A client whose single statements the replica answers where it can; transactions go to the primary. */
function replicaFirst(
  replica: Replica,
  { mark, tenant }: { mark: string; tenant: string },
  primary: WithRequestClient,
): WithRequestClient {
  return async (settings, work) => {
    const client: RequestClient = {
      async query<Row>(statement: Parameters<RequestClient["query"]>[0]): Promise<Rows<Row>> {
        const read = { mark, tenant, settings: settings ?? {}, statement };
        return (
          (await replica.read<Row>(read)) ??
          (await primary(settings, (real) => real.query<Row>(statement)))
        );
      },
      withTransaction: (inside) => primary(settings, (real) => real.withTransaction(inside)),
    };
    return work(client);
  };
}
