import type { ReactNode } from "react";

/** A description of the API, in which names and values stand between backticks. */
export function Description({ text }: { text: string }): ReactNode {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}
