import { type ReactNode, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { type Entity, fieldOf } from "../../meta/entities.ts";
import { formatAgo } from "../../meta/format.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import type { FormValue } from "../record/values.ts";
import type { Clash } from "./merge.ts";

export interface ConflictState {
  clashes: readonly Clash<FormValue>[];
  changedBy: string | null;
  changedAt: string | null;
}

type Side = "mine" | "theirs";

interface ConflictDialogProps {
  entity: Entity;
  conflict: ConflictState;
  /** Formats a value, such as an id as the name of its row; `values` are those of the same side. */
  show: (
    field: string,
    value: FormValue | undefined,
    values: Readonly<Record<string, FormValue | undefined>>,
  ) => ReactNode;
  onChoose: (choices: ReadonlyMap<string, Side>) => void;
  onCancel: () => void;
}

/** Lets the user choose between two values of each field with conflicting changes. */
export function ConflictDialog({
  entity,
  conflict,
  show,
  onChoose,
  onCancel,
}: ConflictDialogProps): ReactNode {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const all = (side: Side) => onChoose(new Map(conflict.clashes.map(({ field }) => [field, side])));
  const shown = (field: string, side: Side | "base") => {
    const values = Object.fromEntries(conflict.clashes.map((clash) => [clash.field, clash[side]]));
    return show(field, values[field], values);
  };
  const who = conflict.changedBy ?? enRecord.conflict.somebody;
  const when = conflict.changedAt === null ? "" : formatAgo(conflict.changedAt);
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => {
        if (!isOpen) onCancel();
      }}
    >
      <Modal className="dialog conflict">
        <Dialog role="alertdialog">
          <Heading slot="title">{enRecord.conflict.title}</Heading>
          <p>{enRecord.conflict.hint(who, when)}</p>
          {conflict.clashes.map(({ field }) => (
            <fieldset key={field} className="clash">
              <legend>{fieldOf(entity, field)?.title ?? field}</legend>
              {(["mine", "theirs"] as const).map((side) => (
                <label key={side}>
                  <input
                    type="radio"
                    name={field}
                    checked={choices.get(field) === side}
                    onChange={() => setChoices(new Map([...choices, [field, side]]))}
                  />
                  <span className="dim">{enRecord.conflict[side]}</span>
                  <span>{shown(field, side)}</span>
                </label>
              ))}
              <p className="hint">
                {enRecord.conflict.was} {shown(field, "base")}
              </p>
            </fieldset>
          ))}
          <div className="actions">
            <Button className="button" onPress={onCancel}>
              {en.cancel}
            </Button>
            <Button className="button" onPress={() => all("theirs")}>
              {enRecord.conflict.takeTheirs}
            </Button>
            <Button className="button" onPress={() => all("mine")}>
              {enRecord.conflict.saveMine}
            </Button>
            <Button
              className="button button-primary"
              isDisabled={choices.size < conflict.clashes.length}
              onPress={() => onChoose(choices)}
            >
              {enRecord.conflict.save}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
