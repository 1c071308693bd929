import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button, Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { fetchRecord } from "../../api/record.ts";
import { suggestionsByKey } from "../../api/referencedRows.ts";
import { useFrame } from "../../frame/FrameContext.ts";
import type { Entity, EntityReference, EntityRelation } from "../../meta/entities.ts";
import { fieldOf } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { textOf } from "../../meta/format.ts";
import { labelText, rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Failure } from "../../ui/Failure.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { useKeys } from "../../ui/keys.ts";
import { neighbourOf } from "../list/neighbours.ts";
import { ConflictDialog } from "../conflict/ConflictDialog.tsx";
import { History } from "../history/History.tsx";
import { ActionsMenu } from "./ActionsMenu.tsx";
import { deleteLater } from "./deleteLater.ts";
import { DeletedRow, DeletedWhileEdited } from "./DeletedRow.tsx";
import { FormFields, showFormValue } from "./FormFields.tsx";
import { FormProblem } from "./FormProblem.tsx";
import { LeaveGuard, SaveButton } from "./leaving.tsx";
import { useNewRow } from "./NewRow.tsx";
import { RelatedList } from "./RelatedList.tsx";
import { focusField, focusFieldNow } from "./fieldEditors.ts";
import { scrollTo } from "../../ui/scrollTo.ts";
import { recordKey, useRecordForm } from "./useRecordForm.ts";

interface RecordViewProps {
  entity: Entity;
  id: string;
  tab: string;
  /** The address of the drawer that contains the view; absent on a page. */
  drawer?: string;
  onTab: (tab: string) => void;
  onOpen: (entity: string, id: string) => void;
  /** Shows another row of the table in the same page or drawer. */
  onStep: (id: string) => void;
  /** Called when the user deletes the row; closes the page or the drawer. */
  onGone: (row: Row) => void;
  /** Renders title, actions and content in the page or the drawer. */
  frame: (parts: RecordParts) => ReactNode;
}

export interface RecordParts {
  title: string;
  detail?: ReactNode;
  actions?: ReactNode;
  status?: ReactNode;
  content: ReactNode;
}

/** Shows a row: its fields, the rows that refer to it, and its history. */
export function RecordView(props: RecordViewProps): ReactNode {
  const { entity, id, frame } = props;
  const entities = useEntities();
  const record = useQuery({
    queryKey: recordKey(entity.name, id),
    queryFn: ({ signal }) => fetchRecord(entities, entity, id, signal),
    staleTime: 0,
  });
  const [last, setLast] = useState<Row | null>(null);
  if (record.data && record.data !== last) setLast(record.data);
  // The form keeps its edits when its row is deleted or cannot be fetched again.
  const row = record.data ?? (last?.id === id ? last : null);
  if (record.isError && row === null)
    return frame({
      title: entity.titleOne,
      content: (
        <Failure
          title={en.list.failed}
          error={record.error}
          onRetry={() => void record.refetch()}
        />
      ),
    });
  if (row !== null)
    return <LoadedRecord key={id} {...props} row={row} isGone={record.data === null} />;
  if (record.data === undefined) return frame({ title: entity.titleOne, content: null });
  return frame({ title: entity.titleOne, content: <NotFound entity={entity} id={id} /> });
}

/** The title of a tab. A tab that is chosen scrolls into view: in a narrow window it may be beyond the edge. */
function TabTitle({ title, isSelected }: { title: string; isSelected: boolean }): ReactNode {
  const text = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (isSelected) scrollTo(text.current?.closest("[role=tab]"));
  }, [isSelected]);
  return <span ref={text}>{title}</span>;
}

/** The name of a row. */
function RowName({ reference, id }: { reference: EntityReference; id: string }): ReactNode {
  const entities = useEntities();
  const { data } = useQuery({
    queryKey: ["referred", reference.entity, id],
    queryFn: ({ signal }) => suggestionsByKey(entities, reference, [id], signal),
  });
  return data ? (data.get(id)?.name ?? en.notVisible) : en.loading;
}

function NotFound({ entity, id }: Pick<RecordViewProps, "entity" | "id">): ReactNode {
  return (
    <div className="empty">
      <div role="alert">
        <h2>{en.record.notFound}</h2>
        <p>{en.record.notFoundHint}</p>
      </div>
      <DeletedRow entity={entity} id={id} />
    </div>
  );
}

function LoadedRecord({
  entity,
  row,
  isGone,
  tab,
  drawer,
  onTab,
  onOpen,
  onStep,
  onGone,
  frame,
}: RecordViewProps & { row: Row; isGone: boolean }): ReactNode {
  const entities = useEntities();
  const navigate = useNavigate();
  const form = useRecordForm({ entity, row, onSaved: () => undefined });
  const { makeRow, newRowDrawer } = useNewRow(drawer);
  const name = rowName(entity, row);
  const canUpdate = entities.mutationOfRow(entity.canUpdate, row);
  const canDelete = entities.mutationOfRow(entity.canDelete, row);
  const hasHistory = entities.hasHistory(entity, row);
  const relations = entity.relations.filter((relation) => entities.get(relation.entity));
  const isTab = tab === "history" ? hasHistory : relations.some(({ field }) => field === tab);
  const selected = isTab ? tab : "fields";

  const { save } = form;
  const { isGoing } = useFrame();
  const step = useCallback(
    (places: number) => {
      const next = neighbourOf(entity.name, row.id, places);
      if (next === undefined) showToast(en.record.noNeighbour);
      else onStep(next);
    },
    [entity, row.id, onStep],
  );
  const remove = useCallback(() => {
    deleteLater({
      entity,
      rows: [row],
      name,
      entities,
      onShow: (_row, { field }) =>
        void navigate({
          to: "/$entity/$id",
          params: { entity: entity.name, id: row.id },
          search: { tab: field },
        }),
    });
    onGone(row);
  }, [entity, row, name, entities, navigate, onGone]);

  const keys = useMemo(
    () => ({
      "Mod+s": () => save(),
      Delete: () => {
        if (!canDelete || isGone) return false;
        remove();
        return true;
      },
      h: () => {
        if (isGoing()) return false;
        onTab("history");
        return true;
      },
      "[": () => step(-1),
      "]": () => step(1),
      e: () => {
        if (isGoing()) return false;
        onTab("fields");
        const first = canUpdate && entity.fields.find((field) => field.onUpdate !== "NO");
        // The form is not rendered while another tab is open.
        if (first && !focusFieldNow(first.name)) focusField(first.name);
        return true;
      },
    }),
    [save, onTab, entity, canUpdate, canDelete, isGoing, isGone, step, remove],
  );
  useKeys(keys);

  const detail = entity.detailField === null ? null : labelText(entity, row, entity.detailField);
  if (isGone && form.edits.length === 0 && !form.isSaving)
    return frame({ title: name, content: <NotFound entity={entity} id={row.id} /> });
  return frame({
    title: name,
    // Not repeated when the detail is already the title.
    detail: detail === name ? null : detail,
    actions: (
      <>
        {!isGone && <ActionsMenu entity={entity} row={row} name={name} />}
        {canDelete && !isGone && (
          <Button className="button button-danger" onPress={remove}>
            {en.record.delete}
          </Button>
        )}
        {form.dirty.length > 0 && (
          <Button
            className="button"
            onPress={() => {
              const [first] = form.dirty;
              form.revert();
              // The button disappears.
              if (first !== undefined) focusField(first);
            }}
          >
            {en.record.discard}
          </Button>
        )}
        {canUpdate && !isGone && <SaveButton form={form} />}
      </>
    ),
    content: (
      <>
        <LeaveGuard form={form} drawer={drawer} />
        {form.conflict && (
          <ConflictDialog
            entity={entity}
            conflict={form.conflict}
            show={(fieldName, value, values) => {
              const field = fieldOf(entity, fieldName);
              if (!field) return textOf(value);
              if (field.reference && !field.isList && typeof value === "string" && value !== "")
                return <RowName reference={field.reference} id={value} />;
              return showFormValue(field, value, { ...row, ...form.values, ...values });
            }}
            onChoose={form.resolve}
            onCancel={form.cancelConflict}
          />
        )}
        {form.problem && <FormProblem message={form.problem.message} />}
        {isGone && (
          <DeletedWhileEdited entity={entity} id={row.id} onRestored={form.saveRestored} />
        )}
        <Tabs
          className="tabs"
          selectedKey={selected}
          onSelectionChange={(key) => onTab(String(key))}
        >
          <TabList className="tab-list" aria-label={name}>
            <Tab id="fields" className="tab">
              <TabTitle title={en.record.fields} isSelected={selected === "fields"} />
            </Tab>
            {relations.map(({ field, title }) => (
              <Tab key={field} id={field} className="tab">
                <TabTitle title={title} isSelected={selected === field} />
              </Tab>
            ))}
            {hasHistory && (
              <Tab id="history" className="tab">
                <TabTitle title={en.record.history} isSelected={selected === "history"} />
              </Tab>
            )}
          </TabList>
          <TabPanel id="fields" className="tab-panel">
            <FormFields
              entity={{ ...entity, canUpdate }}
              row={row}
              readOnlyReason={canUpdate === entity.canUpdate ? undefined : en.record.ownersOnly}
              form={form}
              onOpenReference={onOpen}
              onNew={makeRow}
            />
          </TabPanel>
          {relations.map((relation: EntityRelation) => (
            <TabPanel key={relation.field} id={relation.field} className="tab-panel">
              <RelatedList
                entity={entity}
                relation={relation}
                id={row.id}
                onOpen={onOpen}
                onNew={makeRow}
              />
            </TabPanel>
          ))}
          {hasHistory && (
            <TabPanel id="history" className="tab-panel">
              <History
                entity={entity}
                id={row.id}
                row={row}
                {...(canUpdate
                  ? {
                      onRestore: (field, old) => {
                        form.restore(field, old);
                        onTab("fields");
                        focusField(field.name);
                      },
                    }
                  : {})}
              />
            </TabPanel>
          )}
        </Tabs>
        {newRowDrawer}
      </>
    ),
  });
}
