import { useRouterState } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import { en } from "../text/en.ts";
import { crashReport } from "./crashReport.ts";

/** The technical details of a failure, with a button that copies them. */
export function CrashDetails({ error }: { error: unknown }): ReactNode {
  const routeId = useRouterState({ select: ({ matches }) => matches.at(-1)?.routeId ?? "" });
  const [isCopied, setCopied] = useState(false);
  const report = crashReport(error, routeId);
  return (
    <>
      <Button
        className="button"
        onPress={() => void navigator.clipboard.writeText(report).then(() => setCopied(true))}
      >
        {isCopied ? en.secret.copied : en.crash.copy}
      </Button>
      <details className="crash-details">
        <summary>{en.crash.details}</summary>
        <pre>{report}</pre>
      </details>
    </>
  );
}
