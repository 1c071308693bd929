import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type UIMessage,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from "ai";

/** The state of a chat without a user interface. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage(message: UIMessage): void {
    this.messages = [...this.messages, message];
  }
  popMessage(): void {
    this.messages = this.messages.slice(0, -1);
  }
  replaceMessage(index: number, message: UIMessage): void {
    this.messages = this.messages.with(index, message);
  }
  snapshot<T>(thing: T): T {
    return structuredClone(thing);
  }
}

/** The AI SDK's chat, like `useChat`. */
class Chat extends AbstractChat<UIMessage> {
  constructor(id: string, transport: DefaultChatTransport<UIMessage>, messages: UIMessage[]) {
    super({
      id,
      transport,
      state: new State(messages),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
  }
}

interface ChatOptions {
  token: string;
  id: string;
  messages?: UIMessage[];
  /** How the token is sent, by default as a program does. */
  headers?: Record<string, string>;
}

/** Opens an AI SDK chat with the service at `url` for the holder of `token`. */
export function openChat(
  url: string,
  { token, id, messages = [], headers = { authorization: `Bearer ${token}` } }: ChatOptions,
) {
  const transport = new DefaultChatTransport<UIMessage>({ api: `${url}/ai/chat`, headers });
  return new Chat(id, transport, messages);
}

/** The whole text of a message. */
export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? [])
    .map((part) => (part.type === "text" ? part.text : ""))
    .filter(Boolean)
    .join("\n");
}

/** The tool calls in a message: name, state and result. */
export function toolsOf(message: UIMessage | undefined) {
  return (message?.parts ?? []).flatMap((part) =>
    part.type.startsWith("tool-") && "toolCallId" in part
      ? [
          {
            name: part.type.slice(5),
            state: part.state,
            output: part.output as Record<string, unknown> | undefined,
            approval: part.approval as
              { id: string; approved?: boolean; descriptor?: Record<string, unknown> } | undefined,
          },
        ]
      : [],
  );
}

/** The service's notes in a message. */
export function notesOf(message: UIMessage | undefined): string[] {
  return (message?.parts ?? []).flatMap((part) =>
    part.type === "data-note" ? [(part.data as { text: string }).text] : [],
  );
}

/** Sends one request to the assistant's routes. */
export async function request(
  url: string,
  token: string | null,
  method: string,
  path: string,
  body?: unknown,
) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    // Untyped, because each test states what it expects.

    json: text.startsWith("{") ? JSON.parse(text) : null,
  };
}

/** The shortest of three measurements of `stop` in milliseconds, because a busy machine distorts single ones. */
export async function shortestOfThree(stop: () => Promise<number>): Promise<number> {
  let shortest = Infinity;
  for (let attempt = 0; attempt < 3 && shortest >= 5_000; attempt++)
    shortest = Math.min(shortest, await stop());
  return shortest;
}

/** The body of a question as chat clients send it. */
export function question(id: string, text: string) {
  return {
    id,
    trigger: "submit-message",
    messages: [{ id: "question-1", role: "user", parts: [{ type: "text", text }] }],
  };
}
