/** A word of a text, in the form it is indexed and searched in, and where it stood. */
export interface Token {
  text: string;
  start: number;
  end: number;
}

/** Cuts texts into words as one collection does. */
export interface Tokeniser {
  tokens(text: string): Token[];
  words(text: string): string[];
  /** The words with one space between them. */
  folded(text: string): string;
}

// Letters that have no decomposition into a plain one and a mark.
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
 * White space and `separators` part words; of what is between, letters and digits count, in lower case and without accents, and
 * `symbols`. Everything else is left out without parting a word, so that `d'Asti` is `dasti`.
 */
export function makeTokeniser(
  separators: readonly string[],
  symbols: readonly string[],
): Tokeniser {
  const word = new RegExp(`[^\\s${separators.map(escapeForClass).join("")}]+`, "gu");
  const dropped = new RegExp(`[^\\p{L}\\p{N}${symbols.map(escapeForClass).join("")}]`, "gu");
  // Words come again and again: folding each once is what makes indexing quick.
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
