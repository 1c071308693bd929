/** What the model says next: words, calls of tools, or both. */
export interface Turn {
  text: string;
  calls: readonly Call[];
}

export interface Call {
  /** Set for a scripted wrong id; generated otherwise. */
  id?: string | undefined;
  name: string;
  /** An object; a text only for a scripted fault. */
  arguments: Record<string, unknown> | string;
}

/** An `obedient` model does what any text tells it to, also text that is data: the worst that injected instructions can do. */
export type Manner = "careful" | "obedient";
