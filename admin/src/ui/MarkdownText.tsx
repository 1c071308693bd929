import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

/** Links without a scheme or path lead to pages of the handbook. */
const pageAddress = /^([A-Za-z0-9_-]+)(?:#.*)?$/;

const components: Components = {
  a({ href = "", children }) {
    const [, slug] = pageAddress.exec(href) ?? [];
    if (slug !== undefined)
      return (
        <Link to="/handbook/$slug" params={{ slug }}>
          {children}
        </Link>
      );
    // An anchor would need ids of headings, which a text from people does not get.
    if (href.startsWith("#")) return <>{children}</>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  },
  // The page has its own first heading.
  h1: "h2",
  // Pictures of other hosts would tell them who reads the page.
  img: ({ alt }) => <>{alt}</>,
};

/** Markdown as people read it; HTML in it stays text. */
export function MarkdownText({ text }: { text: string }): ReactNode {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
