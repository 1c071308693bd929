import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";

interface Piece {
  /** 0: outside the schemas; 1: the tenant; 2: the queue's schema. */
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
 * Dumps the definitions of one tenant and of the queue's schema as SQL for people to read. The dump omits the
 * tenant's name, the date, the server and the order of creation, so that tenants of the same shape have equal
 * dumps.
 * The client's role needs USAGE on the tenant and on `extensions`.
 */
export async function dumpSchema(
  client: Pick<pg.ClientBase, "query">,
  tenant: string,
): Promise<string> {
  const { rows } = await client.query<{ path: string }>(
    "select current_setting('search_path') as path",
  );
  // PostgreSQL omits the schema of objects that the search path finds.
  await setPath(client, `"${tenant}", extensions, pg_temp`);
  try {
    return print(await readPieces(client, [tenant, "office_jobs"]));
  } finally {
    // Fails in an aborted transaction, whose rollback restores the path.
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

/** Does not depend on the collation of the database. */
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
