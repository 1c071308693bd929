import { makeSharedState } from "./sharedState.ts";

export type Theme = "system" | "light" | "dark";

/** Display preferences in the browser's storage. Must not contain data of the service. */
interface Preferences {
  theme: Theme;
  singleKeys: boolean;
  /** Columns and their widths by list. */
  lists: Record<string, ListPreference>;
}

export interface ListPreference {
  columns?: string[];
  widths?: Record<string, number>;
}

const key = "console.preferences";
const preferences = makeSharedState(read());

function read(): Preferences {
  const fallback: Preferences = { theme: "system", singleKeys: true, lists: {} };
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Preferences>;
    return { ...fallback, ...kept };
  } catch {
    return fallback;
  }
}

export function setPreferences(change: Partial<Preferences>): void {
  const next = { ...preferences.get(), ...change };
  try {
    localStorage.setItem(key, JSON.stringify(next));
  } catch {
    // Without storage, preferences last until the page is closed.
  }
  preferences.set(next);
  applyTheme();
}

export function setListPreference(list: string, change: ListPreference): void {
  const { lists } = preferences.get();
  setPreferences({ lists: { ...lists, [list]: { ...lists[list], ...change } } });
}

export function applyTheme(): void {
  const { theme } = preferences.get();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export const currentPreferences = preferences.get;
export const usePreferences = preferences.use;
