import { type ReactNode, useDeferredValue } from "react";
import { pictureAddress, webAddress } from "../../meta/addresses.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { textOf } from "../../meta/format.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Picture } from "../../ui/Picture.tsx";
import type { EditorProps } from "./editorProps.ts";

/** The picture whose address a field holds, as it is edited. */
export function PictureField({ field, row, value, use, rowName }: EditorProps): ReactNode {
  const { imageOrigins } = useEntities().metadata;
  const text = useDeferredValue(use === "NO" ? textOf(row?.[field.name]) : textOf(value));
  const address = webAddress(text);
  if (address === null) return null;
  if (pictureAddress(text, imageOrigins) === null)
    return <p className="hint">{enRecord.picture.blocked(address.origin)}</p>;
  return (
    <Picture
      text={text}
      alt={rowName || field.title}
      size="large"
      otherwise={<p className="hint">{enRecord.picture.failed}</p>}
    />
  );
}
