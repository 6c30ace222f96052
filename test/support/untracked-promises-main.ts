/**
 * Loaded first into every test process by run-tests.ts: keeps node:test from following every promise. It does so to tell
 * which test caused an error that nobody caught; each `await` of the code under test then takes 10 µs instead of 0.2, and
 * collections of garbage take several times as long. Such an error still fails its file; its stack is printed in place of
 * the name of its test.
 */
import async_hooks from 'node:async_hooks';

const { createHook } = async_hooks;
async_hooks.createHook = (callbacks) => {
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.on(event, (err) => console.error(`${event} in ${process.argv[1]}:`, err));
  return createHook({ ...callbacks, trackPromises: false });
};
// It takes `createHook` when it is loaded, and calls it with its first test.
await import('node:test');
async_hooks.createHook = createHook;
