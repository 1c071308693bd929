import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import path from "node:path";

/** A file of the console's build. */
export interface StaticFile {
  body: Buffer;
  etag: string;
  /** The compressed forms that the build wrote beside it. */
  encoded: { encoding: "br" | "gzip"; body: Buffer }[];
}

/** A build of the console in memory. */
export interface ConsoleBuild {
  files: ReadonlyMap<string, StaticFile>;
  /** The parts of `index.html` before and after the nonce. */
  page: { start: string; end: string; etag: string };
  /** When the build was written. */
  writtenAt: number;
}

/** The build in memory, or the one on disk when that is newer. */
export async function currentBuild(
  folder: string,
  known: ConsoleBuild | null,
): Promise<ConsoleBuild | null> {
  const writtenAt = await timeOf(folder);
  return writtenAt === null || writtenAt === known?.writtenAt ? known : readBuild(folder);
}

/** The time of the build, from the file that it writes last; null without a build. */
async function timeOf(folder: string): Promise<number | null> {
  const stats = await stat(path.join(folder, ".built")).catch(() => null);
  return stats?.mtimeMs ?? null;
}

/** Reads a build; null without one. @throws Error when it has no page */
export async function readBuild(folder: string): Promise<ConsoleBuild | null> {
  const writtenAt = await timeOf(folder);
  if (writtenAt === null) return null;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const contents = new Map<string, Buffer>();
  for (const entry of entries.filter((found) => found.isFile())) {
    const place = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, place).split(path.sep).join("/");
    contents.set(name, await readFile(place));
  }
  const files = new Map<string, StaticFile>();
  for (const [name, body] of contents) {
    if (/\.(br|gz)$|^\.built$|^index\.html$/.test(name)) continue;
    const [br, gz] = [contents.get(`${name}.br`), contents.get(`${name}.gz`)];
    files.set(name, {
      body,
      etag: etagOf(body),
      encoded: [
        ...(br ? [{ encoding: "br" as const, body: br }] : []),
        ...(gz ? [{ encoding: "gzip" as const, body: gz }] : []),
      ],
    });
  }
  const html = contents.get("index.html")?.toString() ?? "";
  const [, start, end] = /^(.*<head>)(.*)$/s.exec(html) ?? [];
  if (start === undefined || end === undefined)
    throw new Error(`${path.join(folder, "index.html")} has no <head>: build the console again`);
  // Weak, because the nonce differs between responses.
  const page = { start, end, etag: `W/${etagOf(Buffer.from(html))}` };
  return { files, page, writtenAt };
}

function etagOf(content: Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
}
