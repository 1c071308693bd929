import { type ReactNode, useEffect, useRef } from "react";

/** The error of a form that belongs to no single field. Scrolls into view, because the form may be long. */
export function FormProblem({ message }: { message: string }): ReactNode {
  const text = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Browsers return nothing or a promise; React takes a returned value for a clean-up function.
    text.current?.scrollIntoView({ block: "nearest" });
  }, [message]);
  return (
    <p className="error form-problem" role="alert" ref={text}>
      {message}
    </p>
  );
}
