import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { ExternalSystems } from "../health/externalSystems.ts";

/** Where the parts of a server report: metrics, the health page and the log. */
export interface Monitoring {
  registry: Registry;
  systems: ExternalSystems;
  log: Logger;
}
