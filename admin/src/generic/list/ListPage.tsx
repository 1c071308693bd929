import { useLocation, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { ApiError } from "../../api/errors.ts";
import { useFrame } from "../../frame/FrameContext.ts";
import { Page } from "../../frame/Page.tsx";
import {
  type Entity,
  type EntityField,
  allRowsQuery,
  defaultColumns,
  fieldOf,
  isColumn,
} from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { setListPreference, usePreferences } from "../../preferences.ts";
import type { ListSearch } from "./listSearch.ts";
import { en } from "../../text/en.ts";
import { Failure } from "../../ui/Failure.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { OverlayButton } from "../../ui/OverlayButton.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import { whenIdle } from "../../ui/whenIdle.ts";
import { drawerOf } from "../record/drawers.ts";
import { ViewsButton } from "../views/ViewsButton.tsx";
import { useDeletedRows } from "./deletedRows.ts";
import { Grid, type GridHandle, type Selection } from "./Grid.tsx";
import { rememberSearch } from "./lastSearch.ts";
import { neighbourCount, rememberNeighbours } from "./neighbours.ts";
import { directionOf, knownOrders, nextOrder } from "./order.ts";
import { NoRows } from "./NoRows.tsx";
import { ChildTableNotice, UnknownList } from "./UnknownList.tsx";
import { QueryField } from "./QueryField.tsx";
import type { QueryFieldHandle } from "./queryFieldProps.ts";
import { useRows } from "./useRows.ts";

const loadColumnsMenu = async () => (await import("./ColumnsMenu.tsx")).ColumnsMenu;
const loadActionsMenu = async () => (await import("../record/ActionsMenu.tsx")).ActionsMenu;
const loadExportMenu = async () => (await import("./ExportMenu.tsx")).ExportMenu;
const loadSelectionBar = async () => (await import("./SelectionBar.tsx")).SelectionBar;
const loadRecordDrawers = async () => (await import("../record/RecordDrawer.tsx")).RecordDrawers;

const noSelection: Selection = new Map();

export function ListPage(): ReactNode {
  const { entity: name } = useParams({ from: "/$entity" });
  const entity = useEntities().get(name);
  // The React key resets selection and scroll position when the list changes.
  if (!entity) return <UnknownList name={name} />;
  return entity.listField === null ? (
    <ChildTableNotice entity={entity} />
  ) : (
    <List key={name} entity={entity} />
  );
}

function columnsOf(entity: Entity, names: readonly string[]): EntityField[] {
  const chosen = names.map((name) => fieldOf(entity, name)).filter((field) => field !== undefined);
  const columns = chosen.filter(isColumn);
  return columns.length > 0 ? columns : defaultColumns(entity);
}

/** The columns and orders of an address that the list does not have: the address, or its view, can be older than the list. */
function unknownNames(entity: Entity, { cols = "", order = "" }: ListSearch): string[] {
  const orders = order.split(",").filter(Boolean);
  const known = knownOrders(entity, orders);
  return [
    ...cols.split(",").filter((name) => name !== "" && fieldOf(entity, name) === undefined),
    ...orders.filter((name) => !known.includes(name)),
  ];
}

/** How the rows are sorted, after their number. */
function sortedBy(columns: readonly EntityField[], order: readonly string[]): string {
  const field = columns.find((column) => directionOf(column, order) !== undefined);
  const direction = field && directionOf(field, order);
  return direction ? en.list.sorted(field.title, direction) : "";
}

function List({ entity }: { entity: Entity }): ReactNode {
  const search = useSearch({ from: "/$entity" });
  const navigate = useNavigate({ from: "/$entity" });
  const placeKey = useLocation({ select: ({ state }) => state.__TSR_key });
  const frame = useFrame();
  const { permissions } = useEntities().metadata.me;
  const preference = usePreferences().lists[entity.name];
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const [selection, setSelection] = useState(noSelection);
  const grid = useRef<GridHandle>(null);
  const queryField = useRef<QueryFieldHandle>(null);

  const columnNames = search.cols?.split(",") ?? preference?.columns ?? [];
  const columns = columnsOf(entity, columnNames);
  const order =
    search.order === undefined ? entity.defaultOrder : knownOrders(entity, search.order.split(","));
  const defaultQuery = entity.defaultQuery ?? "";
  const query = search.q ?? defaultQuery;
  const rows = useRows({
    entity,
    columns,
    query,
    order: search.order === undefined ? [] : order,
    range,
  });

  const isDeleted = useDeletedRows(entity.name);

  const mayExport =
    permissions.includes("exports.create") && allRowsQuery(entity) !== null && rows.total !== 0;
  const hasActions = entity.actions.some(({ argument }) => argument === null);
  const ActionsMenu = useLoaded(loadActionsMenu, hasActions);
  const RecordDrawers = useLoaded(loadRecordDrawers, search.open !== undefined);
  const hasRows = rows.total !== undefined;
  // Preloads what users do next: they open a row, or select some.
  useEffect(() => {
    const load = () => Promise.all([loadRecordDrawers(), loadSelectionBar()]);
    if (hasRows) whenIdle(() => void load().catch(() => undefined));
  }, [hasRows]);

  const unknown = unknownNames(entity, search).join(", ");
  useEffect(() => {
    if (unknown !== "") showToast(en.list.unknownNames(entity.title, unknown), { tone: "bad" });
  }, [entity, unknown]);

  const change = useCallback(
    (next: ListSearch, replace = false) =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace }),
    [navigate],
  );
  const isView = search.view !== undefined;
  const showColumns = (names: readonly string[] | undefined) => {
    // The columns of a view are its own.
    if (!isView)
      setListPreference(
        entity.name,
        names === undefined ? { columns: [], widths: {} } : { columns: [...names] },
      );
    change({ cols: names?.join(",") ?? "" });
  };
  const apply = (text: string) => {
    setSelection(noSelection);
    const next = text.trim();
    change({ q: next === defaultQuery && !isView ? undefined : next });
  };
  const openView = useCallback(
    (next: ListSearch, replace?: boolean) => {
      if (next.q !== undefined || next.view === "") setSelection(noSelection);
      change(next, replace);
      if (!replace && next.open === undefined) grid.current?.focus();
    },
    [change],
  );
  const rememberRows = () => {
    const start = range[0] - neighbourCount;
    const around = Array.from({ length: range[1] + neighbourCount - start }, (_, place) =>
      rows.rowAt(start + place),
    );
    rememberNeighbours(
      entity.name,
      around.flatMap((near) => (near ? [near.id] : [])),
    );
  };
  const open = (row: Row) => {
    rememberRows();
    rememberSearch(entity.name, search);
    void navigate({ to: "/$entity/$id", params: { entity: entity.name, id: row.id }, search: {} });
  };
  const preview = (row: Row) => {
    rememberRows();
    change({ open: drawerOf(entity.name, row.id) });
  };
  const onRange = useCallback((first: number, last: number) => setRange([first, last]), []);
  const create = () =>
    void navigate({ to: "/$entity/new", params: { entity: entity.name }, search: {} });

  const keys = useMemo(
    () => ({
      "/": () => queryField.current?.focus(),
      n: () => {
        if (!entity.canCreate || frame.isGoing()) return false;
        void navigate({ to: "/$entity/new", params: { entity: entity.name }, search: {} });
        return true;
      },
    }),
    [entity, frame, navigate],
  );
  useKeys(keys);

  const queryError = rows.error instanceof ApiError && query !== "" ? rows.error : null;
  const isEmpty = rows.total === 0 && !rows.isLoading;
  const selected = selection === "all" ? (rows.total ?? 0) : selection.size;
  const selectedRows = selection === "all" ? [] : [...selection.values()];
  const SelectionBar = useLoaded(loadSelectionBar, selected > 0);
  return (
    <Page
      title={entity.title}
      // A list without rows shows it there.
      hint={isEmpty && query === "" ? null : entity.description}
      beside={rows.total !== undefined && en.list.count(rows.total)}
      isFilled
      actions={
        <>
          <ViewsButton
            entity={entity}
            search={search}
            state={{
              query,
              orderBy: search.order === undefined ? [] : [...order],
              columns: columnNames.length === 0 ? [] : columns.map(({ name }) => name),
            }}
            onSearch={openView}
          />
          <OverlayButton
            className="button"
            label={en.list.columns}
            kind="dialog"
            load={loadColumnsMenu}
            overlayProps={{ entity, columns, onColumns: showColumns }}
          >
            <Icon name="columns" />
            <span className="icon-beside">{en.list.columns}</span>
          </OverlayButton>
          {mayExport && (
            <OverlayButton
              className="button"
              kind="menu"
              load={loadExportMenu}
              overlayProps={{
                entity,
                columns,
                query,
                order,
                total: rows.total,
                selected: selectedRows.map(({ id }) => id),
              }}
            >
              {en.list.export}
            </OverlayButton>
          )}
          {/* The list stays where it is when the menu arrives. */}
          {hasActions && ActionsMenu === null && (
            <Button className="button" isDisabled>
              {en.record.actions}
            </Button>
          )}
          {/* With selected rows, the key must not offer to delete all. */}
          {hasActions && ActionsMenu && (
            <ActionsMenu entity={entity} row={null} name={null} takesKey={selected === 0} />
          )}
          {entity.canCreate && (
            <Button className="button button-primary" onPress={create}>
              <Icon name="plus" />
              {en.list.new(entity.titleOne)}
            </Button>
          )}
        </>
      }
      status={
        <>
          <span role="status">
            {rows.total !== undefined &&
              !rows.isStale &&
              `${en.list.found(rows.total)}${search.order === undefined ? "" : sortedBy(columns, order)}`}
          </span>
          <span role="status">{selected > 0 && en.frame.selected(selected)}</span>
          {selected > 0 && SelectionBar && (
            <SelectionBar
              entity={entity}
              rows={selectedRows}
              all={selection === "all" ? { query, count: selected } : null}
              onEnd={() => {
                setSelection(noSelection);
                // The button disappears.
                grid.current?.focus();
              }}
            />
          )}
        </>
      }
    >
      <div className="list">
        <div className="query-bar">
          <QueryField
            handle={queryField}
            entity={entity}
            text={query}
            error={queryError}
            onApply={apply}
            onLeave={() => grid.current?.focus()}
          />
        </div>
        {rows.error !== null && rows.total === undefined && queryError === null ? (
          <Failure error={rows.error} onRetry={rows.refetch} />
        ) : isEmpty ? (
          <NoRows entity={entity} query={query} onClear={() => apply("")} />
        ) : (
          <Grid
            handle={grid}
            placeKey={placeKey}
            takesFocus={search.open === undefined}
            label={entity.title}
            columns={columns}
            widths={preference?.widths ?? {}}
            nameField={entity.nameField}
            nameOf={(row) => rowName(entity, row)}
            rows={rows}
            isDeleted={isDeleted}
            order={order}
            selection={selection}
            onSelection={setSelection}
            onOrder={(field) =>
              change({ order: nextOrder(field, order, entity.defaultOrder) ?? "" })
            }
            onRange={onRange}
            onWidth={(field, width) =>
              setListPreference(entity.name, { widths: { ...preference?.widths, [field]: width } })
            }
            onOpen={entity.keyField === null ? undefined : open}
            onPreview={entity.keyField === null ? undefined : preview}
          />
        )}
      </div>
      {search.open !== undefined && RecordDrawers && (
        <RecordDrawers
          path={search.open}
          onPath={(path) => {
            change({ open: path });
            if (path === "") grid.current?.focus();
          }}
        />
      )}
    </Page>
  );
}
