import { randomUUID } from "node:crypto";
import type { DocumentNode } from "graphql";
import type { Text } from "../postgres/textAnswer.ts";

/** The answered root fields of a query, and the rest of it. */
export interface PartialAnswer {
  /** The query with a placeholder for each answered root field; where the query is rejected, its rejected fields. */
  rest: DocumentNode;
  /** The JSON of the answered fields by response key. */
  texts: ReadonlyMap<string, Text>;
  /**
   * Set where the rest is rejected, so that there is no data. If rights were granted meanwhile, the whole query is
   * executed.
   */
  isRefused?: true;
}

declare global {
  namespace Express {
    interface Locals {
      /** Set where only the rest of the query has to be executed. */
      answeredPart?: PartialAnswer;
    }
  }
}

/** The answered part of the current request. */
export function partialAnswerOf(
  context: Partial<Grafast.RequestContext>,
): PartialAnswer | undefined {
  return context.expressv4?.res.locals.answeredPart;
}

// Random, so that no data can contain it.
const place = randomUUID();

/**
 * Executes the rest of a query by `run` and puts a placeholder at each answered field. `part` is undefined where
 * nothing is answered.
 */
export async function executeRest<Result extends object>(
  part: PartialAnswer | undefined,
  whole: DocumentNode,
  run: (document: DocumentNode) => Promise<Result>,
): Promise<Result> {
  const result = await run(part?.rest ?? whole);
  if (!part || !("data" in result) || !result.data) return result;
  if (part.isRefused) return run(whole);
  const data = result.data as Record<string, unknown>;
  for (const [index, key] of [...part.texts.keys()].entries()) data[key] = `${place} ${index}`;
  return result;
}

/** Replaces the placeholders in a response. A response without data has none. */
export function fillPlaces({ texts }: PartialAnswer, response: Buffer): Buffer {
  const places = [...texts.values()]
    .map((text, index) => {
      const word = Buffer.from(`"${place} ${index}"`);
      return { text, start: response.indexOf(word), length: word.length };
    })
    .filter(({ start }) => start >= 0)
    .sort((one, other) => one.start - other.start);
  let end = 0;
  const parts = places.flatMap(({ text, start, length }) => {
    const before = response.subarray(end, start);
    end = start + length;
    return [before, ...(typeof text === "string" ? [Buffer.from(text)] : text)];
  });
  return Buffer.concat([...parts, response.subarray(end)]);
}
