import type { Caller } from "../../assistant/caller.ts";
import { csvType, xlsxType } from "../../assistant/attachmentType.ts";
import type { AttachmentContent, ReadAttachment } from "../../assistant/toModelMessages.ts";
import { PublicError } from "../../errors/PublicError.ts";
import type { AssistantDependencies } from "./dependencies.ts";

/** The storage key and type of a caller's attachment; null when the caller has no such attachment. */
export async function findAttachment(caller: Caller, id: string) {
  const { rows } = await caller.run((client) =>
    client.query<{ file_key: string; file_name: string; media_type: string }>(
      "select file_key, file_name, media_type from ai_attachments where id = $1",
      [id],
    ),
  );
  return rows[0] ?? null;
}

/** Reads the caller's attachments in the form that the model receives. */
export function attachmentReader(
  { files, config, uploads }: Pick<AssistantDependencies, "files" | "config" | "uploads">,
  caller: Caller,
): ReadAttachment {
  const { attachmentCharacters: characters } = config;
  return async (id): Promise<AttachmentContent | null> => {
    const file = await findAttachment(caller, id);
    if (!file) return null;
    const { media_type: mediaType, file_key: key } = file;
    const bytes = await files.read(key, AbortSignal.timeout(30_000));
    if (mediaType === csvType || mediaType === xlsxType) {
      const text = await uploads
        .readAttachmentText({ bytes, mediaType, characters })
        .catch(refusalText);
      return { kind: "text", text };
    }
    const url = `data:${mediaType};base64,${bytes.toString("base64")}`;
    return { kind: "file", mediaType, url };
  };
}

/** An unreadable file does not end the conversation: the model receives the reason. */
function refusalText(error: unknown): string {
  if (error instanceof PublicError && error.code === "BAD_USER_INPUT") return `[${error.message}]`;
  throw error;
}
