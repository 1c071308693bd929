/** A request to the model, independent of the protocol. */
export interface Conversation {
  model: string;
  /** Maximum number of tokens of the answer. */
  maxTokens: number;
  /** Whether the stream reports its usage. */
  withUsage: boolean;
  messages: readonly Message[];
  /** The names of the tools that the service offers. */
  tools: readonly string[];
}

export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  /** Its text parts, without images and files. */
  texts: readonly string[];
  /** The tool calls of an assistant's message. */
  calls: readonly Call[];
  /** The id of the call that a tool's message answers. */
  resultOf?: string | undefined;
}

export interface Call {
  /** Generated when a scripted call has none. */
  id?: string;
  name: string;
  /** An object; a text where it is not valid JSON. */
  arguments: Record<string, unknown> | string;
}

/** The next output of the model: a text, tool calls, or both. */
export interface Turn {
  text: string;
  calls: readonly Call[];
}

/** An error response; each protocol has its own format. */
export class ModelProblem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Refuses what at least one of the protocols forbids: a first message of another role than the user's, calls in a request
 * without tools, calls whose results do not follow, and results without a call.
 * @throws ModelProblem
 */
export function verifyConversation({ messages, tools }: Conversation): void {
  const refuse = (reason: string) => {
    throw new ModelProblem(400, reason);
  };
  if (messages.find(({ role }) => role !== "system")?.role !== "user")
    refuse("the first message must use the user role");
  let open = new Set<string | undefined>();
  for (const [index, { role, calls, resultOf }] of messages.entries()) {
    if (calls.length > 0 && tools.length === 0)
      refuse("requests with tool calls must define tools");
    if (role !== "tool") open = new Set(calls.map(({ id }) => id));
    else if (!open.delete(resultOf)) refuse(`messages.${index}: a result without a tool call`);
    if (open.size > 0 && messages[index + 1]?.role !== "tool")
      refuse(`messages.${index}: a tool call without a result`);
  }
}
