import { Readable } from "node:stream";
import { secondsUntilMidnight } from "../../assistant/budget.ts";
import type { Caller } from "../../assistant/caller.ts";
import { sha256 } from "../../uploads/sha256.ts";
import { badRequest, HttpError, unsupportedMediaType } from "../../errors/HttpError.ts";
import type { AssistantDependencies } from "./dependencies.ts";

/** An attachment, as clients see it. */
export interface Attachment {
  id: string;
  url: string;
  fileName: string;
  mediaType: string;
  fileSize: number;
}

/**
 * Stores a file below its owner's prefix if its content has a supported type.
 * @throws HttpError when it has not
 */
export async function storeAttachment(
  { files, config, uploads }: Pick<AssistantDependencies, "files" | "config" | "uploads">,
  caller: Caller,
  givenName: string,
  bytes: Buffer,
): Promise<Attachment> {
  const fileName = truncateFileName(givenName.replace(invisible, " ").trim());
  const wrongName = () => badRequest("name must be the file's name", { path: ["name"] });
  if (fileName === "") throw wrongName();
  const type = await uploads.findAttachmentType({ bytes, fileName });
  if (type.problem !== undefined) throw unsupportedMediaType(type.problem);
  const { mediaType } = type;
  const place = await caller.run(async (client) => {
    const label = await client.query<{ fits: boolean }>("select is_label($1, $2) as fits", [
      ...[fileName, maxNameLength],
    ]);
    if (!label.rows[0]?.fits) throw wrongName();
    const { rows } = await client.query<{ id: string; key: string }>(
      "select * from begin_ai_attachment($1, $2, $3)",
      [bytes.length, config.attachmentsPerDay, config.storedBytes],
    );
    return rows[0] ?? null;
  });
  if (!place) {
    const retryAfter = secondsUntilMidnight(new Date());
    throw new HttpError(
      429,
      "RATE_LIMITED",
      `You have given the assistant ${config.attachmentsPerDay} files today, which is as many as you may: go on tomorrow (UTC)`,
      { retryAfter },
    );
  }
  await files.write(place.key, Readable.from([bytes]), AbortSignal.timeout(60_000));
  const hash = await sha256(bytes);
  await caller.run((client) =>
    client.query("select finish_ai_attachment($1, $2, $3, $4, $5, $6)", [
      ...[place.id, fileName, mediaType, bytes.length, hash, config.storedBytes],
    ]),
  );
  const { id } = place;
  return { id, url: `/ai/attachments/${id}`, fileName, mediaType, fileSize: bytes.length };
}

const maxNameLength = 200;
// What a file's name does not show, and what separates folders.
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufff9-\ufffc\\/]+/gu;

/** Shortens a file name but keeps its extension, which alone identifies some types. */
function truncateFileName(fileName: string): string {
  if (fileName.length <= maxNameLength) return fileName;
  const [, name = fileName, ending = ""] = /^(.*?)(\.[^.]{1,10})?$/su.exec(fileName) ?? [];
  return (
    Array.from(name)
      .slice(0, maxNameLength - ending.length)
      .join("") + ending
  );
}
