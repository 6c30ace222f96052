import assert from 'node:assert/strict';
import type { Agent } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { it } from 'node:test';
import { connect } from 'node:tls';
import { createFetchRoute, FETCHED_MAX_BYTES } from '@posthorn/network/whatsapp/fetch-route.ts';
import { listen } from '../support/listen.ts';
import { selfSigned } from '../support/whatsapp/tls-certificate.ts';

/**
 * A history names the rest of an address, which the library appends to the media server: with a rest such as
 * `.example.com/` the result is another host name, whose owner may point it anywhere. Any program may pose as the phone
 * that names it.
 */
it('the library fetches only from the media servers of the network, and from no other address', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  const port = await listen(server);
  t.after(() => server.close());
  const dispatcher = createFetchRoute({ agent: undefined, proxy: null, ca: undefined });
  t.after(() => dispatcher.destroy());
  for (const address of [
    `https://127.0.0.1:${port}/history.enc`,
    `http://127.0.0.1:${port}/history.enc`,
    `https://localhost:${port}/history.enc`,
    // Redirects of servers are checked in the same way.
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

it('a fetch has a size limit, because the library holds all of it in memory', async (t) => {
  const { key, cert } = selfSigned();
  const chunk = Buffer.alloc(1024 * 1024);
  const server = createTlsServer({ key, cert }, (request, response) => {
    const chunks = Number(request.url?.slice(1));
    (function more(left: number) {
      if (left === 0) response.end();
      else response.write(chunk, () => more(left - 1));
    })(chunks);
  });
  const port = await listen(server);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const agent = { connect: async () => connect({ port, ca: cert, rejectUnauthorized: false }) };
  const dispatcher = createFetchRoute({ agent: agent as unknown as Agent, proxy: 'http://x', ca: undefined });
  t.after(() => dispatcher.destroy());
  const fetched = async (chunks: number) => {
    const answer = await fetch(`https://mmg.whatsapp.net/${chunks}`, { dispatcher } as RequestInit);
    return (await answer.arrayBuffer()).byteLength;
  };
  const most = FETCHED_MAX_BYTES / chunk.length;
  assert.equal(await fetched(most), FETCHED_MAX_BYTES);
  await assert.rejects(fetched(most + 1), /terminated/);
});
