/** Turns ids into codes: the id itself stands for one that the ERP does not resolve, so that staff see which it is. */
export function byId(codes: ReadonlyMap<string, string>): (id: string | null) => string | null {
  return (id) => (id === null ? null : (codes.get(id) ?? id));
}
