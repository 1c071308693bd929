import { useIsMutating, useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Header, MenuItem, MenuSection } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { listExportDocument, listTemplatesDocument } from "../../api/documents.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { type Entity, type EntityField, allRowsQuery, fieldOf } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import type { OverlayProps } from "../../ui/OverlayButton.tsx";
import { OverlayMenu } from "../../ui/OverlayMenu.tsx";
import { showToast } from "../../ui/Toasts.tsx";

export interface ExportMenuProps {
  entity: Entity;
  columns: readonly EntityField[];
  query: string;
  order: readonly string[];
  /** The number of rows that match the query; undefined until it is known. */
  total: number | undefined;
  /** The ids of the selected rows, which are exported instead of those that match. */
  selected: readonly string[];
}

const formats = ["XLSX", "CSV", "JSONL"] as const;

/** The choice of the user: a format, with the columns of the list, or a template. */
type Choice = { format: (typeof formats)[number] } | { templateId: string };

/** The API's limit for the values of a query. */
const mostSelected = 1000;

/** Starts an export of the selected or of all matching rows in the list's order, with its columns or with a template. */
export function ExportMenu(props: ExportMenuProps & OverlayProps): ReactNode {
  const { entity, query, order, total, selected, triggerRef, focus, onClose } = props;
  const isSelection = selected.length > 0 && entity.keyField !== null;
  const count = isSelection ? selected.length : total;
  const columns = withCurrencies(entity, props.columns);
  const navigate = useNavigate();
  const { metadata } = useEntities();
  const templates = useTemplates(entity).filter(({ kind }) => kind !== "FORM" || count === 1);
  const templateEntity = metadata.entities.find(({ typeName }) => typeName === "ExportTemplate");
  // The form of a new template, with the columns of the list.
  const saveTemplate = ({ name }: Entity) =>
    void navigate({
      to: "/$entity/new",
      params: { entity: name },
      search: { entity: entity.name, kind: "TABLE", columns: templateColumns(columns) },
    });
  const mutationKey = ["export", entity.name];
  const isStarting = useIsMutating({ mutationKey }) > 0;
  const { mutate } = useMutation({
    mutationKey,
    mutationFn: (choice: Choice) =>
      ask<{ job: { id: string; __typename: string } }>(
        listExportDocument,
        {
          input: {
            entity: entity.name,
            ...(isSelection
              ? { query: `${entity.keyField}:IN($rows)`, queryValues: { rows: selected } }
              : // The API rejects an empty query, so an export of all rows must request them explicitly.
                { query: query === "" ? allRowsQuery(entity) : query }),
            orderBy: [...order],
            ...("templateId" in choice
              ? choice
              : { ...choice, columns: columns.map(exportedName) }),
          },
        },
        { idempotencyKey: crypto.randomUUID() },
      ),
    onSuccess: ({ job }) => {
      const exports = metadata.entities.find(({ typeName }) => typeName === job.__typename);
      const show = (name: string) => () =>
        void navigate({ to: "/$entity/$id", params: { entity: name, id: job.id }, search: {} });
      showToast(
        en.list.exported(entity.title),
        // Absent when the caller may not read exports.
        exports && { action: { label: en.list.showExport, run: show(exports.name) } },
      );
    },
    onError: (error) => showToast(`${en.list.notExported}. ${error.message}`, { tone: "bad" }),
    onSettled: refetchRows,
  });
  // The button stays enabled: disabled, it would lose the focus.
  const start = (choice: Choice) => {
    if (isSelection && selected.length > mostSelected)
      showToast(en.list.tooManyExported(mostSelected), { tone: "bad" });
    else if (!isStarting) mutate(choice);
  };
  return (
    <OverlayMenu label={en.list.export} triggerRef={triggerRef} focus={focus} onClose={onClose}>
      <MenuSection>
        <Header className="menu-head">{en.list.exportedRows(count, isSelection)}</Header>
        {formats.map((format) => (
          <MenuItem
            key={format}
            className="menu-item"
            textValue={en.list.formats[format]}
            onAction={() => start({ format })}
          >
            {en.list.formats[format]}
          </MenuItem>
        ))}
      </MenuSection>
      {templateEntity?.canCreate && (
        <MenuItem
          className="menu-item"
          textValue={en.list.saveTemplate}
          onAction={() => saveTemplate(templateEntity)}
        >
          {en.list.saveTemplate}
        </MenuItem>
      )}
      {/* Last, because they are loaded when the menu opens: no item moves under the pointer. */}
      {templates.map(({ id, name }) => (
        <MenuItem
          key={id}
          className="menu-item"
          textValue={en.list.withTemplate(name)}
          onAction={() => start({ templateId: id })}
        >
          {en.list.withTemplate(name)}
        </MenuItem>
      ))}
    </OverlayMenu>
  );
}

interface Template {
  id: string;
  name: string;
  kind: "FORM" | "TABLE";
}

/** The export templates of a list; empty when the caller may not read them. */
function useTemplates({ name }: Entity): readonly Template[] {
  const { permissions } = useEntities().metadata.me;
  const { data } = useQuery({
    queryKey: ["rows", "templates", name],
    queryFn: ({ signal }) =>
      ask<{ templates: Template[] }>(
        listTemplatesDocument,
        { query: `entity:"${name}"` },
        { signal },
      ),
    enabled: permissions.includes("exports.read"),
  });
  return data?.templates ?? [];
}

/** The columns, with the currency after each amount that has one: cells of exports are numbers without units. */
function withCurrencies(entity: Entity, columns: readonly EntityField[]): EntityField[] {
  const wanted = columns.flatMap((column) => {
    const currency =
      column.currencyField === null ? undefined : fieldOf(entity, column.currencyField);
    return currency === undefined || columns.includes(currency) ? [column] : [column, currency];
  });
  // Several amounts can have the same currency.
  return [...new Set(wanted)];
}

/** The columns of a template as its form takes them. */
function templateColumns(columns: readonly EntityField[]): string {
  const lines = columns.map((column) =>
    JSON.stringify({ field: exportedName(column), title: column.title }),
  );
  return `[\n  ${lines.join(",\n  ")}\n]`;
}

/** The exported field of a column; for a reference, the name of the other row. */
function exportedName({ name, reference }: EntityField): string {
  return reference === null || reference.field === null
    ? name
    : `${reference.field}.${reference.nameField}`;
}
