import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { baseUrl, integer } from "./types.ts";

/** An amount of money without a sign, such as `2.50`. */
const amount = z
  .string()
  .regex(/^\d{1,7}(\.\d{1,6})?$/, "must be an amount such as 2.50")
  .transform(Number);

/** The assistant: its language model, and limits of cost. */
export const assistantSettings = {
  AI_PROVIDER: {
    schema: z.enum(["openai-compatible", "anthropic"], {
      error: "must be openai-compatible or anthropic",
    }),
    fallback: "openai-compatible",
    meaning: "protocol of the language model's API: `openai-compatible` or `anthropic`",
  },
  AI_BASE_URL: {
    schema: baseUrl,
    fallback: undefined,
    meaning:
      "address of the model's API with its version, such as `https://models.example.com/v1`; required with `openai-compatible`, by default the public address of `anthropic`",
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
      "name of the model; without it the assistant answers 503 in production, and an emulator answers elsewhere",
  },
  AI_TOKEN_PRICES: {
    schema: z
      .string()
      .regex(/^[^,]+,[^,]+$/, "must be two amounts such as 3,15.50")
      .transform((prices) => prices.split(","))
      .pipe(z.tuple([amount, amount])),
    fallback: "3,15",
    meaning:
      "prices of a million input tokens and of a million output tokens, in the currency of AI_DAILY_COST",
  },
  AI_DAILY_COST: {
    schema: amount,
    fallback: "5",
    meaning:
      "what the answers for one user may cost a day (UTC); an answer that would cost more is cut off, and further questions get 429 until the next day",
  },
  AI_REQUESTS_PER_MINUTE: {
    schema: integer(1, 10_000),
    fallback: "20",
    meaning: "questions a minute that one user may ask",
  },
} as const;

export function assistantConfig(
  get: GetSetting<typeof assistantSettings>,
  constants: Constants["assistant"],
) {
  // Undefined where the value is wrong, which the report says.
  const [inputPrice, outputPrice] = get("AI_TOKEN_PRICES") ?? [0, 0];
  return {
    ...constants,
    provider: get("AI_PROVIDER"),
    baseUrl: get("AI_BASE_URL"),
    apiKey: get("AI_API_KEY"),
    model: get("AI_MODEL"),
    inputPrice,
    outputPrice,
    dailyCost: get("AI_DAILY_COST"),
    requestsPerMinute: get("AI_REQUESTS_PER_MINUTE"),
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
