/** A request to the model, independent of the protocol. */
export interface Conversation {
  model: string;
  /** Maximum number of tokens of the answer. */
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
  /** Its text parts, without images and files. */
  texts: readonly string[];
  /** The tool calls of an assistant's message. */
  calls: readonly Call[];
}

/** A tool that the service offers, with the JSON schema of its arguments. */
export interface Tool {
  name: string;
  description?: string | undefined;
  properties: Readonly<Record<string, { type?: unknown; enum?: readonly unknown[] | undefined }>>;
  required: readonly string[];
}

/** The next output of the model: a text, tool calls, or both. */
export interface Turn {
  text: string;
  calls: readonly Call[];
}

export interface Call {
  /** Set for a scripted wrong id; generated otherwise. */
  id?: string | undefined;
  name: string;
  /** An object; the text itself if it is not valid JSON, as after a fault. */
  arguments: Record<string, unknown> | string;
}

/**
 * An `obedient` model makes every call that any text requests, even a text that is data. This is the worst case of
 * prompt injection.
 */
export type Manner = "careful" | "obedient";
