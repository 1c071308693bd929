import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { MenuItem, MenuSection, Separator } from "react-aria-components";
import { ask } from "../api/ask.ts";
import { logoutDocument } from "../api/documents.ts";
import { useEntities } from "../meta/EntitiesContext.ts";
import { setPreferences, usePreferences } from "../preferences.ts";
import { forgetSession } from "../session.ts";
import { en } from "../text/en.ts";
import type { OverlayProps } from "../ui/OverlayButton.tsx";
import { OverlayMenu } from "../ui/OverlayMenu.tsx";

const themes = ["system", "light", "dark"] as const;

interface AccountMenuProps extends OverlayProps {
  onKeys: () => void;
  /** Called when the user follows a link. */
  onGo: (() => void) | undefined;
}

export function AccountMenu({
  onKeys,
  onGo,
  triggerRef,
  focus,
  onClose,
}: AccountMenuProps): ReactNode {
  const { theme } = usePreferences();
  const { me, profile } = useEntities().metadata;
  const navigate = useNavigate();
  const openProfile = () => {
    if (profile === null) return;
    void navigate({
      to: "/$entity/$id",
      params: { entity: profile.name, id: me.user.id },
      search: {},
    });
    onGo?.();
  };
  const logOut = async () => {
    await ask(logoutDocument);
    forgetSession();
    // Reloads the page, so that no data of the session remains in memory.
    location.assign("/admin/");
  };
  return (
    <OverlayMenu
      label={en.frame.account}
      placement="bottom start"
      triggerRef={triggerRef}
      focus={focus}
      onClose={onClose}
      onAction={(key) => {
        if (key === "profile") openProfile();
        else if (key === "keys") onKeys();
        else if (key === "logOut") void logOut();
        else setPreferences({ theme: themes.find((shown) => shown === key) ?? "system" });
      }}
    >
      {profile && (
        <MenuItem id="profile" className="menu-item">
          {en.frame.profile}
        </MenuItem>
      )}
      {profile && <Separator />}
      <MenuSection
        aria-label={en.frame.theme}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[theme]}
      >
        {themes.map((shown) => (
          <MenuItem key={shown} id={shown} className="menu-item" textValue={en.frame.themes[shown]}>
            {en.frame.themes[shown]}
            {shown === theme && (
              <span className="dim" aria-hidden="true">
                ✓
              </span>
            )}
          </MenuItem>
        ))}
      </MenuSection>
      <Separator />
      <MenuItem id="keys" className="menu-item" textValue={en.frame.keys}>
        {en.frame.keys}
        <span className="dim">?</span>
      </MenuItem>
      <MenuItem id="logOut" className="menu-item">
        {en.frame.logOut}
      </MenuItem>
    </OverlayMenu>
  );
}
