import { providerSystem } from "../auth/oidc/providerSystem.ts";
import type { Config } from "../config.ts";
import type { FileStore } from "../gateways/files.ts";
import { makeModelGateway } from "../gateways/makeModelGateway.ts";
import type { ModelGateway } from "../gateways/model.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import type { SearchEngine } from "../gateways/search.ts";
import { makeTypesense } from "../gateways/typesense.ts";
import { warnIfOutdated } from "../search/engineVersion.ts";
import type { Monitoring } from "./monitoring.ts";

/** The clients of the external systems that requests use. */
export interface ServerGateways {
  files: FileStore;
  /** Null when no search engine is configured. */
  engine: SearchEngine | null;
  /** Null when no language model is configured. */
  model: ModelGateway | null;
  close(): void;
}

/** Creates the clients of external systems and adds each system to the health page. Nothing is called yet but the engine's version. */
export function openGateways(config: Config, { systems, log }: Monitoring): ServerGateways {
  const files = makeS3Files(config.files);
  if (config.files.endpoint !== undefined)
    systems.add({
      name: "files",
      storage: "files",
      check: (signal) => files.check(signal),
      circuit: () => files.circuit(),
    });
  const engine = makeTypesense(config.search);
  if (engine) {
    systems.add({ name: "search", check: () => engine.check(), circuit: () => engine.circuit() });
    warnIfOutdated(engine, log);
  }
  for (const provider of config.login.providers) systems.add(providerSystem(provider));
  const model = makeModelGateway(config.assistant);
  if (model) systems.add({ name: "language model", circuit: model.circuit });
  return {
    files,
    engine,
    model,
    close() {
      files.close();
      engine?.close();
    },
  };
}
