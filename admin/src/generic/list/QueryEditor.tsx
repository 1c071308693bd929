import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionStatus,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  ViewPlugin,
  type ViewUpdate,
  keymap,
  placeholder,
} from "@codemirror/view";
import { type ReactNode, useEffect, useImperativeHandle, useRef } from "react";
import { withoutNull } from "../../../../src/schema/rowNames.ts";
import { ask } from "../../api/ask.ts";
import { ApiError, UnreachableError } from "../../api/errors.ts";
import { searchFieldsDocument, suggestionsDocument } from "../../api/documents.ts";
import type { Suggestion } from "../../api/suggestion.ts";
import { type Entity, fieldOf } from "../../meta/entities.ts";
import { queryClient } from "../../session.ts";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import type { QueryFieldProps } from "./queryFieldProps.ts";
import { placeAt, quoteValue, suggestedName, tokenize } from "../../meta/queryTokens.ts";

interface SearchField {
  name: string;
  kind: string;
  description: string | null;
  isWordField: boolean;
  values: string[];
}

const marks = {
  field: Decoration.mark({ class: "q-field" }),
  colon: Decoration.mark({ class: "q-sign" }),
  operator: Decoration.mark({ class: "q-operator" }),
  value: Decoration.mark({ class: "q-value" }),
  string: Decoration.mark({ class: "q-value" }),
  punctuation: Decoration.mark({ class: "q-sign" }),
};

/** Highlights the syntax of the query. */
const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view.state);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged) this.decorations = decorate(update.state);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

function decorate(state: EditorState): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { kind, from, text } of tokenize(state.doc.toString()))
    if (kind !== "word") builder.add(from, from + text.length, marks[kind]);
  return builder.finish();
}

/** Fetches the searchable fields of a list, once per list. */
function searchFields(entity: Entity): Promise<SearchField[]> {
  return queryClient.query({
    queryKey: ["searchFields", entity.name],
    queryFn: async ({ signal }) => {
      const answer = await ask<{ searchFields: SearchField[] }>(
        searchFieldsDocument,
        { type: entity.name },
        { signal },
      );
      return answer.searchFields;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const kindNames: Record<string, string> = {
  TEXT: "text",
  EXACT: "exact text",
  INTEGER: "number",
  BIGINT: "number",
  DECIMAL: "decimal",
  FLOAT: "decimal",
  BOOLEAN: "yes or no",
  ID: "id",
  INSTANT: "time",
  DATE: "day",
  ENUM: "one of",
};

/** Operators and words that can start a value of each kind. */
const beginnings: Record<string, readonly string[]> = {
  BOOLEAN: ["true", "false"],
  INSTANT: ["today", "today-7d", ">=today-30d", "<today", "*"],
  DATE: ["today", "today-7d", ">=today-30d", "<today", "*"],
  INTEGER: [">=", "<=", "[", "*"],
  BIGINT: [">=", "<=", "[", "*"],
  DECIMAL: [">=", "<=", "[", "*"],
};

function fieldOptions(fields: readonly SearchField[]): Completion[] {
  return fields.map(({ name, kind, description }) => ({
    label: name,
    detail: kindNames[kind] ?? "",
    apply: `${name}:`,
    type: "property",
    // Ranks the list's own fields above those of related rows.
    boost: -10 * (name.split(".").length - 1),
    ...(description === null ? {} : { info: withoutNull(description) }),
  }));
}

/** Completions of a value: names of related rows for `wineType.name:`, enumeration values, or words for dates. */
async function valueOptions(
  entity: Entity,
  field: SearchField,
  text: string,
): Promise<Completion[]> {
  if (field.values.length > 0) return field.values.map((value) => ({ label: value, type: "enum" }));
  const [first = "", last] = field.name.split(".");
  const reference = entity.fields.find((item) => item.reference?.field === first)?.reference;
  const own = fieldOf(entity, field.name);
  const target =
    reference && last === reference.nameField
      ? reference.entity
      : own && own.name === entity.nameField
        ? entity.name
        : null;
  if (target !== null) {
    const { suggestions } = await ask<{ suggestions: Suggestion[] }>(suggestionsDocument, {
      entity: target,
      text,
    });
    return suggestions.map(({ name }) => ({ label: name, apply: quoteValue(name), type: "text" }));
  }
  // Not after another beginning: Tab would replace what is typed.
  return (beginnings[field.kind] ?? [])
    .filter((label) => label.startsWith(text) && label !== text)
    .map((label) => ({ label, type: "keyword" }));
}

async function complete(
  entity: Entity,
  context: CompletionContext,
): Promise<CompletionResult | null> {
  const place = placeAt(context.state.doc.toString(), context.pos);
  if (!place || (place.kind === "field" && place.text === "" && !context.explicit)) return null;
  const fields = await searchFields(entity);
  if (place.kind === "field")
    return { from: place.from, options: fieldOptions(fields), validFor: /^[\w.]*$/ };
  const field = fields.find(({ name }) => name === place.field);
  if (!field) return null;
  const options = await valueOptions(entity, field, place.text);
  return { from: place.from, options, filter: field.values.length > 0 };
}

/** Returns no completions on errors of the service, which a dialog or a bar already shows. */
async function completeOrNothing(
  entity: Entity,
  context: CompletionContext,
): Promise<CompletionResult | null> {
  try {
    return await complete(entity, context);
  } catch (error) {
    if (error instanceof ApiError || error instanceof UnreachableError) return null;
    throw error;
  }
}

/** The query box with completion, syntax highlighting and marked errors. */
export function QueryEditor({
  entity,
  text,
  error,
  errorId,
  onApply,
  onLeave,
  handle,
}: QueryFieldProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const described = useRef(new Compartment());
  const callbacks = useRef({ onApply, onLeave, text, error });
  useEffect(() => {
    callbacks.current = { onApply, onLeave, text, error };
  });
  useImperativeHandle(handle, () => ({ focus: () => view.current?.focus() }), []);

  useEffect(() => {
    if (!place.current) return undefined;
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: callbacks.current.text,
        selection: { anchor: callbacks.current.text.length },
        extensions: [
          EditorView.cspNonce.of(
            document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "",
          ),
          // A query is one line: pasted lines are joined, and other changes that would add a line are rejected.
          EditorView.clipboardInputFilter.of((text) =>
            text.trim().replaceAll(/\s*[\r\n]+\s*/g, " "),
          ),
          EditorState.transactionFilter.of((transaction) =>
            transaction.newDoc.lines > 1 ? [] : transaction,
          ),
          history(),
          placeholder(en.list.queryHint),
          colours,
          described.current.of([]),
          autocompletion({
            override: [(context) => completeOrNothing(entity, context)],
            icons: false,
            // Limited to what fits without scrolling, because the list of completions takes no focus.
            maxRenderedOptions: 12,
            // By default the completion list ignores keys in its first 75 ms.
            interactionDelay: 0,
            activateOnCompletion: ({ apply }) => typeof apply === "string" && apply.endsWith(":"),
          }),
          keymap.of([
            {
              key: "Enter",
              run: (target) => {
                callbacks.current.onApply(target.state.doc.toString());
                return true;
              },
            },
            {
              key: "Escape",
              run: (target) => {
                const { text: before, onLeave: leave } = callbacks.current;
                replace(target, before);
                leave();
                return true;
              },
            },
            {
              key: "ArrowDown",
              run: (target) => {
                if (completionStatus(target.state) !== null) return false;
                callbacks.current.onLeave();
                return true;
              },
            },
            {
              key: "Tab",
              // While completions load, Tab must not leave the field.
              run: (target) =>
                acceptCompletion(target) ||
                correct(target) ||
                completionStatus(target.state) === "pending",
            },
            { key: "Ctrl-Space", run: startCompletion },
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          EditorView.contentAttributes.of({
            "aria-label": en.list.query,
            "aria-multiline": "false",
            spellcheck: "false",
          }),
        ],
      }),
    });
    view.current = editor;
    /** Replaces the marked name with the service's suggestion. */
    const correct = (target: EditorView): boolean => {
      const detail = callbacks.current.error?.errors[0];
      const name = detail ? suggestedName(detail.message) : null;
      if (name === null || detail?.position == null) return false;
      const from = detail.position - 1;
      const marked = target.state.doc.sliceString(from, from + (detail.length ?? 0));
      const wrong = /^[\w.]+/.exec(marked)?.[0] ?? "";
      target.dispatch({
        changes: { from, to: from + wrong.length, insert: name },
        selection: { anchor: from + name.length },
      });
      return true;
    };
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [entity]);

  // Going back or forward changes the query in the URL.
  useEffect(() => {
    if (view.current && view.current.state.doc.toString() !== text) replace(view.current, text);
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    closeCompletion(editor);
    const detail = error?.errors[0];
    const length = editor.state.doc.length;
    const from = Math.min(length, Math.max(0, (detail?.position ?? 1) - 1));
    const to = Math.min(length, from + (detail?.length ?? length));
    editor.dispatch(
      setDiagnostics(
        editor.state,
        detail ? [{ from, to, severity: "error", message: detail.message }] : [],
      ),
      {
        effects: described.current.reconfigure(
          EditorView.contentAttributes.of(
            error
              ? { "aria-invalid": "true", "aria-describedby": errorId }
              : { "aria-invalid": "false" },
          ),
        ),
      },
    );
  }, [error, errorId]);

  return (
    <div className="query-editor">
      <div ref={place} />
      {text !== "" && (
        <button
          type="button"
          className="link-button"
          aria-label={en.list.clear}
          onClick={() => {
            // The button disappears with the query.
            view.current?.focus();
            onApply("");
          }}
        >
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}

function replace(view: EditorView, text: string): void {
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: text },
    selection: { anchor: text.length },
  });
}
