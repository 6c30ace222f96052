import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Client, createClient } from '@posthorn/sdk/index.ts';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { waitFor } from '../support/process.ts';

describe('the client against the whole system', { timeout: 500_000 }, () => {
  let system: Standalone;
  let client: Client;
  let sandbox: Client;
  let instanceId: string;
  before(async () => {
    // The client polls more often on a slow machine.
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    const baseUrl = system.url;
    const registered = await createClient({ baseUrl }).auth.quickRegister({
      body: { email: 'a@example.com' },
    });
    client = createClient({ baseUrl, apiKey: registered.api_key });
    sandbox = createClient({ baseUrl: system.sandboxUrl });
    ({ id: instanceId } = await client.instances.create({ body: { name: 'sales' } }));
    await client.instances.updateSettings({ instanceId, body: { humanize_enabled: false } });
    await client.instances.connect({ instanceId });
    await isConnected();
  });
  after(() => system?.stop());

  const isConnected = () =>
    waitFor(async () => (await client.instances.get({ instanceId })).state === 'CONNECTED', 60_000, {
      everyMs: 300,
    });

  function send(at: number): Promise<{ message_id: string }> {
    return client.messages.sendText(
      { instanceId, body: { to: `55119999900${10 + at}`, text: `message ${at}` } },
      { retries: 30, deadlineMs: 120_000 },
    );
  }

  test('a stream and a send outlive a killed server, and nothing comes twice or not at all', async () => {
    const leaving = new AbortController();
    const seen: string[] = [];
    let opened = 0;
    const reading = (async () => {
      const events = client.events.stream({
        instanceId,
        types: ['message.sent'],
        signal: leaving.signal,
        onOpen: () => opened++,
        onReset: ({ reason }) => assert.fail(`events were lost: ${reason}`),
      });
      for await (const event of events) {
        if (event.type === 'message.sent') seen.push(event.data.message_ids[0] as string);
      }
    })();
    await waitFor(() => opened === 1);
    const sent = [(await send(1)).message_id, (await send(2)).message_id];
    await waitFor(() => seen.length === 2, 60_000);

    await system.server.kill('SIGKILL');
    // Sent while nobody listens: the client keeps its key and tries again.
    const late = send(3);
    await system.server.restart();
    sent.push((await late).message_id);
    await isConnected();
    sent.push((await send(4)).message_id);
    await waitFor(() => seen.length >= 4, 60_000);
    await waitFor(() => opened >= 2);
    leaving.abort();
    await reading;

    assert.deepEqual(seen, sent);
    const ledger = await sandbox.request<{ total: number; duplicates: number }>({ path: '/ledger/summary' });
    assert.deepEqual([ledger.total, ledger.duplicates], [4, 0]);
  });
});
