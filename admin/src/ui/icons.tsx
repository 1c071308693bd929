import type { ReactNode } from "react";

/** SVG paths with a view box of 16 by 16. */
const paths = {
  close: "m4 4 8 8m0-8-8 8",
  menu: "M2 4h12M2 8h12M2 12h12",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm4-1 3 3",
  up: "m4 10 4-4 4 4",
  down: "m4 6 4 4 4-4",
  left: "m10 4-4 4 4 4",
  right: "m6 4 4 4-4 4",
  plus: "M8 3v10M3 8h10",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  columns: "M2 3h12v10H2zM6.500 3v10M10 3v10",
  person: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6c.6-3 3-4.500 6-4.500s5.400 1.500 6 4.500",
  open: "M9 3h4v4m0-4L7 9M6 4H3v9h9v-3",
  revert: "M3 6h6.500a3.500 3.500 0 0 1 0 7H6M3 6l3-3M3 6l3 3",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): ReactNode {
  return <SvgPath path={paths[name]} />;
}

/** A decorative symbol: the same information is always shown as text. */
export function SvgPath({ path }: { path: string }): ReactNode {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.500"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
