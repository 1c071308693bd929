import { useSyncExternalStore } from "react";

/** State that modules change and components show. */
export interface SharedState<T> {
  get: () => T;
  set: (next: T) => void;
  /** The state in a component, which is rendered again when the state changes. */
  use: () => T;
}

export function makeSharedState<T>(initial: T): SharedState<T> {
  let state = initial;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const get = () => state;
  return {
    get,
    set(next) {
      state = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, get),
  };
}
