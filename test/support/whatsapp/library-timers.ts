/**
 * The library leaves timers of up to two minutes behind when it is closed: they must not keep the test's process alive.
 */
const plain = globalThis.setTimeout;
const LONG_MS = 5_000;

globalThis.setTimeout = Object.assign((...args: Parameters<typeof setTimeout>) => {
  const timer = plain(...args);
  return Number(args[1]) > LONG_MS ? timer.unref() : timer;
}, plain) as typeof setTimeout;
