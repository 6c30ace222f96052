import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { waitFor } from '../support/process.ts';
import { createCli } from './run-cli.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

function instanceIn(state: string) {
  const nothing = { jid: null, push_name: null, connected_at: null, last_error: null, restriction: null };
  const times = { created_at: '2026-01-31T12:00:00.000Z', updated_at: '2026-01-31T12:00:00.000Z' };
  return {
    id: INSTANCE,
    company_id: 7,
    name: 'sales',
    driver: 'sandbox',
    state,
    phone: null,
    ...nothing,
    ...times,
  };
}

async function startService(answer: Answer) {
  const server = await startHttp(answer);
  const cli = createCli({
    POSTHORN_URL: server.url,
    POSTHORN_SANDBOX_URL: server.url,
    POSTHORN_API_KEY: 'svc_x',
    POSTHORN_INSTANCE: INSTANCE,
  });
  const close = async () => {
    cli.remove();
    await server.close();
  };
  return { server, cli, close };
}

test('instances watch shows a state that changed before its stream was open', async (t) => {
  let state = 'CONNECTED';
  const { cli, close } = await startService(async (res, { url }) => {
    if (!url.startsWith('/v1/events/stream'))
      return json(res, 200, { data: [instanceIn(state)], total: 1, page: 1, limit: 200 });
    await waitFor(() => running.output().includes('CONNECTED'), 60_000);
    state = 'DISCONNECTED';
    // There is no event for it.
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
  });
  t.after(close);
  const running = cli.start(['instances', 'watch']);
  await waitFor(() => running.output().includes('CONNECTED'), 60_000);
  // The regular check comes later, 30 s after this one.
  await waitFor(() => running.output().includes('DISCONNECTED'), 25_000);
  await running.stop();
});

test('pair scans the code that follows one that expired', async (t) => {
  let looks = 0;
  const { server, cli, close } = await startService((res, { url, body }) => {
    if (url.endsWith('/qr')) {
      looks += 1;
      return json(res, 200, { qr: `2@code ${looks}`, expires_at: '2026-01-31T12:00:20.000Z' });
    }
    const { qr } = JSON.parse(body) as { qr: string };
    if (qr !== '2@code 3') return refuse(res, 404, 'PAIRING_NOT_FOUND');
    return json(res, 200, { phone: '5511988880009' });
  });
  t.after(close);
  const paired = await cli.json(['pair', '--phone', '5511988880009']);
  assert.deepEqual(paired, { phone: '5511988880009' });
  assert.equal(server.seen.filter(({ url }) => url === '/pair').length, 3);
});

test('pair reports the reason when no code is found', async (t) => {
  const { server, cli, close } = await startService((res, { url }) =>
    url.endsWith('/qr')
      ? json(res, 200, { qr: '2@code', expires_at: '2026-01-31T12:00:20.000Z' })
      : refuse(res, 404, 'PAIRING_NOT_FOUND'),
  );
  t.after(close);
  const { code, stderr } = await cli.run(['pair', '--phone', '5511988880009']);
  assert.equal(code, 5);
  assert.match(stderr, /PAIRING_NOT_FOUND/);
  assert.equal(server.seen.filter(({ url }) => url === '/pair').length, 5);
});
