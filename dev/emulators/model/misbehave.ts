import { reads } from "./chooseTool.ts";
import type { Fault } from "./faults.ts";
import type { ChatRequest, Tool } from "./protocol.ts";
import type { Turn } from "./turn.ts";

/** The turn that a fault makes of a right one. */
export function misled(turn: Turn, fault: Fault | null, request: ChatRequest): Turn {
  const tools = (request.tools ?? []).map((tool) => tool.function);
  const [tool] = [...tools.filter(reads), ...tools];
  switch (fault?.kind) {
    case "silence":
      return { text: "", calls: [] };
    case "endless":
      return { ...turn, calls: [] };
    case "say":
      return { text: fault.text, calls: fault.calls };
    case "unknownTool":
      return { text: "", calls: [{ name: "toolThatNobodyOffered", arguments: { of: "nothing" } }] };
    case "wrongArguments":
      return {
        text: "",
        calls: [
          {
            name: tool?.name ?? "tool",
            arguments: fault.form === "json" ? '{"half": ' : misfitting(tool),
          },
        ],
      };
    case "toolLoop":
      return { text: "", calls: [{ name: tool?.name ?? "tool", arguments: least(tool) }] };
    default:
      return turn;
  }
}

/** The required arguments, with the plainest of values. */
function least(tool: Tool | undefined): Record<string, unknown> {
  const { properties = {}, required = [] } = tool?.parameters ?? {};
  return Object.fromEntries(
    required.map((name) => {
      const schema = properties[name] ?? {};
      if (schema.enum?.[0] !== undefined) return [name, schema.enum[0]];
      if (schema.type === "integer" || schema.type === "number") return [name, schema.minimum ?? 1];
      if (schema.type === "boolean") return [name, false];
      if (schema.type === "array") return [name, ["wine"]];
      return [name, "wine"];
    }),
  );
}

/** Of every argument something that it cannot be. */
function misfitting(tool: Tool | undefined): Record<string, unknown> {
  const names = Object.keys(tool?.parameters.properties ?? {});
  return Object.fromEntries(["wrong", ...names].map((name) => [name, { wrong: [[]] }]));
}
