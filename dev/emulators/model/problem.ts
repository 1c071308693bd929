import type { ZodError } from "zod";

/** An error response; each dialect has its own format. */
export class ModelProblem extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;

  constructor(
    status: number,
    message: string,
    { code = null, param = null }: { code?: string | null; param?: string | null } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** A 400 that names the first wrong field. */
export function invalid({ issues: [issue] }: ZodError): ModelProblem {
  const param = (issue?.path ?? []).join(".");
  return new ModelProblem(400, `${param}: ${issue?.message ?? ""}`, { param });
}

/** @throws ModelProblem when the text is not JSON */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelProblem(400, "We could not parse the JSON body of your request.");
  }
}
