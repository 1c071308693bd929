import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import type { Entity } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { Description } from "../../ui/Description.tsx";

/** In place of the rows of a list that has none, or none that match the query: what to do next. */
export function NoRows({
  entity,
  query,
  onClear,
}: {
  entity: Entity;
  query: string;
  onClear: () => void;
}): ReactNode {
  if (query !== "")
    return (
      <div className="empty">
        <h2>{en.list.noMatch}</h2>
        <p>
          <code>{query}</code>
        </p>
        <Button className="button" onPress={onClear}>
          {en.list.clear}
        </Button>
      </div>
    );
  const missing = entity.missing.find(({ verb }) => verb === "create");
  return (
    <div className="empty">
      <h2>{en.list.empty(entity.title)}</h2>
      {entity.description !== null && (
        <p>
          <Description text={entity.description} />
        </p>
      )}
      <p className="dim">
        {entity.canCreate
          ? en.list.emptyMayCreate(entity.titleOne)
          : missing
            ? en.list.emptyMayNot(missing.permission)
            : en.list.emptyPlain}
      </p>
    </div>
  );
}
