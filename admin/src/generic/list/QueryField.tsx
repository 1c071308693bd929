import {
  type ReactNode,
  type Ref,
  Suspense,
  lazy,
  useId,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { Input } from "react-aria-components";
import type { ApiError } from "../../api/errors.ts";
import type { Entity } from "../../meta/catalogue.ts";
import { en } from "../../text/en.ts";
import { suggestedName } from "../../meta/queryTokens.ts";

const QueryEditor = lazy(async () => ({
  default: (await import("./QueryEditor.tsx")).QueryEditor,
}));

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

/** The query box: a plain field until the editor has been loaded. */
export function QueryField(props: QueryFieldProps): ReactNode {
  const { error } = props;
  const id = useId();
  const name = error ? suggestedName(error.message) : null;
  return (
    <div className="query-field" role="search" aria-describedby={error ? id : undefined}>
      <Suspense fallback={<PlainField {...props} />}>
        <QueryEditor {...props} />
      </Suspense>
      {error && (
        <p className="query-problem" role="alert" id={id}>
          {error.message}
          {name !== null && <span className="dim"> {en.list.take}</span>}
        </p>
      )}
    </div>
  );
}

function PlainField({ text, error, onApply, onLeave, handle }: QueryFieldProps): ReactNode {
  const [draft, setDraft] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  useImperativeHandle(handle, () => ({ focus: () => input.current?.focus() }), []);
  return (
    <Input
      ref={input}
      className="input query-input"
      aria-label={en.list.query}
      placeholder={en.list.queryHint}
      spellCheck={false}
      autoComplete="off"
      value={draft}
      aria-invalid={error !== null}
      onChange={(event) => setDraft(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onApply(draft);
        else if (event.key === "Escape" || event.key === "ArrowDown") onLeave();
      }}
    />
  );
}
