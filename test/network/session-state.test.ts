import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendDeferred, SendRefused } from '@posthorn/core/network/driver.ts';
import {
  afterEnd,
  afterHearing,
  afterHeartbeat,
  afterWelcome,
  createOutgoingFlow,
  OPENING,
  onClose,
  outcomeOf,
  reasonOf,
} from '@posthorn/network/sandbox/client/session-state.ts';
import type { SendItem } from '@posthorn/network/sandbox/frames.ts';

test('a session opens once, and ends once, for the first reason', () => {
  const live = afterWelcome(OPENING);
  const closing = onClose(live);
  const banned = afterEnd(live, 'banned');
  assert.deepEqual([OPENING.phase, live.phase, closing.phase], ['opening', 'live', 'closing']);
  assert.equal(afterWelcome(closing).phase, 'closing', 'a late welcome opens nothing');
  assert.deepEqual([banned.phase, banned.reason], ['ended', 'banned']);
  for (const next of [afterWelcome(banned), onClose(banned), afterEnd(banned, 'closed')])
    assert.equal(next, banned);
  assert.equal(afterEnd(closing, 'closed').reason, 'closed');
});

test('a connection is cut when nothing was heard between two heartbeats', () => {
  const first = afterHeartbeat(OPENING);
  assert.equal(first.does, 'ping');
  assert.equal(afterHeartbeat(first.state).does, 'cut');
  assert.equal(afterHeartbeat(afterHearing(first.state)).does, 'ping');
});

test('each goodbye of the network becomes a reason for the owner', () => {
  const byes = ['replaced', 'stale_epoch', 'logged_out', 'banned', 'hard_paused', 'protocol_error'] as const;
  assert.deepEqual(byes.map(reasonOf), [
    'replaced',
    'replaced',
    'logged_out',
    'banned',
    'hard_paused',
    'connection_lost',
  ]);
  assert.equal(reasonOf('shutting_down'), 'connection_lost');
});

test('an answer to a send becomes a time, a refusal or a deferral', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  assert.deepEqual(
    outcomeOf(1_000, undefined, () => now),
    new Date(1_000),
  );
  assert.equal(
    outcomeOf(Number.NaN, undefined, () => now),
    now,
  );
  const refused = outcomeOf(1_000, 'not_on_network', () => now);
  assert.ok(refused instanceof SendRefused && refused.reason === 'not_on_network');
  const deferred = outcomeOf(1_000, 'forward_unavailable', () => now);
  assert.ok(deferred instanceof SendDeferred && deferred.reason === 'forward_unavailable');
});

test('sends of one tick go out in one frame, with the last acknowledgement', () => {
  const flow = createOutgoingFlow();
  assert.equal(flow.take(), null);
  const [a, b] = [{ n: 1 } as SendItem, { n: 2 } as SendItem];
  flow.send(a);
  flow.ack(7);
  flow.send(b);
  flow.ack(9);
  assert.deepEqual(flow.take(), { t: 'flow', sends: [a, b], ack: 9 });
  assert.equal(flow.take(), null);
  flow.ack(10);
  assert.deepEqual(flow.take(), { t: 'flow', sends: undefined, ack: 10 });
});
