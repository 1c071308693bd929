import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { ExternalSystems } from "../health/externalSystems.ts";

/** The metrics, the health page and the log of a server. */
export interface Monitoring {
  registry: Registry;
  systems: ExternalSystems;
  log: Logger;
}
