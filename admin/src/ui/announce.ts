import { makeSharedState } from "../sharedState.ts";

/** The latest announcement to screen readers. Its number makes a repeated text a new announcement. */
export const announcement = makeSharedState({ text: "", count: 0 });

/** Announces to screen readers what other users see, such as a new title. */
export function announce(text: string): void {
  announcement.set({ text, count: announcement.get().count + 1 });
}
