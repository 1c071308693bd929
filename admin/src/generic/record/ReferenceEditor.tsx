import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button, ComboBox, Input, ListBox, ListBoxItem, Popover } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { suggestionsDocument } from "../../api/documents.ts";
import type { Suggestion } from "../../frame/Palette.tsx";
import type { EntityReference } from "../../meta/catalogue.ts";
import { ColorDot, referredRow } from "../../meta/kinds.tsx";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import type { EditorProps } from "./Editor.tsx";

interface ReferenceEditorProps extends EditorProps {
  id: string;
  describedBy: string | undefined;
  reference: EntityReference;
}

/** Chooses a row of another table by typing the beginning of its name. The service searches. */
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
}: ReferenceEditorProps): ReactNode {
  const current = row && referredRow(field, row);
  const selected = typeof value === "string" && value !== "" ? value : null;
  // Names of rows chosen in this form, which the loaded row does not know.
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  const nameOf = (key: string | null) =>
    key === null ? "" : (names.get(key) ?? (current?.id === key ? current.name : key));
  const [text, setText] = useState(nameOf(selected));
  const [shownFor, setShownFor] = useState(selected);
  // Reverting, or taking over somebody else's value, changes the choice from outside.
  if (shownFor !== selected) {
    setShownFor(selected);
    setText(nameOf(selected));
  }
  const [isOpen, setOpen] = useState(false);
  const wanted = text === nameOf(selected) ? "" : text.trim();
  const found = useQuery({
    queryKey: ["suggestions", reference.entity, wanted],
    queryFn: ({ signal }) =>
      ask<{ suggestions: Suggestion[] }>(
        suggestionsDocument,
        { entity: reference.entity, text: wanted },
        { signal },
      ),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  const choices = found.data?.suggestions ?? [];
  const choose = (key: string | null) => {
    const name = choices.find((choice) => choice.id === key)?.name;
    if (key !== null && name !== undefined) setNames(new Map([...names, [key, name]]));
    setText(key === null ? "" : (name ?? nameOf(key)));
    setShownFor(key);
    onChange(key ?? "");
  };
  return (
    <>
      <ComboBox
        className="combo"
        aria-label={field.title}
        items={choices}
        inputValue={text}
        value={selected}
        allowsEmptyCollection
        allowsCustomValue
        menuTrigger="focus"
        isInvalid={error !== undefined}
        isRequired={use === "REQUIRED"}
        validationBehavior="aria"
        onOpenChange={setOpen}
        onInputChange={(next) => {
          setText(next);
          // Emptying the field takes the reference away.
          if (next === "" && selected !== null && use !== "REQUIRED") choose(null);
        }}
        onChange={(key) => {
          if (key !== null) choose(String(key));
        }}
        onBlur={() => setText(nameOf(selected))}
      >
        <Input
          id={id}
          name={field.name}
          className="input"
          aria-describedby={describedBy}
          placeholder={en.record.choose}
          // What is typed takes the place of the name that stands there.
          onFocus={(event) => event.target.select()}
        />
        <Popover className="popover">
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
        </Popover>
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
    </>
  );
}
