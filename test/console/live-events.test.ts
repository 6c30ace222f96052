/** The tabs of a browser, which share one stream of events. */
import { before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';

/** A client whose streams open at once and tell of no event. */
function quietClient() {
  async function* stream({ signal, onOpen }: { signal: AbortSignal; onOpen: () => void }) {
    onOpen();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
  return { events: { stream } };
}

function failTest(error: unknown): void {
  throw error;
}

describe('a tab', () => {
  // Their types are those of a browser, which are checked with the console alone.
  const load = (file: string) => import(new URL(`../../console/session/${file}`, import.meta.url).href);
  // biome-ignore lint/suspicious/noExplicitAny: see above
  let [createLiveEvents, refreshBySigns]: any[] = [];
  before(async () => {
    ({ createLiveEvents } = await load('live-events.ts'));
    ({ refreshBySigns } = await load('refresh-by-signs.ts'));
  });

  test('reads its data again when the tab that read the events is closed before it told of one', async (t) => {
    const first = createLiveEvents(quietClient(), failTest);
    t.after(first.stop);
    await waitFor(() => first.isOpen());
    const second = createLiveEvents(quietClient(), failTest);
    t.after(second.stop);
    const reads: unknown[] = [];
    const queries = { invalidateQueries: async (filter: unknown) => void reads.push(filter) };
    const connection = { trouble: () => null };
    t.after(refreshBySigns({ queries, live: second, connection }));
    // Once it knows that the stream is open, it reads what it may have read before that.
    await waitFor(() => reads.length > 0);
    reads.length = 0;
    // Until the second tab has a stream, an event would reach neither of them.
    first.stop();
    await waitFor(() => reads.length > 0);
  });
});
