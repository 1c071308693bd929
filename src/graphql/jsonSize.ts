const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Limits of a JSON text. */
export interface JsonLimits {
  /** Levels of lists and objects. */
  depth: number;
  /** Values of any kind, lists and objects included. */
  values: number;
}

/**
 * Finds which limit a JSON text exceeds, without parsing it: parsing is much slower and allocates each value. An empty
 * list or object counts twice. For invalid JSON the result is arbitrary, since the parser rejects it.
 */
export function exceededLimit(
  text: Buffer,
  { depth, values }: JsonLimits,
): keyof JsonLimits | null {
  let level = 0;
  let count = 1;
  for (let index = 0; index < text.length; index++) {
    const byte = text[index];
    if (byte === quote) index = endOfString(text, index);
    else if (byte === comma) count++;
    else if (byte === 0x5b || byte === 0x7b) {
      count++;
      if (++level > depth) return "depth";
    } else if (byte === 0x5d || byte === 0x7d) level--;
    if (count > values) return "values";
  }
  return null;
}

/** The index of the closing quote of a string; the end of the text where it is missing. */
function endOfString(text: Buffer, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== quote) index += text[index] === backslash ? 2 : 1;
  return index;
}
