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

/** So many characters make a token at the least, even of codes and numbers: what a question may cost is not underestimated. */
const leastCharactersPerToken = 2;
/** An answer of fewer tokens is none. */
const leastTokens = 64;

type Limits = Prices & Pick<AssistantConfig, "maxOutputTokens" | "dailyCost">;

/** What a question may cost that has so many characters, when so many tokens may be written: at the least and at the most. */
export function costsOf(
  characters: number,
  maxTokens: number,
  { inputPrice, outputPrice }: Prices,
): { input: number; least: number; most: number } {
  const input = (Math.ceil(characters / leastCharactersPerToken) * inputPrice) / 1_000_000;
  const of = (tokens: number) => input + (tokens * outputPrice) / 1_000_000;
  return { input, least: of(Math.min(leastTokens, maxTokens)), most: of(maxTokens) };
}

/** How many tokens can be written for an amount. */
export function tokensFor(amount: number, { outputPrice }: Prices): number {
  return outputPrice === 0 ? Infinity : Math.floor((amount * 1_000_000) / outputPrice);
}

/** Whether what was spent today leaves too little for any answer. */
export function isUsedUp(spent: number, limits: Limits): boolean {
  const { least } = costsOf(0, limits.maxOutputTokens, limits);
  return spent + least > limits.dailyCost || spent >= limits.dailyCost;
}

/** Seconds until the next day begins, in UTC. */
export function secondsOfDayLeft(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
}
