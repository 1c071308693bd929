import type { LanguageModelUsage } from "ai";
import type { AssistantConfig } from "../settings/assistant.ts";

// Used when the provider reports no token count.
const charactersPerToken = 4;

/** The rest of the user's daily budget does not suffice for the next step of an answer. */
export class BudgetUsedUpError extends Error {
  override name = "BudgetUsedUpError";
}

/** The usage of one model call. */
export interface StepUsage {
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

type Prices = Pick<AssistantConfig, "inputPrice" | "outputPrice">;

/** The usage of a step: the provider's count, or an estimate from the number of characters. */
export function usageOf(
  usage: LanguageModelUsage | null,
  characters: { read: number; written: number },
  { inputPrice, outputPrice }: Prices,
): StepUsage {
  const estimate = (count: number) => Math.ceil(count / charactersPerToken);
  const inputTokens = usage?.inputTokens ?? estimate(characters.read);
  const outputTokens = usage?.outputTokens ?? estimate(characters.written);
  const cost = (inputTokens * inputPrice + outputTokens * outputPrice) / 1_000_000;
  return { inputTokens, outputTokens, cost };
}

/** A lower bound, also for codes and numbers, so that costs are not underestimated. */
const minCharactersPerToken = 2;
/** The shortest useful answer. */
const minTokens = 64;

type Limits = Prices & Pick<AssistantConfig, "maxOutputTokens" | "dailyCost">;

/** The minimum and maximum cost of a call with this many input characters and output tokens. */
export function costRange(
  characters: number,
  maxTokens: number,
  { inputPrice, outputPrice }: Prices,
): { input: number; least: number; most: number } {
  const input = (Math.ceil(characters / minCharactersPerToken) * inputPrice) / 1_000_000;
  const of = (tokens: number) => input + (tokens * outputPrice) / 1_000_000;
  return { input, least: of(Math.min(minTokens, maxTokens)), most: of(maxTokens) };
}

/** How many output tokens an amount pays for. */
export function tokensFor(amount: number, { outputPrice }: Prices): number {
  return outputPrice === 0 ? Infinity : Math.floor((amount * 1_000_000) / outputPrice);
}

/** Whether today's remaining budget is too small for any answer. */
export function isBudgetExhausted(spent: number, limits: Limits): boolean {
  const { least } = costRange(0, limits.maxOutputTokens, limits);
  return spent + least > limits.dailyCost || spent >= limits.dailyCost;
}

/** Seconds until the next day (UTC). */
export function secondsUntilMidnight(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
}
