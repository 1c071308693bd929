/** A word of a text, folded for indexing and searching, and its position. */
export interface Token {
  text: string;
  start: number;
  end: number;
}

/** Splits texts into words, by the settings of a collection. */
export interface Tokeniser {
  tokens(text: string): Token[];
  words(text: string): string[];
  /** The words, joined by a space. */
  folded(text: string): string;
}

// Letters that Unicode does not decompose into a base letter and a mark.
const plain: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  ß: "ss",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
};
const special = new RegExp(`[${Object.keys(plain).join("")}]`, "g");
const simple = /^[a-z0-9]+$/;
const cacheSize = 100_000;

const escapeForClass = (symbol: string) => symbol.replace(/[\\\]^-]/g, "\\$&");

/**
 * White space and `separators` separate words. A word keeps `symbols`, and its letters and digits in lower case
 * without accents. Other characters are dropped without separating, so that `d'Asti` becomes `dasti`.
 */
export function makeTokeniser(
  separators: readonly string[],
  symbols: readonly string[],
): Tokeniser {
  const word = new RegExp(`[^\\s${separators.map(escapeForClass).join("")}]+`, "gu");
  const dropped = new RegExp(`[^\\p{L}\\p{N}${symbols.map(escapeForClass).join("")}]`, "gu");
  // A cache: the same words repeat in most documents.
  const known = new Map<string, string>();

  const foldLetters = (raw: string): string => {
    const lower = raw.normalize("NFKD").toLowerCase();
    return lower.replace(special, (letter) => plain[letter] ?? letter).replace(dropped, "");
  };
  const foldWord = (raw: string): string => {
    const seen = known.get(raw);
    if (seen !== undefined) return seen;
    const folded = simple.test(raw) ? raw : foldLetters(raw);
    if (known.size >= cacheSize) known.clear();
    known.set(raw, folded);
    return folded;
  };

  const words = (text: string) => (text.match(word) ?? []).map(foldWord).filter(Boolean);
  return {
    words,
    tokens(text) {
      const tokens: Token[] = [];
      for (const match of text.matchAll(word)) {
        const folded = foldWord(match[0]);
        if (folded === "") continue;
        tokens.push({ text: folded, start: match.index, end: match.index + match[0].length });
      }
      return tokens;
    },
    folded: (text) => words(text).join(" "),
  };
}
