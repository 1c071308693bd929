import type { EntityAction } from "../../meta/entities.ts";
import { cellText } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { formatNumber } from "../../text/locale.ts";

/** The response of an action. */
export interface ActionAnswer {
  done: Row | number | string | boolean | null;
}

/** The message after an action: what was done, with the count or the fields that the mutation returned. */
export function actionResult(
  { title, resultFields }: EntityAction,
  name: string | null,
  { done }: ActionAnswer,
): string {
  const message = en.record.done(title, name);
  if (typeof done === "number") return `${message}: ${formatNumber(done)}`;
  if (typeof done !== "object" || done === null) return message;
  const given = resultFields.filter((field) => done[field.name] !== null);
  const texts = given.map((field) => `${field.title}: ${cellText(field, done)}`);
  return texts.length === 0 ? message : `${message}. ${texts.join(", ")}`;
}
