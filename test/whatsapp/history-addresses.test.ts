import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { it } from 'node:test';
import { createFetchRoute } from '@posthorn/network/whatsapp/fetch-route.ts';

/**
 * A history names the rest of an address, to which the library adds the media server in front: with a rest such as
 * `.example.com/` that is another name, and whoever owns it may have it lead anywhere. The phone that names it may be
 * anybody's program.
 */
it('what the library fetches comes from the media servers of the network, and from no address within the house', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const dispatcher = createFetchRoute({ agent: undefined, proxy: null, ca: undefined });
  t.after(() => dispatcher.destroy());
  for (const address of [
    `https://127.0.0.1:${port}/history.enc`,
    `http://127.0.0.1:${port}/history.enc`,
    `https://localhost:${port}/history.enc`,
    // Where servers redirect to is asked in the same way.
    'http://mmg.whatsapp.net/history.enc',
    'https://mmg.whatsapp.net.example.com/history.enc',
    'https://notwhatsapp.net/history.enc',
  ]) {
    const cause = await fetch(address, { dispatcher } as RequestInit).then(
      () => null,
      (err: Error) => err.cause as Error,
    );
    assert.match(cause?.message ?? '', /^only media servers of the network/, address);
  }
  assert.equal(connections, 0);
});
