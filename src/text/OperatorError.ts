/**
 * A failure that operators can mend, such as a wrong setting. A terminal shows its message, which is complete, without
 * a stack.
 */
export class OperatorError extends Error {
  override name = "OperatorError";
}
