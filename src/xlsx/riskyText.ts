// Also the full-width signs, which programs of East Asia take for the others.
const RISKY = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n '.,(%$\u00a3\u20ac\d]|^(?:true|false)$/i;

/** Whether Excel would read a text as a formula, a number or a date once somebody edits the cell that holds it. */
export function isRiskyText(text: string): boolean {
  return RISKY.test(text);
}
