/** A row that a tool gave, as far as it can be read without knowing what it is. */
export type Row = Readonly<Record<string, unknown>>;

/** What a tool gave. */
export interface Result {
  rows: readonly Row[];
  /** How many there are in all, where the tool says so. */
  total: number | null;
  /** What went wrong, in the tool's words. */
  problem: string | null;
  /** What it gave where that are no rows. */
  text: string;
}

/** Reads the result of a tool: JSON with rows somewhere within, an error, or mere text. */
export function readResult(text: string): Result {
  const value = parse(text);
  if (value === undefined || typeof value === "string") {
    const said = typeof value === "string" ? value : text;
    const refused =
      /\b(error|denied|refused|declined|not allowed|failed|invalid|missing required)\b/i.test(
        said.slice(0, 300),
      );
    return { rows: [], total: null, problem: refused ? said : null, text: said };
  }
  const rows = rowsIn(value);
  return { rows: rows ?? [], total: totalIn(value), problem: problemIn(value), text };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first list of objects, outermost first; a lone object with an id or a name is one row. */
function rowsIn(value: unknown): readonly Row[] | undefined {
  const level: unknown[] = [value];
  for (let depth = 0, at = 0; depth < 200 && at < level.length; depth++, at++) {
    const here = level[at];
    if (Array.isArray(here)) {
      const rows = here.map((one: unknown) =>
        isRecord(one) && isRecord(one["node"]) ? one["node"] : one,
      );
      if (rows.length > 0 && rows.every(isRecord)) return rows;
    } else if (isRecord(here)) {
      if ("id" in here || "name" in here) return [here];
      level.push(...Object.values(here));
    }
  }
  return undefined;
}

function totalIn(value: unknown, depth = 0): number | null {
  if (!isRecord(value) || depth > 4) return null;
  for (const name of ["totalCount", "total"]) {
    const total = value[name];
    if (typeof total === "number") return total;
  }
  for (const inner of Object.values(value)) {
    const total = totalIn(inner, depth + 1);
    if (total !== null) return total;
  }
  return null;
}

function problemIn(value: unknown): string | null {
  if (!isRecord(value)) return null;
  const { error, errors } = value;
  if (typeof error === "string") return error;
  const first: unknown = isRecord(error) ? error : Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first === "string") return first;
  if (!isRecord(first)) return null;
  return typeof first["message"] === "string" ? first["message"] : JSON.stringify(first);
}

const labels = [
  "name",
  "title",
  "number",
  "key",
  "label",
  "fileName",
  "field",
  "source",
  "code",
  "erpProductNumber",
  "erpOrderNumber",
  "id",
];
const shy = /^(id|__typename|cursor|createdAt|updatedAt|.*Id|color)$/;

/** One line about a row: what it is called, and its plainest values. */
export function describeRow(row: Row): string {
  const label = labels.find((name) => ["string", "number"].includes(typeof row[name]));
  const called = label === undefined ? "" : String(row[label]);
  const rest = Object.entries(row)
    .filter(
      ([name, value]) =>
        name !== label && !shy.test(name) && value !== null && value !== "" && value !== true,
    )
    .map(([name, value]) => [name, shortly(value)] as const)
    .filter(([, value]) => value !== "")
    .slice(0, 8)
    .map(([name, value]) => `${spaced(name)} ${value}`);
  return rest.length === 0 ? called : `${called} (${rest.join(", ")})`;
}

function shortly(value: unknown): string {
  if (typeof value === "string") return value.length > 120 ? `${value.slice(0, 120)}…` : value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.slice(0, 3).map(shortly).filter(Boolean).join(" / ");
  if (!isRecord(value)) return "";
  const scalars = Object.entries(value).filter(
    ([name, one]) => !shy.test(name) && typeof one !== "object",
  );
  if (scalars.length > 0)
    return scalars
      .slice(0, 3)
      .map(([, one]) => String(one))
      .join(" ");
  return Object.values(value).slice(0, 1).map(shortly).join("");
}

function spaced(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
