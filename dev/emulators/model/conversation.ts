/** A request to the model, independent of the protocol. */
export interface Conversation {
  model: string;
  /** The largest number of tokens of the answer. */
  maxTokens: number;
  isStream: boolean;
  /** Whether a stream reports its usage. */
  withUsage: boolean;
  messages: readonly Message[];
  tools: readonly Tool[];
  /** The length of the request in characters, from which the usage is counted. */
  characters: number;
}

/** A message as the script reads it. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  /** Its text parts; pictures and files are left out. */
  texts: readonly string[];
  /** The tool calls of an assistant's message. */
  calls: readonly Call[];
}

/** A tool that the service offers; its arguments by the JSON schema of each. */
export interface Tool {
  name: string;
  description?: string | undefined;
  properties: Readonly<Record<string, { type?: unknown; enum?: readonly unknown[] | undefined }>>;
  required: readonly string[];
}

/** What the model says next: a text, tool calls, or both. */
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

/** An `obedient` model makes every call that any text orders, also text that is data: the worst that injected instructions can do. */
export type Manner = "careful" | "obedient";
