type Method = (input: object, options?: object) => unknown;

/** What takes a signal in another place than other methods; those who call it give one. */
const TAKES_ITS_OWN: readonly string[] = ['stream', 'waitFor'];

/**
 * The same methods, which Ctrl-C calls off. What has to be done after it, such as removing what was made, is called
 * with `{ signal: undefined }`.
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
