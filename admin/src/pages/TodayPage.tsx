import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ask } from "../api/ask.ts";
import { Page } from "../frame/Page.tsx";
import type { Entity } from "../meta/entities.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { formatAgo } from "../meta/format.ts";
import { formatTime, hourNow } from "../text/locale.ts";
import { en } from "../text/en.ts";

interface TodayAnswer {
  jobs?: { totalCount: number };
  issues?: { orderCount: number }[];
  notifications?: { nodes: { id: string; title: string; happenedAt: string }[] };
  campaigns?: { nodes: { id: string; title: string; scheduledAt: string }[] };
  products?: { nodes: { id: string; name: string; updatedAt: string }[] };
}

/** The parts of the page's single query, by the list that the caller must be able to read. */
const parts: Readonly<Record<string, string>> = {
  notifications: `notifications: notifications(query: "-readAt:*", first: 6) { nodes { id title happenedAt } }`,
  jobs: `jobs: jobs(query: "state:FAILED createdAt:>=today-7d", first: 0, includeTotalCount: true) { totalCount }`,
  erpMappingRules: `issues: erpOrderImportIssues { orderCount }`,
  campaigns: `campaigns: campaignPages(query: "scheduledAt:>=today scheduledAt:<today+7d", first: 6, orderBy: [SCHEDULED_AT_ASC]) { nodes { id title scheduledAt } }`,
  products: `products: products(first: 6, orderBy: [UPDATED_AT_DESC]) { nodes { id name updatedAt } }`,
};

/** The start page: notifications, failed jobs, import issues, campaigns, recent changes, and links to all lists. */
export function TodayPage(): ReactNode {
  const entities = useEntities();
  const { me } = entities.metadata;
  const open = entities.listed;
  const asked = Object.entries(parts).filter(([name]) => entities.get(name));
  const document = `query Today { ${asked.map(([, part]) => part).join("\n")} }`;
  const today = useQuery({
    queryKey: ["today", document],
    queryFn: ({ signal }) => ask<TodayAnswer>(document, {}, { signal }),
    enabled: asked.length > 0,
  });
  const { jobs, issues, notifications, campaigns, products } = today.data ?? {};
  const name = me.user.name ?? me.user.email;
  return (
    <Page title={en.today.title}>
      <p className="greeting">{en.today.greeting(hourNow(), name)}</p>
      {open.length === 0 && <p className="empty">{en.today.nothing}</p>}
      <div className="cards">
        {(jobs ?? issues) && <NeedsYou jobs={jobs?.totalCount ?? 0} issues={issues?.length ?? 0} />}
        {notifications && (
          <Card title={en.today.notifications} entity="notifications">
            <Rows
              entity="notifications"
              empty={en.today.noNotifications}
              rows={notifications.nodes.map(({ id, title, happenedAt }) => ({
                id,
                name: title,
                beside: formatAgo(happenedAt),
              }))}
            />
          </Card>
        )}
        {campaigns && (
          <Card title={en.today.campaigns} entity="campaigns">
            <Rows
              entity="campaigns"
              empty={en.today.noCampaigns}
              rows={campaigns.nodes.map(({ id, title, scheduledAt }) => ({
                id,
                name: title,
                beside: formatTime(scheduledAt),
              }))}
            />
          </Card>
        )}
        {products && (
          <Card title={en.today.changed} entity="products">
            <Rows
              entity="products"
              empty={en.today.demo}
              rows={products.nodes.map(({ id, name: product, updatedAt }) => ({
                id,
                name: product,
                beside: formatAgo(updatedAt),
              }))}
            />
          </Card>
        )}
        {groups(open).map(([heading, members]) => (
          <section key={heading} className="card">
            <h2>{heading}</h2>
            <ul className="rows">
              {members.map((entity) => (
                <li key={entity.name}>
                  <Link to="/$entity" params={{ entity: entity.name }} search={{}}>
                    {entity.title}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </Page>
  );
}

function groups(entities: readonly Entity[]): [string, Entity[]][] {
  const found = Map.groupBy(entities, ({ group }) => group ?? en.frame.other);
  return [...found];
}

function NeedsYou({ jobs, issues }: { jobs: number; issues: number }): ReactNode {
  return (
    <section className="card">
      <h2>{en.today.needsYou}</h2>
      <ul className="rows">
        {jobs > 0 && (
          <li>
            <Link
              to="/$entity"
              params={{ entity: "jobs" }}
              search={{ q: "state:FAILED createdAt:>=today-7d" }}
            >
              {jobs} {en.today.jobsFailed(jobs)}
            </Link>
          </li>
        )}
        {issues > 0 && (
          <li>
            <Link
              to="/$entity"
              params={{ entity: "orders" }}
              search={{ q: "hasImportMappingIssue:true OR hasImportDataIssue:true" }}
            >
              {issues} {en.today.issues(issues)}
            </Link>
          </li>
        )}
        {jobs + issues === 0 && <li className="dim">{en.today.allDone}</li>}
      </ul>
    </section>
  );
}

function Card({
  title,
  entity,
  children,
}: {
  title: string;
  entity: string;
  children: ReactNode;
}): ReactNode {
  return (
    <section className="card">
      <h2>
        <Link to="/$entity" params={{ entity }} search={{}}>
          {title}
        </Link>
      </h2>
      {children}
    </section>
  );
}

function Rows({
  entity,
  rows,
  empty,
}: {
  entity: string;
  rows: readonly { id: string; name: string; beside: string }[];
  empty: string;
}): ReactNode {
  if (rows.length === 0) return <p className="dim">{empty}</p>;
  return (
    <ul className="rows">
      {rows.map(({ id, name, beside }) => (
        <li key={id}>
          <Link to="/$entity/$id" params={{ entity, id }} search={{}}>
            {name}
          </Link>
          <span className="dim">{beside}</span>
        </li>
      ))}
    </ul>
  );
}
