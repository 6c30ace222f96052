/** The newest values by key, up to a number of them. */
export interface Recent<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

export function createRecent<T>(max: number): Recent<T> {
  const values = new Map<string, T>();
  return {
    get: (key) => values.get(key),
    set(key, value) {
      values.delete(key);
      values.set(key, value);
      if (values.size > max) values.delete(values.keys().next().value!);
    },
  };
}
