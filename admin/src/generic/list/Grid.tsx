import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { EntityField } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { Cell, cellText, cellTitle, layoutOf } from "../../meta/kinds.tsx";
import { textOf } from "../../meta/format.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { currentPreferences } from "../../preferences.ts";
import { announce } from "../../ui/announce.ts";
import { Icon } from "../../ui/icons.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { directionOf } from "./order.ts";
import { type Place, placeAt, rememberPlace } from "./places.ts";
import type { Rows } from "./useRows.ts";

/** Rows rendered above and below the visible ones: fewer than 80 rows in all, even in the tallest window. */
const overscan = 6;
const selectionWidth = 44;

export interface GridHandle {
  focus: () => void;
}

interface GridProps {
  label: string;
  /** The entry of the browser's history, by which Back finds the place in the list again; absent inside a record. */
  placeKey?: string | undefined;
  /** Whether the grid takes the keys when it opens and nothing has the focus. */
  takesFocus?: boolean;
  columns: readonly EntityField[];
  widths: Readonly<Record<string, number>>;
  nameField: string;
  /** Names a row whose `nameField` is empty. */
  nameOf?: ((row: Row) => string) | undefined;
  rows: Rows;
  /** Whether a row is shown as deleted; by default none is. */
  isDeleted?: (id: string) => boolean;
  order: readonly string[];
  /** Absent where rows cannot be selected. */
  selection?: Selection;
  onSelection?: (selection: Selection) => void;
  /** Called with the column by which people want to order. */
  onOrder: (field: EntityField) => void;
  onRange: (first: number, last: number) => void;
  onWidth: (field: string, width: number) => void;
  /** Absent when rows have no key and so no page. */
  onOpen?: ((row: Row) => void) | undefined;
  onPreview?: ((row: Row) => void) | undefined;
  handle?: React.Ref<GridHandle>;
}

/** The selected rows by id, or all rows that match the query. */
export type Selection = ReadonlyMap<string, Row> | "all";

/** The row height, 28, 36 or 44 pixels, depends on density and pointer type. */
function rowHeight(): number {
  const height = getComputedStyle(document.documentElement).getPropertyValue("--row");
  return Number.parseInt(height, 10) || 36;
}

/** A virtual grid (ARIA `grid`), which renders only the visible rows. */
export function Grid(props: GridProps): ReactNode {
  const { label, columns, widths, rows, selection, onSelection, onRange, onOpen } = props;
  // Column 0 selects rows.
  const firstColumn = selection === undefined ? 1 : 0;
  // The name column opens the row; without one, the first column does.
  const openedBy = (columns.find(({ name }) => name === props.nameField) ?? columns[0])?.name;
  const entities = useEntities();
  const total = rows.total ?? 0;
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const [height] = useState(rowHeight);
  // The name of the first row, by which people know where they are.
  const nameColumn = columns.findIndex(({ name }) => name === openedBy) + 1;
  const [current, setCurrentCell] = useState(
    () => placeAt(props.placeKey) ?? { row: 0, column: Math.max(1, nameColumn) },
  );
  const setCurrent = (next: Place) => {
    setCurrentCell(next);
    rememberPlace(props.placeKey, next);
  };
  const currentRow = Math.min(current.row, Math.max(0, total - 1));
  const currentColumn = Math.max(firstColumn, Math.min(current.column, columns.length));
  const anchor = useRef<number | null>(null);

  const virtualizer = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan,
    // The sticky header covers this height.
    scrollPaddingStart: 36,
    paddingStart: 36,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onRange(first, last), [first, last, onRange]);
  useImperativeHandle(props.handle, () => ({ focus: () => scroller.current?.focus() }), []);

  // A number is never cut: its column grows with the rows that come into view.
  const [grown, setGrown] = useState<Readonly<Record<string, number>>>({});
  const wider = columns
    .filter((field) => layoutOf(field).isNumber === true)
    .map(
      (field) =>
        [
          field.name,
          Math.max(...items.map(({ index }) => numberWidth(field, rows.rowAt(index)))),
        ] as const,
    )
    .filter(([name, width]) => width > (grown[name] ?? 0));
  if (wider.length > 0) setGrown({ ...grown, ...Object.fromEntries(wider) });
  const widthOf = (field: EntityField) =>
    Math.max(defaultWidth(field, props.nameField), grown[field.name] ?? 0);

  const template = [
    ...(firstColumn === 0 ? [`${selectionWidth}px`] : []),
    ...columns.map((field, index) => {
      const chosen = widths[field.name];
      // On a phone, names leave room for the next column.
      const width = chosen
        ? `${chosen}px`
        : `min(${widthOf(field)}px, ${field.name === props.nameField ? 45 : 100}vw)`;
      if (index < columns.length - 1) return width;
      // The last column takes the remaining width, but a number stays beside its neighbours.
      return layoutOf(field).isNumber === true ? `${width} 1fr` : `minmax(${width}, 1fr)`;
    }),
  ].join(" ");
  const style: CSSProperties & Record<"--columns", string> = { "--columns": template };

  const resize = (field: EntityField, by: number) => {
    const width = Math.max(minWidth, (widths[field.name] ?? widthOf(field)) + by);
    props.onWidth(field.name, width);
    announce(en.list.width(field.title, width));
  };

  const isSelected = (row: Row | undefined) =>
    selection === "all" || (row !== undefined && selection?.has(row.id) === true);
  const toggle = (row: Row | undefined) => {
    if (row === undefined || selection === undefined) return;
    const next = new Map(selection === "all" ? [] : selection);
    if (!next.delete(row.id)) next.set(row.id, row);
    onSelection?.(next);
  };
  const selectBetween = (from: number, to: number) => {
    const next = new Map<string, Row>();
    for (let index = Math.min(from, to); index <= Math.max(from, to); index++) {
      const row = rows.rowAt(index);
      if (row) next.set(row.id, row);
    }
    onSelection?.(next);
    const wanted = Math.abs(to - from) + 1;
    if (next.size < wanted) showToast(en.list.partlySelected(next.size, wanted), { tone: "bad" });
  };

  const moveTo = (row: number, column: number, align: "auto" | "start" | "end" = "auto") => {
    const next = {
      row: Math.max(-1, Math.min(total - 1, row)),
      column: Math.max(firstColumn, Math.min(columns.length, column)),
    };
    setCurrent(next);
    if (next.row >= 0) virtualizer.scrollToIndex(next.row, { align });
  };
  const selectAll = () => onSelection?.(selection === "all" ? new Map() : "all");
  const orderBy = (field: EntityField | undefined) => {
    if (field === undefined) return;
    if (field.orderBy.length > 0) props.onOrder(field);
    else announce(en.list.notSorted(field.title));
  };

  // A list that opens, or that Back returns to, takes the keys unless something else has the focus.
  const hasRows = total > 0;
  const restoredRow = useRef(current.row);
  useEffect(() => {
    if (!hasRows) return;
    if (restoredRow.current > 0)
      virtualizer.scrollToIndex(restoredRow.current, { align: "center" });
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.id === "content";
    if (props.takesFocus === true && isFree) scroller.current?.focus({ preventScroll: true });
    // Only when the rows are there for the first time.
  }, [hasRows]);

  // Scrolls the grid horizontally only, so that the rows do not move, and in a low window the page.
  useLayoutEffect(() => {
    const cell = document.getElementById(`${id}-${currentRow}-${currentColumn}`);
    const box = scroller.current;
    if (!cell || !box) return;
    const { top, bottom } = cell.getBoundingClientRect();
    if (document.activeElement === box && (top < 0 || bottom > innerHeight))
      cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    const right = cell.offsetLeft + cell.offsetWidth;
    if (cell.offsetLeft < box.scrollLeft) box.scrollLeft = cell.offsetLeft;
    else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = right - box.clientWidth;
  }, [id, currentRow, currentColumn]);

  const currentData = rows.rowAt(currentRow);
  const isAwaited = useRef(false);
  // Screen readers have read "Loading" in place of the cell.
  useEffect(() => {
    if (currentData === undefined) {
      isAwaited.current = currentRow >= 0 && hasRows && document.activeElement === scroller.current;
      return;
    }
    if (isAwaited.current) {
      const field = columns[currentColumn - 1];
      const name = nameIn(currentData, props);
      announce(
        field === undefined || field.name === openedBy
          ? name
          : `${name}, ${cellText(field, currentData)}`,
      );
    }
    isAwaited.current = false;
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.altKey) return;
    const page = Math.max(1, Math.floor((scroller.current.clientHeight - height) / height) - 1);
    const isMod = event.ctrlKey || event.metaKey;
    const row = currentData;
    const isHead = currentRow < 0;
    const side = (by: -1 | 1) => {
      const field = columns[currentColumn - 1];
      if (!event.shiftKey || !isHead) moveTo(currentRow, currentColumn + by);
      else if (field !== undefined) resize(field, by * widthStep);
    };
    const step = (to: number) => {
      if (event.shiftKey && !isHead && to >= 0) {
        anchor.current ??= currentRow;
        selectBetween(anchor.current, Math.max(0, Math.min(total - 1, to)));
      } else anchor.current = null;
      moveTo(to, currentColumn);
    };
    const pressTitle = () =>
      currentColumn === 0 ? selectAll() : orderBy(columns[currentColumn - 1]);
    const letters = currentPreferences().singleKeys;
    const actions: Record<string, (() => void) | undefined> = {
      ArrowDown: () => step(currentRow + 1),
      ArrowUp: () => step(currentRow - 1),
      ArrowRight: () => side(1),
      ArrowLeft: () => side(-1),
      PageDown: () => step(currentRow + page),
      PageUp: () => step(Math.max(0, currentRow - page)),
      Home: () => (isMod ? moveTo(0, currentColumn, "start") : moveTo(currentRow, 0)),
      End: () =>
        isMod ? moveTo(total - 1, currentColumn, "end") : moveTo(currentRow, columns.length),
      Enter: () => (isHead ? pressTitle() : row && props.onOpen?.(row)),
      " ": () => {
        if (isHead) pressTitle();
        else if (currentColumn === 0) toggle(row);
        else if (row) props.onPreview?.(row);
      },
      ...(isMod
        ? { a: selectAll }
        : letters
          ? {
              j: () => step(currentRow + 1),
              k: () => step(currentRow - 1),
              x: () => toggle(row),
              s: () => orderBy(columns[currentColumn - 1]),
            }
          : {}),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };

  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length + 1 - firstColumn}
      aria-multiselectable={firstColumn === 0}
      aria-busy={rows.isLoading}
      aria-activedescendant={
        total > 0 && (currentRow < 0 || (currentRow >= first && currentRow <= last))
          ? `${id}-${currentRow}-${currentColumn}`
          : undefined
      }
      onKeyDown={onKeyDown}
    >
      {rows.isLoading && <div className="progress" />}
      <div
        className="grid-inner"
        role="presentation"
        style={{ ...style, height: virtualizer.getTotalSize() }}
      >
        <Head
          {...props}
          widthOf={widthOf}
          id={id}
          currentColumn={currentRow < 0 ? currentColumn : null}
          onSelectAll={selectAll}
        />
        {items.map(({ index, start }) => {
          const row = rows.rowAt(index);
          // Screen readers announce deleted text.
          const Text = row && props.isDeleted?.(row.id) === true ? "del" : "span";
          return (
            <div
              key={index}
              className={`grid-row${index === currentRow ? " is-current" : ""}`}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={firstColumn === 0 ? isSelected(row) : undefined}
              style={{ transform: `translateY(${start}px)` }}
              onMouseDown={(event) => {
                const cell =
                  event.target instanceof Element && event.target.closest("[data-column]");
                const column = cell instanceof HTMLElement ? Number(cell.dataset["column"]) : 0;
                if (event.shiftKey) {
                  event.preventDefault();
                  selectBetween(currentRow, index);
                } else if (event.ctrlKey || event.metaKey || column === 0) toggle(row);
                setCurrent({ row: index, column });
              }}
              onDoubleClick={() => row && props.onOpen?.(row)}
            >
              {firstColumn === 0 && (
                <span
                  id={`${id}-${index}-0`}
                  className={cellClass(index === currentRow && currentColumn === 0)}
                  role="gridcell"
                  aria-colindex={1}
                  aria-label={en.list.select(row === undefined ? "" : nameIn(row, props))}
                  aria-selected={isSelected(row)}
                  data-column={0}
                >
                  <span className={isSelected(row) ? "box is-checked" : "box"} />
                </span>
              )}
              {columns.map((field, place) => (
                <span
                  key={field.name}
                  id={`${id}-${index}-${place + 1}`}
                  className={`${cellClass(index === currentRow && currentColumn === place + 1)}${
                    layoutOf(field).isNumber === true ? " is-number" : ""
                  }${field.name === openedBy ? " is-name" : ""}`}
                  // Screen readers speak the name with each cell of another row.
                  role={field.name === openedBy ? "rowheader" : "gridcell"}
                  aria-colindex={place + 2 - firstColumn}
                  aria-selected={firstColumn === 0 ? isSelected(row) : undefined}
                  data-column={place + 1}
                  title={row && cellTitle(entities, field, row)}
                >
                  <Text className="text">
                    {row ? (
                      <CellOrLink
                        field={field}
                        row={row}
                        nameOf={props.nameOf}
                        nameField={props.nameField}
                        isLink={field.name === openedBy}
                        onOpen={onOpen}
                      />
                    ) : (
                      <span className="ghost">
                        <span className="visually-hidden">{en.loading}</span>
                      </span>
                    )}
                  </Text>
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const nameIn = (row: Row, { nameField, nameOf }: Pick<GridProps, "nameField" | "nameOf">) =>
  nameOf?.(row) ?? textOf(row[nameField]);

const cellClass = (isCurrent: boolean) => `grid-cell${isCurrent ? " is-current" : ""}`;

/** The least width of a column, and by how much a key press changes it, in pixels. */
const minWidth = 56;
const widthStep = 16;

function defaultWidth(field: EntityField, nameField: string): number {
  const { width, isNumber } = layoutOf(field);
  return field.name === nameField && isNumber !== true ? 280 : width;
}

// A list of numbers may be of any length.
const maxNumberWidth = 320;

/** The width of a number in a cell, in pixels; digits are as wide as the widest character of numbers. */
function numberWidth(field: EntityField, row: Row | undefined): number {
  return row === undefined ? 0 : Math.min(maxNumberWidth, cellText(field, row).length * 8 + 28);
}

interface CellOrLinkProps extends Pick<GridProps, "nameField" | "nameOf" | "onOpen"> {
  field: EntityField;
  row: Row;
  isLink: boolean;
}

/** A cell; the name of a row is a link that opens the row. */
function CellOrLink({ isLink, onOpen, nameOf, ...cell }: CellOrLinkProps): ReactNode {
  const { field, row, nameField } = cell;
  const isUnnamed = field.name === nameField && textOf(row[nameField]) === "";
  const content = isUnnamed && nameOf ? nameOf(row) : <Cell {...cell} />;
  if (!isLink || !onOpen) return content;
  return (
    <span
      className="row-link"
      onClick={(event) => !event.shiftKey && !event.ctrlKey && onOpen(row)}
    >
      {content}
    </span>
  );
}

interface HeadProps extends GridProps {
  widthOf: (field: EntityField) => number;
  /** The start of the ids of its cells. */
  id: string;
  /** The current column, while the current cell is a title. */
  currentColumn: number | null;
  onSelectAll: () => void;
}

function Head({
  columns,
  order,
  selection,
  onOrder,
  onWidth,
  widths,
  widthOf,
  id,
  currentColumn,
  onSelectAll,
}: HeadProps) {
  const titleClass = (column: number) =>
    `grid-title${column === currentColumn ? " is-current" : ""}`;
  return (
    <div className="grid-head" role="row" aria-rowindex={1}>
      {selection !== undefined && (
        <span
          id={`${id}--1-0`}
          className={titleClass(0)}
          role="columnheader"
          aria-colindex={1}
          aria-label={en.list.selectAll}
        >
          <button type="button" tabIndex={-1} aria-label={en.list.selectAll} onClick={onSelectAll}>
            <span className={selection === "all" ? "box is-checked" : "box"} />
          </button>
        </span>
      )}
      {columns.map((field, place) => {
        const direction = directionOf(field, order);
        const isNumber = layoutOf(field).isNumber === true;
        return (
          <span
            key={field.name}
            id={`${id}--1-${place + 1}`}
            className={`${titleClass(place + 1)}${isNumber ? " is-number" : ""}`}
            role="columnheader"
            aria-label={field.title}
            aria-description={field.description ?? undefined}
            aria-colindex={place + (selection === undefined ? 1 : 2)}
            aria-sort={field.orderBy.length === 0 ? undefined : (direction ?? "none")}
            title={field.description ?? undefined}
          >
            {field.orderBy.length === 0 ? (
              <span className="text">{field.title}</span>
            ) : (
              <button
                type="button"
                tabIndex={-1}
                aria-label={en.list.sortBy(field.title)}
                onClick={() => onOrder(field)}
              >
                <span className="text">{field.title}</span>
                {direction && <Icon name={direction === "ascending" ? "up" : "down"} />}
              </button>
            )}
            <Sizer
              column={place + (selection === undefined ? 1 : 2)}
              width={widths[field.name] ?? widthOf(field)}
              onWidth={(width) => onWidth(field.name, width)}
            />
          </span>
        );
      })}
    </div>
  );
}

interface SizerProps {
  /** The `aria-colindex` of its cells. */
  column: number;
  width: number;
  onWidth: (width: number) => void;
}

/** The draggable edge of a column; two clicks fit the column to its rows. The keyboard changes widths in the grid. */
function Sizer({ column, width, onWidth }: SizerProps) {
  const start = useRef<{ x: number; width: number } | null>(null);
  return (
    <span
      className="grid-size"
      aria-hidden="true"
      title={en.list.sizer}
      onPointerDown={(event) => {
        start.current = { x: event.clientX, width };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (!start.current || event.clientX === start.current.x) return;
        const moved = event.clientX - start.current.x;
        onWidth(Math.max(minWidth, Math.round(start.current.width + moved)));
      }}
      onPointerUp={() => {
        start.current = null;
      }}
      onDoubleClick={(event) => {
        const grid = event.currentTarget.closest("[role=grid]");
        const texts = grid?.querySelectorAll(`[aria-colindex="${column}"] .text`) ?? [];
        onWidth(Math.max(minWidth, ...[...texts].map(fittingWidth)));
      }}
    />
  );
}

/** The width of a cell that shows its whole text, in pixels. */
function fittingWidth(text: Element): number {
  const range = document.createRange();
  range.selectNodeContents(text);
  const cell = text.closest("[aria-colindex]");
  const { paddingLeft = "", paddingRight = "" } = cell ? getComputedStyle(cell) : {};
  // In a title, the arrow of the order.
  const beside = text.nextElementSibling?.getBoundingClientRect().width ?? 0;
  const around = Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight) + beside + 6;
  return Math.ceil(range.getBoundingClientRect().width + around);
}
