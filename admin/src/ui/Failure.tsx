import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import { ApiError } from "../api/errors.ts";
import { en } from "../text/en.ts";

/** Shows an error message with the request's correlation id, which finds it in the log. */
export function Failure({
  error,
  title,
  onRetry,
}: {
  error: unknown;
  title?: string;
  onRetry?: () => void;
}): ReactNode {
  const correlationId = error instanceof ApiError ? error.correlationId : null;
  return (
    <div className="empty" role="alert">
      <h2>{title ?? en.list.failed}</h2>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {correlationId !== null && (
        <p className="hint">
          {en.list.correlation} <code>{correlationId}</code>
        </p>
      )}
      {onRetry && (
        <Button className="button" onPress={onRetry}>
          {en.again}
        </Button>
      )}
    </div>
  );
}
