/** `A` for 1, `XFD` for 16384. */
export function columnName(column: number): string {
  let name = "";
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

/** 1 for `A`; NaN for anything that is not a column name. */
export function columnNumber(name: string): number {
  let number = 0;
  for (const letter of name.toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return /^[a-z]{1,3}$/i.test(name) ? number : NaN;
}
