import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { pageSlug } from "./pageSlug.ts";

const components: Components = {
  a({ href = "", children }) {
    const slug = pageSlug(href);
    if (slug !== null)
      return (
        <Link to="/handbook/$slug" params={{ slug }}>
          {children}
        </Link>
      );
    // Links to headings would lead nowhere, since headings have no ids.
    if (href.startsWith("#")) return <>{children}</>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  },
  // The page already has an h1.
  h1: "h2",
  // Loading a picture would reveal the reader's address to its host.
  img: ({ alt }) => <>{alt}</>,
};

/** Renders Markdown; HTML is shown as text. */
export function MarkdownText({ text }: { text: string }): ReactNode {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
