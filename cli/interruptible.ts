type Method = (input: object, options?: object) => unknown;

/** Methods that take their signal in another argument; their callers pass one. */
const TAKES_ITS_OWN: readonly string[] = ['stream', 'waitFor'];

/**
 * The same methods, which Ctrl-C aborts. Calls that must still run after it, such as a clean-up, pass `{ signal:
 * undefined }`.
 */
export function interruptible<T extends object>(methods: T, signal: AbortSignal): T {
  const wrapped = Object.entries(methods).map(([name, value]) => {
    if (TAKES_ITS_OWN.includes(name)) return [name, value];
    if (typeof value !== 'function') return [name, interruptible(value, signal)];
    const call: Method = (input, options) => (value as Method)(input, { signal, ...options });
    return [name, call];
  });
  return Object.fromEntries(wrapped) as T;
}
