import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "react-aria-components";
import { ask } from "../api/ask.ts";
import type { Entity } from "../meta/entities.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { en } from "../text/en.ts";
import { Icon } from "../ui/icons.tsx";
import { OverlayButton } from "../ui/OverlayButton.tsx";
import { scrollTo } from "../ui/scrollTo.ts";
import { useLoaded } from "../ui/useLoaded.ts";

interface NavigationProps {
  onKeys: () => void;
  onPalette: () => void;
  /** Called when the user follows a link. */
  onGo?: () => void;
}

/** The list that is shown below Today with its number of unread rows. */
const inbox = "notifications";

/** A list, or a report below the lists of its heading. */
type Item = Pick<Entity, "name" | "title" | "group" | "icon"> & { isReport?: true };

const loadListIcon = async () => (await import("../ui/ListIcon.tsx")).ListIcon;

/** The items grouped by their headings, in the order of the metadata. */
function groupsOf(items: readonly Item[]): [heading: string, items: Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const heading = item.group ?? en.frame.other;
    groups.set(heading, [...(groups.get(heading) ?? []), item]);
  }
  // Tables without a group come last.
  const other = groups.get(en.frame.other);
  if (other && groups.delete(en.frame.other)) groups.set(en.frame.other, other);
  return [...groups];
}

export function Navigation({ onKeys, onPalette, onGo }: NavigationProps): ReactNode {
  const entities = useEntities();
  const { metadata, listed } = entities;
  const notifications = entities.get(inbox);
  const nav = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // In a long navigation, the link of the shown page can be out of view.
  useEffect(() => {
    scrollTo(nav.current?.querySelector("[aria-current=page]"));
  }, [path]);
  const ListIcon = useLoaded(loadListIcon, true);
  const reports = metadata.reports.map(({ field, ...report }) => ({
    ...report,
    name: field,
    isReport: true as const,
  }));
  return (
    <nav ref={nav} className="navigation" aria-label={en.frame.navigation}>
      <div className="navigation-body">
        <div className="brand">
          <span className="brand-icon" aria-hidden="true" />
          {metadata.title}
        </div>
        <Button className="button" onPress={onPalette}>
          <Icon name="search" />
          {en.frame.search}
          <kbd className="dim">Ctrl K</kbd>
        </Button>
        <ul>
          <li>
            <Link to="/" activeOptions={{ exact: true }} onClick={onGo}>
              {ListIcon && <ListIcon name="home" />}
              {en.frame.today}
            </Link>
          </li>
          {notifications && (
            <li>
              <Link to="/$entity" params={{ entity: inbox }} search={{}} onClick={onGo}>
                {ListIcon && <ListIcon name={notifications.icon ?? ""} />}
                {notifications.title}
                <UnreadCount />
              </Link>
            </li>
          )}
        </ul>
        {groupsOf([...listed.filter(({ name }) => name !== inbox), ...reports]).map(
          ([heading, items]) => (
            <section key={heading}>
              <h2>{heading}</h2>
              <ul>
                {items.map(({ name, title, icon, isReport }) => (
                  <li key={name}>
                    <Link
                      {...(isReport
                        ? { to: "/report/$report", params: { report: name } }
                        : { to: "/$entity", params: { entity: name } })}
                      search={{}}
                      activeOptions={{ includeSearch: false }}
                      onClick={onGo}
                    >
                      {ListIcon && <ListIcon name={icon ?? ""} />}
                      <span>{title}</span>
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          ),
        )}
      </div>
      <div className="navigation-foot">
        <Account onKeys={onKeys} onGo={onGo} />
      </div>
    </nav>
  );
}

/**
 * The number of unread notifications. It is refetched after changes and, at most once a minute, on navigation; a timer
 * would keep an idle session alive.
 */
function UnreadCount(): ReactNode {
  const address = useLocation({ select: ({ href }) => href });
  const { data, isStale, refetch } = useQuery({
    queryKey: ["rows", "unread"],
    queryFn: ({ signal }) =>
      ask<{ unreadNotificationCount: number }>(
        "query Unread { unreadNotificationCount }",
        {},
        { signal },
      ),
    staleTime: 60_000,
  });
  useEffect(() => {
    if (isStale) void refetch();
  }, [address]);
  const count = data?.unreadNotificationCount ?? 0;
  if (count === 0) return null;
  return (
    <span className="badge badge-info">
      <span aria-hidden="true">{count}</span>
      <span className="visually-hidden">{en.frame.unread(count)}</span>
    </span>
  );
}

interface AccountProps {
  onKeys: () => void;
  onGo: (() => void) | undefined;
}

const loadAccountMenu = async () => (await import("./AccountMenu.tsx")).AccountMenu;

function Account({ onKeys, onGo }: AccountProps): ReactNode {
  const { name, email } = useEntities().metadata.me.user;
  return (
    <OverlayButton
      className="button button-quiet"
      label={`${en.frame.account}: ${name ?? email}`}
      kind="menu"
      load={loadAccountMenu}
      overlayProps={{ onKeys, onGo }}
    >
      <Icon name="person" />
      <span className="text">{name ?? email}</span>
    </OverlayButton>
  );
}
