import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { openInstance, pairInstance, startSandbox, temporaryFolder, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';
const CHAT = `${THEIRS}@s.whatsapp.net`;

describe('the state that the devices of an account share', () => {
  test('reaches the instance with the revision of the answer, whoever changed it', async (t) => {
    const sandbox = await startSandbox(t);
    const instance = await pairInstance(t, sandbox, OURS);
    const { session } = instance;
    const label = { label_id: '4', name: 'VIP', color: 3, deleted: false, is_new: true };
    const made = await session.act('label_edit', label);
    const put = await session.act('label_chat', { label_id: '4', chat: CHAT, associated: true });
    const archived = await session.act('chat_archive', { chat: CHAT, archived: true });
    const blocked = await session.act('contact_block', { jid: CHAT, blocked: true });
    await sandbox.post(`/phones/${OURS}/label`, { label_id: '4', name: 'Renamed' });
    await sandbox.post(`/phones/${OURS}/chat`, { chat: THEIRS, muted_until: 0, read: false });
    await sandbox.post(`/phones/${OURS}/contacts`, { add: [THEIRS], name: 'Ana' });
    await until(() => instance.facts.length >= 7);
    const told = instance.facts.map(({ at: _, ...fact }) => fact);
    const revisions = told.map((fact) => ('revision' in fact ? fact.revision : 0));
    assert.deepEqual(
      revisions.slice(0, 4),
      [made, put, archived, blocked].map(({ revision }) => revision),
    );
    assert.deepEqual(
      revisions,
      revisions.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(revisions).size, revisions.length);
    assert.deepEqual(
      told.map(({ revision: _, ...fact }: Record<string, unknown>) => fact),
      [
        { kind: 'label', labelId: '4', name: 'VIP', color: 3, deleted: false },
        { kind: 'label_chat', labelId: '4', chat: CHAT, associated: true },
        { kind: 'chat', chat: CHAT, archived: true },
        { kind: 'blocked', jid: CHAT, blocked: true },
        { kind: 'label', labelId: '4', name: 'Renamed', color: 3, deleted: false },
        { kind: 'chat', chat: CHAT, mutedUntil: 0, read: false },
        { kind: 'contact', jid: CHAT, name: 'Ana' },
      ],
    );
  });

  test('refuses changes to missing items, and one item too many', async (t) => {
    const sandbox = await startSandbox(t);
    const { session } = await pairInstance(t, sandbox, OURS);
    const refusal = (reason: string) => (err: unknown) => err instanceof SendRefused && err.reason === reason;
    const label = { label_id: '1', name: 'x', color: 0, deleted: false, is_new: false };
    await assert.rejects(session.act('label_edit', label), refusal('label_not_found'));
    const link = { label_id: '1', chat: CHAT, associated: true };
    await assert.rejects(session.act('label_chat', link), refusal('label_not_found'));
    await session.act('label_edit', { ...label, is_new: true });
    await assert.rejects(session.act('label_edit', { ...label, is_new: true }), refusal('slot_taken'));
    const message = { ...link, target: { id: 'ABC' } };
    await assert.rejects(session.act('label_message', message), refusal('message_not_found'));
    for (let n = 2; n <= 20; n++) {
      await session.act('label_edit', { ...label, label_id: String(n), is_new: true });
    }
    const more = { ...label, label_id: '21', is_new: true };
    await assert.rejects(session.act('label_edit', more), refusal('label_limit'));
    assert.equal((await sandbox.call('POST', `/phones/${OURS}/label`, { name: 'x' })).status, 409);
    for (const n of [1, 2, 3]) {
      await session.act('chat_pin', { chat: `551197777000${n}@s.whatsapp.net`, pinned: true });
    }
    const fourth = { chat: '5511977770009@s.whatsapp.net', pinned: true };
    await assert.rejects(session.act('chat_pin', fourth), refusal('too_many_pins'));
  });

  test('survives a restart as the phone shows it, and a new pairing gets all of it', async (t) => {
    const dataDir = await temporaryFolder(t);
    const before = await startSandbox(t, { dataDir });
    const first = await pairInstance(t, before, OURS);
    await before.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'hello' });
    await until(() => first.inbound.length === 1);
    await before.post(`/phones/${OURS}/label`, { name: 'VIP', color: 3 });
    await before.post(`/phones/${OURS}/label`, { name: 'Gone', color: 4 });
    await before.post(`/phones/${OURS}/put-label`, { label_id: '2', chat: THEIRS });
    await before.post(`/phones/${OURS}/label`, { label_id: '2', deleted: true });
    await before.post(`/phones/${OURS}/put-label`, { label_id: '1', chat: THEIRS });
    await before.post(`/phones/${OURS}/chat`, { chat: THEIRS, archived: true, pinned: true });
    await before.post(`/phones/${OURS}/chat`, { chat: THEIRS, archived: false });
    await until(() => first.facts.length === 7);
    await first.session.close();
    const paths = [`/phones/${OURS}/labels`, `/phones/${OURS}/chats`];
    const shown = await Promise.all(paths.map((path) => before.get(path)));
    await before.close();

    const after = await startSandbox(t, { dataDir });
    assert.deepEqual(await Promise.all(paths.map((path) => after.get(path))), shown);
    const again = await openInstance(t, after.url);
    await until(() => again.qrs.length > 0);
    await after.post('/pair', { qr: again.qrs.at(-1)!.qr, phone: OURS });
    await until(() => again.history.length === 1);
    assert.deepEqual(
      again.facts
        .map(({ at: _, ...fact }) => fact)
        .map(({ revision: _, ...fact }: Record<string, unknown>) => fact),
      [
        { kind: 'label', labelId: '1', name: 'VIP', color: 3, deleted: false },
        { kind: 'label', labelId: '2', name: 'Gone', color: 4, deleted: true },
        { kind: 'label_chat', labelId: '1', chat: CHAT, associated: true },
        { kind: 'chat', chat: CHAT, pinned: true },
        { kind: 'chat', chat: CHAT, archived: false },
      ],
    );
    const [batch] = again.history;
    assert.deepEqual([batch?.isLast, batch?.progress, batch?.messages.length], [true, 100, 1]);
    assert.deepEqual(batch?.chats, [
      { chat: CHAT, name: '', unreadCount: 1, archived: false, pinned: true, mutedUntil: null },
    ]);
    const { networkId, fromMe, at } = batch!.messages[0]!;
    assert.deepEqual([networkId, fromMe, at], [first.inbound[0]!.networkId, false, first.inbound[0]!.at]);
  });
});
