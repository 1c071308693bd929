import { useQueries } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  TextField,
} from "react-aria-components";
import { ask } from "../api/ask.ts";
import { suggestionsOfListsDocument } from "../api/documents.ts";
import type { Suggestion } from "../api/suggestion.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { en } from "../text/en.ts";

/** The number of lists that one request searches; the server allows 20 root fields. */
const listsPerRequest = 20;

/** The command palette (Ctrl K): opens a list, or a row of any list by name. */
export function Palette({ onOpenChange }: { onOpenChange: (isOpen: boolean) => void }): ReactNode {
  return (
    <ModalOverlay className="overlay overlay-top" isDismissable isOpen onOpenChange={onOpenChange}>
      <Modal className="dialog palette">
        <Dialog aria-label={en.palette.title}>
          <PaletteContent onClose={() => onOpenChange(false)} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function PaletteContent({ onClose }: { onClose: () => void }): ReactNode {
  const { listed, metadata } = useEntities();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const wanted = text.trim();
  const pages = useMemo(() => {
    const reports = metadata.reports.map((report) => ({
      ...report,
      name: `report/${report.field}`,
    }));
    return [...listed, ...reports].filter(({ title }) =>
      title.toLowerCase().includes(wanted.toLowerCase()),
    );
  }, [listed, metadata, wanted]);
  const searched = wanted.length < 2 ? [] : listed;
  const requests = Array.from(
    { length: Math.ceil(searched.length / listsPerRequest) },
    (_, place) =>
      searched
        .slice(place * listsPerRequest, (place + 1) * listsPerRequest)
        .map(({ name }) => name),
  );
  const found = useQueries({
    queries: requests.map((names) => ({
      queryKey: ["suggestions", names, wanted],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        ask<Record<string, Suggestion[]>>(
          suggestionsOfListsDocument(names),
          { text: wanted },
          { signal },
        ),
    })),
  });
  const suggestionsOf = (list: string) => found.flatMap(({ data }) => data?.[list] ?? []);
  const go = (key: string) => {
    const [entity = "", id] = key.split("/");
    if (entity === "report" && id !== undefined)
      void navigate({ to: "/report/$report", params: { report: id }, search: {} });
    else if (id === undefined) void navigate({ to: "/$entity", params: { entity }, search: {} });
    else void navigate({ to: "/$entity/$id", params: { entity, id }, search: {} });
    onClose();
  };
  return (
    <Autocomplete inputValue={text} onInputChange={setText}>
      <TextField aria-label={en.palette.title} autoFocus>
        <Input
          className="input"
          placeholder={en.palette.placeholder}
          // The arrow keys in this field move through the list below.
          role="combobox"
          aria-expanded
        />
      </TextField>
      <ListBox
        className="options"
        aria-label={en.palette.title}
        onAction={(key) => go(String(key))}
        renderEmptyState={() => <p className="hint">{en.palette.nothing}</p>}
      >
        {pages.length > 0 && (
          <ListBoxSection id="lists">
            <Header className="label">{en.palette.lists}</Header>
            {pages.map(({ name, title, group }) => (
              <ListBoxItem key={name} id={name} className="option" textValue={title}>
                {title}
                <span className="dim">{group}</span>
              </ListBoxItem>
            ))}
          </ListBoxSection>
        )}
        {searched.map((entity) => {
          const rows = suggestionsOf(entity.name);
          return (
            rows.length > 0 && (
              <ListBoxSection key={entity.name} id={`rows-${entity.name}`}>
                <Header className="label">{entity.title}</Header>
                {rows.map(({ id, name, detail }) => (
                  <ListBoxItem
                    key={id}
                    id={`${entity.name}/${id}`}
                    className="option"
                    textValue={name}
                  >
                    {name}
                    <span className="dim">{detail}</span>
                  </ListBoxItem>
                ))}
              </ListBoxSection>
            )
          );
        })}
      </ListBox>
    </Autocomplete>
  );
}
