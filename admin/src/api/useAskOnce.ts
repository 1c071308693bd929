import { useRef } from "react";
import { ask } from "./ask.ts";
import { UnreachableError } from "./errors.ts";

/**
 * Returns a function that sends a mutation. A request without a complete response may have succeeded, so the same variables are
 * sent again with the same idempotency key.
 */
export function useAskOnce(): <T>(query: string, variables: Record<string, unknown>) => Promise<T> {
  /** The keys of the requests without a response, by their variables. */
  const unanswered = useRef(new Map<string, string>());
  return async <T>(query: string, variables: Record<string, unknown>): Promise<T> => {
    const body = JSON.stringify(variables);
    const key = unanswered.current.get(body) ?? crypto.randomUUID();
    unanswered.current.set(body, key);
    try {
      const answer = await ask<T>(query, variables, { idempotencyKey: key });
      unanswered.current.delete(body);
      return answer;
    } catch (error) {
      if (!(error instanceof UnreachableError)) unanswered.current.delete(body);
      throw error;
    }
  };
}
