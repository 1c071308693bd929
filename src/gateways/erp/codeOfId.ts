/** Converts ids to codes. An unresolved id is returned as it is, so that staff can identify it. */
export function codeOfId(codes: ReadonlyMap<string, string>): (id: string | null) => string | null {
  return (id) => (id === null ? null : (codes.get(id) ?? id));
}
