const LONGEST = 40;

/** Quotes a piece of the query for a message: one line, short, and never half a surrogate pair. */
export function excerpt(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST - 1).toWellFormed()}…` : text;
  return `\`${short.replace(/\s/g, " ")}\``;
}
