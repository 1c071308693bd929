const pageAddress = /^(?:\.\/)?([A-Za-z0-9_-]+)(?:#.*)?$/;

/** The page of the handbook that a link without a scheme or path leads to; null for other links. */
export function pageSlug(href: string): string | null {
  return pageAddress.exec(href)?.[1] ?? null;
}
