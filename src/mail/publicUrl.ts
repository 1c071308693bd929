import type { Config } from "../config.ts";

/** The address under which users reach the server, without a slash at its end. */
export function publicUrlOf(config: Config): string {
  return config.publicUrl ?? `http://${config.host}:${config.port}`;
}
