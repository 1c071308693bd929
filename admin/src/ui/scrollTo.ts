/**
 * Scrolls the nearest ancestor that scrolls, just so far that the element is in view. Not `scrollIntoView`, after which
 * the next Tab starts at the element.
 */
export function scrollTo(element: Element | null | undefined): void {
  let box = element?.parentElement;
  const scrolls = ({ scrollHeight, clientHeight, scrollWidth, clientWidth }: Element) =>
    scrollHeight > clientHeight || scrollWidth > clientWidth;
  while (box && !(scrolls(box) && /auto|scroll/.test(getComputedStyle(box).overflow)))
    box = box.parentElement;
  if (!element || !box) return;
  const [inner, outer] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
  if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left;
  else if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right;
}
