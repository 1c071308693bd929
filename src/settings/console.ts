import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { list } from "./types.ts";

export const consoleSettings = {
  CONSOLE_IMAGE_HOSTS: {
    schema: list,
    fallback: "",
    meaning:
      "origins that the console shows pictures from, beside its own, separated by commas; none by default, since a picture's server learns who looks at it",
    example: "https://images.example",
  },
} as const;

export function consoleConfig(
  get: GetSetting<typeof consoleSettings>,
  constants: Constants["console"],
) {
  return { ...constants, imageHosts: get("CONSOLE_IMAGE_HOSTS") };
}

/** The entries become part of the page's policy: anything but an origin could add to it. */
export function consoleProblems({ imageHosts }: ReturnType<typeof consoleConfig>): string[] {
  return (imageHosts ?? [])
    .filter(
      (origin) =>
        !/^https?:\/\/[\w.:[\]-]+$/.test(origin) ||
        !URL.canParse(origin) ||
        new URL(origin).origin !== origin,
    )
    .map(
      (origin) =>
        `CONSOLE_IMAGE_HOSTS names "${origin.slice(0, 60)}", which is not an origin such as https://images.example`,
    );
}
