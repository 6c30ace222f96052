import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInstance, pairInstance, startSandbox, temporaryFolder, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const numbered = (nth: number) => `55119666${String(nth).padStart(5, '0')}`;

/** The number of held messages never exceeds the limit by more than a tenth. */
const LIMIT = 100;
const MOST = 110;

test('the newest messages are held, and all are counted', async (t) => {
  const sandbox = await startSandbox(t, { keepMessages: LIMIT });
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/phones', { phone: numbered(1), name: 'Somebody' });
  const ids: string[] = [];
  for (let nth = 0; nth < 400; nth++) ids.push(await instance.sendText(numbered(nth), `n ${nth}`));
  const { entries, total } = await sandbox.get('/ledger');
  assert.ok(total >= LIMIT && total <= MOST, String(total));
  assert.deepEqual(
    entries.map((entry: { network_id: string; seq: number }) => [entry.network_id, entry.seq]),
    ids.slice(-total).map((id, nth) => [id, 400 - total + nth + 1]),
  );
  assert.equal(
    (await sandbox.get(`/ledger?after=${400 - total}&limit=1`)).entries[0].network_id,
    ids.at(-total),
  );
  const summary = await sandbox.get('/ledger/summary');
  assert.deepEqual([summary.total, summary.duplicates], [400, 0]);
  assert.equal(summary.senders[`${OURS}@s.whatsapp.net`].received, 400);
  assert.equal((await sandbox.get(`/phones/${OURS}/messages`)).total, total);
  assert.equal((await sandbox.get(`/phones/${numbered(399)}/messages`)).total, 1);
  assert.equal((await sandbox.call('GET', `/phones/${numbered(0)}`)).status, 404, 'nothing is left to tell');
  assert.equal((await sandbox.get(`/phones/${numbered(1)}`)).name, 'Somebody');
  // A repeat of one of the newest is recognized.
  await instance.sendText(numbered(399), 'n 399', ids[399]);
  assert.equal((await sandbox.get('/ledger/summary')).duplicates, 1);
});

test('messages that are under way stay, however old they are', async (t) => {
  const sandbox = await startSandbox(t, { keepMessages: LIMIT });
  const instance = await pairInstance(t, sandbox, OURS);
  const [offline, blocking, away] = [numbered(1), numbered(2), '5511988880002'];
  await sandbox.post('/phones', { phone: offline, online: false });
  await sandbox.post(`/phones/${blocking}/block`, { phone: OURS });
  const other = await pairInstance(t, sandbox, away);
  await other.session.close();
  const waiting: string[] = [];
  for (let nth = 0; nth < 150; nth++) waiting.push(await instance.sendText(offline, `waits ${nth}`));
  const forInstance = await instance.sendText(away, 'for an instance that is away');
  for (let nth = 0; nth < 200; nth++) await instance.sendText(blocking, `never arrives ${nth}`);
  for (let nth = 0; nth < 300; nth++) await instance.sendText(numbered(10 + nth), `n ${nth}`);

  assert.equal((await sandbox.get(`/phones/${offline}`)).waiting, 150);
  const { total } = await sandbox.get('/ledger');
  assert.ok(total <= 151 * 1.1 + MOST, String(total));
  await sandbox.post('/phones', { phone: offline, online: true });
  const shown = await sandbox.get(`/phones/${offline}/messages`);
  assert.deepEqual(
    shown.messages.map(({ id }: { id: string }) => id),
    waiting,
  );
  const again = await openInstance(t, sandbox.url, { credentials: other.identity!.credentials });
  await until(() => again.inbound.length === 1);
  assert.equal(again.inbound[0]!.networkId, forInstance);
});

for (const [what, compactAboveBytes] of [
  ['as it was written', Number.MAX_SAFE_INTEGER],
  ['made small', 0],
] as const)
  test(`a restart finds the same, from a journal ${what}`, async (t) => {
    const dataDir = await temporaryFolder(t);
    const options = { dataDir, keepMessages: LIMIT, compactAboveBytes };
    const before = await startSandbox(t, options);
    // Nothing changes after the delivery, so that the two states can be compared.
    await before.post('/defaults', { auto_read: false });
    await before.post('/phones', { phone: numbered(1), online: false });
    const instance = await pairInstance(t, before, OURS);
    const waiting = await instance.sendText(numbered(1), 'waits');
    for (let nth = 0; nth < 350; nth++) await instance.sendText(numbered(2 + nth), `n ${nth}`);
    await until(() => instance.receipts.length === 350);
    const paths = ['/ledger/summary', '/ledger', `/phones/${OURS}/messages`, `/phones/${numbered(1)}`];
    const told = await Promise.all(paths.map((path) => before.get(path)));
    await before.close();

    // Twice: the second start reads the journal that the first one has compacted.
    for (let nth = 0; nth < 2; nth++) {
      const after = await startSandbox(t, options);
      assert.deepEqual(await Promise.all(paths.map((path) => after.get(path))), told);
      await after.close();
    }
    const last = await startSandbox(t, options);
    const again = await openInstance(t, last.url, { credentials: instance.identity!.credentials });
    await until(() => again.connected);
    await last.post('/phones', { phone: numbered(1), online: true });
    await until(() => again.receipts.some(({ networkId }) => networkId === waiting));
    const next = await again.sendText(numbered(500), 'after it');
    const { entries } = await last.get(`/ledger?to=${numbered(500)}`);
    assert.deepEqual([entries[0].network_id, entries[0].seq], [next, 352]);
  });
