/** A request, as the handlers get it. */
export interface Exchange {
  method: string;
  /** The named parts of the route's path. */
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  key: string;
  body: string;
  /** Search parameters that the key embeds. */
  embedded: Readonly<Record<string, unknown>>;
}

export interface Answer {
  status: number;
  /** Sent as JSON, except text and streams of text, which are sent unchanged. */
  body: unknown;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
