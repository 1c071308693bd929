import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";

interface Piece {
  /** 0: around the schemas; 1: of the tenant; 2: of the queue's schema. */
  place: number;
  section: string;
  object: string;
  part: number;
  text: string;
}

const queries = ["schemas", "types", "tables", "access", "functions", "others"];
const sections = [
  "roles",
  "schemas",
  "types",
  "sequences",
  "tables",
  "views",
  "functions",
  "other objects",
];
const places = ["", "the tenant", "office_jobs"];

/**
 * Describes one tenant and the queue's schema beside it, as SQL for people to read: what the catalogue holds after all
 * migrations, logic and data. Neither the tenant's name nor the day, the server or the order of creation shows in it, so two
 * tenants of the same shape have equal descriptions. The client's role needs USAGE on the tenant and on `extensions`.
 */
export async function dumpSchema(
  client: Pick<pg.ClientBase, "query">,
  tenant: string,
): Promise<string> {
  const { rows } = await client.query<{ path: string }>(
    "select current_setting('search_path') as path",
  );
  // Names of the tenant's own objects are printed without their schema when the search path leads to them.
  await setPath(client, `"${tenant}", extensions, pg_temp`);
  try {
    return print(await readPieces(client, [tenant, "office_jobs"]));
  } finally {
    // In a transaction that failed nothing can be set, and its end restores the path.
    await setPath(client, rows[0]?.path ?? "").catch(() => {});
  }
}

async function setPath(client: Pick<pg.ClientBase, "query">, path: string): Promise<void> {
  await client.query("select set_config('search_path', $1, false)", [path]);
}

async function readPieces(
  client: Pick<pg.ClientBase, "query">,
  schemas: string[],
): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const name of queries) {
    const sql = await readFile(join(import.meta.dirname, `${name}.sql`), "utf8");
    pieces.push(...(await client.query<Piece>(sql, [schemas])).rows);
  }
  return pieces;
}

function print(pieces: Piece[]): string {
  const lines: string[] = [];
  let heading = "";
  let previous: Piece | undefined;
  for (const piece of pieces.sort(compare)) {
    const title = [places[piece.place], piece.section].filter(Boolean).join(": ");
    if (title !== heading) lines.push("", `-- ${title}`);
    else if (piece.object !== previous?.object || piece.text.includes("\n")) lines.push("");
    lines.push(piece.text);
    heading = title;
    previous = piece;
  }
  return `${lines.join("\n").trim()}\n`;
}

/** By code points, since a database's own order of texts depends on its collation. */
function compare(a: Piece, b: Piece): number {
  return (
    a.place - b.place ||
    sections.indexOf(a.section) - sections.indexOf(b.section) ||
    compareTexts(a.object, b.object) ||
    a.part - b.part ||
    compareTexts(a.text, b.text)
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
