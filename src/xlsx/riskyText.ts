// Includes full-width signs, which East Asian programs treat like ASCII ones.
const RISKY = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n '.,(%$\u00a3\u20ac\d]|^(?:true|false)$/i;

/** Whether Excel would convert a text to a formula, number or date when a user edits the cell. */
export function isRiskyText(text: string): boolean {
  return RISKY.test(text);
}
