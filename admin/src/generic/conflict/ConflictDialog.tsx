import { Fragment, type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import { type Entity, fieldOf } from "../../meta/entities.ts";
import { formatAgo } from "../../meta/format.ts";
import { formatList } from "../../text/locale.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import type { FormValue } from "../record/values.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import type { Clash } from "./merge.ts";

export interface ConflictState {
  clashes: readonly Clash<FormValue>[];
  changedBy: string | null;
  changedAt: string | null;
}

type Side = "mine" | "theirs";
export type Choices = ReadonlyMap<Clash<FormValue>, Side>;

interface ConflictDialogProps {
  entity: Entity;
  conflict: ConflictState;
  /** Formats a value, such as an id as the name of its row; `values` are those of the same side. */
  show: (
    field: string,
    value: FormValue | undefined,
    values: Readonly<Record<string, FormValue | undefined>>,
  ) => ReactNode;
  onChoose: (choices: Choices) => void;
  onCancel: () => void;
}

/** Lets the user choose between two values of each field, or amount and currency, with conflicting changes. */
export function ConflictDialog({
  entity,
  conflict,
  show,
  onChoose,
  onCancel,
}: ConflictDialogProps): ReactNode {
  const [choices, setChoices] = useState<Choices>(new Map());
  const all = (side: Side) => onChoose(new Map(conflict.clashes.map((clash) => [clash, side])));
  const titleOf = (field: string) => fieldOf(entity, field)?.title ?? field;
  const shown = (clash: Clash<FormValue>, side: Side | "base") => {
    const { fields, [side]: values } = clash;
    // An amount shows its currency.
    const currencies = new Set(
      fields.map((field) => values[field] !== "" && fieldOf(entity, field)?.currencyField),
    );
    return fields
      .filter((field) => !currencies.has(field))
      .map((field, index, { length }) => (
        <Fragment key={field}>
          {index > 0 && ", "}
          {length > 1 && `${titleOf(field)} `}
          {show(field, values[field], values)}
        </Fragment>
      ));
  };
  const who = conflict.changedBy ?? enRecord.conflict.somebody;
  const when = conflict.changedAt === null ? null : formatAgo(conflict.changedAt);
  return (
    <QuestionDialog
      className="conflict"
      title={enRecord.conflict.title}
      text={enRecord.conflict.hint(who, when)}
      onCancel={onCancel}
      actions={
        <>
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
        </>
      }
    >
      {conflict.clashes.map((clash) => (
        <fieldset key={clash.fields.join()} className="clash">
          <legend>{formatList(clash.fields.map(titleOf))}</legend>
          {(["mine", "theirs"] as const).map((side) => (
            <label key={side}>
              <input
                type="radio"
                name={clash.fields.join()}
                checked={choices.get(clash) === side}
                onChange={() => setChoices(new Map([...choices, [clash, side]]))}
              />
              <span className="dim">{enRecord.conflict[side]}</span>
              <span>{shown(clash, side)}</span>
            </label>
          ))}
          <p className="hint">
            {enRecord.conflict.was} {shown(clash, "base")}
          </p>
        </fieldset>
      ))}
    </QuestionDialog>
  );
}
