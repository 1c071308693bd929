import { type Tool, type ToolSet, tool } from "ai";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { z } from "zod";
import { PublicError, badUserInput } from "../errors/PublicError.ts";
import type { SearchEngine } from "../gateways/search.ts";
import { outageMessage } from "../errors/fromDatabaseError.ts";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";
import { truncateResult, collectIds } from "./truncate.ts";
import type { Caller } from "./caller.ts";
import { describeSchema } from "./describeSchema.ts";
import type { Operations, Outcome } from "./operations.ts";
import type { ReadTool } from "./readTool.ts";
import { readTools } from "./readTools.ts";
import { searchDescription, searchEverywhere, searchInput } from "./searchTool.ts";
import { recordToolUse, summaryOf } from "./recordToolUse.ts";
import { sanitizeJson } from "./sanitizeJson.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import type { WriteTool } from "./writeTools.ts";
import { writeTools } from "./writeTools.ts";

/** A stored change that waits for approval. */
export interface Proposal {
  id: string;
  tool: string;
  summary: string;
  operation: string;
  variables: Record<string, unknown>;
  expiresAt: string;
}

interface ToolsOptions {
  caller: Caller;
  conversationId: string;
  operations: Operations;
  /** Null when no engine is configured. */
  engine: SearchEngine | null;
  config: Pick<
    AssistantConfig,
    "approvalMinutes" | "maxContextCharacters" | "parallelToolCalls" | "toolCalls"
  >;
  /** Ids of tool calls whose approval was answered before this answer started. */
  answeredCallIds: ReadonlySet<string>;
  /** Collects the ids of started tool calls; these record themselves in the audit log. */
  startedCallIds: Set<string>;
  /** Called for each change that waits for approval, before the stream shows it. */
  onProposal: (toolCallId: string, proposal: Proposal) => void;
  log: Logger;
}

type Result = Record<string, unknown>;
interface ToolUse {
  toolCallId: string;
}

/** Creates the tools of one answer. They act as the caller and never throw: the model receives errors as results. */
export function makeTools(options: ToolsOptions): ToolSet {
  const { caller, conversationId, operations, engine, config, onProposal, log } = options;
  const { answeredCallIds, startedCallIds } = options;

  /** Write calls that cannot be approved, with the reason. */
  const refused = new Map<string, string>();

  const limit = pLimit(config.parallelToolCalls);
  let calls = 0;
  let characters = 0;

  const record = (name: string, isWrite: boolean, use: ToolUse, details: Result) =>
    recordToolUse(options, { name, isWrite, toolCallId: use.toolCallId, details });

  /** Runs one tool call and records its outcome in the audit log before returning it to the model. */
  async function use(
    name: string,
    isWrite: boolean,
    of: ToolUse,
    input: unknown,
    work: () => Promise<Result>,
  ): Promise<Result> {
    startedCallIds.add(of.toolCallId);
    let result: Result;
    try {
      result = await limit(async () => {
        // An approved change is carried out in any case.
        const reason = isWrite ? null : refusal();
        const found = reason === null ? truncateResult(await work()) : { error: reason };
        characters += JSON.stringify(found).length;
        return found;
      });
    } catch (error) {
      result = { error: messageOf(error) };
    }
    const error = typeof result["error"] === "string" ? result["error"] : undefined;
    try {
      await record(name, isWrite, of, {
        arguments: summaryOf(input),
        outcome: error === undefined ? "done" : "refused",
        ...(error === undefined
          ? { entityIds: collectIds(result) }
          : { message: error.slice(0, 500) }),
      });
      return result;
    } catch (unrecorded) {
      const problem = { error: messageOf(unrecorded) };
      // The change is committed and audited, so the model must not report a failure.
      return isWrite ? result : problem;
    }
  }

  /** Why the answer may use no further tool: the model decides how often it asks, also by what it reads in the data. */
  function refusal(): string | null {
    calls++;
    if (calls > config.toolCalls)
      return `An answer may use tools ${config.toolCalls} times: answer with what you have.`;
    return characters > config.maxContextCharacters / 2
      ? "The results of this answer are as long as they may be: answer with what you have."
      : null;
  }

  function messageOf(error: unknown): string {
    if (error instanceof PublicError) return error.message;
    if (isDatabaseError(error) && error.code?.startsWith("OF")) return error.message;
    log.error({ err: error }, "assistant tool failed");
    return isOutage(error)
      ? `${outageMessage(error)}.`
      : "The tool failed; the error has been recorded.";
  }

  const ask = async (source: string, variables: object): Promise<Outcome> =>
    operations.run(await caller.now(), source, variables);

  const run = async (source: string, variables: object): Promise<Result> => {
    const outcome = await ask(source, variables);
    if (outcome.error !== undefined) return { error: outcome.error };
    const { data, hidden } = outcome;
    // Without this, the model would take hidden fields for empty ones.
    return hidden.length > 0 ? { ...data, hidden } : data;
  };

  function readTool(name: string, definition: ReadTool): Tool {
    const { description, input, operation } = definition;
    return tool({
      description,
      inputSchema: input,
      execute: (given, of) =>
        use(name, false, of, given, () => {
          const ask = (variables: object) => run(operation, variables);
          return definition.find?.(ask, given) ?? ask(definition.variables?.(given) ?? given);
        }),
    });
  }

  function writeTool(name: string, definition: WriteTool): Tool {
    const { description, input } = definition;
    const proposalOf = async (
      given: Record<string, unknown>,
      toolCallId: string,
    ): Promise<Proposal> => {
      const reason = refusal();
      if (reason !== null) throw badUserInput(reason);
      const requestContext = await caller.now();
      const facts = { requestContext, operations };
      const variables = definition.variables(given, facts);
      operations.check(requestContext, definition.operation, variables);
      return propose(name, toolCallId, {
        operation: definition.operation,
        variables,
        summary: await definition.summary(variables, facts),
      });
    };
    return tool({
      description,
      inputSchema: input,
      // A call that cannot be approved is rejected at once; `execute` returns the reason.
      async needsApproval(given, { toolCallId }) {
        startedCallIds.add(toolCallId);
        if (answeredCallIds.has(toolCallId)) return true;
        try {
          const proposal = await limit(() => proposalOf(given, toolCallId));
          await record(
            name,
            true,
            { toolCallId },
            {
              arguments: summaryOf(given),
              outcome: "proposed",
              approvalId: proposal.id,
            },
          );
          onProposal(toolCallId, proposal);
          return true;
        } catch (error) {
          refused.set(toolCallId, messageOf(error));
          return false;
        }
      },
      execute: (given, of) =>
        use(name, true, of, given, async () => {
          const reason = refused.get(of.toolCallId);
          if (reason !== undefined) return { error: reason };
          const change = await takeApproved(of.toolCallId);
          // Runs the stored and approved change, and ignores arguments that the model or client sends now.
          return change === null
            ? { error: "Nobody approved this change, or the approval has expired or was used up." }
            : run(change.operation, change.variables);
        }),
    });
  }

  async function propose(
    name: string,
    toolCallId: string,
    change: Pick<Proposal, "operation" | "variables" | "summary">,
  ): Promise<Proposal> {
    const { operation, variables, summary } = change;
    const { rows } = await caller.run((client) =>
      client.query<{ id: string; expires_at: Date }>(
        "select id, expires_at from propose_ai_change($1, $2, $3, $4, $5, $6, $7)",
        [
          ...[conversationId, toolCallId, name, summary, operation],
          ...[sanitizeJson(variables), config.approvalMinutes],
        ],
      ),
    );
    const [row] = rows;
    if (!row) throw new Error("A proposed change was not stored");
    return { id: row.id, tool: name, ...change, expiresAt: row.expires_at.toISOString() };
  }

  async function takeApproved(toolCallId: string) {
    const { rows } = await caller.run((client) =>
      client.query<{ operation: string; variables: Record<string, unknown> }>(
        "select operation, variables from use_ai_approval($1, $2)",
        [conversationId, toolCallId],
      ),
    );
    return rows[0] ?? null;
  }

  const documentation = tool({
    description:
      "Looks up the service's own documentation: a type, query or mutation of its API by name, or words such as `wine price`.",
    inputSchema: z.object({ name: z.string().max(200).describe("A name, or some words.") }),
    execute: (given, of) =>
      use("describe_schema", false, of, given, async () => {
        await caller.now();
        return describeSchema(operations.schema(), given.name);
      }),
  });

  const search = tool({
    description: searchDescription,
    inputSchema: searchInput,
    execute: (given, of) =>
      use("search", false, of, given, () =>
        searchEverywhere(engine, (operation) => ask(operation, {}), given),
      ),
  });

  // Without a prototype, in which the library would find a tool named `constructor`.
  return Object.assign(Object.create(null) as ToolSet, {
    ...mapTools(readTools, readTool),
    search,
    describe_schema: documentation,
    ...mapTools(writeTools, writeTool),
  });
}

function mapTools<T>(
  definitions: Readonly<Record<string, T>>,
  make: (name: string, definition: T) => Tool,
): ToolSet {
  return Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [name, make(name, definition)]),
  );
}
