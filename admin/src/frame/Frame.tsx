import { Outlet, useNavigate } from "@tanstack/react-router";
import {
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { ask } from "../api/ask.ts";
import { currentReachability, onReachability } from "../api/reachability.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { queryClient, useSession } from "../session.ts";
import { en } from "../text/en.ts";
import { announce } from "../ui/announce.ts";
import { pauseKeys, useKeys } from "../ui/keys.ts";
import { showToast } from "../ui/Toasts.tsx";
import { useLoaded } from "../ui/useLoaded.ts";
import { whenIdle } from "../ui/whenIdle.ts";
import { Navigation } from "./Navigation.tsx";
import { FrameContext } from "./FrameContext.ts";

const loadKeysDialog = async () => (await import("./KeysDialog.tsx")).KeysDialog;
const loadMenuSheet = async () => (await import("./MenuSheet.tsx")).MenuSheet;
const loadSessionEndedDialog = async () =>
  (await import("./SessionEndedDialog.tsx")).SessionEndedDialog;
const loadPalette = async () => (await import("./Palette.tsx")).Palette;

type Layer = "menu" | "keys" | "palette" | null;

/** The layout around every page: the navigation, and the dialogs that any page can open. */
export function Frame(): ReactNode {
  const [layer, showLayer] = useState<Layer>(null);
  const setLayer = useCallback((next: Layer) => {
    // Keys typed before the dialog has the focus must not trigger shortcuts of the page.
    pauseKeys(next !== null);
    showLayer(next);
  }, []);
  const KeysDialog = useLoaded(loadKeysDialog, layer === "keys");
  const Palette = useLoaded(loadPalette, layer === "palette");
  const MenuSheet = useLoaded(loadMenuSheet, layer === "menu");
  const navigate = useNavigate();
  const entities = useEntities();
  const session = useSession();
  const SessionEndedDialog = useLoaded(loadSessionEndedDialog, session === "ended");
  const goes = useRef(0);
  const close = (isOpen: boolean) => {
    if (!isOpen) setLayer(null);
  };

  const keys = useMemo(() => {
    const goTo = (letter: string) => {
      // The letter must follow `g` within a second.
      if (Date.now() - goes.current > 1_000) return false;
      goes.current = 0;
      if (letter === "t") void navigate({ to: "/" });
      const entity = entities.listed.find(({ title }) => title.toLowerCase().startsWith(letter));
      if (letter !== "t" && entity)
        void navigate({ to: "/$entity", params: { entity: entity.name }, search: {} });
      return true;
    };
    const letters = Object.fromEntries(
      "abcdefghijklmnopqrstuvwxyz"
        .split("")
        // `g` and `y` have handlers below.
        .filter((letter) => letter !== "g" && letter !== "y")
        .map((letter) => [letter, () => goTo(letter)]),
    );
    return {
      ...letters,
      g: () => {
        goes.current = Date.now();
      },
      y: () => {
        void navigator.clipboard
          .writeText(location.href)
          .then(() => showToast(en.record.linkCopied));
      },
      "?": () => setLayer("keys"),
    };
  }, [entities, navigate, setLayer]);
  useKeys(keys);
  useKeys(
    useMemo(() => ({ "Mod+k": () => setLayer("palette") }), [setLayer]),
    true,
  );
  // Preloads the dialogs, so that they open without delay.
  useEffect(() => {
    const loads = [loadPalette, loadMenuSheet, loadSessionEndedDialog];
    whenIdle(() => void Promise.allSettled(loads.map((load) => load())));
  }, []);
  // The user may have logged in in another tab.
  useEffect(() => {
    if (session !== "ended") return;
    const onFocus = () => void queryClient.refetchQueries({ queryKey: ["console"] });
    addEventListener("focus", onFocus);
    return () => removeEventListener("focus", onFocus);
  }, [session]);

  const frame = useMemo(
    () => ({
      openMenu: () => setLayer("menu"),
      openPalette: () => setLayer("palette"),
      isGoing: () => Date.now() - goes.current <= 1_000,
    }),
    [setLayer],
  );

  return (
    <FrameContext value={frame}>
      <div className="frame">
        <a className="button skip" href="#content">
          {en.frame.skip}
        </a>
        <Navigation onKeys={() => setLayer("keys")} onPalette={() => setLayer("palette")} />
        <Outlet />
      </div>
      {layer === "menu" && MenuSheet && (
        <MenuSheet
          onKeys={() => setLayer("keys")}
          onPalette={() => setLayer("palette")}
          onGo={() => setLayer(null)}
          onOpenChange={close}
        />
      )}
      {layer === "keys" && KeysDialog && <KeysDialog onOpenChange={close} />}
      {layer === "palette" && Palette && <Palette onOpenChange={close} />}
      {session === "ended" && SessionEndedDialog && <SessionEndedDialog />}
    </FrameContext>
  );
}

/** How long the console waits until it asks again whether the server is back, and how long it waits for the answer. */
const probeMs = 3_000;
const probeLimitMs = 10_000;

/** Warns above the content that the server is slow or does not respond. */
export function ReachabilityBar(): ReactNode {
  const state = useSyncExternalStore(onReachability, currentReachability);
  // A response of any kind ends the warning. One request at a time: without a network each holds a connection.
  useEffect(() => {
    if (state !== "away") return;
    let timer: ReturnType<typeof setTimeout>;
    const ended = new AbortController();
    const probe = async () => {
      const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(probeLimitMs)]);
      await ask("{ __typename }", {}, { signal }).catch(() => undefined);
      if (!ended.signal.aborted) timer = setTimeout(() => void probe(), probeMs);
    };
    timer = setTimeout(() => void probe(), probeMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [state]);
  const wasAway = useRef(false);
  useEffect(() => {
    if (state === "reachable" && wasAway.current) announce(en.frame.back);
    wasAway.current = state === "away";
  }, [state]);
  if (state === "reachable") return null;
  return state === "away" ? (
    <div className="bar" role="alert" data-react-aria-top-layer="true">
      {en.frame.away}
    </div>
  ) : (
    <div className="bar" role="status" data-react-aria-top-layer="true">
      {en.frame.slow}
    </div>
  );
}
