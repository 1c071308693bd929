import { z } from "zod";
import type { Get } from "./types.ts";
import { httpUrl, whole } from "./types.ts";

/** An amount of money without a sign, such as `2.50`. */
const amount = z
  .string()
  .regex(/^\d{1,7}(\.\d{1,6})?$/, "must be an amount such as 2.50")
  .transform(Number);

/** The assistant: the language model that it asks, and the bounds of what it may use up. */
export const assistantSettings = {
  AI_PROVIDER: {
    schema: z.enum(["openai-compatible", "anthropic"], {
      error: "must be openai-compatible or anthropic",
    }),
    fallback: "openai-compatible",
    meaning:
      "how the assistant's language model is spoken to: `openai-compatible` or `anthropic`; the stand-in speaks both",
  },
  AI_BASE_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "address of the model's API up to its version, such as `https://models.example.com/v1`; required with `openai-compatible`, of `anthropic` its public one when empty",
  },
  AI_API_KEY: {
    schema: z.string().max(1_000, "must be 1000 characters at most"),
    fallback: undefined,
    meaning: "key of the model's API; required with `anthropic`",
  },
  AI_MODEL: {
    schema: z.string().max(200, "must be 200 characters at most"),
    fallback: undefined,
    meaning:
      "name of the model. Without it the assistant is not configured: in production it answers 503, elsewhere an embedded stand-in takes the model's place",
  },
  AI_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of that stand-in; 0 takes a free one and keeps to it",
  },
  AI_MAX_STEPS: {
    schema: whole(1, 50),
    fallback: "10",
    meaning: "how often the model is asked for one answer, which is once more than it uses tools",
  },
  AI_MAX_OUTPUT_TOKENS: {
    schema: whole(16, 1_000_000),
    fallback: "8000",
    meaning: "tokens that the model may write for one answer, in all its steps together",
  },
  AI_MAX_CONTEXT_CHARACTERS: {
    schema: whole(2_000, 10_000_000),
    fallback: "200000",
    meaning:
      "characters of a conversation that the model is given; of longer ones the beginning is left out",
  },
  AI_ANSWER_TIMEOUT_MS: {
    schema: whole(500, 3_600_000),
    fallback: "180000",
    meaning: "longest time that one answer may take, in milliseconds",
  },
  AI_IDLE_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "45000",
    meaning: "longest time that the model may say nothing, in milliseconds",
  },
  AI_INPUT_PRICE: {
    schema: amount,
    fallback: "3",
    meaning: "price of a million tokens that the model reads, for the limit of a day",
  },
  AI_OUTPUT_PRICE: {
    schema: amount,
    fallback: "15",
    meaning: "price of a million tokens that the model writes, for the limit of a day",
  },
  AI_DAILY_COST: {
    schema: amount,
    fallback: "5",
    meaning:
      "what one user's answers may cost on one day (UTC), in the currency of the prices; an answer is cut off where it would cost more, and further questions are answered 429 until the next day",
  },
  AI_REQUESTS_PER_MINUTE: {
    schema: whole(1, 10_000),
    fallback: "20",
    meaning: "questions that one user may ask in a minute",
  },
  AI_MESSAGE_CHARACTERS: {
    schema: whole(100, 1_000_000),
    fallback: "20000",
    meaning: "longest message to the assistant, in characters",
  },
  AI_APPROVAL_MINUTES: {
    schema: whole(1, 1_440),
    fallback: "15",
    meaning: "minutes after which a change that the assistant proposes can no longer be approved",
  },
  AI_ATTACHMENT_BYTES: {
    schema: whole(1_000, 52_428_800),
    fallback: "10485760",
    meaning: "largest attachment of a message to the assistant, in bytes",
  },
  AI_ATTACHMENTS_PER_MESSAGE: {
    schema: whole(1, 50),
    fallback: "5",
    meaning: "how many attachments one message to the assistant may have",
  },
  AI_ATTACHMENTS_PER_DAY: {
    schema: whole(1, 100_000),
    fallback: "200",
    meaning: "how many files one user may give to the assistant on one day (UTC)",
  },
  AI_STORED_BYTES: {
    schema: whole(1_000, 1_099_511_627_776),
    fallback: "1073741824",
    meaning: "bytes that the files which one user gave to the assistant may take in all",
  },
  AI_ATTACHMENT_CHARACTERS: {
    schema: whole(1_000, 1_000_000),
    fallback: "40000",
    meaning: "characters of a workbook or a CSV file that the model is given",
  },
} as const;

export function assistantConfig(get: Get<typeof assistantSettings>) {
  return {
    provider: get("AI_PROVIDER"),
    baseUrl: get("AI_BASE_URL"),
    apiKey: get("AI_API_KEY"),
    model: get("AI_MODEL"),
    embeddedPort: get("AI_EMBEDDED_PORT"),
    maxSteps: get("AI_MAX_STEPS"),
    maxOutputTokens: get("AI_MAX_OUTPUT_TOKENS"),
    maxContextCharacters: get("AI_MAX_CONTEXT_CHARACTERS"),
    answerTimeoutMs: get("AI_ANSWER_TIMEOUT_MS"),
    silenceTimeoutMs: get("AI_IDLE_TIMEOUT_MS"),
    inputPrice: get("AI_INPUT_PRICE"),
    outputPrice: get("AI_OUTPUT_PRICE"),
    dailyCost: get("AI_DAILY_COST"),
    requestsPerMinute: get("AI_REQUESTS_PER_MINUTE"),
    messageCharacters: get("AI_MESSAGE_CHARACTERS"),
    approvalMinutes: get("AI_APPROVAL_MINUTES"),
    attachmentBytes: get("AI_ATTACHMENT_BYTES"),
    attachmentsPerMessage: get("AI_ATTACHMENTS_PER_MESSAGE"),
    attachmentsPerDay: get("AI_ATTACHMENTS_PER_DAY"),
    storedBytes: get("AI_STORED_BYTES"),
    attachmentCharacters: get("AI_ATTACHMENT_CHARACTERS"),
  };
}

export type AssistantConfig = ReturnType<typeof assistantConfig>;

export function assistantProblems(
  { provider, baseUrl, apiKey, model }: AssistantConfig,
  production: boolean,
): string[] {
  const problems: string[] = [];
  if (model === undefined) {
    for (const [name, value] of Object.entries({ AI_BASE_URL: baseUrl, AI_API_KEY: apiKey }))
      if (value !== undefined)
        problems.push(`AI_MODEL is required with ${name}: without it the assistant is off`);
    return problems;
  }
  if (provider === "openai-compatible" && baseUrl === undefined)
    problems.push("AI_BASE_URL is required with AI_MODEL");
  if (provider === "anthropic" && apiKey === undefined)
    problems.push("AI_API_KEY is required with AI_PROVIDER=anthropic");
  if (production && baseUrl !== undefined && !baseUrl.startsWith("https:"))
    problems.push("AI_BASE_URL must be an https address in production");
  return problems;
}
