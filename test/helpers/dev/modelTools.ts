import type { ModelMessage, ToolSet } from "ai";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { readConfig } from "../../../src/config.ts";
import type { ConstantOverrides } from "../../../src/settings/constants.ts";
import { makeModelGateway } from "../../../src/gateways/makeModelGateway.ts";
import type { ModelGateway } from "../../../src/gateways/model.ts";

/** The recorded tool calls, in order. */
export const called: { name: string; input: Record<string, unknown> }[] = [];

/** Creates the production client with a separate circuit breaker. */
export function makeGateway(
  env: Readonly<Record<string, string>>,
  assistant?: ConstantOverrides["assistant"],
): ModelGateway {
  const made = makeModelGateway(readConfig(env, [], { assistant }).assistant);
  if (made === null) throw new Error("the emulator's settings name no model");
  return made;
}

/** A tool that records its calls and returns a computed result. */
export function recordingTool(
  name: string,
  description: string,
  properties: Record<string, object>,
  answer: (input: Record<string, unknown>) => unknown,
  required: string[] = [],
) {
  return tool({
    description,
    inputSchema: jsonSchema<Record<string, unknown>>({
      type: "object",
      properties,
      required,
      additionalProperties: false,
    }),
    execute: (input) => {
      called.push({ name, input });
      return answer(input);
    },
  });
}

const text = { type: "string" };
const few = { type: "integer", minimum: 1, maximum: 15 };
const barolo = { id: "p1", name: "Barolo Cannubi", vintage: 2019, erpProductNumber: "0040" };

/** Example tools with fixed answers. */
export const tools: ToolSet = {
  search_products: recordingTool(
    "search_products",
    "Finds products. Conditions are `field:value`.",
    { query: text, first: few },
    () => ({ products: { totalCount: 1, nodes: [barolo] } }),
  ),
  findCampaigns: recordingTool(
    "findCampaigns",
    "Finds campaigns.",
    { query: text, first: few },
    () => ({
      campaigns: [{ id: "c1", title: "Autumn reds", status: "DRAFT" }],
    }),
  ),
  createCampaign: recordingTool(
    "createCampaign",
    "Creates a campaign.",
    {
      title: text,
      price: text,
      medium: { type: "string", enum: ["EMAIL", "SMS", "PRINT"] },
      scheduledAt: text,
      productId: text,
    },
    (input) => ({ campaign: { id: "c2", title: input["title"] } }),
    ["title", "price", "medium", "scheduledAt"],
  ),
};

/** Sends a question to the model and collects its response. */
export async function askModel(
  gateway: ModelGateway,
  question: string | ModelMessage[],
  given: ToolSet = tools,
) {
  const problems: unknown[] = [];
  const messages: ModelMessage[] =
    typeof question === "string" ? [{ role: "user", content: question }] : question;
  const answer = streamText({
    model: gateway.model,
    messages,
    tools: given,
    stopWhen: stepCountIs(6),
    maxRetries: 0,
    onError: ({ error }) => void problems.push(error),
  });
  await answer.consumeStream({ onError: (error) => void problems.push(error) });
  if (problems.length > 0) return { problem: problems[0] as Error };
  const steps = await answer.steps;
  return {
    text: steps.map((step) => step.text).join("\n"),
    reason: await answer.finishReason,
    usage: await answer.totalUsage,
    messages: [...messages, ...(await answer.response).messages],
  };
}
