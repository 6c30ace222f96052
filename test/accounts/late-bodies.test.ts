/** A request is admitted by its headers, and its body may come much later: long after the credentials were revoked. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type ClientRequest, request } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { newOwner, type Person } from './support/people.ts';

/** Longer than the service takes a body for prompt. */
const HELD_MS = 5_500;
const BODY = JSON.stringify({ to: '5511999990001', text: 'held back' });

let server: AccountServer;
before(async () => {
  server = await startAccountServer();
});
after(() => server.close());

interface HeldRequest {
  /** Sends the rest of the body, and gives the status and the code of the answer. */
  finish(): Promise<string>;
}

/** Sends a text to an instance that does not exist: 404 for all who may send. */
function hold(credentials: Record<string, string>): HeldRequest {
  const held: ClientRequest = request(`${server.baseUrl}/v1/instances/${randomUUID()}/messages/text`, {
    method: 'POST',
    headers: {
      ...credentials,
      'content-type': 'application/json',
      'content-length': BODY.length,
      'idempotency-key': randomUUID(),
    },
  });
  const answer = new Promise<string>((resolve, reject) => {
    held.once('error', reject).once('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve(`${response.statusCode} ${JSON.parse(text).error_code}`);
    });
  });
  held.write(BODY.slice(0, 10));
  return {
    finish() {
      held.end(BODY.slice(10));
      return answer;
    },
  };
}

const byJwt = ({ jwt }: Person) => hold({ authorization: `Bearer ${jwt}` });
const byKey = ({ key }: Person) => hold({ 'x-api-key': key });

test('a body that is held back until its credentials are revoked is refused, and others are not', async () => {
  const [leaver, keyless, keeper, stays] = [
    await newOwner(server),
    await newOwner(server),
    await newOwner(server),
    await newOwner(server),
  ];
  const held = {
    'by a session that ended': byJwt(leaver),
    'by a key that was revoked': byKey(keyless),
    'by a key whose owner logged out': byKey(leaver),
    'by a JWT that only expired': byJwt(stays),
    'by a valid key': byKey(keeper),
  };
  await delay(HELD_MS);
  const { body } = await server.api('GET', '/v1/tokens', { jwt: keyless.jwt });
  await server.api('DELETE', `/v1/tokens/${body.data[0].id}`, { jwt: keyless.jwt });
  await server.api('POST', '/v1/auth/logout', { jwt: leaver.jwt });
  server.clock.advance(16 * 60_000);
  const answers = Object.entries(held).map(async ([name, each]) => [name, await each.finish()]);
  assert.deepEqual(Object.fromEntries(await Promise.all(answers)), {
    'by a session that ended': '401 TOKEN_INVALID',
    'by a key that was revoked': '401 TOKEN_INVALID',
    'by a key whose owner logged out': '404 INSTANCE_NOT_FOUND',
    'by a JWT that only expired': '404 INSTANCE_NOT_FOUND',
    'by a valid key': '404 INSTANCE_NOT_FOUND',
  });
});
