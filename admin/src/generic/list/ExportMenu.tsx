import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { listExportDocument } from "../../api/documents.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { Entity, EntityField } from "../../meta/catalogue.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";

interface ExportMenuProps {
  entity: Entity;
  columns: readonly EntityField[];
  query: string;
  order: readonly string[];
}

const formats = ["XLSX", "CSV", "JSONL"] as const;
type Format = (typeof formats)[number];

/** Starts an export of the rows that the list finds, with its columns and in its order. */
export function ExportMenu({ entity, columns, query, order }: ExportMenuProps): ReactNode {
  const navigate = useNavigate();
  const { catalogue } = useEntities();
  const mutation = useMutation({
    mutationFn: (format: Format) =>
      ask<{ job: { id: string; __typename: string } }>(
        listExportDocument,
        {
          input: {
            entity: entity.name,
            // An empty search exports nothing: all rows are asked for in so many words.
            query: query === "" ? `${entity.keyField}:*` : query,
            orderBy: [...order],
            columns: columns.map(exportedName),
            format,
          },
        },
        { idempotencyKey: crypto.randomUUID() },
      ),
    onSuccess: ({ job }) => {
      const exports = catalogue.entities.find(({ typeName }) => typeName === job.__typename);
      const show = (name: string) => () =>
        void navigate({ to: "/$entity/$id", params: { entity: name, id: job.id }, search: {} });
      showToast(
        en.list.exported(entity.title),
        // Absent for a caller without the permission to see exports.
        exports && { action: { label: en.list.showExport, run: show(exports.name) } },
      );
    },
    onError: (error) => showToast(`${en.list.notExported}. ${error.message}`, { tone: "bad" }),
    onSettled: refetchRows,
  });
  return (
    <MenuTrigger>
      <Button className="button" isDisabled={mutation.isPending}>
        {en.list.export}
      </Button>
      <Popover className="menu-popover" placement="bottom end">
        <Menu aria-label={en.list.export}>
          {formats.map((format) => (
            <MenuItem
              key={format}
              className="menu-item"
              textValue={en.list.formats[format]}
              onAction={() => mutation.mutate(format)}
            >
              {en.list.formats[format]}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** A reference shows the name of the other row. */
function exportedName({ name, reference }: EntityField): string {
  return reference === null || reference.field === null
    ? name
    : `${reference.field}.${reference.nameField}`;
}
