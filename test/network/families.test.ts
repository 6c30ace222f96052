import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SendDeferred, SendRefused } from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import {
  controlOf,
  jid,
  openInstance,
  pairInstance,
  startSandbox,
  temporaryFolder,
  until,
} from './sandbox-harness.ts';

const A = '5511900000001';
const B = '5511900000002';
const C = '5511900000003';

describe('the sandbox network refuses', () => {
  test('content that it cannot show, changes to messages of others, and groups without the sender', async (t) => {
    const sandbox = await startSandbox(t);
    const { session } = await pairInstance(t, sandbox, A);
    const theirs = await sandbox.post(`/phones/${B}/messages`, { to: A, text: 'mine' });
    const group = await sandbox.post('/groups', { name: 'G', participants: [B, C] });
    const send = (to: string, type: string, content: object, more = {}) =>
      session.send({ networkId: networkIdOf(newId()), to: jid(to), type, content: { ...content }, ...more });
    const refused = (reason: string) => (err: unknown) => err instanceof SendRefused && err.reason === reason;
    await assert.rejects(send(B, 'carousel', {}), refused('unsupported_type'));
    await assert.rejects(send(B, 'poll', { question: 'x', options: ['a'] }), refused('invalid_content'));
    await assert.rejects(
      send(B, 'image', { media: { handle: 'none', mime_type: 'image/png', size_bytes: 1 } }),
      refused('media_not_uploaded'),
    );
    await assert.rejects(
      send(B, 'edit', { text: 'x' }, { target: { id: theirs.id } }),
      refused('not_allowed'),
    );
    await assert.rejects(send(B, 'delete', {}, { target: { id: theirs.id } }), refused('not_allowed'));
    await assert.rejects(send(group.jid, 'text', { text: 'x' }), refused('not_a_participant'));
    await assert.rejects(send('1203999@g.us', 'text', { text: 'x' }), refused('group_not_found'));
    await sandbox.post('/faults', { kind: 'refuse', reason: 'forward_unavailable', times: 1 });
    await assert.rejects(
      send(B, 'text', {}, { source: { chat: jid(B), id: theirs.id } }),
      (err: unknown) => err instanceof SendDeferred,
    );
  });
});

describe('the order in which messages arrive', () => {
  test('is that of the phone: a message, its edit, another message, its delete', async (t) => {
    const sandbox = await startSandbox(t);
    const seen: string[] = [];
    await pairInstance(t, sandbox, A, {
      sink: {
        async inbound(messages) {
          for (const message of messages) seen.push(`message ${message.content.text}`);
        },
        async changes(changes) {
          for (const change of changes) seen.push(change.kind);
        },
      },
    });
    const first = await sandbox.post(`/phones/${B}/messages`, { to: A, text: '1' });
    await sandbox.post(`/phones/${B}/messages`, { to: A, type: 'edit', message_id: first.id, text: '1!' });
    await sandbox.post(`/phones/${B}/messages`, { to: A, text: '2' });
    await sandbox.post(`/phones/${B}/messages`, { to: A, type: 'delete', message_id: first.id });
    await until(() => seen.length === 4);
    assert.deepEqual(seen, ['message 1', 'edited', 'message 2', 'deleted']);
  });
});

test('a restart keeps groups, marks, votes, stars, address books, statuses and media', async (t) => {
  const dataDir = await temporaryFolder(t);
  const look = async (control: ReturnType<typeof controlOf>, groupJid: string) => ({
    group: await control.get(`/groups/${encodeURIComponent(groupJid)}`),
    direct: await control.get(`/phones/${B}/messages?chat=${A}`),
    inGroup: await control.get(`/phones/${C}/messages?chat=${encodeURIComponent(groupJid)}`),
    statuses: await control.get(`/phones/${B}/messages?chat=status@broadcast`),
    starred: (await control.get(`/phones/${A}/messages`)).messages.filter(
      (message: { starred: boolean }) => message.starred,
    ),
    contacts: (await control.get(`/phones/${B}`)).contacts,
  });

  const server = await createSandboxServer({ autoPair: false, dataDir });
  const control = controlOf(server.controlUrl);
  await control.post('/defaults', { auto_read: false });
  const instance = await openInstance(t, server.url);
  await until(() => instance.qrs.length > 0);
  await control.post('/pair', { qr: instance.qrs[0]!.qr, phone: A });
  await until(() => instance.connected);
  await control.post(`/phones/${A}/contacts`, { add: [B], mutual: true });
  const group = await control.post('/groups', { name: 'G', participants: [A, C], admins: [B] });
  const send = async (to: string, type: string, content: Record<string, unknown>, more = {}) => {
    const networkId = networkIdOf(newId());
    await instance.session.send({ networkId, to: to.includes('@') ? to : jid(to), type, content, ...more });
    return networkId;
  };
  const text = await send(B, 'text', { text: 'befor' });
  await send(B, 'edit', { text: 'before' }, { target: { id: text, from_me: true } });
  await send(B, 'reaction', { emoji: '👍' }, { target: { id: text, from_me: true } });
  const gone = await send(B, 'text', { text: 'gone' });
  await send(B, 'delete', {}, { target: { id: gone, from_me: true } });
  const poll = await send(B, 'poll', { question: 'x', options: ['a', 'b'], max_selections: 1 });
  const target = { id: poll, from_me: true };
  await instance.session.act('poll_vote', { chat: jid(B), target, options: ['b'] });
  await instance.session.act('star', { chat: jid(B), target, starred: true });
  await send(group.jid, 'text', { text: 'for all' });
  await send('status@broadcast', 'status_text', { text: 'news' });
  const { media } = await control.post(`/phones/${B}/messages`, {
    to: A,
    type: 'image',
    media_base64: Buffer.from('bytes').toString('base64'),
    mime_type: 'image/png',
  });
  await until(() => instance.inbound.length === 1);
  const before = await look(control, group.jid);
  assert.equal(before.starred.length, 1);
  assert.equal(before.inGroup.total, 1);
  assert.equal(before.statuses.total, 1);
  await instance.session.close();
  await server.close();

  // From the journal as it was written, and from a compacted one.
  for (const compactAboveBytes of [undefined, 1, undefined]) {
    const again = await createSandboxServer({ autoPair: false, dataDir, compactAboveBytes });
    try {
      const restored = controlOf(again.controlUrl);
      assert.deepEqual(await look(restored, group.jid), before);
      const bytes = await (await fetch(again.controlUrl + media.url)).text();
      assert.equal(bytes, 'bytes');
    } finally {
      await again.close();
    }
  }
});
