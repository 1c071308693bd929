import type { ReactNode } from "react";

/** A description from the API, with names and values in backticks as code. */
export function Description({ text }: { text: string }): ReactNode {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}
