/** A refusal in the form that OpenAI's API gives it. */
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

  body() {
    return {
      error: {
        message: this.message,
        type: types[this.status] ?? (this.status >= 500 ? "server_error" : "invalid_request_error"),
        param: this.param,
        code: this.code,
      },
    };
  }
}

const types: Readonly<Record<number, string>> = {
  401: "invalid_request_error",
  403: "permission_error",
  429: "rate_limit_error",
};
