/** Why a migration was not made. Its message is for people, and complete; nothing was changed. */
export class Refusal extends Error {
  override name = "Refusal";
}

/** The migrated schema breaks rules of the house; the message lists each with what to do. */
export class RuleViolationError extends Refusal {
  override name = "RuleViolationError";
  readonly violations: readonly string[];

  constructor(violations: readonly string[]) {
    super(
      `The schema breaks ${violations.length} rule(s), nothing was changed:\n  - ${violations.join("\n  - ")}`,
    );
    this.violations = violations;
  }
}

/** The tables could not be had: others held them for too long, several times. */
export class BusyError extends Refusal {
  override name = "BusyError";
}

/** The tables are well, but no API can be made of them: a server would not start. */
export class ApiError extends Refusal {
  override name = "ApiError";
}
