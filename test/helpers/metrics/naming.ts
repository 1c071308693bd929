const prefixes = "nano|micro|milli|centi|kilo|kibi|mega|mebi|giga|gibi|tera|tebi";
const units = "seconds|bytes|celsius|grams|joules|meters|volts|amperes";
const scaledUnit = new RegExp(`_((${prefixes})(${units})|minutes|hours|days|weeks|percent)(_|$)`);
const abbreviation = /_(s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(_|$)/;

/** Violations of the naming rules of `promtool check metrics` in Prometheus 3. */
export function namingFaults(exposition: string): string[] {
  const helped = new Set(
    [...exposition.matchAll(/^# HELP (\S+) \S/gm)].map(([, name = ""]) => name),
  );
  return [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type = ""]) => {
    const faults = [
      [!helped.has(name), "no help"],
      [type === "counter" && !name.endsWith("_total"), "a counter not named _total"],
      [type !== "counter" && name.endsWith("_total"), `a ${type} named _total`],
      [
        type === "gauge" && /_(count|sum|bucket)$/.test(name),
        `a gauge named ${/_(?:count|sum|bucket)$/.exec(name)?.[0] ?? ""}`,
      ],
      [scaledUnit.test(name), "not in base units"],
      [abbreviation.test(name), "an abbreviated unit"],
      [new RegExp(`(^|_)${type}(_|$)`).test(name), "the type in the name"],
      [/[a-z][A-Z]/.test(name), "camelCase"],
      [name.includes(":"), "a colon in the name"],
    ] as const;
    return faults.filter(([isFault]) => isFault).map(([, fault]) => `${name}: ${fault}`);
  });
}
