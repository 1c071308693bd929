import { type ReactNode, useId, useImperativeHandle, useRef, useState } from "react";
import { en } from "../../text/en.ts";
import { suggestedName } from "../../meta/queryTokens.ts";
import { useLoaded } from "../../ui/useLoaded.ts";
import type { QueryFieldProps } from "./queryFieldProps.ts";

const loadQueryEditor = async () => (await import("./QueryEditor.tsx")).QueryEditor;

type QueryBoxProps = Omit<QueryFieldProps, "errorId">;

/** The query box: a plain input until the editor is loaded, and until the user stops typing in it. */
export function QueryField(props: QueryBoxProps): ReactNode {
  const { error } = props;
  const id = useId();
  const [isTyping, setTyping] = useState(false);
  const QueryEditor = useLoaded(loadQueryEditor, true);
  const name = error ? suggestedName(error.message) : null;
  return (
    <div className="query-field" role="search">
      {QueryEditor && !isTyping ? (
        <QueryEditor {...props} errorId={id} />
      ) : (
        <PlainField {...props} errorId={id} onTyping={setTyping} />
      )}
      {error && (
        <p className="query-problem" role="alert" id={id}>
          {error.message}
          {name !== null && <span className="dim"> {en.list.take}</span>}
        </p>
      )}
    </div>
  );
}

interface PlainFieldProps extends QueryFieldProps {
  onTyping: (isTyping: boolean) => void;
}

function PlainField({
  text,
  error,
  errorId,
  onApply,
  onLeave,
  onTyping,
  handle,
}: PlainFieldProps): ReactNode {
  const [draft, setDraft] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  useImperativeHandle(handle, () => ({ focus: () => input.current?.focus() }), []);
  return (
    <input
      ref={input}
      className="input query-input"
      aria-label={en.list.query}
      placeholder={en.list.queryHint}
      spellCheck={false}
      autoComplete="off"
      value={draft}
      aria-invalid={error !== null}
      aria-describedby={error ? errorId : undefined}
      onChange={(event) => {
        onTyping(true);
        setDraft(event.target.value);
      }}
      onBlur={() => onTyping(false)}
      onKeyDown={(event) => {
        if (event.key === "Enter") {
          onApply(draft);
          onTyping(false);
        } else if (event.key === "Escape" || event.key === "ArrowDown") onLeave();
      }}
    />
  );
}
