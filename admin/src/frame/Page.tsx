import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Button } from "react-aria-components";
import { useEntities } from "../meta/EntitiesContext.ts";
import { en } from "../text/en.ts";
import { Icon } from "../ui/icons.tsx";
import { useAnnouncedTitle } from "../ui/useAnnouncedTitle.ts";
import { ReachabilityBar } from "./Frame.tsx";
import { useFrame } from "./FrameContext.ts";
import { PageHint } from "./PageHint.tsx";

interface PageProps {
  title: string;
  /** One line below the title. */
  hint?: string | null;
  /** Shown above the title, such as the list of the row. */
  before?: ReactNode;
  /** Shown beside the title, such as a count. */
  beside?: ReactNode;
  actions?: ReactNode;
  status?: ReactNode;
  /** Whether the content fills the page instead of scrolling in it. */
  isFilled?: boolean;
  children: ReactNode;
}

let lastPath: string | null = null;
/** The path that the user went to within the console; null on the first page, which does not take the focus. */
let wentTo: string | null = null;

/**
 * Moves the focus from the link or the row that led here to the content, whose part that scrolls takes the keys.
 * Otherwise it stays at the link, or is nowhere.
 */
function focusContent(main: HTMLElement | null): void {
  if (!main || main.contains(document.activeElement)) return;
  const body = main.querySelector<HTMLElement>(":scope > .page-body");
  (body ?? main).focus({ preventScroll: true });
}

/** The layout of a page: header, content and status line. */
export function Page({
  title,
  hint,
  before,
  beside,
  actions,
  status,
  isFilled,
  children,
}: PageProps): ReactNode {
  const { openMenu } = useFrame();
  const { metadata } = useEntities();
  useEffect(() => {
    document.title = `${title} · ${metadata.title}`;
  }, [title, metadata.title]);
  useAnnouncedTitle(title);
  const main = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // Before the effects of the content: a grid takes the focus from here.
  useLayoutEffect(() => {
    const isOther = lastPath !== null && lastPath !== path;
    lastPath = path;
    if (isOther) wentTo = path;
    // The page of a row is replaced when the row arrives, and the focus is lost with it.
    const isReplaced = wentTo === path && document.activeElement === document.body;
    if (isOther || isReplaced) focusContent(main.current);
  }, [path]);
  return (
    <main ref={main} className="page" id="content" tabIndex={-1}>
      <div>
        <ReachabilityBar />
        <header className="page-header">
          <Button
            className="button button-quiet icon-button menu-button"
            aria-label={en.frame.menu}
            onPress={openMenu}
          >
            <Icon name="menu" />
          </Button>
          <div className="page-title">
            {before !== undefined && <div className="crumb">{before}</div>}
            <div className="title-line">
              <h1>{title}</h1>
              {beside !== undefined && <span className="dim">{beside}</span>}
            </div>
            {hint && <PageHint text={hint} />}
          </div>
          {actions}
        </header>
      </div>
      {isFilled === true ? (
        children
      ) : (
        <div className="page-body" tabIndex={-1}>
          {children}
        </div>
      )}
      <footer className="status">{status}</footer>
    </main>
  );
}
