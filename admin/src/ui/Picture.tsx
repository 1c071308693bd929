import { type ReactNode, useState } from "react";
import { pictureAddress } from "../meta/addresses.ts";
import { useEntities } from "../meta/EntitiesContext.ts";

interface PictureProps {
  /** The address of the picture. */
  text: string;
  alt: string;
  size: "small" | "large";
  /** Shown in place of a picture that cannot be loaded. */
  otherwise: ReactNode;
}

/** A picture of the data. Its server does not learn the address of the page. */
export function Picture({ text, alt, size, otherwise }: PictureProps): ReactNode {
  const address = pictureAddress(text, useEntities().metadata.imageOrigins);
  const [failed, setFailed] = useState<string | null>(null);
  if (address === null || failed === address) return otherwise;
  return (
    <img
      className={`picture picture-${size}`}
      src={address}
      alt={alt}
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      onError={() => setFailed(address)}
    />
  );
}
