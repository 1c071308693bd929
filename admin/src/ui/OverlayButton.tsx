import {
  type ComponentType,
  type ReactNode,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "react-aria-components";
import { useKeys } from "./keys.ts";
import { useLoaded } from "./useLoaded.ts";
import { whenIdle } from "./whenIdle.ts";

export interface OverlayProps {
  /** The button that the overlay is placed at, and that gets the focus back. */
  triggerRef: RefObject<HTMLButtonElement | null>;
  /** The item of a menu that gets the focus. */
  focus: "first" | "last";
  onClose: () => void;
}

interface OverlayButtonProps<Props> {
  className: string;
  label?: string;
  kind: "menu" | "dialog";
  /** The key that opens it. */
  shortcut?: string;
  /** Loads the overlay: when the browser is idle, or when the button is pressed. Must not change. */
  load: () => Promise<ComponentType<Props & OverlayProps>>;
  overlayProps: Props;
  children: ReactNode;
}

/** A button that opens a menu or a dialog, whose script is not loaded before the first list. */
export function OverlayButton<Props extends object>({
  className,
  label,
  kind,
  shortcut,
  load,
  overlayProps,
  children,
}: OverlayButtonProps<Props>): ReactNode {
  const triggerRef = useRef<HTMLButtonElement>(null);
  const [focus, setFocus] = useState<"first" | "last" | null>(null);
  const Overlay = useLoaded(load, focus !== null);
  useEffect(() => whenIdle(() => void load().catch(() => undefined)), [load]);
  useKeys(
    useMemo(
      () => (shortcut === undefined ? {} : { [shortcut]: () => setFocus("first") }),
      [shortcut],
    ),
  );
  return (
    <>
      <Button
        ref={triggerRef}
        className={className}
        aria-label={label}
        aria-haspopup={kind}
        aria-expanded={focus !== null}
        onPress={() => setFocus("first")}
        onKeyDown={(event) => {
          const { key } = event;
          if (kind === "menu" && (key === "ArrowDown" || key === "ArrowUp"))
            setFocus(key === "ArrowDown" ? "first" : "last");
          // The library would keep the shortcuts of the page from it.
          else event.continuePropagation();
        }}
      >
        {children}
      </Button>
      {focus !== null && Overlay && (
        <Overlay
          {...overlayProps}
          triggerRef={triggerRef}
          focus={focus}
          onClose={() => setFocus(null)}
        />
      )}
    </>
  );
}
