import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Page } from "../frame/Page.tsx";
import { useEntities } from "../meta/EntitiesContext.ts";
import { en } from "../text/en.ts";

export function TodayPage(): ReactNode {
  const { me, entities } = useEntities().catalogue;
  const name = me.user.name ?? me.user.email;
  return (
    <Page title={en.today.title}>
      <p>{en.today.greeting(new Date().getHours(), name)}</p>
      {entities.length === 0 && <p className="empty">{en.today.nothing}</p>}
      <div className="cards">
        {entities.length > 0 && (
          <section className="card">
            <h2>{en.today.lists}</h2>
            <ul className="rows">
              {entities.map((entity) => (
                <li key={entity.name}>
                  <Link to="/$entity" params={{ entity: entity.name }} search={{}}>
                    {entity.title}
                  </Link>
                  <span className="dim">{entity.group}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Page>
  );
}
