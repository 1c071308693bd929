const MAX_LENGTH = 40;

/** Quotes a piece of the query for a message: one line, short, and never half a surrogate pair. */
export function excerpt(text: string): string {
  const short =
    text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1).toWellFormed()}…` : text;
  return `\`${short.replace(/\s/g, " ")}\``;
}
