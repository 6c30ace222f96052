/** The contents of open forms, by name, and of those that the user may come back to. */
export interface Drafts {
  has(name: string): boolean;
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  drop(name: string): void;
  clear(): void;
  onChange(listener: () => void): () => void;
}

export function createDrafts(): Drafts {
  const values = new Map<string, unknown>();
  const listeners = new Set<() => void>();
  return {
    has: (name) => values.has(name),
    get: (name) => values.get(name),
    set(name, value) {
      values.set(name, value);
      for (const listener of listeners) listener();
    },
    drop: (name) => void values.delete(name),
    clear: () => values.clear(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
