import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Client, createClient, PosthornError } from '@posthorn/sdk/index.ts';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { waitFor } from '../support/process.ts';
import { type Fault, type FaultyServer, startFaultyServer } from './faulty-server.ts';

/** The time limit of a request that hangs: more than any other one takes on a busy machine. */
const TIMEOUT_MS = 10_000;

const FAULTS: readonly Fault[] = [
  '429',
  '503',
  'reset before',
  'reset after',
  'hang',
  'cut body',
  'HTML instead',
  '503 after',
];

describe('one send is one message, whatever happens on the way', { timeout: 500_000 }, () => {
  let system: Standalone;
  let faulty: FaultyServer;
  let client: Client;
  let sandbox: Client;
  let instanceId: string;
  let calls = 0;
  before(async () => {
    // How often it polls depends on how slow the machine is.
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    faulty = await startFaultyServer(system.url);
    const direct = createClient({ baseUrl: system.url });
    const { api_key: apiKey } = await direct.auth.quickRegister({ body: { email: 'a@example.com' } });
    client = createClient({ baseUrl: faulty.url, apiKey, timeoutMs: TIMEOUT_MS, deadlineMs: 60_000 });
    sandbox = createClient({ baseUrl: system.sandboxUrl });
    ({ id: instanceId } = await client.instances.create({ body: { name: 'sales' } }));
    await client.instances.updateSettings({ instanceId, body: { humanize_enabled: false } });
    await client.instances.connect({ instanceId });
    await waitFor(async () => (await client.instances.get({ instanceId })).state === 'CONNECTED', 60_000, {
      everyMs: 300,
    });
  });
  after(async () => {
    await faulty?.close();
    await system?.stop();
  });

  function send(at: number, retries: number, idempotencyKey?: string) {
    const body = { to: `55119999900${10 + at}`, text: `message ${at}` };
    return client.messages.sendText({ instanceId, body, idempotencyKey }, { retries });
  }

  /** Every call so far has one message in the ledger of the network, and none has two. */
  async function countInLedger(messageId: string): Promise<void> {
    await client.messages.waitFor({ instanceId, messageId }, 'sent', { timeoutMs: 60_000 });
    const ledger = await sandbox.request<{ total: number; duplicates: number }>({ path: '/ledger/summary' });
    assert.deepEqual([ledger.total, ledger.duplicates], [calls, 0]);
  }

  for (const fault of FAULTS) {
    // A foreign page with status 200 is an answer: the client does not try again by itself.
    if (fault !== 'HTML instead') {
      test(`when the client repeats it after ${fault}, twice`, async () => {
        faulty.plan.push(fault, fault);
        calls += 1;
        const { message_id: messageId } = await send(calls, 2);
        await countInLedger(messageId);
      });
    }

    test(`when the caller repeats it with the key of its error after ${fault}`, async () => {
      faulty.plan.push(fault);
      calls += 1;
      const error: unknown = await send(calls, 0).then(
        () => assert.fail('it should have failed'),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof PosthornError, String(error));
      assert.ok(error.idempotencyKey);
      assert.equal(error.attempts, 1);
      const { message_id: messageId } = await send(calls, 2, error.idempotencyKey);
      await countInLedger(messageId);
    });
  }
});
