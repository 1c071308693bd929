import { type GraphQLEnumValueConfigMap, assertEnumValueName } from "graphql";
import { isEnumCodec } from "postgraphile/@dataplan/pg";
import { titleOf } from "./rowNames.ts";

function isName(text: string): boolean {
  try {
    assertEnumValueName(text);
    return true;
  } catch {
    return false;
  }
}

/** The nearest name that GraphQL takes, such as `FREE_RANGE` for `free range`. */
function nameOf(build: GraphileBuild.Build, value: string): string {
  const words = build.inflection.constantCase(build.inflection.coerceToGraphQLName(value));
  const name = words.replace(/^_+|_+$/g, "");
  return /^[A-Z]/.test(name) ? name : ["VALUE", name].filter(Boolean).join("_");
}

/** @throws Error when the API cannot spell a value of an enumeration, with the value to write instead */
export function checkEnumValues(
  build: GraphileBuild.Build,
  typeName: string,
  values: GraphQLEnumValueConfigMap,
): void {
  const wrong = Object.keys(values).filter((name) => !isName(name));
  if (wrong.length === 0) return;
  const type = Object.values(build.input.pgRegistry.pgCodecs).find(
    (codec) => isEnumCodec(codec) && build.inflection.enumType(codec) === typeName,
  );
  const taken = new Set(Object.keys(values));
  const remedies = wrong.map((name) => {
    const stored = String(values[name]?.value ?? name);
    const nearest = nameOf(build, stored);
    let instead = nearest;
    for (let number = 2; taken.has(instead); number++) instead = `${nearest}_${number}`;
    taken.add(instead);
    return `\`${stored}\` (write \`${instead}\`, which the console shows as "${titleOf(instead.toLowerCase())}")`;
  });
  throw new Error(
    `The enumeration ${type?.extensions?.pg?.name ?? typeName} has values that the API cannot spell: ${remedies.join(", ")}. A value has A-Z, 0-9 and underscores, a letter first.`,
  );
}
