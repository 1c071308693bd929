import type { ReactNode } from "react";
import { Button, Dialog, Popover } from "react-aria-components";
import { type Entity, type EntityField, isColumn } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import type { OverlayProps } from "../../ui/OverlayButton.tsx";

export interface ColumnsMenuProps {
  entity: Entity;
  columns: readonly EntityField[];
  onColumns: (names: readonly string[] | undefined) => void;
}

/** Lets the user choose the columns of a list and their order. */
export function ColumnsMenu({
  entity,
  columns,
  onColumns,
  triggerRef,
  onClose,
}: ColumnsMenuProps & OverlayProps): ReactNode {
  const names = columns.map(({ name }) => name);
  const hidden = entity.fields.filter((field) => isColumn(field) && !names.includes(field.name));
  const move = (from: number, to: number) => {
    const next = [...names];
    next.splice(to, 0, ...next.splice(from, 1));
    onColumns(next);
  };
  return (
    <Popover
      className="popover"
      trigger="DialogTrigger"
      triggerRef={triggerRef}
      placement="bottom end"
      isOpen
      onOpenChange={onClose}
    >
      <Dialog aria-label={en.list.columnsHint}>
        <ul className="columns-list">
          {[...columns, ...hidden].map((field, index) => {
            const isShown = index < names.length;
            return (
              <li key={field.name}>
                <label title={field.description ?? undefined}>
                  <input
                    type="checkbox"
                    checked={isShown}
                    disabled={isShown && names.length === 1}
                    onChange={() =>
                      onColumns(
                        isShown
                          ? names.filter((name) => name !== field.name)
                          : [...names, field.name],
                      )
                    }
                  />
                  {field.title}
                </label>
                {isShown && (
                  <>
                    <Button
                      className="button button-quiet icon-button"
                      aria-label={`${en.list.up}: ${field.title}`}
                      isDisabled={index === 0}
                      onPress={() => move(index, index - 1)}
                    >
                      <Icon name="up" />
                    </Button>
                    <Button
                      className="button button-quiet icon-button"
                      aria-label={`${en.list.down}: ${field.title}`}
                      isDisabled={index === names.length - 1}
                      onPress={() => move(index, index + 1)}
                    >
                      <Icon name="down" />
                    </Button>
                  </>
                )}
              </li>
            );
          })}
        </ul>
        <Button className="button button-quiet" onPress={() => onColumns(undefined)}>
          {en.list.resetColumns}
        </Button>
      </Dialog>
    </Popover>
  );
}
