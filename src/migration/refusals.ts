import { OperatorError } from "../text/OperatorError.ts";

/** A migration was refused and changed nothing. */
export class Refusal extends OperatorError {
  override name = "Refusal";
}

/** The migrated schema violates rules; the message lists each with its fix. */
export class RuleViolationError extends Refusal {
  override name = "RuleViolationError";
  readonly violations: readonly string[];

  constructor(violations: readonly string[]) {
    super(
      `The schema violates ${violations.length} rule(s); nothing was changed:\n  - ${violations.join("\n  - ")}`,
    );
    this.violations = violations;
  }
}

/** Tables stayed locked by others in all attempts. */
export class BusyError extends Refusal {
  override name = "BusyError";
}

/** The schema is valid, but no API can be built from it, so no server would start. */
export class ApiError extends Refusal {
  override name = "ApiError";
}
