import DataLoader from "dataloader";
import { gathered, resolvers, type Row } from "./handWritten.ts";

/** A request's loaders, by type and field. */
export interface LoaderContext {
  loaders: Record<string, DataLoader<unknown, unknown>>;
}

const all = Object.entries(gathered).flatMap(([type, fields]) =>
  Object.entries(fields).map(([field, how]) => ({ type, field, name: `${type}.${field}`, ...how })),
);

export function loaderContext(): LoaderContext {
  return {
    loaders: Object.fromEntries(all.map(({ name, load }) => [name, new DataLoader(load)])),
  };
}

/** The resolvers for a server without built-in loaders. */
export const loadingResolvers: Record<string, Record<string, unknown>> = { ...resolvers };
for (const { type, field, name, by } of all)
  loadingResolvers[type] = {
    ...loadingResolvers[type],
    [field]: (row: Row, _args: unknown, { loaders }: LoaderContext) =>
      row[by] === null ? null : loaders[name]?.load(row[by]),
  };
