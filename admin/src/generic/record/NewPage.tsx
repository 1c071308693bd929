import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Page } from "../../frame/Page.tsx";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { LinkToList, UnknownList } from "../list/UnknownList.tsx";
import { SaveButton } from "./leaving.tsx";
import { NewRowForm, useNewForm } from "./NewRow.tsx";
import type { FormValues } from "./values.ts";

/** The page with the form of a new row. The URL can set initial values, such as the parent row. */
export function NewPage(): ReactNode {
  const { entity: name } = useParams({ from: "/$entity/new" });
  const entity = useEntities().get(name);
  if (!entity) return <UnknownList name={name} />;
  if (!entity.canCreate) {
    const missing = entity.missing.find(({ verb }) => verb === "create");
    return (
      <Page title={en.list.new(entity.titleOne)}>
        <p className="empty" role="alert">
          {missing ? en.list.missing(missing.permission) : en.record.readOnly}
        </p>
      </Page>
    );
  }
  return <NewRecord entity={entity} />;
}

function NewRecord({ entity }: { entity: Entity }): ReactNode {
  const search = useSearch({ from: "/$entity/new" });
  const navigate = useNavigate({ from: "/$entity/new" });
  const initial = useMemo(() => {
    const values: FormValues = {};
    for (const { name, onCreate } of entity.fields) {
      const value = search[name];
      if (value !== undefined && onCreate !== "NO") values[name] = value;
    }
    return values;
  }, [entity, search]);
  const form = useNewForm(
    entity,
    initial,
    (row) =>
      void navigate({
        to: "/$entity/$id",
        params: { entity: entity.name, id: row.id },
        search: {},
        replace: true,
        // Skips the question about unsaved edits, which are saved by now.
        ignoreBlocker: true,
      }),
  );
  return (
    <Page
      title={en.list.new(entity.titleOne)}
      before={<LinkToList entity={entity} />}
      actions={<SaveButton form={form} />}
    >
      <NewRowForm entity={entity} form={form} />
    </Page>
  );
}
