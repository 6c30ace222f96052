import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LABEL_COLOR_MAX } from '@posthorn/contract/limits.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import {
  sanitizeChat,
  sanitizeContact,
  sanitizeLabel,
  sanitizeLabelLink,
  sanitizePastChat,
  sanitizeSaved,
} from '@posthorn/worker/sessions/sanitize-facts.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { settled } from './label-state.ts';

const NOW = new Date('2026-01-31T12:00:00Z');
const CHAT = '5511999990000@s.whatsapp.net';
type FactOf<K extends NetworkFact['kind']> = Extract<NetworkFact, { kind: K }>;
const fact = <K extends NetworkFact['kind']>(kind: K, said: object) =>
  ({ kind, revision: 1, at: NOW, ...said }) as unknown as FactOf<K>;

describe('facts that a network makes up', () => {
  test('that name nothing are refused', () => {
    const long = `${'1'.repeat(200)}@s.whatsapp.net`;
    for (const revision of [
      0,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '1',
      null,
      undefined,
      2 ** 60,
    ]) {
      assert.equal(sanitizeLabel(fact('label', { labelId: '1', revision }), NOW), null, String(revision));
      assert.equal(sanitizeChat(fact('chat', { chat: CHAT, revision }), NOW), null);
      assert.equal(sanitizeSaved(fact('blocked', { jid: CHAT, revision })), null);
    }
    for (const labelId of ['', ' ', '1 2', 'a\0', '\ud800', '1'.repeat(17), 5, null]) {
      assert.equal(sanitizeLabel(fact('label', { labelId }), NOW), null, String(labelId));
      assert.equal(sanitizeLabelLink(fact('label_chat', { labelId, chat: CHAT }), NOW), null);
    }
    for (const chat of ['', long, 'a b', 5, null, undefined, 'status@broadcast']) {
      assert.equal(sanitizeChat(fact('chat', { chat }), NOW), null, String(chat));
      assert.equal(sanitizePastChat({ chat } as never), null);
      if (chat === 'status@broadcast') continue;
      assert.equal(sanitizeLabelLink(fact('label_chat', { labelId: '1', chat }), NOW), null);
      assert.equal(sanitizeSaved(fact('contact', { jid: chat })), null);
      assert.equal(sanitizeContact({ jid: chat } as never), null);
    }
    for (const target of [undefined, null, {}, { id: '' }, { id: 'x'.repeat(129) }]) {
      const link = fact('label_message', { labelId: '1', chat: CHAT, target });
      assert.equal(sanitizeLabelLink(link, NOW), null);
    }
  });

  test('are changed so that they can be stored', () => {
    for (const color of [LABEL_COLOR_MAX + 1, -1, 1.5, 'red', null]) {
      assert.equal(sanitizeLabel(fact('label', { labelId: '1', color }), NOW)?.color, 0, String(color));
    }
    const label = sanitizeLabel(
      fact('label', {
        labelId: '1',
        name: `\0\ud800${'x'.repeat(5000)}`,
        color: 3,
        deleted: 'no',
        at: 'never',
      }),
      NOW,
    );
    assert.deepEqual(
      [label?.name.length, label?.name.slice(0, 3), label?.deleted],
      [1024, '\ufffd\ufffdx', false],
    );
    assert.equal(label?.at, NOW);
    const chat = sanitizeChat(
      fact('chat', { chat: CHAT, archived: 'yes', pinned: true, mutedUntil: -5 }),
      NOW,
    );
    assert.deepEqual(
      { ...chat, at: 0 },
      { kind: 'chat', revision: 1, chat: CHAT, pinned: true, mutedUntil: null, at: 0 },
    );
    assert.equal(sanitizeChat(fact('chat', { chat: CHAT, mutedUntil: 9e15 }), NOW)?.mutedUntil, 0);
    const past = { chat: CHAT, name: 5, unreadCount: 1e12, archived: 1, pinned: true, mutedUntil: 'x' };
    assert.deepEqual(sanitizePastChat(past as never), {
      chat: CHAT,
      name: '',
      unreadCount: 2_000_000_000,
      archived: false,
      pinned: true,
      mutedUntil: null,
    });
  });
});

describe('an instance whose network sends nonsense', () => {
  let pipeline: Sending;
  let instance: TestInstance;
  before(async () => {
    pipeline = await startSending();
    instance = await pipeline.connect();
  });
  after(() => pipeline.close());

  test('continues with the next news', async () => {
    const tell = (said: object) =>
      pipeline.sandbox.post('/events', {
        account: instance.phone,
        event: { k: 'fact', at: Date.now(), fact: said },
      });
    const revision = Date.now();
    await tell({ kind: 'label', revision: -1, labelId: '1', name: 'x', color: 1, deleted: false });
    await tell({ kind: 'label', revision, labelId: '1', name: 'a\0b', color: 999, deleted: false });
    await tell({ kind: 'label', revision, labelId: '1', name: 'a repeat', color: 1, deleted: false });
    await tell({ kind: 'label_chat', revision, labelId: '9', chat: 'a b', associated: true });
    await tell({ kind: 'chat', revision, chat: '1'.repeat(64), mutedUntil: -1, read: true });
    await tell({ kind: 'contact', revision, jid: CHAT, name: '\0' });
    await tell({ kind: 'no such kind', revision });
    await tell({
      kind: 'label',
      revision: revision + 1,
      labelId: '2',
      name: 'fine',
      color: 2,
      deleted: false,
    });
    await pipeline.event(instance, 'label.created', (data) => data.label_id === '2');
    await settled(pipeline, instance);
    const { body } = await pipeline.call(instance, 'GET', '/labels');
    assert.deepEqual(body.labels, [
      { label_id: '1', name: 'a\ufffdb', color: 0 },
      { label_id: '2', name: 'fine', color: 2 },
    ]);
  });
});
