import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ask } from "../api/ask.ts";
import { Page } from "../frame/Page.tsx";
import { en } from "../text/en.ts";
import { Failure } from "../ui/Failure.tsx";

const pageDocument = `query Page($slug: String!) { page: documentationPageBySlug(slug: $slug) { id } }`;

/** Redirects from the slug of a handbook page, current or earlier, to its record. */
export function HandbookPage(): ReactNode {
  const { slug } = useParams({ from: "/handbook/$slug" });
  const found = useQuery({
    queryKey: ["handbook", slug],
    queryFn: ({ signal }) =>
      ask<{ page: { id: string } | null }>(pageDocument, { slug }, { signal }),
    // Not cached: pages are renamed, and a missing page may be created.
    gcTime: 0,
    staleTime: 0,
  });
  if (found.data?.page)
    return (
      <Navigate
        to="/$entity/$id"
        params={{ entity: "documentationPages", id: found.data.page.id }}
        search={{}}
        replace
      />
    );
  return (
    <Page title={slug}>
      {found.error && <Failure error={found.error} onRetry={() => void found.refetch()} />}
      {found.data && (
        <p className="empty" role="alert">
          {en.handbook.missing(slug)}
        </p>
      )}
    </Page>
  );
}
