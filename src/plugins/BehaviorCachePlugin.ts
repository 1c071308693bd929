type Build = GraphileBuild.Build;
type Behavior = Build["behavior"];
type EntityType = keyof GraphileBuild.BehaviorEntities;
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

/** The same object with cached results, which depend on the compared behavior strings only. */
function memoizeBehaviors(behavior: Behavior): Behavior {
  const original = Object.getPrototypeOf(behavior) as Behavior;
  const combined = new Map<string, Resolved>();
  const matches = new Map<string, Map<string, boolean | undefined>>();
  const texts = makeBehaviorStrings();
  const memoized = Object.create(original) as Behavior;
  memoized.getPreferencesAppliedBehaviors = function (this: Behavior, type, inferred, override) {
    const key = `${type}\n${inferred.behaviorString}\n${override.behaviorString}`;
    return getOrCompute(combined, key, () =>
      original.getPreferencesAppliedBehaviors.call(this, type, inferred, override),
    );
  };
  memoized.entityMatches = function (this: Behavior, type, entity, filter) {
    const text = texts(type, entity, () => this.getBehaviorForEntity(type, entity).behaviorString);
    const ofText = getOrCompute(
      matches,
      `${type}\n${text}`,
      () => new Map<string, boolean | undefined>(),
    );
    return getOrCompute(ofText, filter, () =>
      original.entityMatches.call(this, type, entity, filter),
    );
  };
  return Object.setPrototypeOf(behavior, memoized) as Behavior;
}

/**
 * The behavior strings of entities, looked up without the library's linear search for pairs such as table and column.
 */
function makeBehaviorStrings() {
  const known = new Map<unknown, Map<string, string>>();
  return (type: EntityType, entity: unknown, find: () => string): string => {
    const parts = Array.isArray(entity) ? (entity as unknown[]) : [entity, ""];
    const [first, name] = parts;
    if (parts.length !== 2 || typeof name !== "string") return find();
    const ofFirst = getOrCompute(known, first, () => new Map<string, string>());
    return getOrCompute(ofFirst, `${type} ${name}`, find);
  };
}

function getOrCompute<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  if (map.has(key)) return map.get(key) as V;
  const value = make();
  map.set(key, value);
  return value;
}
