import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { askGraph, GraphRefused } from '@posthorn/core/network/graph-api.ts';
import { downloadMedia } from '@posthorn/network/whatsapp-cloud/media.ts';
import { listen } from '../support/listen.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function graphThat(t: TestContext, answer: Answer) {
  const server = createServer(answer);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, version: 'v26.0' };
}

describe('an answer of the Graph API', () => {
  it('with an error is a refusal, whatever form its details have', async (t) => {
    const details: [Record<string, unknown>, string][] = [
      [
        { error_data: { messaging_product: 'whatsapp', details: 'Duplicate button id' } },
        'Duplicate button id',
      ],
      [{ error_data: '{"blame_field_specs":[["to"]]}' }, 'Invalid parameter'],
      [{ error_data: '{"blame_field_specs":[["to"]]}', error_user_msg: 'Enter a number' }, 'Enter a number'],
      [{ error_data: { details: null }, error_user_msg: null }, 'Invalid parameter'],
      [{ error_data: [], error_subcode: 'none', message: null }, ''],
    ];
    for (const [more, words] of details) {
      const error = { message: 'Invalid parameter', type: 'OAuthException', code: 131056, ...more };
      const graph = await graphThat(t, (_, response) =>
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error })),
      );
      await assert.rejects(
        askGraph(graph, { method: 'POST', path: '/1/messages', token: 'EAA', body: {} }),
        (err) => err instanceof GraphRefused && err.code === 131056 && err.message === words,
        JSON.stringify(more),
      );
    }
  });

  it('of its media server may be 404, which has the media asked for anew under another address', async (t) => {
    let asked = 0;
    const graph = await graphThat(t, (request, response) => {
      if (request.url?.startsWith('/v26.0/24230790383178626')) {
        asked += 1;
        response.end(JSON.stringify({ url: `http://${request.headers.host}/file/${asked}` }));
      } else if (request.url === '/file/1') response.writeHead(404).end();
      else response.end('bytes');
    });
    const access = { graph, token: 'EAA', phoneNumberId: '106540352242922' };
    const media = { ref: '24230790383178626', mimeType: 'image/jpeg', fileName: '', sizeBytes: 0 };
    await assert.rejects(downloadMedia(access, media), SendUnavailable);
    const bytes = await (await downloadMedia(access, media)).toArray();
    assert.equal(Buffer.concat(bytes).toString(), 'bytes');
  });
});
