/** The data that a view shows; code outside of the view changes it. */
export interface Store<T> {
  get(): T;
  change(change: Partial<T>): void;
  /** Calls the listener after each change; the returned function ends that. */
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
