import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { innerCodec, isHidden } from "./columns.ts";
import { titleOf } from "./rowNames.ts";
import { insideSentence } from "../text/insideSentence.ts";
import { databaseName } from "./databaseName.ts";
import { TagError } from "./TagError.ts";

/** Smart tags of a table or a column. */
export type Tags = Readonly<Record<string, unknown>>;

/** A table with columns. */
export type Table = PgResource<string, PgCodecWithAttributes>;

/** Columns that name a row if its table has no tag `@label`. */
const usualNames = ["name", "title", "email", "number", "key", "label"];

/** The text of a tag; null where it is absent or empty. */
export const tagText = (tags: Tags | undefined, name: string): string | null => {
  const value = tags?.[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
};

/** The value of `@widget` for a column with the name of a list, whose values are the lists that the caller may read. */
export const listWidget = "list";

/** The position of a heading without a number: after all others. */
const lastPlace = 10_000;

/** Parses the value of a tag such as `@group Catalogue 10`: the heading, and the position in the navigation. */
export function headingAndPlace(text: string): { heading: string | null; place: number } {
  const match = /^(.*?)(?:\s+(\d+))?$/.exec(text);
  return {
    heading: match?.[1] === undefined || match[1] === "" ? null : match[1],
    place: match?.[2] === undefined ? lastPlace : Number(match[2]),
  };
}

/** The title of one row of a table, such as "Wine type". */
export function titleOfRow(build: GraphileBuild.Build, table: Pick<Table, "codec" | "extensions">) {
  const title = tagText(table.extensions?.tags, "titleOne");
  return title ?? titleOf(build.inflection.tableType(table.codec));
}

/** The title of one row inside a sentence, such as "wine type". */
export function nounOfRow(build: GraphileBuild.Build, table: Pick<Table, "codec" | "extensions">) {
  return insideSentence(titleOfRow(build, table));
}

/**
 * The columns that identify and name a row of a table. Names and details may be functions of computed fields, which
 * PostgreSQL accepts as columns of a table's alias: `a.absences_user_name` is `absences_user_name(a)`.
 */
export interface LabelColumns {
  /** `id`, or the column of another key with one column; null without one. */
  key: string | null;
  /** The tag `@label`, a column with a usual name, or the first column of text without a default. */
  name: string;
  detail: string | null;
  color: string | null;
}

/** The functions of the computed fields of a table, by their names in the database. */
export function computedFunctions(
  build: GraphileBuild.Build,
  table: Pick<PgResource, "codec">,
): Map<string, PgResource> {
  const functions = Object.values(build.pgResources as Record<string, PgResource>).filter(
    ({ extensions, parameters }) =>
      (extensions?.tags as Tags | undefined)?.["computed"] !== undefined &&
      parameters?.[0]?.codec === table.codec,
  );
  return new Map(functions.map((one) => [databaseName(one), one]));
}

/**
 * Finds the columns that identify and name a row.
 * @throws Error when the tag `@label` names an unknown column or computed field
 */
export function labelColumns(build: GraphileBuild.Build, resource: PgResource): LabelColumns {
  const { attributes } = resource.codec as PgCodecWithAttributes;
  const columns = Object.entries(attributes)
    .filter(([, attribute]) => !isHidden(attribute))
    .map(([name]) => name);
  const computed = computedFunctions(build, resource);
  const label = tagText(resource.extensions?.tags, "label");
  const [first, second] = (label?.split(/[\s,]+/) ?? []).map((name) => {
    if (columns.includes(name)) return name;
    const functionName = `${databaseName(resource)}_${name}`;
    if (computed.has(functionName)) return functionName;
    throw new TagError(
      `The tag @label of ${resource.name} names ${name}, which is no column and no computed field of it`,
    );
  });
  const name =
    first ??
    usualNames.find((usual) => columns.includes(usual)) ??
    columns.find((column) => usualNames.some((usual) => column.endsWith(`_${usual}`))) ??
    // People can neither read nor type an id.
    textColumn(attributes, columns) ??
    (columns.includes("id") ? "id" : columns[0]);
  if (name === undefined) throw new Error(`${resource.name} has no column that the API shows`);
  const keys = resource.uniques.filter(({ attributes: key }) => key.length === 1);
  const key = keys.find(({ isPrimary }) => isPrimary) ?? keys[0];
  const color = columns.find(
    (column) =>
      tagText(attributes[column]?.extensions?.tags as Tags | undefined, "widget") === "color",
  );
  return {
    key: columns.includes("id") ? "id" : (key?.attributes[0] ?? null),
    name,
    detail: second ?? null,
    color: color ?? null,
  };
}

/** Widgets of texts that name no row. */
const namelessWidgets = ["image", "url", "file", "color"];

/** The first column of text, preferably one that is always set. A column with a default names no row. */
function textColumn(
  attributes: PgCodecWithAttributes["attributes"],
  columns: readonly string[],
): string | undefined {
  const texts = columns.filter((column) => {
    const attribute = attributes[column];
    return (
      attribute !== undefined &&
      innerCodec(attribute.codec).name === "text" &&
      attribute.extensions?.defaultText === undefined &&
      !namelessWidgets.includes(tagText(attribute.extensions?.tags, "widget") ?? "")
    );
  });
  return texts.find((column) => attributes[column]?.notNull) ?? texts[0];
}

/** The same columns as fields of the API. */
export function labelFields(build: GraphileBuild.Build, table: Table) {
  const { codec } = table;
  const { key, name, detail, color } = labelColumns(build, table as PgResource);
  const computed = computedFunctions(build, table);
  const apiName = (attributeName: string) => {
    const resource = computed.get(attributeName);
    return resource
      ? build.inflection.computedAttributeField({ resource: resource as never })
      : build.inflection.attribute({ attributeName, codec });
  };
  return {
    keyField: key === null ? null : apiName(key),
    nameField: apiName(name),
    detailField: detail === null ? null : apiName(detail),
    colorField: color === null ? null : apiName(color),
  };
}
