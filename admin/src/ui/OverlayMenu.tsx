import type { ComponentProps, ReactNode } from "react";
import { Menu, Popover } from "react-aria-components";
import type { OverlayProps } from "./OverlayButton.tsx";

interface OverlayMenuProps
  extends
    OverlayProps,
    Pick<ComponentProps<typeof Menu>, "onAction" | "renderEmptyState" | "children"> {
  label: string;
  placement?: "bottom start" | "bottom end";
}

/** The menu of an `OverlayButton`. */
export function OverlayMenu({
  label,
  placement = "bottom end",
  triggerRef,
  focus,
  onClose,
  ...menu
}: OverlayMenuProps): ReactNode {
  return (
    <Popover
      className="menu-popover"
      aria-label={label}
      trigger="MenuTrigger"
      triggerRef={triggerRef}
      placement={placement}
      isOpen
      onOpenChange={onClose}
    >
      <Menu aria-label={label} autoFocus={focus} onClose={onClose} {...menu} />
    </Popover>
  );
}
