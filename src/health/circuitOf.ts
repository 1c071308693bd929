import type { CircuitBreakerPolicy } from "cockatiel";
import { CircuitState } from "cockatiel";
import type { Circuit } from "./externalSystems.ts";

/** The state of a circuit breaker. One that was isolated by hand counts as open. */
export function circuitOf({ state }: CircuitBreakerPolicy): Circuit {
  if (state === CircuitState.Closed) return "closed";
  return state === CircuitState.HalfOpen ? "half-open" : "open";
}
