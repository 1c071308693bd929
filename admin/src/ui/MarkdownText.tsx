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
    // Headings have no ids.
    if (href.startsWith("#")) return <>{children}</>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  },
  // The page has an h1 already.
  h1: "h2",
  // Other hosts would learn who reads the page.
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
