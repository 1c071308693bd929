/**
 * Caches names that depend on a text only. Building the schema asks for the same ones thousands of times, and the library
 * transliterates each anew: a seventh of a server's start.
 */
export const InflectionCachePlugin: GraphileConfig.Plugin = {
  name: "InflectionCachePlugin",
  version: "1.0.0",
  after: ["TransliterationPlugin", "PgSimplifyInflectionPlugin", "ShapePlugin"],
  inflection: {
    replace: {
      coerceToGraphQLName: cached(),
      camelCase: cached(),
      pluralize: cached(),
      singularize: cached(),
    },
  },
};

type Inflector = (text: string) => string;

function cached() {
  const known = new Map<string, string>();
  return (previous: Inflector | undefined, _options: unknown, text: string): string => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = previous?.(text) ?? text;
    known.set(text, made);
    return made;
  };
}
