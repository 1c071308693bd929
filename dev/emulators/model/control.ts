import { z } from "zod";
import type { FaultQueue } from "../faultQueue.ts";
import type { Manner } from "./conversation.ts";
import { type Fault, faultSchema } from "./faults.ts";
import { ModelProblem } from "./problem.ts";

/** A recorded request to the model. */
export interface SeenRequest {
  at: number;
  /** The body of the request, which does not contain the API key. */
  body: unknown;
  status: number | null;
  /** Whether the client disconnected before the response was complete. */
  aborted: boolean;
  /** When the response was complete or aborted. */
  endedAt: number | null;
}

export interface Controlled {
  faults: FaultQueue<Fault>;
  seen: readonly SeenRequest[];
  manner: Manner;
}

const mannerSchema = z.strictObject({ manner: z.enum(["careful", "obedient"]) });

/**
 * The control API below `/_model`: lists requests, adds faults and sets the manner.
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
      throw new ModelProblem(404, `The model has no route ${method} ${path}`);
  }
}
