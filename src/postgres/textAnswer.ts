import type { Statement } from "./PipelinedQuery.ts";

/** A statement that returns text: the first column of each row is a chunk. A second column is equal in all rows. */
export type TextStatement = Statement;

/** The result of a text statement. */
export interface TextAnswer {
  text: Text;
  /** The second column; empty where there is none. */
  secondColumn: string;
}

/** A short text as a string, a long one as UTF-8 buffers. */
export type Text = string | readonly Buffer[];

/** Characters per buffer; about as many exist as strings at a time. */
const blockSize = 32_768;

/**
 * Gathers the chunks of a statement as its rows arrive. Thousands of strings waiting for the last one would be copied
 * by each garbage collection.
 */
export function collectText(statement: TextStatement): {
  statement: Statement;
  text: () => Text;
  secondColumn: () => string;
} {
  const blocks: Buffer[] = [];
  let block = "";
  let secondColumn = "";
  const encode = () => {
    blocks.push(Buffer.from(block));
    block = "";
  };
  return {
    statement: {
      ...statement,
      onRow: ([piece, second]) => {
        block += piece ?? "";
        secondColumn = second ?? "";
        if (block.length >= blockSize) encode();
      },
    },
    secondColumn: () => secondColumn,
    text: () => {
      if (blocks.length === 0) return block;
      if (block !== "") encode();
      return blocks;
    },
  };
}
