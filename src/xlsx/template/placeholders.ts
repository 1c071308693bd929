/** A literal text, or a field name. */
export type Piece = { readonly text: string } | { readonly field: string };

const NAME = /^[\p{L}_][\p{L}\p{N}_.]*$/u;

/** Splits a text at its `{{field}}` placeholders; spaces around the name are allowed. */
export function parsePlaceholders(text: string): { pieces: Piece[]; problems: string[] } {
  const pieces: Piece[] = [];
  const problems: string[] = [];
  let at = 0;
  while (at < text.length) {
    const opening = text.indexOf("{{", at);
    const closing = text.indexOf("}}", at);
    if (closing !== -1 && (opening === -1 || closing < opening)) {
      problems.push("`}}` has no `{{` before it");
      break;
    }
    if (opening === -1) break;
    const next = text.indexOf("{{", opening + 2);
    if (closing === -1 || (next !== -1 && next < closing)) {
      problems.push("`{{` has no `}}` after it");
      break;
    }
    const field = text.slice(opening + 2, closing).trim();
    if (!NAME.test(field)) {
      problems.push(
        field === ""
          ? "`{{}}` contains no field name"
          : `\`{{${field}}}\` is not a field name: a name consists of letters, digits, dots and underscores`,
      );
      break;
    }
    if (opening > at) pieces.push({ text: text.slice(at, opening) });
    pieces.push({ field });
    at = closing + 2;
  }
  if (problems.length > 0) return { pieces: [], problems };
  if (at < text.length) pieces.push({ text: text.slice(at) });
  return { pieces, problems };
}

/** A cheap test whether a text may contain placeholders. */
export function mayContainPlaceholder(text: string): boolean {
  return text.includes("{{") || text.includes("}}");
}

/** The field of a text that is a single placeholder, ignoring spaces around it; null for other texts. */
export function onlyField(pieces: readonly Piece[]): string | null {
  const fields = pieces.filter((piece) => "field" in piece);
  const [first] = fields;
  if (fields.length !== 1 || first === undefined) return null;
  const blank = pieces.every((piece) => "field" in piece || piece.text.trim() === "");
  return blank ? first.field : null;
}
