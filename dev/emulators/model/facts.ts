/** Values read from a question, by what they mean. */
export type Facts = Record<string, string | number | boolean | readonly string[]>;
