/**
 * Caches the results of pure inflectors. The library transliterates each name on every call, which took 100 of 870 ms of
 * the schema build.
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
