import { keepPreviousData, useQuery } from "@tanstack/react-query";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import {
  Button,
  ComboBox,
  ComboBoxStateContext,
  Input,
  ListBox,
  ListBoxItem,
  Popover,
} from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { suggestionsDocument } from "../../api/documents.ts";
import { suggestionsByKey } from "../../api/referencedRows.ts";
import type { Suggestion } from "../../api/suggestion.ts";
import { type EntityReference, fieldOf } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { textOf } from "../../meta/format.ts";
import { ColorDot, formatSuggestion, rowName } from "../../meta/kinds.tsx";
import { referencedRow } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Icon } from "../../ui/icons.tsx";
import type { EditorProps } from "./editorProps.ts";
import { isRowKey } from "./values.ts";

interface ReferenceEditorProps extends EditorProps {
  id: string;
  describedBy: string | undefined;
  reference: EntityReference;
  /** If given, receives the chosen row instead of `onChange`, and the field is cleared. */
  onChosen?: (choice: Suggestion) => void;
  /** Called with true when the user leaves a text for which no row was chosen, and with false when that has ended. */
  onUnchosen: (isUnchosen: boolean) => void;
}

/** The key of the choice "New …"; keys of rows have no leading space. */
const newKey = " new";

/** Moves the virtual focus to the first choice, so that Enter selects it. */
function FocusFirst({ first }: { first: string | null }): null {
  const state = useContext(ComboBoxStateContext);
  useEffect(() => {
    // The list is updated after the choices and may still begin with the choice "New …".
    const isShown = first !== null && state?.collection.getFirstKey() === first;
    if (state?.isOpen === true && isShown && state.selectionManager.focusedKey === null)
      state.selectionManager.setFocusedKey(first);
  });
  return null;
}

/**
 * Keeps the page visible to assistive technology while the choices are open. The library would set `aria-hidden` on
 * everything else, whose controls remain focusable. It spares elements with this attribute.
 */
function KeepPageVisible(): null {
  const isOpen = useContext(ComboBoxStateContext)?.isOpen === true;
  useLayoutEffect(() => {
    if (!isOpen) return;
    const attribute = "data-react-aria-top-layer";
    const marked = [...document.body.children].filter((part) => !part.hasAttribute(attribute));
    for (const part of marked) part.setAttribute(attribute, "true");
    // The library reads the attribute in an effect that runs before the timer. Later it would change other overlays.
    setTimeout(() => {
      for (const part of marked) part.removeAttribute(attribute);
    });
  }, [isOpen]);
  return null;
}

interface ChoicesProps {
  error: string | undefined;
  input: RefObject<HTMLInputElement | null>;
  /** Whether the choices are those for the typed text. Earlier ones take no presses: they are about to move. */
  isSettled: boolean;
  children: ReactNode;
}

/**
 * The choices beside the field. They follow it when the page scrolls, and close when it leaves the view. The library would
 * close them by any scrolling, also by that with which the browser shows a focused field.
 */
function Choices({ error, input, isSettled, children }: ChoicesProps): ReactNode {
  const state = useContext(ComboBoxStateContext);
  const isOpen = state?.isOpen === true;
  const isFollowing = useRef(false);
  // The form may focus the field before it shows the message, which the choices would cover.
  useEffect(() => {
    if (error !== undefined) state?.close();
    // Typing opens the choices again.
  }, [error]);
  // A layout effect, so that this listener runs before that of the library.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const onScroll = ({ target }: Event) => {
      const field = input.current;
      if (!field || !(target instanceof Node) || target === field || !target.contains(field))
        return;
      isFollowing.current = isInView(field, target);
      setTimeout(() => {
        isFollowing.current = false;
      });
      // The library places its overlays again.
      dispatchEvent(new Event("resize"));
    };
    addEventListener("scroll", onScroll, true);
    return () => removeEventListener("scroll", onScroll, true);
  }, [isOpen, input]);
  return (
    <Popover
      className={isSettled ? "popover" : "popover is-unsettled"}
      isOpen={isOpen}
      onOpenChange={(isWanted) => {
        if (!isWanted && !isFollowing.current) state?.close();
      }}
      // A press beside the choices leaves the focus in the field.
      onMouseDown={(event) => event.preventDefault()}
    >
      {children}
    </Popover>
  );
}

/** Whether an element is in the visible part of a scroller that contains it. */
function isInView(element: Element, scroller: Node): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const box = scroller instanceof Element ? scroller.getBoundingClientRect() : null;
  return bottom > (box?.top ?? 0) && top < (box?.bottom ?? innerHeight);
}

/** The event by which the library returns the focus to an element after a dialog closes. */
const restoreEvent = "react-aria-focus-scope-restore";

/**
 * Lets the library return the focus to the field. Its combobox would cancel the event: the focus would be lost, and Escape
 * would no longer close the drawer.
 */
function useRestoredFocus(field: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = field.current;
    const hide = (event: Event) => event.stopPropagation();
    element?.addEventListener(restoreEvent, hide, true);
    return () => element?.removeEventListener(restoreEvent, hide, true);
  }, [field]);
}

/** The number of choices; more for rows without a name, which typing does not find. */
const choiceCount = (isNamed: boolean): number => (isNamed ? 8 : 50);

/** A combobox for a row of another table. The service searches for the typed text. */
export function ReferenceEditor({
  field,
  value,
  row,
  reference,
  id,
  describedBy,
  error,
  use,
  onChange,
  onOpenReference,
  onNew,
  onChosen,
  onUnchosen,
}: ReferenceEditorProps): ReactNode {
  const entities = useEntities();
  const referenced = entities.get(reference.entity);
  const current = row && referencedRow(field, row);
  const selected = typeof value === "string" && value !== "" ? value : null;
  // The names of rows chosen in this form, which the loaded row does not contain.
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  const isKnown = selected === null || names.has(selected) || current?.id === selected;
  // The initial value of a new row's reference is a key without a name.
  const looked = useQuery({
    queryKey: ["referred", reference.entity, selected],
    queryFn: ({ signal }) => suggestionsByKey(entities, reference, [selected ?? ""], signal),
    enabled: !isKnown && isRowKey(field, selected),
  });
  const nameOf = (key: string | null) =>
    key === null
      ? ""
      : (names.get(key) ??
        (current?.id === key
          ? current.name
          : looked.data
            ? (looked.data.get(key)?.name ?? en.notVisible)
            : ""));
  const selectedName = nameOf(selected);
  const [text, setText] = useState(selectedName);
  const [shown, setShown] = useState({ selected, name: selectedName });
  // The form changes the value when it is reverted or merged with another user's change. A name is loaded later.
  if (shown.selected !== selected || shown.name !== selectedName) {
    setShown({ selected, name: selectedName });
    if (shown.selected !== selected || text === shown.name) setText(selectedName);
  }
  // A form does not send a text that is no row's name, because the field would lose it.
  const input = useRef<HTMLInputElement>(null);
  const wrapper = useRef<HTMLDivElement>(null);
  useRestoredFocus(wrapper);
  const hasUnknownText = text.trim() !== "" && text !== selectedName;
  useEffect(() => {
    input.current?.setCustomValidity(hasUnknownText ? enRecord.notChosen : "");
    if (!hasUnknownText) onUnchosen(false);
  }, [hasUnknownText, onUnchosen]);
  const [isOpen, setOpen] = useState(false);
  // The text for which Enter was pressed before its choices were loaded; the first of them is selected.
  const [taken, setTaken] = useState<string | null>(null);
  const first = choiceCount(reference.nameField !== "id");
  const wanted = text === nameOf(selected) ? "" : text.trim();
  const found = useQuery({
    queryKey: ["suggestions", reference.entity, reference.choices, wanted],
    queryFn: ({ signal }) =>
      ask<{ suggestions: Suggestion[] }>(
        suggestionsDocument,
        { entity: reference.entity, text: wanted, first, query: reference.choices },
        { signal },
      ),
    enabled: isOpen || taken !== null,
    placeholderData: keepPreviousData,
  });
  const choices = (found.data?.suggestions ?? []).map((row) => formatSuggestion(referenced, row));
  const isSettled = found.isSuccess && !found.isPlaceholderData;
  const choose = (key: string | null) => {
    if (key === newKey) {
      openNewRowForm();
      return;
    }
    const chosen = choices.find((choice) => choice.id === key);
    if (onChosen) {
      setText("");
      if (chosen) onChosen(chosen);
      return;
    }
    const name = choices.find((choice) => choice.id === key)?.name;
    if (key !== null && name !== undefined) setNames(new Map([...names, [key, name]]));
    setText(key === null ? "" : (name ?? nameOf(key)));
    onChange(key ?? "");
  };
  const chooseCreatedRow = (created: string, name: string) => {
    setNames(new Map([...names, [created, name]]));
    setText(name);
    onChange(created);
  };
  const openNewRowForm = () => {
    setText(nameOf(selected));
    if (!referenced) return;
    const { nameField } = referenced;
    const takesName = wanted !== "" && fieldOf(referenced, nameField)?.onCreate !== "NO";
    onNew({
      entity: referenced,
      initial: takesName ? { [nameField]: wanted } : {},
      onCreated: (created) => {
        const name = rowName(referenced, created);
        if (onChosen) onChosen({ id: created.id, name, detail: null, color: null });
        else chooseCreatedRow(textOf(created[reference.keyField]) || created.id, name);
      },
    });
  };
  const mayCreate = referenced?.canCreate != null;
  const offered =
    referenced === undefined || !mayCreate
      ? choices
      : [
          ...choices,
          {
            id: newKey,
            name: en.record.newChoice(referenced.titleOne, wanted),
            detail: null,
            color: null,
          },
        ];
  const best = choices[0]?.id;
  useEffect(() => {
    if (taken === null || !isSettled) return;
    setTaken(null);
    if (taken === wanted && best !== undefined) choose(best);
    else if (taken === wanted && mayCreate) openNewRowForm();
    else onUnchosen(true);
  });
  const onKeyDownCapture = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || wanted === "" || !(event.target instanceof HTMLInputElement))
      return;
    const isFocused = event.target.hasAttribute("aria-activedescendant");
    if (isSettled && isFocused) return;
    event.preventDefault();
    event.stopPropagation();
    setTaken(wanted);
  };
  return (
    <div ref={wrapper} className="reference" onKeyDownCapture={onKeyDownCapture}>
      <ComboBox
        className="combo"
        aria-label={field.title}
        items={offered}
        inputValue={text}
        value={selected}
        allowsEmptyCollection
        allowsCustomValue
        // Choices would cover the message of a field that the form focuses.
        menuTrigger={error === undefined ? "focus" : "input"}
        isInvalid={error !== undefined}
        isRequired={use === "REQUIRED"}
        validationBehavior="aria"
        onOpenChange={setOpen}
        onInputChange={(next) => {
          setText(next);
          // Clearing the field removes the reference.
          if (next === "" && selected !== null && use !== "REQUIRED") choose(null);
        }}
        onChange={(key) => {
          if (key !== null) choose(String(key));
        }}
        onBlur={() => {
          if (taken !== null) return;
          if (hasUnknownText) onUnchosen(true);
          else setText(selectedName);
        }}
      >
        <Input
          ref={input}
          id={id}
          name={field.name}
          className="input"
          aria-describedby={describedBy}
          placeholder={en.record.choose}
          // Typing replaces the name of the selected row, but not a text typed earlier.
          onFocus={(event) => text === nameOf(selected) && event.target.select()}
        />
        <KeepPageVisible />
        {/* Not the choice of a new row, whose form Tab would open. */}
        {wanted !== "" && isSettled && <FocusFirst first={best ?? null} />}
        <Choices error={error} input={input} isSettled={isSettled}>
          <ListBox<Suggestion>
            renderEmptyState={() => (
              <p className="hint option">{found.isFetching ? en.loading : en.record.noChoice}</p>
            )}
          >
            {(choice) => (
              <ListBoxItem id={choice.id} className="option" textValue={choice.name}>
                {choice.color !== null && <ColorDot color={choice.color} />}
                {choice.name}
                <span className="dim">{choice.detail}</span>
              </ListBoxItem>
            )}
          </ListBox>
          {isSettled && choices.length === first && (
            <p className="hint option">{enRecord.firstChoices(first)}</p>
          )}
        </Choices>
      </ComboBox>
      {selected !== null && onOpenReference && (
        <Button
          className="button button-quiet icon-button"
          aria-label={en.record.open(nameOf(selected))}
          onPress={() => onOpenReference(reference.entity, selected)}
        >
          <Icon name="open" />
        </Button>
      )}
    </div>
  );
}
