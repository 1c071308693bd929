import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { en } from "../text/en.ts";
import { Description } from "../ui/Description.tsx";

/** A line of muted text. Where it does not fit, a button shows all of it; screen readers always read all of it. */
export function PageHint({ text }: { text: string }): ReactNode {
  const id = useId();
  const line = useRef<HTMLParagraphElement>(null);
  const [isCut, setCut] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const element = line.current;
    if (!element || isOpen) return undefined;
    const observer = new ResizeObserver(() => setCut(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [text, isOpen]);
  return (
    <div className="page-hint">
      <p id={id} ref={line} className={isOpen ? undefined : "is-line"}>
        <Description text={text} />
      </p>
      {(isCut || isOpen) && (
        <Button
          className="link-button"
          aria-expanded={isOpen}
          aria-controls={id}
          aria-label={isOpen ? en.frame.lessHint : en.frame.moreHint}
          onPress={() => setOpen(!isOpen)}
        >
          {isOpen ? en.frame.less : en.frame.more}
        </Button>
      )}
    </div>
  );
}
