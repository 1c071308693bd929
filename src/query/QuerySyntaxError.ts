/**
 * A malformed query with its position. `position` is a 0-based UTF-16 offset, `length` the number of units; the message
 * counts positions from 1.
 */
export class QuerySyntaxError extends Error {
  readonly position: number;
  readonly length: number;
  readonly reason: string;

  constructor(reason: string, position: number, length = 1) {
    super(`query: ${reason} at position ${position + 1}`);
    this.name = "QuerySyntaxError";
    this.reason = reason;
    this.position = position;
    this.length = length;
  }
}
