import type { EntityAction } from "../../meta/entities.ts";
import { textOf } from "../../meta/format.ts";
import { cellText } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { formatNumber } from "../../text/locale.ts";
import { showSecret } from "../../ui/SecretDialog.tsx";
import { showToast } from "../../ui/Toasts.tsx";

/** The response of an action. */
export interface ActionAnswer {
  done: Row | number | string | boolean | null;
}

/** Says what an action has done. Of a single answer, it shows the fields and a secret. */
export function showActionResult(
  action: EntityAction,
  name: string | null,
  answers: readonly ActionAnswer[],
): void {
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) {
    showToast(en.record.done(action.title, name));
    return;
  }
  showToast(actionResult(action, name, answer));
  const { title, secretField } = action;
  const { done } = answer;
  if (secretField === null || typeof done !== "object" || done === null) return;
  showSecret({
    title: name === null ? title : `${title}: ${name}`,
    secret: textOf(done[secretField]),
  });
}

/** The message after an action: what was done, with the count or the fields that the mutation returned. */
function actionResult(
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
