/** The maximum number of stacked drawers; further rows open as a page. */
export const maxDrawers = 3;

/** The part of the URL for a row in a drawer. */
export const drawerOf = (entity: string, id: string): string =>
  `${entity}/${encodeURIComponent(id)}`;
