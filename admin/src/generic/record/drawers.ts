/** How many drawers stand over each other; what goes deeper opens as a page. */
export const maxDrawers = 3;

/** A row as the address of its drawer names it; rows of drawers over it follow after commas. */
export const drawerOf = (entity: string, id: string): string =>
  `${entity}/${encodeURIComponent(id)}`;
