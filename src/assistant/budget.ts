import type { LanguageModelUsage } from "ai";
import type { AssistantConfig } from "../settings/assistant.ts";

// Of what no provider counts for us.
const charactersPerToken = 4;

/** What one question to the model has used up. */
export interface Spent {
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

type Prices = Pick<AssistantConfig, "inputPrice" | "outputPrice">;

/** What a step has used up: as the provider counts it or, where it does not, by the characters. */
export function spentOn(
  usage: LanguageModelUsage | null,
  characters: { read: number; written: number },
  { inputPrice, outputPrice }: Prices,
): Spent {
  const estimate = (count: number) => Math.ceil(count / charactersPerToken);
  const inputTokens = usage?.inputTokens ?? estimate(characters.read);
  const outputTokens = usage?.outputTokens ?? estimate(characters.written);
  const cost = (inputTokens * inputPrice + outputTokens * outputPrice) / 1_000_000;
  return { inputTokens, outputTokens, cost };
}

/** Seconds until the next day begins, in UTC. */
export function secondsOfDayLeft(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
}
