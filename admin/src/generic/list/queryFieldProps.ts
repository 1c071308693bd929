import type { Ref } from "react";
import type { ApiError } from "../../api/errors.ts";
import type { Entity } from "../../meta/entities.ts";

export interface QueryFieldHandle {
  focus: () => void;
}

export interface QueryFieldProps {
  entity: Entity;
  /** The query in the URL. */
  text: string;
  /** The error if the service rejected the query. */
  error: ApiError | null;
  /** The id of the element with the message of the error. */
  errorId: string;
  onApply: (text: string) => void;
  /** Called when the user leaves the field for the rows, with Escape or arrow down. */
  onLeave: () => void;
  handle?: Ref<QueryFieldHandle>;
}
