import type { PgResource } from "postgraphile/@dataplan/pg";
import { badUserInput } from "../errors/PublicError.ts";
import { listedTables, tableNamed } from "./listedTables.ts";
import { resource } from "./resource.ts";

/** The list whose fields the database defines (`export_catalogue`): they have prices, ratings and pictures, too. */
export const productsEntity = "products";

/**
 * Finds the table of a list that can be exported.
 * @throws PublicError with the nearest names for an unknown list
 */
export type ExportedTable = (entity: string) => PgResource;

export function makeExportedTable(build: GraphileBuild.Build): ExportedTable {
  // `auditLogs` is a separate query and not a list.
  const tables = new Map<string, PgResource>([
    ...listedTables(build),
    ["auditLogs", resource(build, "audit_log")],
  ]);
  return (entity) => {
    const table = tableNamed(tables, entity, "entity");
    if (table.extensions?.tags?.session !== undefined)
      throw badUserInput(`entity: ${entity} shows in sessions only and cannot be exported`, {
        path: ["entity"],
      });
    return table;
  };
}
