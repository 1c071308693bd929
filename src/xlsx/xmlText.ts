// Characters that XML 1.0 forbids, and the carriage return, which parsers convert to a line feed.
const FORBIDDEN = "\\u0000-\\u0008\\u000b-\\u001f\\ufffe\\uffff";
const SUSPICIOUS = new RegExp(`[&<>${FORBIDDEN}\\ud800-\\udfff]|_x`, "i");
const TO_ESCAPE = new RegExp(
  // A literal `_x0041_` would be read as `A`, so its first underscore is escaped, also when an escape follows.
  `_(?=x[0-9a-f]{4}(?:_|[${FORBIDDEN}]))|[&<>${FORBIDDEN}]`,
  "gi",
);
const MARKUP: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Text for the content of `<t>`: characters that XML forbids become `_xHHHH_`, as in Excel, and literal `_xHHHH_` is
 * escaped. An unpaired surrogate becomes U+FFFD.
 */
function cellText(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text
    .toWellFormed()
    .replace(
      TO_ESCAPE,
      (found) =>
        MARKUP[found] ?? `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
    );
}

const EDGES = /^\s|\s$|[\n\t]/;

/**
 * A `<t>` element that preserves spaces and line breaks. `prefix` is the part's prefix of the spreadsheet namespace.
 */
export function textElement(text: string, prefix = ""): string {
  const space = EDGES.test(text) ? ' xml:space="preserve"' : "";
  return `<${prefix}t${space}>${cellText(text)}</${prefix}t>`;
}

// eslint-disable-next-line no-control-regex -- matches the characters that XML forbids
const NOT_IN_ATTRIBUTES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const ATTRIBUTE_ESCAPES: Readonly<Record<string, string>> = {
  ...MARKUP,
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

/** Text for an attribute or an element; characters that XML forbids are removed. */
export function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(NOT_IN_ATTRIBUTES, "")
    .replace(/[&<>"\t\n\r]/g, (found) => ATTRIBUTE_ESCAPES[found] ?? found);
}
