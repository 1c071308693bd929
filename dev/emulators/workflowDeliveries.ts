import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

const keptDeliveries = 100;
const keptAttempts = 50;

const attempt = z.object({
  at: z.string(),
  /** The status that it was answered with, or what was done to it instead. */
  outcome: z.string(),
});
const delivery = z.object({
  webhookId: z.string(),
  /** Whether a run was started for it; that happens once, however often it comes. */
  started: z.boolean(),
  attempts: z.array(attempt),
  /** What it said; null when its signature was not right. */
  body: z.unknown(),
});

/** What came under one webhook id. */
export type Delivery = z.output<typeof delivery>;

/** The last deliveries, kept in a file. */
export interface Deliveries {
  /** Newest first. */
  list(): readonly Delivery[];
  /** Notes an attempt; `body` is what a verified one says. True when by this the run starts, false when it has before. */
  note(webhookId: string, outcome: string, body?: { value: unknown; starts: boolean }): boolean;
  /** When all that was noted is in the file. */
  saved(): Promise<void>;
}

/** Reads what is kept in the folder; a file that cannot be read is replaced. */
export async function openDeliveries(folder: string): Promise<Deliveries> {
  const file = path.join(folder, "deliveries.json");
  await mkdir(folder, { recursive: true });
  let kept = await readKept(file);
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
      // The page shows it all the same.
      .catch(() => undefined);
  };

  return {
    list: () => kept,
    note(webhookId, outcome, body) {
      const known = kept.find((one) => one.webhookId === webhookId);
      const starts = body?.starts === true && known?.started !== true;
      const changed: Delivery = {
        webhookId,
        started: starts || known?.started === true,
        attempts: [...(known?.attempts ?? []), { at: new Date().toISOString(), outcome }].slice(
          -keptAttempts,
        ),
        body: body?.value ?? known?.body ?? null,
      };
      kept = [changed, ...kept.filter((one) => one !== known)].slice(0, keptDeliveries);
      save();
      return starts;
    },
    saved: () => saving,
  };
}

async function readKept(file: string): Promise<Delivery[]> {
  try {
    const read = z.array(delivery).safeParse(JSON.parse(await readFile(file, "utf8")));
    return read.success ? read.data : [];
  } catch {
    return [];
  }
}
