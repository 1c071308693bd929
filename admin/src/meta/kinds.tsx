import type { ReactNode } from "react";
import { nameOfUnlabelled } from "../../../src/schema/rowNames.ts";
import type { Suggestion } from "../api/suggestion.ts";
import { formatTime } from "../text/locale.ts";
import { shortAddress } from "./addresses.ts";
import { formatAgo, formatValue, formatWithUnit, textOf } from "./format.ts";
import { en } from "../text/en.ts";
import { Picture } from "../ui/Picture.tsx";
import { type Entities, type Entity, type EntityField, fieldOf } from "./entities.ts";
import { type Row, listedRows, referencedRow } from "./rows.ts";

/** The layout of a kind of field in lists: its width in pixels; numbers are aligned right. */
interface Layout {
  width: number;
  isNumber?: true;
}

const layouts: Record<EntityField["kind"], Layout> = {
  TEXT: { width: 180 },
  INTEGER: { width: 96, isNumber: true },
  DECIMAL: { width: 112, isNumber: true },
  FLOAT: { width: 112, isNumber: true },
  BOOLEAN: { width: 88 },
  DATE: { width: 124 },
  // "30 Sept 2026, 08:00" in wide fonts as well.
  TIME: { width: 184 },
  CLOCK: { width: 96 },
  ENUM: { width: 132 },
  REFERENCE: { width: 192 },
  JSON: { width: 240 },
};

/** Timestamps that the service sets on every row. */
const serviceTimestamps: ReadonlySet<string> = new Set(["createdAt", "updatedAt"]);

/** The largest default width for a long title or long values of an enumeration. */
const maxDefaultWidth = 220;

export function layoutOf(field: EntityField): Layout {
  const layout = layouts[field.kind];
  const isBadge = field.kind === "ENUM" && !field.isList;
  const longest = isBadge ? Math.max(...field.values.map(({ title }) => title.length)) : 0;
  // The title of the sorted column is bold, with an arrow beside it; a short one may consist of wide letters, as "Number".
  const title = field.title.length;
  const titleWidth = field.orderBy.length > 0 ? title * 8 + 52 : title * 7 + 32;
  // The longest value with the padding of cell and badge.
  const wanted = Math.max(titleWidth, longest * 7 + 44);
  // A number has its unit beside it, as "4,188 bottles".
  const unitWidth = field.unit === null ? 0 : field.unit.length * 8 + 4;
  // An amount has its currency beside it; a picture is small, but may be replaced by the name of its file.
  if (field.currencyField !== null) return { ...layout, width: 148 };
  if (field.widget === "image") return { width: 124 };
  const least = layout.width + unitWidth;
  return { ...layout, width: Math.max(least, Math.min(maxDefaultWidth, wanted)) };
}

/** The text of `field` in a list. */
export function cellText(field: EntityField, row: Row): string {
  if (field.kind === "REFERENCE" && field.isList)
    return (
      listedRows(field, row)
        .map(({ name }) => name)
        .join(", ") || "—"
    );
  if (field.kind === "REFERENCE") return referencedRow(field, row)?.name ?? "—";
  if (field.kind === "TIME") {
    const value = row[field.name];
    if (typeof value !== "string") return "—";
    // A relative time suits the service's timestamps. Times that users choose need the time of day.
    return serviceTimestamps.has(field.name) ? formatAgo(value) : formatTime(value);
  }
  return formatWithUnit(field, row[field.name], row);
}

/** The name of a row: its label, or else its detail, or else its kind with the end of its id. */
export function rowName(entity: Entity, row: Row): string {
  const { nameField, detailField, keyField } = entity;
  // People cannot read an id.
  const name = nameField === keyField ? "" : labelText(entity, row, nameField);
  const detail = detailField === null ? "" : labelText(entity, row, detailField);
  return name || detail || nameOfUnlabelled(entity.titleOne, row.id);
}

/** The text of a field that names a row; empty when the field is empty. */
export function labelText(entity: Entity, row: Row, name: string): string {
  const value = row[name];
  const field = fieldOf(entity, name);
  if (field?.kind === "REFERENCE" && textOf(value) !== "") return cellText(field, row);
  return field === undefined || textOf(value) === "" ? textOf(value) : formatValue(field, value);
}

/**
 * The row that `field` refers to, named as lists show its label, such as a time. Null when the response does not contain
 * the row, or the caller may not read its table.
 */
export function formatReferenced(
  entities: Entities,
  { reference }: EntityField,
  row: Row,
): Suggestion | null {
  const entity = reference === null ? undefined : entities.get(reference.entity);
  const named = reference?.field == null ? null : row[reference.field];
  if (!entity || typeof named !== "object" || named === null || !("id" in named)) return null;
  const other: Row = { ...named, id: textOf(named.id) };
  const labels = [entity.nameField, entity.detailField]
    .filter((label) => label !== null)
    // The response does not contain the name of a row two references away.
    .filter((label) => label !== "id" && fieldOf(entity, label)?.kind !== "REFERENCE")
    .map((label) => labelText(entity, other, label));
  return {
    id: other.id,
    name: labels.find((label) => label !== "") ?? nameOfUnlabelled(entity.titleOne, other.id),
    detail: null,
    color: entity.colorField === null ? null : textOf(other[entity.colorField]) || null,
  };
}

/** A suggestion with its texts as a list shows them, such as a time. */
export function formatSuggestion(entity: Entity | undefined, found: Suggestion): Suggestion {
  if (!entity) return found;
  const shown = (field: EntityField | undefined, text: string): string | null => {
    if (!field) return text;
    // The id of another row.
    if (field.kind === "REFERENCE") return null;
    const value = field.kind === "BOOLEAN" ? text === "true" : text;
    return cellText(field, { id: found.id, [field.name]: value });
  };
  const field = (name: string | null) => (name === null ? undefined : fieldOf(entity, name));
  const detail = found.detail === null ? null : shown(field(entity.detailField), found.detail);
  // A row without a name is named by its detail.
  if (found.name === found.detail) return { ...found, name: detail ?? found.name, detail: null };
  return { ...found, name: shown(field(entity.nameField), found.name) ?? found.name, detail };
}

/** The full text of a shortened cell. */
export function cellTitle(entities: Entities, field: EntityField, row: Row): string | undefined {
  const value = row[field.name];
  if (field.kind === "REFERENCE" && !field.isList && referencedRow(field, row)?.isVisible === false)
    return missingPermission(entities, field);
  if (field.kind === "TIME" && typeof value === "string") return formatTime(value);
  if (field.kind === "TEXT" && typeof value === "string" && value.length > 20) return value;
  if (field.isList) return cellText(field, row);
  return undefined;
}

/** Names the permission to read the table that `field` refers to; undefined if the caller has it or none is known. */
export function missingPermission(
  entities: Entities,
  { reference }: EntityField,
): string | undefined {
  const closed = reference === null ? undefined : entities.closed(reference.entity);
  return closed?.permission == null ? undefined : en.needsPermission(closed.permission);
}

interface CellProps {
  field: EntityField;
  row: Row;
  /** The field that names the row, for the alternative text of a picture. */
  nameField?: string;
}

export function Cell({ field, row, nameField = "" }: CellProps): ReactNode {
  const value = row[field.name];
  if (field.widget === "image" && typeof value === "string" && value !== "")
    return (
      <Picture
        text={value}
        alt={textOf(row[nameField]) || field.title}
        size="small"
        otherwise={<span className="dim">{shortAddress(value) ?? value}</span>}
      />
    );
  if (field.kind === "ENUM" && typeof value === "string") {
    const tone = field.values.find((item) => item.value === value)?.tone ?? "none";
    return <span className={`badge badge-${tone}`}>{formatValue(field, value)}</span>;
  }
  if (field.kind === "BOOLEAN")
    return <span className={value === true ? "yes" : "dim"}>{formatValue(field, value)}</span>;
  if (field.widget === "color" && typeof value === "string")
    return (
      <span className="color">
        <ColorDot color={value} />
        <span>{value}</span>
      </span>
    );
  const referenced = field.kind === "REFERENCE" && !field.isList ? referencedRow(field, row) : null;
  if (referenced?.color != null)
    return (
      <span className="color">
        <ColorDot color={referenced.color} />
        <span>{referenced.name}</span>
      </span>
    );
  const text = cellText(field, row);
  return text === "—" || referenced?.isVisible === false ? (
    <span className="dim">{text}</span>
  ) : (
    text
  );
}

/** A dot in a colour from the data. Decorative: the same information is always shown as text. */
export function ColorDot({ color }: { color: string }): ReactNode {
  return <span className="dot" style={{ backgroundColor: color }} aria-hidden="true" />;
}
