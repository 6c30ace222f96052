import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, refuse, startHttp } from '../sdk/http-server.ts';
import { sendTexts } from './traffic.ts';

const INSTANCE = { id: 'instance-1', phone: '5511999990000' };

async function send(url: string) {
  const system = { urls: [url], stopping: new AbortController().signal };
  return sendTexts(system, { apiKey: 'svc_test' }, [INSTANCE], 1);
}

for (const [status, code] of [
  [400, 'BAD_REQUEST'],
  [401, 'TOKEN_INVALID'],
  [409, 'BLOCKED_TEMPERATURE_LIMIT'],
  [422, 'IDEMPOTENCY_KEY_REUSED'],
] as const) {
  test(`the traffic of the faults ends at once on ${status} ${code}, and reports it`, async (t) => {
    const server = await startHttp((res) => refuse(res, status, code));
    t.after(() => server.close());
    const traffic = await send(server.url);
    await assert.rejects(traffic.done, {
      message: `send 0 of instance instance-1 was refused for good: ${status} ${code}`,
    });
    assert.equal(server.seen.length, 1);
  });
}

test('the traffic of the faults repeats requests that may pass under one key', async (t) => {
  const passing: [number, string][] = [
    [503, 'SERVICE_UNAVAILABLE'],
    [500, 'INTERNAL_ERROR'],
    [429, 'RATE_LIMITED'],
    [408, 'REQUEST_TIMEOUT'],
    [409, 'INSTANCE_NOT_CONNECTED'],
  ];
  const server = await startHttp((res, _, index) =>
    index < passing.length ? refuse(res, ...passing[index]!) : json(res, 202, { message_id: 'message-1' }),
  );
  t.after(() => server.close());
  const traffic = await send(server.url);
  assert.deepEqual([...(await traffic.done)], [['instance-1', ['message-1']]]);
  assert.equal(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size, 1);
  assert.deepEqual(
    [...traffic.refusals.keys()],
    passing.map((refusal) => refusal.join(' ')),
  );
});
