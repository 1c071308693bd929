/** Texts that only the menu of saved views needs: they are loaded after the first list. */
export const enViews = {
  all: "All rows",
  /** A list that opens with a query. */
  usual: "As it opens",
  changed: "changed",
  save: (name: string) => `Save changes to “${name}”`,
  edit: (name: string) => `Rename, share or delete “${name}” …`,
  saveAs: "Save as new view …",
  saved: (name: string) => `View “${name}” saved`,
  notSaved: (name: string) => `View “${name}” was not saved.`,
  missing: "There is no such view: it was deleted, or is not shared with you.",
};
