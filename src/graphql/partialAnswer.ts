import { randomUUID } from "node:crypto";
import type { DocumentNode } from "graphql";
import type { Text } from "../postgres/textAnswer.ts";

/** What of a query is answered already, and what is left. */
export interface PartialAnswer {
  /** The query with a short text in the place of each root field that is answered; where it is refused, the fields that are. */
  rest: DocumentNode;
  /** The answers' texts by the keys of their fields. */
  texts: ReadonlyMap<string, Text>;
  /** Whether what is left is refused, so that there is no answer. Should it not be, as rights may have been given since, all is to be executed. */
  isRefused?: true;
}

declare global {
  namespace Express {
    interface Locals {
      /** Set where only the rest of the query is to be executed. */
      answeredPart?: PartialAnswer;
    }
  }
}

/** The answered part of the request that an execution, or an answer, is of. */
export function partialAnswerOf(
  context: Partial<Grafast.RequestContext>,
): PartialAnswer | undefined {
  return context.expressv4?.res.locals.answeredPart;
}

// Nobody who writes into the data knows it.
const place = randomUUID();

/**
 * Executes what is left of a query by `run`, and puts a word that stands for the answer into the place of each field that is answered.
 * `part` is undefined where nothing is.
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

/** Puts the answers into their places in a response. Where an error has left no data, there are none. */
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
