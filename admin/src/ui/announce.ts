import { makeSharedState } from "../sharedState.ts";

/** What screen readers are told next; the number tells repeated texts apart. */
export const announcement = makeSharedState({ text: "", count: 0 });

/** Tells users of screen readers what others see, such as a new title. */
export function announce(text: string): void {
  announcement.set({ text, count: announcement.get().count + 1 });
}
