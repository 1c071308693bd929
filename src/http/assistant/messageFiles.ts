import type { Caller } from "../../assistant/caller.ts";
import { attachmentPath } from "../../assistant/toModelMessages.ts";
import { badRequest, HttpError, tooLarge } from "../../errors/HttpError.ts";
import type { UserPart } from "./chatBody.ts";
import { storeAttachment } from "./storeAttachment.ts";
import type { AssistantDependencies } from "./dependencies.ts";

/** A part of a user's message; files are stored. */
export type StoredPart = { type: "text"; text: string } | { type: "file"; attachmentId: string };

/** Stores the files inside a message, as `useChat` sends them; other files are attachments already. */
export async function storeFiles(
  dependencies: AssistantDependencies,
  caller: Caller,
  parts: readonly UserPart[],
): Promise<StoredPart[]> {
  const { attachmentsPerMessage, attachmentBytes } = dependencies.config;
  const count = parts.filter(({ type }) => type === "file").length;
  if (count > attachmentsPerMessage)
    throw new HttpError(
      413,
      "BAD_USER_INPUT",
      `The message has ${count} attachments; ${attachmentsPerMessage} are allowed`,
      { path: ["messages"] },
    );
  const stored: StoredPart[] = [];
  for (const part of parts) {
    if (part.type === "text") {
      stored.push({ type: "text", text: part.text });
      continue;
    }
    const known = attachmentPath.exec(part.url)?.[1];
    if (known !== undefined) {
      stored.push({ type: "file", attachmentId: known });
      continue;
    }
    const data = /^data:[^,;]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(part.url)?.[1];
    if (data === undefined)
      throw badRequest(
        "The url of a file must be that of an attachment, or hold the file as data:...;base64",
        { path: ["messages"] },
      );
    const bytes = Buffer.from(data, "base64");
    if (bytes.length > attachmentBytes) throw tooLarge();
    const name = part.filename ?? "attachment";
    const { id } = await storeAttachment(dependencies, caller, name, bytes);
    stored.push({ type: "file", attachmentId: id });
  }
  return stored;
}
