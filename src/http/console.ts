import { randomBytes } from "node:crypto";
import path from "node:path";
import { type Request, type Response, Router } from "express";
import type { Logger } from "pino";
import { notFound } from "../errors/PublicError.ts";
import { type ConsoleBuild, type StaticFile, currentBuild, readBuild } from "./consoleBuild.ts";

interface ConsoleOptions {
  /** The folder that `npm run admin:build` writes. */
  folder: string;
  /** Origins that the console may send requests to, beside this one. */
  connectTo: readonly string[];
  /** Origins of pictures, beside this one. */
  imagesFrom: readonly string[];
  /** Whether a later build replaces the one in memory: in development. */
  reloads: boolean;
  log: Logger;
}

/** The console's routes, and whether there is a build to serve. */
export interface Console {
  router: Router;
  isBuilt: () => boolean;
}

/**
 * Serves the build of the console below `/admin`, from memory: its files, and `index.html` for every other path, which is an
 * address within the console. Without a build it serves nothing and logs that once.
 */
export async function loadConsole(options: ConsoleOptions): Promise<Console> {
  const { folder, connectTo, imagesFrom, reloads, log } = options;
  let build = await readBuild(folder);
  if (!build) log.warn({ folder, command: "npm run admin:build" }, "console not built");

  const policyWith = (nonce: string) =>
    [
      "default-src 'none'",
      "script-src 'self'",
      // React Aria and CodeMirror create style elements and take the nonce from the page's meta element.
      `style-src 'self' 'nonce-${nonce}'`,
      ["img-src 'self' data:", ...imagesFrom].join(" "),
      ["connect-src 'self'", ...connectTo].join(" "),
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join("; ");

  const sendPage = ({ page }: ConsoleBuild, request: Request, response: Response) => {
    response.set({ "Cache-Control": "private, no-cache", ETag: page.etag });
    if (request.fresh) {
      // A cached page has the nonce of the earlier policy; a new policy would block its styles.
      response.removeHeader("Content-Security-Policy");
      response.status(304).end();
      return;
    }
    const nonce = randomBytes(16).toString("base64");
    const meta = `<meta property="csp-nonce" nonce="${nonce}">`;
    response
      .set("Content-Security-Policy", policyWith(nonce))
      .type("html")
      .send(`${page.start}${meta}${page.end}`);
  };

  const router = Router();
  router.get("/admin{/*path}", async (request, response) => {
    if (reloads) build = await currentBuild(folder, build);
    if (!build)
      throw notFound(
        "The console is not built: run npm run admin:build, which needs the development packages",
      );
    const name = decodeURI(request.path).replace(/^\/admin\/?/i, "");
    const file = build.files.get(name);
    const isHashed = name.startsWith("assets/");
    if (file) sendFile(file, { name, isHashed }, request, response);
    // A page loaded before an update may request scripts of the old release. HTML would be a misleading response.
    else if (isHashed) throw notFound("This release of the console has no such file");
    else sendPage(build, request, response);
  });
  return { router, isBuilt: () => build !== null };
}

function sendFile(
  { body, etag, encoded }: StaticFile,
  { name, isHashed }: { name: string; isHashed: boolean },
  request: Request,
  response: Response,
): void {
  const chosen = encoded.find(({ encoding }) => request.acceptsEncodings(encoding));
  response.set({
    "Cache-Control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    ETag: chosen ? etag.replace(/"$/, `-${chosen.encoding}"`) : etag,
  });
  response.vary("Accept-Encoding");
  if (chosen) response.set("Content-Encoding", chosen.encoding);
  response.type(path.extname(name)).send(chosen?.body ?? body);
}
