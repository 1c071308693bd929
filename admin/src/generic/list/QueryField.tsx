import { type ReactNode, type Ref, useId, useImperativeHandle, useRef, useState } from "react";
import { Input } from "react-aria-components";
import type { ApiError } from "../../api/errors.ts";
import type { Entity } from "../../meta/catalogue.ts";
import { en } from "../../text/en.ts";

export interface QueryFieldHandle {
  focus: () => void;
}

export interface QueryFieldProps {
  entity: Entity;
  /** The query of the address. */
  text: string;
  /** Why the service refused it. */
  error: ApiError | null;
  onApply: (text: string) => void;
  /** The arrow down leaves for the rows. */
  onLeave: () => void;
  handle?: Ref<QueryFieldHandle>;
}

export function QueryField({ text, error, onApply, onLeave, handle }: QueryFieldProps): ReactNode {
  const [draft, setDraft] = useState(text);
  const [applied, setApplied] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useImperativeHandle(handle, () => ({ focus: () => input.current?.focus() }), []);
  // Back and forward change the text of the address.
  if (applied !== text) {
    setApplied(text);
    setDraft(text);
  }
  return (
    <div className="query-field">
      <Input
        ref={input}
        className="input query-input"
        aria-label={en.list.query}
        placeholder={en.list.queryHint}
        spellCheck={false}
        autoComplete="off"
        value={draft}
        aria-invalid={error !== null}
        aria-describedby={error ? `${id}-problem` : undefined}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onApply(draft);
          else if (event.key === "Escape") {
            setDraft(text);
            onLeave();
          } else if (event.key === "ArrowDown") onLeave();
        }}
      />
      {error && (
        <p className="query-problem" role="alert" id={`${id}-problem`}>
          {error.message}
        </p>
      )}
    </div>
  );
}
