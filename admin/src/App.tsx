import { useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isUnauthenticated } from "./api/errors.ts";
import { EntitiesContext } from "./meta/EntitiesContext.ts";
import { LoginPage } from "./pages/LoginPage.tsx";
import { router } from "./router.tsx";
import { fetchEntities } from "./session.ts";
import { Announcer } from "./ui/Announcer.tsx";
import { Failure } from "./ui/Failure.tsx";
import { Toasts } from "./ui/Toasts.tsx";
import { TopDialog } from "./ui/TopDialog.tsx";

/** Shows the login page, or the console when a user is logged in. */
export function App(): ReactNode {
  const entities = useQuery({
    queryKey: ["console"],
    queryFn: ({ signal }) => fetchEntities(signal),
    staleTime: 60_000,
    // A migration or another permission shows when the user comes back to the tab. An unchanged catalogue is not sent.
    refetchOnWindowFocus: "always",
  });
  if (entities.data)
    return (
      <EntitiesContext value={entities.data}>
        <RouterProvider router={router} />
        <Toasts />
        <Announcer />
        <TopDialog />
      </EntitiesContext>
    );
  if (entities.isPending) return null;
  if (isUnauthenticated(entities.error)) return <LoginPage />;
  return <Failure error={entities.error} onRetry={() => void entities.refetch()} />;
}
