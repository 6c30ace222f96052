/** What a view shows, changed from outside of it. */
export interface Store<T> {
  get(): T;
  change(change: Partial<T>): void;
  /** Calls it after each change; what it gives ends that. */
  subscribe(listener: () => void): () => void;
}

export function createStore<T extends object>(first: T): Store<T> {
  let state = first;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    change(change) {
      state = { ...state, ...change };
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
