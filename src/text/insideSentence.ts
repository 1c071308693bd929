/** Lowercases the first letter of a title for use inside a sentence; abbreviations such as VAT stay. */
export function insideSentence(title: string): string {
  return /^\p{Lu}[\p{Lu}\d]/u.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1);
}
