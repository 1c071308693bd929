import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import type { Suggestion } from "../../api/suggestion.ts";
import type { EntityReference } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { listedRows } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import type { EditorProps } from "./editorProps.ts";
import { ReferenceEditor } from "./ReferenceEditor.tsx";

interface ReferenceListEditorProps extends EditorProps {
  id: string;
  describedBy: string | undefined;
  reference: EntityReference;
  onUnchosen: (isUnchosen: boolean) => void;
}

/** The editor of a list of rows of another table, such as the roles of a user. */
export function ReferenceListEditor(props: ReferenceListEditorProps): ReactNode {
  const { field, value, row, reference, onChange } = props;
  const entity = useEntities().get(reference.entity);
  const keys = typeof value === "string" && value !== "" ? value.split("\n") : [];
  const [names, setNames] = useState<ReadonlyMap<string, string>>(
    () => new Map(row ? listedRows(field, row).map(({ key, name }) => [key, name]) : []),
  );
  const nameOf = (key: string) => names.get(key) ?? key;
  const add = (choice: Suggestion) => {
    // The id of a suggestion is the table's key. References by another field use the name.
    const key = reference.keyField === entity?.keyField ? choice.id : choice.name;
    setNames(new Map([...names, [key, choice.name]]));
    if (!keys.includes(key)) onChange([...keys, key].join("\n"));
  };
  return (
    <div className="reference-list">
      {keys.length > 0 && (
        <ul className="chips" aria-label={field.title}>
          {keys.map((key) => (
            <li key={key} className="chip">
              {nameOf(key)}
              <Button
                className="button button-quiet icon-button"
                aria-label={en.record.takeAway(nameOf(key))}
                onPress={() => onChange(keys.filter((other) => other !== key).join("\n"))}
              >
                <Icon name="close" />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div className="with-unit">
        <ReferenceEditor {...props} value="" onChosen={add} />
      </div>
    </div>
  );
}
