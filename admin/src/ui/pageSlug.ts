const pageAddress = /^(?:\.\/)?([A-Za-z0-9_-]+)(?:#.*)?$/;

/** The slug of the handbook page that a link without scheme and path points to; null for other links. */
export function pageSlug(href: string): string | null {
  return pageAddress.exec(href)?.[1] ?? null;
}
