import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, type ReactNode, useId, useState } from "react";
import { Button } from "react-aria-components";
import { ask } from "../api/ask.ts";
import { bootstrapDocument, devLoginDocument, loginOptionsDocument } from "../api/documents.ts";
import { queryClient, setSession } from "../session.ts";
import { en } from "../text/en.ts";
import { Failure } from "../ui/Failure.tsx";

interface LoginOptions {
  title: string;
  devLogin: boolean;
  firstUser: boolean;
  providers: { id: string; name: string; url: string }[];
}

/** The page for users who are not logged in. */
export function LoginPage(): ReactNode {
  return (
    <main className="login">
      <div className="card">
        <LoginForm />
      </div>
    </main>
  );
}

/** All login methods of the service. Also shown in a dialog when the session of an open page has ended. */
export function LoginForm({ heading = "h1" }: { heading?: "h1" | "none" }): ReactNode {
  const options = useQuery({
    queryKey: ["loginOptions"],
    queryFn: ({ signal }) =>
      ask<{ loginOptions: LoginOptions }>(loginOptionsDocument, {}, { signal }),
    select: ({ loginOptions }) => loginOptions,
    staleTime: 0,
  });
  if (options.isError)
    return <Failure error={options.error} onRetry={() => void options.refetch()} />;
  if (!options.data) return <p>{en.loading}</p>;
  const { title, devLogin, firstUser, providers } = options.data;
  const hasDirect = devLogin || firstUser;
  const isOverPage = heading === "none";
  return (
    <>
      {heading === "h1" && <h1>{title}</h1>}
      {providers.map((provider) => (
        <a
          key={provider.id}
          className="button button-primary"
          href={returningTo(provider.url)}
          // In the dialog, the provider opens in a new tab, so that unsaved edits are kept.
          target={isOverPage ? "_blank" : undefined}
        >
          {en.login.with(provider.name)}
        </a>
      ))}
      {providers.length > 0 && hasDirect && <div className="divider">{en.login.orDevelopment}</div>}
      {hasDirect && <DirectLogin isFirst={firstUser} />}
      {providers.length === 0 && !hasDirect && <p>{en.login.noWay}</p>}
    </>
  );
}

/** Adds the current page to a login URL, so that the login returns there. */
function returningTo(address: string): string {
  const url = new URL(address, location.href);
  // Uses the origin of the login URL: this page may have been opened at another address of the service.
  const page = new URL(location.pathname + location.search, url);
  url.searchParams.set("returnTo", page.href);
  return url.href;
}

function DirectLogin({ isFirst }: { isFirst: boolean }): ReactNode {
  const [email, setEmail] = useState(isFirst ? "you@example.com" : "");
  const id = useId();
  const login = useMutation({
    mutationFn: () =>
      ask(isFirst ? bootstrapDocument : devLoginDocument, { email }, { opensSession: true }),
    onSuccess: async () => {
      setSession("open");
      await queryClient.refetchQueries({ queryKey: ["console"] });
      void queryClient.invalidateQueries();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!login.isPending) login.mutate();
  };
  return (
    <form onSubmit={submit}>
      {isFirst && <p>{en.login.nobody}</p>}
      <div className="field">
        <label className="label" htmlFor={id}>
          {en.login.email}
        </label>
        <input
          id={id}
          className="input"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          aria-invalid={login.isError}
          aria-describedby={login.isError ? `${id}-error` : undefined}
          onChange={(event) => setEmail(event.target.value)}
        />
      </div>
      {login.isError && (
        <p className="error" role="alert" id={`${id}-error`}>
          {login.error.message}
        </p>
      )}
      <Button className="button button-primary" type="submit" isDisabled={login.isPending}>
        {isFirst ? en.login.first : en.login.submit}
      </Button>
    </form>
  );
}
