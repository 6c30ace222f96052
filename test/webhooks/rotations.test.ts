import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { emitEvents, type Received, seedWebhook, startDispatcher, startReceiver } from './support.ts';

const HOUR_MS = 3_600_000;

let messaging: TestMessaging;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging({ ALLOW_PRIVATE_WEBHOOKS: 'true' });
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

/** As a receiver whose time of day is that of the signature. */
function verifies(secret: string, { headers, body }: Received): boolean {
  const now = Date.now;
  Date.now = () => Number(headers['webhook-timestamp']) * 1_000;
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': String(headers['webhook-id']),
      'webhook-timestamp': String(headers['webhook-timestamp']),
      'webhook-signature': String(headers['webhook-signature']),
    });
    return true;
  } catch {
    return false;
  } finally {
    Date.now = now;
  }
}

/** A webhook whose deliveries are signed by the clock that the tests move. */
async function setUp() {
  const { parts } = messaging;
  const receiver = await startReceiver();
  const { id, secret } = await seedWebhook(parts.db, company.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts, { clock: parts.clock });
  return {
    secret,
    id,
    async rotate(): Promise<string> {
      const { status, body } = await messaging.call('POST', `/v1/webhooks/${id}/rotate-secret`, {
        key: company.apiKey,
      });
      assert.equal(status, 200);
      return body.secret;
    },
    /** Which of these secrets verify the next delivery. */
    async verifying(secrets: readonly string[]): Promise<boolean[]> {
      const before = receiver.received.length;
      await emitEvents(parts, company.companyId, 1, { createdAt: parts.clock.now() });
      const received = await waitFor(() => receiver.received[before]);
      return secrets.map((each) => verifies(each, received));
    },
    async close() {
      await dispatcher.close();
      await receiver.close();
      await parts.db.query('DELETE FROM webhooks WHERE id = $1', [id]);
    },
  };
}

test('a second rotation leaves the first secret the rest of its 24 hours', async (t) => {
  const webhook = await setUp();
  t.after(webhook.close);
  const first = webhook.secret;
  const second = await webhook.rotate();
  messaging.parts.clock.advance(HOUR_MS);
  const third = await webhook.rotate();
  const secrets = [first, second, third];
  assert.deepEqual(await webhook.verifying(secrets), [true, true, true]);
  messaging.parts.clock.advance(23 * HOUR_MS);
  assert.deepEqual(await webhook.verifying(secrets), [false, true, true]);
  // A later rotation takes up none that has ended.
  const fourth = await webhook.rotate();
  assert.deepEqual(await webhook.verifying([...secrets, fourth]), [false, true, true, true]);
  messaging.parts.clock.advance(HOUR_MS);
  assert.deepEqual(await webhook.verifying([...secrets, fourth]), [false, false, true, true]);
});

test('five secrets sign at once at most: one more rotation ends the oldest', async (t) => {
  const webhook = await setUp();
  t.after(webhook.close);
  const secrets = [webhook.secret];
  for (let nth = 0; nth < 5; nth += 1) secrets.push(await webhook.rotate());
  assert.deepEqual(await webhook.verifying(secrets), [false, true, true, true, true, true]);
});

test('simultaneous rotations keep the secret of each other', async (t) => {
  const webhook = await setUp();
  t.after(webhook.close);
  const rotated = await Promise.all([webhook.rotate(), webhook.rotate(), webhook.rotate()]);
  assert.deepEqual(await webhook.verifying([webhook.secret, ...rotated]), [true, true, true, true]);
});
