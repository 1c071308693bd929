/** The state of a list; all of it is in the URL. */
export interface ListSearch {
  /** The query; undefined for the default query of the list, empty for all rows of a list that has one. */
  q?: string | undefined;
  order?: string;
  cols?: string;
  /** The saved view that the list was opened with. Then `q` is given, also when it is empty. */
  view?: string;
  /** The rows in drawers as `entity/id`, separated by commas. */
  open?: string;
}
