import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { openInstance, startSandbox, temporaryFolder, textMessage, until } from './sandbox-harness.ts';

const SESSIONS = 20;
const SENDS_PER_SESSION = 250;

test('5,000 sends over 20 sessions are in the ledger once each, with every receipt once', async (t) => {
  const sandbox = await startSandbox(t, {
    dataDir: await temporaryFolder(t),
    autoPair: true,
    autoPairDelayMs: 1,
  });
  await sandbox.post('/defaults', { read_delay_ms: 100 });
  const instances = await Promise.all(Array.from({ length: SESSIONS }, () => openInstance(t, sandbox.url)));
  await until(() => instances.every(({ connected }) => connected));

  const sent = await Promise.all(
    instances.map(async ({ session }, s) => {
      const ids = Array.from({ length: SENDS_PER_SESSION }, () => networkIdOf(newId()));
      await Promise.all(
        ids.map((id, i) =>
          session.send(textMessage(`55119777${String(s * 7 + (i % 50)).padStart(5, '0')}`, `${i}`, id)),
        ),
      );
      // Every tenth again, as after a crash between ack and commit.
      for (let i = 0; i < ids.length; i += 10)
        await session.send(textMessage('5511977700000', `${i}`, ids[i]));
      return ids;
    }),
  );
  const total = SESSIONS * SENDS_PER_SESSION;
  await until(() => instances.every(({ receipts }) => receipts.length >= SENDS_PER_SESSION * 2), 60_000);

  for (const [s, { receipts, ended }] of instances.entries()) {
    assert.deepEqual(ended, []);
    for (const kind of ['delivered', 'read']) {
      const ids = receipts.filter((receipt) => receipt.kind === kind).map(({ networkId }) => networkId);
      assert.deepEqual(ids.toSorted(), sent[s]!.toSorted());
    }
  }
  const { entries } = await sandbox.get('/ledger?limit=50000');
  const inLedger = entries.map((entry: { network_id: string }) => entry.network_id);
  assert.equal(inLedger.length, total);
  assert.deepEqual(inLedger.toSorted(), sent.flat().toSorted());
  const summary = await sandbox.get('/ledger/summary');
  assert.equal(summary.total, total);
  assert.equal(summary.duplicates, total / 10);
  const { accounts } = await sandbox.get('/sessions');
  assert.equal(accounts.length, SESSIONS);
  for (const account of accounts) {
    assert.equal(account.max_live, 1);
    await until(async () => {
      const now = (await sandbox.get('/sessions')).accounts as { phone: string; unacked_events: number }[];
      return now.find(({ phone }) => phone === account.phone)!.unacked_events === 0;
    });
  }
});
