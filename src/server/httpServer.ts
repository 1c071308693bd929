import { type RequestListener, type Server, createServer } from "node:http";
import type { AdmissionControl } from "../http/admissionControl.ts";
import type { NodeHandler } from "../http/nodeHandler.ts";
import { withAdmissionControl } from "../http/withAdmissionControl.ts";

/**
 * An HTTP server with time limits for slow clients, which passes to `app` the requests that `admission` admits.
 * @param prepare sets the headers of rejections
 */
export function createHttpServer(
  app: RequestListener,
  admission: AdmissionControl,
  prepare: readonly NodeHandler[],
): Server {
  const server = createServer(
    // Node checks the time limits at this interval, 30 s by default, which adds up to that much to each limit.
    { connectionsCheckingInterval: 5_000 },
    withAdmissionControl(app, admission, prepare),
  );
  server.headersTimeout = 15_000;
  server.requestTimeout = 60_000;
  server.keepAliveTimeout = 65_000;
  return server;
}
