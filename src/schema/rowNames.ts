// Titles and names that the server and the console share.

const abbreviations = /\b(id|ip|erp|url|ai|api|vat|sms|ean|sku|iban|pdf|csv|xlsx)(s?)\b/g;

/**
 * Converts an identifier to a title: `wine_types` to "Wine types", `bottleSize` to "Bottle size", `vat_code` to
 * "VAT code", `sent_at` to "Sent". All lists call `updated_at` "Changed".
 */
export function titleOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase()
    // The API name of `address_2` is `address2`.
    .replace(/([a-z]{3,})(\d+)\b/g, "$1 $2")
    .replace(/^updated at$/, "changed")
    .replace(/ at$/, "")
    .replace(/\bemail(s?)\b/g, "e-mail$1")
    .replace(
      abbreviations,
      (_word, letters: string, plural: string) => letters.toUpperCase() + plural,
    );
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Writes "empty" for the word "null", which office staff do not know. Code in backticks stays. */
export function withoutNull(text: string): string {
  return text.replaceAll(
    /`[^`]*`|\b(n)ull\b( (?:clears|removes|means|keeps)\b)?/gi,
    (match, first: string | undefined, verb = "") => {
      if (first === undefined) return match;
      const isCapital = first === "N" && !match.startsWith("NU");
      if (verb === "") return isCapital ? "Empty" : "empty";
      return `${isCapital ? "An" : "an"} empty field${verb}`;
    },
  );
}

/**
 * The name of a row whose label is empty, such as "Booking 4f2a9c1b". Ids that were made together differ only at their
 * end.
 */
export function nameOfUnlabelled(titleOne: string, id: string): string {
  return `${titleOne} ${/^[\da-f-]{36}$/i.test(id) ? id.slice(-8) : id}`;
}

/** Removes case and accents, to compare names. */
export function foldName(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
