import type { CallOptions } from '@posthorn/sdk/index.ts';
import type { Context } from './context.ts';
import { printable } from './format.ts';
import { createStore } from './views/store.ts';

/** Below this an upload is over before anybody has looked. */
const SHOWN_FROM_BYTES = 256 * 1024;

/** Makes a call that uploads a file; on a terminal with a bar that shows how far it is. */
export async function upload<T>(
  { terminal, signal }: Context,
  file: File | undefined,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (!file || !terminal || file.size < SHOWN_FROM_BYTES) return call({ signal });
  const store = createStore({ name: printable(file.name), sentBytes: 0, totalBytes: file.size });
  let answer: { value: T } | null = null;
  const { showProgress } = await import('./views/progress.ts');
  await showProgress({ terminal, signal }, store, async () => {
    answer = { value: await call({ signal, onUploadProgress: (progress) => store.change(progress) }) };
  });
  // Called off: what it was called off for is the reason.
  if (answer === null) throw signal.reason;
  return (answer as { value: T }).value;
}
