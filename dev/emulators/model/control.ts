import { z } from "zod";
import type { FaultQueue } from "../faultQueue.ts";
import type { Manner } from "./conversation.ts";
import { type Fault, faultSchema } from "./faults.ts";
import { ModelProblem } from "./problem.ts";

/** A question that reached the model, as far as tests and people want to see it. */
export interface SeenRequest {
  at: number;
  /** As it came, without the key. */
  body: unknown;
  status: number | null;
  /** Whether the other side left before the answer was whole. */
  aborted: boolean;
  /** When the answer ended, one way or the other. */
  endedAt: number | null;
}

export interface Controlled {
  faults: FaultQueue<Fault>;
  seen: readonly SeenRequest[];
  manner: Manner;
}

const mannerSchema = z.strictObject({ manner: z.enum(["careful", "obedient"]) });

/**
 * Routes beyond the protocol, below `/_model`: shows the requests, makes the model fail, and makes it obey the texts that
 * it reads.
 * @throws ModelProblem for an unknown route or body
 */
export function control(state: Controlled, method: string, path: string, body: unknown): unknown {
  const { faults } = state;
  switch (`${method} ${path}`) {
    case "GET /_model":
      return { manner: state.manner, faults: faults.pending(), requests: state.seen.length };
    case "GET /_model/requests":
      return state.seen;
    case "POST /_model/faults":
      faults.add(faultSchema.parse(body));
      return { faults: faults.pending() };
    case "DELETE /_model/faults":
      faults.clear();
      return { faults: [] };
    case "PUT /_model/manner":
      state.manner = mannerSchema.parse(body).manner;
      return { manner: state.manner };
    default:
      throw new ModelProblem(404, `The model has no ${method} of ${path}`);
  }
}
