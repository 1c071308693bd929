/** What `npm run doctor` found. */
export interface Finding {
  state: "ok" | "warning" | "wrong";
  what: string;
  /** What to do about it. */
  advice?: string;
}

export const ok = (what: string): Finding => ({ state: "ok", what });
export const warning = (what: string, advice: string): Finding => ({
  state: "warning",
  what,
  advice,
});
export const wrong = (what: string, advice: string): Finding => ({ state: "wrong", what, advice });
