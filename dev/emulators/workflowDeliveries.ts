import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

const maxDeliveries = 100;
const maxAttempts = 50;

const attempt = z.object({
  at: z.string(),
  /** The response status, or the fault that was applied. */
  outcome: z.string(),
});
const delivery = z.object({
  webhookId: z.string(),
  /** Whether this delivery started a run; repeated deliveries do not. */
  started: z.boolean(),
  attempts: z.array(attempt),
  /** The body; null if the signature was invalid. */
  body: z.unknown(),
});

/** The attempts of one webhook id. */
export type Delivery = z.output<typeof delivery>;

/** The last deliveries, kept in a file. */
export interface Deliveries {
  /** Newest first. */
  list(): readonly Delivery[];
  /** Records an attempt, with the `body` of a verified one. True if the attempt starts the run. */
  add(webhookId: string, outcome: string, body?: { value: unknown; starts: boolean }): boolean;
  /** Resolves when all recorded attempts are in the file. */
  saved(): Promise<void>;
}

/** Reads the deliveries from the folder; an unreadable file is replaced. */
export async function openDeliveries(folder: string): Promise<Deliveries> {
  const file = path.join(folder, "deliveries.json");
  await mkdir(folder, { recursive: true });
  let kept = await readSaved(file);
  let saving: Promise<void> = Promise.resolve();
  let isDue = false;

  const save = () => {
    if (isDue) return;
    isDue = true;
    saving = saving
      .then(async () => {
        isDue = false;
        await writeFile(`${file}.new`, JSON.stringify(kept, null, 2));
        await rename(`${file}.new`, file);
      })
      // The page still shows the deliveries that are in memory.
      .catch(() => undefined);
  };

  return {
    list: () => kept,
    add(webhookId, outcome, body) {
      const known = kept.find((one) => one.webhookId === webhookId);
      const starts = body?.starts === true && known?.started !== true;
      const changed: Delivery = {
        webhookId,
        started: starts || known?.started === true,
        attempts: [...(known?.attempts ?? []), { at: new Date().toISOString(), outcome }].slice(
          -maxAttempts,
        ),
        body: body?.value ?? known?.body ?? null,
      };
      kept = [changed, ...kept.filter((one) => one !== known)].slice(0, maxDeliveries);
      save();
      return starts;
    },
    saved: () => saving,
  };
}

async function readSaved(file: string): Promise<Delivery[]> {
  try {
    const read = z.array(delivery).safeParse(JSON.parse(await readFile(file, "utf8")));
    return read.success ? read.data : [];
  } catch {
    return [];
  }
}
