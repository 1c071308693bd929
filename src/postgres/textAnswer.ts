import type { Statement } from "./PipelinedQuery.ts";

/** A statement that gives a text: the first value of each of its rows is a piece of it. A second value is the same in all rows. */
export type TextStatement = Statement;

/** What a statement gives. */
export interface TextAnswer {
  text: Text;
  /** The second value of its rows; empty where they have none. */
  beside: string;
}

/** A short text as it is, a long one in UTF-8, a block after the other. */
export type Text = string | readonly Buffer[];

/** How much of a text is one block, in characters: about so much of it is there as strings at a time. */
const blockSize = 32_768;

/**
 * Has a statement's text gathered as its rows come; `text` is what has come of it. Thousands of strings that wait for the last one
 * would be moved about by each collection of young objects meanwhile.
 */
export function gather(statement: TextStatement): {
  statement: Statement;
  text: () => Text;
  beside: () => string;
} {
  const blocks: Buffer[] = [];
  let block = "";
  let beside = "";
  const encode = () => {
    blocks.push(Buffer.from(block));
    block = "";
  };
  return {
    statement: {
      ...statement,
      onRow: ([piece, second]) => {
        block += piece ?? "";
        beside = second ?? "";
        if (block.length >= blockSize) encode();
      },
    },
    beside: () => beside,
    text: () => {
      if (blocks.length === 0) return block;
      if (block !== "") encode();
      return blocks;
    },
  };
}
