/** An error response with Typesense's status and message. */
export class EngineProblem extends Error {
  override name = "EngineProblem";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws EngineProblem when the text is not a JSON object */
export function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new EngineProblem(400, "Bad JSON.");
  }
  if (!isObject(value)) throw new EngineProblem(400, "Bad JSON.");
  return value;
}
