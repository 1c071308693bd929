import type { PgClient, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { PublicError, notFound } from "../errors/PublicError.ts";
import { nounOfRow } from "./labels.ts";
import { changesOnlyOwnRows } from "./ownerTags.ts";

export type TableResource = PgResource<string, PgCodecWithAttributes>;
export type Verb = "create" | "update" | "delete";

/** The most rows of a mutation of many: their locks and the rows of the audit log are held until it ends. */
export const mostBulkRows = 5_000;
/** The type of the answers of mutations of many rows. */
export const bulkResultType = "BulkResult";

/** Tables tagged with a verb: `@mutations create update delete`. */
export function tablesOffering(build: GraphileBuild.Build, verb: Verb): TableResource[] {
  return Object.values(build.pgResources as Record<string, PgResource>).filter(
    (resource): resource is TableResource =>
      !resource.parameters &&
      resource.codec.attributes !== undefined &&
      String(resource.extensions?.tags?.mutations ?? "")
        .split(/[\s,]+/)
        .includes(verb),
  );
}

/** The mutation of one row, such as `updateProduct`. */
export function mutationName(build: GraphileBuild.Build, typeName: string, verb: Verb): string {
  return build.inflection.camelCase(`${verb}-${typeName}`);
}

/** The mutation of many rows, such as `updateProducts`; `updateEquipmentRows` where a noun has no plural. */
export function manyMutationName(
  build: GraphileBuild.Build,
  typeName: string,
  verb: Exclude<Verb, "create">,
): string {
  const plural = build.inflection.pluralize(typeName);
  return build.inflection.camelCase(`${verb}-${plural === typeName ? `${typeName}-rows` : plural}`);
}

/** The input of a mutation of one row, such as `UpdateProductInput`. */
export function inputTypeName(build: GraphileBuild.Build, typeName: string, verb: Verb): string {
  return build.inflection.upperCamelCase(`${mutationName(build, typeName, verb)}-input`);
}

/** Why a mutation found no row that the caller may change: it belongs to somebody else, or it is not there. */
export async function missingRow(
  build: GraphileBuild.Build,
  resource: TableResource,
  { client, verb, id, path }: MissingRow,
): Promise<PublicError> {
  const noun = nounOfRow(build, resource);
  if (changesOnlyOwnRows(resource.extensions?.tags, verb)) {
    const seen = await client.query({
      text: `select from ${build.sql.compile(resource.codec.sqlType).text} where id = $1`,
      values: [id],
    });
    if (seen.rows.length > 0)
      return new PublicError("FORBIDDEN", `Only the owner of this ${noun} may ${verb} it`, {
        path,
      });
  }
  return notFound(`There is no ${noun} with this id`, { path });
}

interface MissingRow {
  client: PgClient;
  verb: Exclude<Verb, "create">;
  id: string;
  path: readonly (string | number)[];
}

/** The source of the values of an input: one row of the columns, from the JSON parameter `$1`. */
export function valuesSource(table: string, columns: string): string {
  return `(select ${columns} from jsonb_populate_record(null::${table}, unrounded('${table.replaceAll("'", "''")}', $1::jsonb)))`;
}
