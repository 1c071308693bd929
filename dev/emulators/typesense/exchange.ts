/** One request, with everything that a handler may need of it. */
export interface Exchange {
  method: string;
  /** The parts of the path that the route names. */
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  key: string;
  body: string;
  /** Parameters that the key imposes on the search. */
  imposed: Readonly<Record<string, unknown>>;
}

export interface Answer {
  status: number;
  /** Sent as JSON; text, whole or piece by piece, as it is. */
  body: unknown;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
