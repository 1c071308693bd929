/** A number in a JSON document, kept as text because a float would lose digits. */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

// An order has about 50 values and each of its lines 20. A value takes up to 300 bytes of memory, many times its text.
const maxValues = 300_000;
const maxDepth = 50;

/** A document has more values than the service reads. */
export class TooManyValuesError extends Error {}

/**
 * Parses JSON with every number as a `JsonNumber`.
 * @throws SyntaxError for invalid JSON, and for values nested deeper than in any response of the ERP
 * @throws TooManyValuesError before it takes memory for the values
 */
export function parseJson(text: string): unknown {
  assertBounded(text);
  // TypeScript does not declare the reviver's third argument yet.
  return (JSON.parse as ParseWithSource)(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? new JsonNumber(source) : value,
  );
}

/** Counts values by the characters before them: a comma or an opening bracket. */
function assertBounded(text: string): void {
  let values = 1;
  let depth = 0;
  let isString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isString) {
      if (character === "\\") index++;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === ",") values++;
    else if (character === "[" || character === "{") {
      values++;
      depth++;
    } else if (character === "]" || character === "}") depth--;
    if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth}`);
    if (values > maxValues) throw new TooManyValuesError(`more than ${maxValues} values`);
  }
}

const maxDigits = 40;

/** Converts a number's source to plain notation; null when it is no number or would have more than 40 digits. */
export function plainDecimal(source: string): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(source);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const shift = Number(exponent);
  if (Math.abs(shift) > maxDigits) return null;
  // Shifts the decimal point by the exponent and pads with zeros.
  const before = whole.padStart(1 - shift, "0");
  const after = fraction.padEnd(shift, "0");
  const digits = before + after;
  const point = before.length + shift;
  const integer = digits.slice(0, point).replace(/^0+(?=\d)/, "");
  const rest = digits.slice(point);
  if (integer.length + rest.length > maxDigits) return null;
  const plain = rest === "" ? integer : `${integer}.${rest}`;
  return sign === "-" && /[1-9]/.test(plain) ? `-${plain}` : plain;
}
