type Build = GraphileBuild.Build;
type Behavior = Build["behavior"];
type EntityType = keyof GraphileBuild.BehaviorEntities;
/** The results of one behavior string, by filter. */
type Matches = Map<string, boolean | undefined>;
type Resolved = ReturnType<Behavior["getPreferencesAppliedBehaviors"]>;

/**
 * Caches the results of behavior queries. Building the schema makes tens of thousands of them, mostly with equal
 * inputs, and the library parses the strings each time: a fifth of a server's start.
 */
export const BehaviorCachePlugin: GraphileConfig.Plugin = {
  name: "BehaviorCachePlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        let behavior: Behavior | undefined;
        // The library sets it after all of these hooks, and freezes it.
        return Object.defineProperty(build, "behavior", {
          enumerable: true,
          get: () => behavior,
          set(made: Behavior) {
            behavior = memoizeBehaviors(made);
          },
        });
      },
    },
  },
};

// Kept for later builds in this process, such as the schema before and after a migration.
const combined = new Map<string, Resolved>();
const matches = new Map<string, Matches>();

/** The same object with cached results, which depend on the compared behavior strings only. */
function memoizeBehaviors(behavior: Behavior): Behavior {
  const original = Object.getPrototypeOf(behavior) as Behavior;
  const defaults = new Map<EntityType, string>();
  const filters = new Set<string>();
  const ofTexts = new Map<string, { results: Matches; kept: Matches }>();
  const ofEntities = makeEntityCache<{ results: Matches; kept: Matches }>();
  const memoized = Object.create(original) as Behavior;
  memoized.getPreferencesAppliedBehaviors = function (this: Behavior, type, inferred, override) {
    const preferences = getOrCompute(defaults, type, () => this.getDefaultBehaviorFor(type));
    const key = [type, preferences, inferred.behaviorString, override.behaviorString].join("\n");
    return getOrCompute(combined, key, () =>
      original.getPreferencesAppliedBehaviors.call(this, type, inferred, override),
    );
  };
  memoized.entityMatches = function (this: Behavior, type, entity, filter) {
    // Entities with the same behavior string share their results.
    const { results, kept } = ofEntities(type, entity, () => {
      const text = `${type}\n${this.getBehaviorForEntity(type, entity).behaviorString}`;
      return getOrCompute(ofTexts, text, () => ({
        results: new Map(),
        kept: getOrCompute(matches, text, () => new Map()),
      }));
    });
    return getOrCompute(results, filter, () => {
      const compute = () => original.entityMatches.call(this, type, entity, filter);
      // The library registers a filter at its first use in a build.
      const key = `${type} ${filter}`;
      if (filters.has(key)) return getOrCompute(kept, filter, compute);
      filters.add(key);
      return compute();
    });
  };
  return Object.setPrototypeOf(behavior, memoized) as Behavior;
}

/**
 * A value for each entity, looked up without the library's linear search for pairs such as table and column, and without
 * a hash of long strings.
 */
function makeEntityCache<V>() {
  const known = new Map<EntityType, Map<unknown, Map<string, V>>>();
  return (type: EntityType, entity: unknown, make: () => V): V => {
    const parts = Array.isArray(entity) ? (entity as unknown[]) : [entity, ""];
    const [first, name] = parts;
    if (parts.length !== 2 || typeof name !== "string") return make();
    const ofType = getOrCompute(known, type, () => new Map<unknown, Map<string, V>>());
    const ofFirst = getOrCompute(ofType, first, () => new Map<string, V>());
    return getOrCompute(ofFirst, name, make);
  };
}

function getOrCompute<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  // A cached result can be undefined.
  if (known !== undefined || map.has(key)) return known as V;
  const value = make();
  map.set(key, value);
  return value;
}
