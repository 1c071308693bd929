/** A finding of `npm run doctor`. */
export interface Finding {
  state: "ok" | "warning" | "wrong";
  what: string;
  /** How to fix it. */
  advice?: string;
}

export const ok = (what: string): Finding => ({ state: "ok", what });
export const warning = (what: string, advice: string): Finding => ({
  state: "warning",
  what,
  advice,
});
export const wrong = (what: string, advice: string): Finding => ({ state: "wrong", what, advice });
