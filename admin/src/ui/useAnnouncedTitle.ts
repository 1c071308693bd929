import { useEffect } from "react";
import { announce } from "./announce.ts";

/** A title changes again when its row arrives. */
const settledMs = 300;
/** Screen readers read the title of the first page by themselves. */
let isFirst = true;

/** Announces the title of a page or drawer when it opens and when it shows another row. */
export function useAnnouncedTitle(title: string): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      if (!isFirst) announce(title);
      isFirst = false;
    }, settledMs);
    return () => {
      clearTimeout(timer);
      isFirst = false;
    };
  }, [title]);
}
