import { formatNumber } from "./locale.ts";

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
  yesOrNo: "Yes or No; in an address true or false",
  oneOf: (titles: readonly string[]) => `One of ${titles.join(", ")}`,
  notAnId: (text: string) => `“${text}” is not the id of a row. Choose a row by its name.`,
  /** Below the caller's name, the only choice; `needed` is a sentence about the missing permission. */
  otherUser: (needed: string) => `Another user cannot be chosen. ${needed}`,
  onePerLine: "One value per line.",
  inTimeZone: (timeZone: string) => `In the time zone ${timeZone}.`,
  timeOfDay: "A time of day, such as 18:30",
  email: "An e-mail address, such as anna@example.com",
  tooLong: (maximum: number, length: number) =>
    `At most ${maximum} characters; these are ${length}`,
  gone: "The row was deleted, or your permissions no longer show it.",
  goneEditsKept: "What you typed is kept.",
  restoreAndSave: "Restore and save",
  notChosen: "No row has been chosen for this text. Choose one, or clear the field.",
  firstChoices: (count: number) => `The first ${count} rows. Type more to find others.`,
  notVisibleOrDeleted: "a deleted row, or one that is not visible to you",
  invalidJson: (reason: string) => `This is not valid JSON: ${reason}`,
  /** The form that changes the selected rows of a list. */
  selected: {
    title: (rows: string) => `Edit ${rows}`,
    hint: "All selected rows get the values of the fields that you choose. An empty field removes the value. Other fields stay as they are.",
    kept: (count: number) =>
      count === 1
        ? "One of the rows is not yours to change; it stays as it is."
        : `${formatNumber(count)} of the rows are not yours to change; they stay as they are.`,
    fields: "Fields to change",
    /** The values that the rows have. */
    now: (values: readonly string[], more: number) =>
      `Now: ${[...values, ...(more > 0 ? [`${formatNumber(more)} more`] : [])].join("; ")}.`,
    saving: (done: number, count: number) =>
      `Saving ${formatNumber(done)} of ${formatNumber(count)}`,
    changed: (rows: string, count: number) => `${rows} ${count === 1 ? "was" : "were"} changed`,
    someDone: (done: number, count: number) =>
      `Done for ${formatNumber(done)} of ${formatNumber(count)} rows. Not done:`,
    rejected: (row: string) => `Nothing was changed: ${row} cannot have these values.`,
    more: (count: number) => `and ${formatNumber(count)} more`,
    undone: (rows: string, count: number) =>
      `${rows} ${count === 1 ? "has its" : "have their"} former values again`,
    notUndone: (failed: number, count: number) =>
      `${formatNumber(failed)} of ${formatNumber(count)} rows kept their new values, because they were changed again`,
  },
  /** What is said about many rows, which are changed or deleted by one request. */
  many: {
    editHint: (rows: string) =>
      `All ${rows} get the values of the fields that you choose: all or none. An empty field removes the value. Other fields stay as they are.`,
    checking: "Checking",
    saving: "Saving",
    none: "All these rows have the values already.",
    changeTitle: (rows: string) => `Change ${rows}?`,
    changeText: (unchanged: number) =>
      [
        ...(unchanged === 0
          ? []
          : [
              unchanged === 1
                ? "One more has the values already."
                : `${formatNumber(unchanged)} more have the values already.`,
            ]),
        "There is no undo for all of them. The history of each row keeps its former values.",
      ].join(" "),
    change: (rows: string) => `Change ${rows}`,
    deleteTitle: (rows: string) => `Delete ${rows}?`,
    notDeleted: (rows: string, count: number) =>
      `${rows} ${count === 1 ? "was" : "were"} not deleted`,
    deleteText: (canCreate: boolean) =>
      canCreate
        ? "For seven days they can be restored together in the report “Deleted rows”."
        : "You cannot restore them.",
    delete: (rows: string) => `Delete ${rows}`,
    deleting: "Deleting",
    gone: "None of the rows is there any more.",
  },
  picture: {
    failed: "There is no picture at this address.",
    blocked: (origin: string) =>
      `Pictures from ${origin} are not shown, because the setting CONSOLE_IMAGE_HOSTS does not name this origin.`,
  },
  report: {
    show: "Show",
    unknown: (name: string) => `There is no report “${name}”`,
    ask: "Fill in what is needed, then choose Show.",
    nothing: "Nothing was found",
    nothingHint: "Try other values above.",
  },
  /** The heading of the arguments beside the fields of a new row. */
  options: "Options",
  changedRow: (message: string) => `${message}. Close this form to see the row as it is now.`,
  emptyFields: "Empty fields are left out.",
  discardTitle: (title: string) => `Close “${title}” without running it?`,
  discardHint: "What you filled in is lost.",
  conflict: {
    title: "Somebody else saved first",
    hint: (who: string, when: string | null) =>
      `${who} saved this row${when === null ? "" : ` ${when}`}. Choose which value to keep for each field.`,
    somebody: "Somebody",
    merged: (titles: string, who: string) =>
      `Saved. ${who} had changed ${titles} in the meantime; both are kept.`,
    mine: "Mine",
    theirs: "Theirs",
    was: "Before",
    saveMine: "Save mine",
    takeTheirs: "Take theirs",
    save: "Save this",
  },
  history: {
    empty: "No changes since it was created.",
    more: "Show older changes",
    service: "the service",
    nameless: "a user without a name",
    database: "in the database",
    job: "by a job",
    created: "created it",
    restored: "restored it",
    deleted: "deleted it",
    changedIt: "changed",
    putBack: (title: string) => `Copy the old value of ${title} into the form`,
    deletedBy: (label: string | null, user: string | null) =>
      `${user ?? "Somebody"} deleted ${label ?? "it"}`,
    undelete: "Restore",
    undeleted: (count: number) =>
      count === 1
        ? "The row was restored"
        : `The row was restored, with ${count - 1} ${count === 2 ? "other" : "others"}`,
    notUndeleted: "The row was not restored",
    also: (count: number) => (count === 1 ? "and 1 other row" : `and ${count} other rows`),
  },
};
