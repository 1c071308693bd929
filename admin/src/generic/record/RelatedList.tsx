import { type ReactNode, useCallback, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { relatedRowsRequest } from "../../api/rows.ts";
import { type Entity, type EntityRelation, defaultColumns } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Failure } from "../../ui/Failure.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useDeletedRows } from "../list/deletedRows.ts";
import { Grid } from "../list/Grid.tsx";
import { nextOrder } from "../list/order.ts";
import { useRows } from "../list/useRows.ts";
import type { NewRow } from "./editorProps.ts";

interface RelatedListProps {
  /** The table of the record. */
  entity: Entity;
  relation: EntityRelation;
  id: string;
  onOpen: (entity: string, id: string) => void;
  onNew: (wanted: NewRow) => void;
}

/** A list of the rows of another table that refer to the record. */
export function RelatedList(props: RelatedListProps): ReactNode {
  const { entity: referenced, relation, id, onOpen, onNew } = props;
  const entity = useEntities().get(relation.entity);
  if (!entity) throw new Error(`${relation.entity} is not in the metadata`);
  const wanted = useMemo(
    () => relatedRowsRequest(referenced, relation, entity, id),
    [referenced, relation, entity, id],
  );
  const isDeleted = useDeletedRows(entity.name);
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const [order, setOrder] = useState<string | undefined>();
  const defaultQuery = wanted.parentRow === null ? entity.defaultQuery : null;
  const [isNarrowed, setNarrowed] = useState(defaultQuery !== null);
  const shownOrder = order === undefined ? entity.defaultOrder : [order];
  const [widths, setWidths] = useState<Record<string, number>>({});
  const onRange = useCallback((first: number, last: number) => setRange([first, last]), []);
  // Omits the reference, whose value is the same in every row.
  const referring = relation.by.replace(/\.id$/, "");
  const columns = defaultColumns(entity).filter(
    ({ name, reference }) => name !== referring && reference?.field !== referring,
  );
  const open = entity.keyField === null ? undefined : (row: Row) => onOpen(entity.name, row.id);
  const rows = useRows({
    entity,
    columns,
    ...wanted,
    query: isNarrowed ? `${wanted.query} AND (${defaultQuery})` : wanted.query,
    order: order === undefined ? [] : [order],
    range,
  });
  const field = entity.fields.find(
    ({ name, reference }) =>
      name === referring || name === relation.by || reference?.field === referring,
  );
  // The unique reference refuses a second row.
  const isTaken = wanted.parentRow?.parent.shape === "ROW" && rows.total !== 0;
  const create = () => {
    if (field) onNew({ entity, initial: { [field.name]: id }, onCreated: () => undefined });
  };
  return (
    <div className="related">
      <div className="actions">
        {entity.canCreate && field && !isTaken && (
          <Button className="button" onPress={create}>
            <Icon name="plus" />
            {en.list.new(entity.titleOne)}
          </Button>
        )}
        {defaultQuery !== null && (
          <label className="choice">
            <input
              type="checkbox"
              className="checkbox"
              checked={isNarrowed}
              onChange={(event) => setNarrowed(event.target.checked)}
            />
            {en.list.only} <code>{defaultQuery}</code>
          </label>
        )}
      </div>
      {rows.error !== null ? (
        <Failure error={rows.error} onRetry={rows.refetch} />
      ) : rows.total === 0 ? (
        <p className="dim">{isNarrowed ? en.list.noMatch : en.list.empty(entity.title)}</p>
      ) : (
        <Grid
          label={relation.title}
          columns={columns}
          widths={widths}
          nameField={entity.nameField}
          nameOf={(row) => rowName(entity, row)}
          rows={rows}
          isDeleted={isDeleted}
          order={shownOrder}
          onOrder={(column) => setOrder(nextOrder(column, shownOrder, entity.defaultOrder))}
          onRange={onRange}
          onWidth={(field, width) => setWidths({ ...widths, [field]: width })}
          onOpen={open}
          onPreview={open}
        />
      )}
    </div>
  );
}
