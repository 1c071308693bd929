/** The texts of records and their forms. Not in `en.ts`, because the script of the first list does not need them. */
export const enRecord = {
  needed: (title: string) => `${title} is needed`,
  wholeNumber: "A whole number, such as 12",
  wholeNumberBetween: (minimum: string, maximum: string) =>
    `A whole number between ${minimum} and ${maximum}`,
  number: "A number, such as 12.5",
  numberBetween: (minimum: string, maximum: string) => `A number between ${minimum} and ${maximum}`,
  decimal: "A decimal number, such as 12.50",
  decimals: (count: number) =>
    count === 0
      ? "A number without decimal places"
      : `At most ${count} decimal ${count === 1 ? "place" : "places"}`,
  date: "A date that exists, such as 2026-02-28",
  dateAndTime: "A date and a time that exist",
  timeOfDay: "A time of day, such as 18:30",
  email: "An e-mail address, such as anna@example.com",
  tooLong: (maximum: number, length: number) =>
    `At most ${maximum} characters; these are ${length}`,
  needed: (title: string) => `${title} is needed`,
  gone: "The row was deleted, or your permissions no longer show it.",
  goneEditsKept: "What you typed is kept.",
  restoreAndSave: "Restore and save",
  restored: "restored it",
  firstChoices: (count: number) => `The first ${count} rows. Type more to find others.`,
  notVisibleOrDeleted: "a deleted row, or one that is not visible to you",
  invalidJson: (reason: string) => `This is not valid JSON: ${reason}`,
  emptyFields: "Empty fields are left out.",
  discardTitle: (title: string) => `Close “${title}” without running it?`,
  discardHint: "What you filled in is lost.",
};
