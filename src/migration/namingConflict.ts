/**
 * Says in words of the schema what PostGraphile reports as two entities with the same key; null for other messages.
 * https://err.red/pnc
 */
export function describeNamingConflict(message: string): string | null {
  const [, key] = /two entities have tried to define the same key '(\w+)'/.exec(message) ?? [];
  if (key === undefined) return null;
  const [first, second] = [/The first entity was:\s*(.+)/, /The second entity was:\s*(.+)/].map(
    (pattern) => nameOf(pattern.exec(message)?.[1]),
  );
  return `The API has \`${key}\` twice in one place: as ${second ?? "one thing"}, and as ${first ?? "a computed field, a relation or another column"}. Give one of them another name.`;
}

/** What an entity is in the schema: PostGraphile names the plugin and what it added. */
function nameOf(entity: string | undefined): string | undefined {
  if (entity === undefined) return undefined;
  const column = /^Adding '\w+' attribute field to GraphQL type '\w+' .*PgCodec '(\w+)'/.exec(
    entity,
  );
  if (column) return `a column of ${column[1]}`;
  const row = /^Adding row accessor for PgResource\((\w+)\)/.exec(entity);
  if (row) return `the query of one row of ${row[1]}`;
  if (entity.startsWith("FunctionFieldsPlugin")) return "a function with the tag `@guard`";
  const version = /^RowVersionPlugin: the version that Mutation\.(\w+)/.exec(entity);
  if (version) return `the argument that the service adds to \`${version[1]}\``;
  return entity.trim().replace(/[.·\s]+$/, "");
}
