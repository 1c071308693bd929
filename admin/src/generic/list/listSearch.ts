/** The state of a list; all of it is in the URL. */
export interface ListSearch {
  q?: string;
  order?: string;
  cols?: string;
  /** The rows in drawers as `entity/id`, separated by commas. */
  open?: string;
}
