import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { actionDocument, rowVariables } from "../../api/recordDocuments.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { requestEach } from "../../api/requestEach.ts";
import type { EntityAction } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { Description } from "../../ui/Description.tsx";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import { type ActionAnswer, showActionResult } from "./actionResult.ts";
import { type ActionTarget, targetsOf } from "./actionTarget.ts";
import { describeFailures } from "./describeFailures.ts";

const loadActionDrawer = async () => (await import("./ActionDrawer.tsx")).ActionDrawer;

interface ActionRun {
  /** Runs the action, after its form or the question before a harmful one. */
  start: (action: EntityAction) => void;
  isRunning: boolean;
  /** The form or the question, to be rendered. */
  dialogs: ReactNode;
}

/** Runs the actions of a table or a report on rows, or on the list. */
export function useActionRun(target: ActionTarget): ActionRun {
  const { rows, name, nameOf = () => "", onDone = () => undefined } = target;
  const [asked, setAsked] = useState<EntityAction | null>(null);
  const [filledIn, setFilledIn] = useState<EntityAction | null>(null);
  const ActionDrawer = useLoaded(loadActionDrawer, filledIn !== null);
  const mutation = useMutation({
    mutationFn: async (action: EntityAction) => {
      const outcome = await requestEach(targetsOf(action, rows), (row) =>
        ask<ActionAnswer>(actionDocument(action, {}), rowVariables(action, row), {
          idempotencyKey: crypto.randomUUID(),
        }),
      );
      const [failure] = outcome.failed;
      if (failure === undefined) return outcome.done.map(({ result }) => result);
      throw rows.length > 1 ? new Error(describeFailures(outcome, nameOf)) : failure.error;
    },
    onSuccess: (answers, action) => {
      showActionResult(action, name, answers);
      onDone();
    },
    onError: (error, { title }) => {
      const what = rows.length > 1 ? title : en.record.notDone(title, name);
      showToast(`${what}. ${error.message}`, { tone: "bad" });
    },
    // Also after an error, since its cause may be that the row has changed.
    onSettled: refetchRows,
  });
  const start = (action: EntityAction) => {
    // The form of an action with arguments is also the question before a harmful one.
    if (action.arguments.length > 0) setFilledIn(action);
    else if (action.isHarmful) setAsked(action);
    else mutation.mutate(action);
  };
  return {
    start,
    isRunning: mutation.isPending,
    dialogs: (
      <>
        {filledIn && ActionDrawer && (
          <ActionDrawer {...target} action={filledIn} onClose={() => setFilledIn(null)} />
        )}
        {asked && (
          <QuestionDialog
            title={name === null ? `${asked.title}?` : `${asked.title}: ${name}?`}
            text={<Description text={asked.description} />}
            onCancel={() => setAsked(null)}
            actions={
              <>
                <Button className="button" autoFocus onPress={() => setAsked(null)}>
                  {en.goBack}
                </Button>
                <Button
                  className="button button-danger"
                  onPress={() => {
                    mutation.mutate(asked);
                    setAsked(null);
                  }}
                >
                  {asked.title}
                </Button>
              </>
            }
          />
        )}
      </>
    ),
  };
}
