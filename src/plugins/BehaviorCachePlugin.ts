type Build = GraphileBuild.Build;
type Behavior = Build["behavior"];
type EntityType = keyof GraphileBuild.BehaviorEntities;
type Resolved = ReturnType<Behavior["getPreferencesAppliedBehaviors"]>;

/**
 * Keeps the answers to the questions what may be made of an entity. Building the schema asks tens of thousands of them, most
 * of them about entities that say the same, and the library parses all that is said anew for each: a fifth of the time that
 * a server takes to start.
 */
export const BehaviorCachePlugin: GraphileConfig.Plugin = {
  name: "BehaviorCachePlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        let behavior: Behavior | undefined;
        // The library puts it there after all of these hooks, and freezes it.
        return Object.defineProperty(build, "behavior", {
          enumerable: true,
          get: () => behavior,
          set(made: Behavior) {
            behavior = remembering(made);
          },
        });
      },
    },
  },
};

/** The same object, whose answers are kept. They depend on nothing but the texts of behaviours that are compared. */
function remembering(behavior: Behavior): Behavior {
  const original = Object.getPrototypeOf(behavior) as Behavior;
  const combined = new Map<string, Resolved>();
  const matches = new Map<string, Map<string, boolean | undefined>>();
  const texts = makeTexts();
  const kept = Object.create(original) as Behavior;
  kept.getPreferencesAppliedBehaviors = function (this: Behavior, type, inferred, override) {
    const key = `${type}\n${inferred.behaviorString}\n${override.behaviorString}`;
    return keep(combined, key, () =>
      original.getPreferencesAppliedBehaviors.call(this, type, inferred, override),
    );
  };
  kept.entityMatches = function (this: Behavior, type, entity, filter) {
    const text = texts(type, entity, () => this.getBehaviorForEntity(type, entity).behaviorString);
    const ofText = keep(matches, `${type}\n${text}`, () => new Map<string, boolean | undefined>());
    return keep(ofText, filter, () => original.entityMatches.call(this, type, entity, filter));
  };
  return Object.setPrototypeOf(behavior, kept) as Behavior;
}

/** What entities say, found without a search through all others that consist of two, such as a table and a column's name. */
function makeTexts() {
  const known = new Map<unknown, Map<string, string>>();
  return (type: EntityType, entity: unknown, find: () => string): string => {
    const parts = Array.isArray(entity) ? (entity as unknown[]) : [entity, ""];
    const [first, name] = parts;
    if (parts.length !== 2 || typeof name !== "string") return find();
    const ofFirst = keep(known, first, () => new Map<string, string>());
    return keep(ofFirst, `${type} ${name}`, find);
  };
}

function keep<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  if (map.has(key)) return map.get(key) as V;
  const value = make();
  map.set(key, value);
  return value;
}
