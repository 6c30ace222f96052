import type { CallOptions } from '@posthorn/sdk/index.ts';
import type { Context } from './context.ts';
import { printable } from './format.ts';
import { createStore } from './views/store.ts';

/** A smaller upload is over before anybody sees its bar. */
const SHOWN_FROM_BYTES = 256 * 1024;

/** Makes a call that uploads a file, and shows a progress bar on a terminal. */
export async function upload<T>(
  { terminal, signal }: Context,
  file: File | undefined,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (!file || !terminal || file.size < SHOWN_FROM_BYTES) return call({ signal });
  const store = createStore({ name: printable(file.name), ...progressOf(0, file.size) });
  let sent: Promise<T> | null = null;
  const { showProgress } = await import('./views/progress.ts');
  await showProgress({ terminal, signal }, store, async () => {
    sent = call({
      signal,
      onUploadProgress: ({ sentBytes, totalBytes }) => store.change(progressOf(sentBytes, totalBytes)),
    });
    await sent;
  });
  // Aborted before the call began: throw the reason. Otherwise the call itself rejects with what it knows.
  if (sent === null) throw signal.reason;
  return sent;
}

function progressOf(done: number, total: number) {
  const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);
  return { done, total, counted: `${megabytes(done)} of ${megabytes(total)} MB` };
}
