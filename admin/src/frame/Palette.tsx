import { useQueries } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
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
import { foldName } from "../../../src/schema/rowNames.ts";
import { ask } from "../api/ask.ts";
import { suggestionsOfListsDocument } from "../api/documents.ts";
import type { Suggestion } from "../api/suggestion.ts";
import type { Entity } from "../meta/entities.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { formatSuggestion } from "../meta/kinds.tsx";
import { en } from "../text/en.ts";
import { announce } from "../ui/announce.ts";
import { viewEntityOf } from "../generic/views/viewEntity.ts";

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

/** 0 for a name that equals the text, 1 for one that begins with it. */
function rankOf(name: string, text: string): number {
  const [own, wanted] = [foldName(name), foldName(text)];
  return own === wanted ? 0 : own.startsWith(wanted) ? 1 : 2;
}

/** The found rows of a list. */
function rowSection({ entity, rows }: { entity: Entity; rows: readonly Suggestion[] }): ReactNode {
  return (
    <ListBoxSection key={entity.name} id={`rows-${entity.name}`}>
      <Header className="label">{entity.title}</Header>
      {rows.map(({ id, name, detail }) => (
        <ListBoxItem key={id} id={`${entity.name}/${id}`} className="option" textValue={name}>
          {name}
          <span className="dim">{detail}</span>
        </ListBoxItem>
      ))}
    </ListBoxSection>
  );
}

function PaletteContent({ onClose }: { onClose: () => void }): ReactNode {
  const entities = useEntities();
  const { listed, metadata } = entities;
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const wanted = text.trim();
  const pages = useMemo(() => {
    const reports = metadata.reports.map((report) => ({
      ...report,
      name: `report/${report.field}`,
    }));
    return [...listed, ...reports]
      .filter(({ title }) => foldName(title).includes(foldName(wanted)))
      .toSorted((a, b) => rankOf(a.title, wanted) - rankOf(b.title, wanted));
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
  const sections = searched
    .map((entity) => {
      const rows = found.flatMap(({ data }) => data?.[entity.name] ?? []);
      const isExact = rows.some(({ name }) => rankOf(name, wanted) === 0);
      return { entity, isExact, rows: rows.map((row) => formatSuggestion(entity, row)) };
    })
    .filter(({ rows }) => rows.length > 0);
  const count = pages.length + sections.reduce((sum, { rows }) => sum + rows.length, 0);
  const isSettled = found.every(({ isFetching }) => !isFetching);
  useEffect(() => {
    if (wanted === "" || !isSettled) return undefined;
    // After the letters, which screen readers speak as they are typed.
    const timer = setTimeout(
      () => announce(count === 0 ? en.palette.nothing : en.palette.found(count)),
      500,
    );
    return () => clearTimeout(timer);
  }, [wanted, isSettled, count]);
  const isList = pages.some(({ title }) => rankOf(title, wanted) === 0);
  // The row with exactly this name comes before lists and other rows that contain it.
  const [first, rest] = [true, false].map((isFirst) =>
    sections.filter(({ isExact }) => (isExact && !isList) === isFirst).map(rowSection),
  );
  const go = (key: string) => {
    const [entity = "", id] = key.split("/");
    // A saved view opens its list.
    const isView = entity === viewEntityOf(entities)?.name;
    const views = isView ? found.flatMap(({ data }) => data?.[entity] ?? []) : [];
    const list = views.find((view) => view.id === id)?.detail ?? undefined;
    if (entity === "report" && id !== undefined)
      void navigate({ to: "/report/$report", params: { report: id }, search: {} });
    else if (id === undefined) void navigate({ to: "/$entity", params: { entity }, search: {} });
    else if (list !== undefined)
      void navigate({ to: "/$entity", params: { entity: list }, search: { view: id } });
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
        {first}
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
        {rest}
      </ListBox>
    </Autocomplete>
  );
}
