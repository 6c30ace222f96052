import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterInbound,
  afterOutbound,
  checkConsecutive,
  checksDuplicates,
  newContact,
  scoreAt,
  tierOf,
} from '@posthorn/core/guard/guard.ts';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import fc from 'fast-check';

const DAY_MS = 24 * 3600_000;
const on = DEFAULT_SETTINGS;
const temperatureOff = { ...on, anti_spam_temperature_enabled: false };
const off = { ...on, anti_spam_guard_enabled: false };

test('tiers and their limits are those of SND-15', () => {
  const table = [0, 19.9, 20, 39.9, 40, 59.9, 60, 79.9, 80, 100].map((score) => tierOf(score));
  assert.deepEqual(
    table.map((row) => `${row.tier} ${row.maxConsecutive}`),
    [
      'cold 3',
      'cold 3',
      'warm 5',
      'warm 5',
      'engaged 7',
      'engaged 7',
      'hot 10',
      'hot 10',
      'very_hot 15',
      'very_hot 15',
    ],
  );
});

test('a contact that never answered gets three messages, then the temperature limit refuses', () => {
  let contact = newContact(0);
  for (let i = 0; i < 3; i += 1) {
    assert.equal(checkConsecutive(contact, on, 0), null);
    contact = afterOutbound(contact, 0);
  }
  assert.deepEqual(checkConsecutive(contact, on, 0), {
    code: 'BLOCKED_TEMPERATURE_LIMIT',
    score: 0,
    tier: 'cold',
    max_consecutive: 3,
    outbound_consecutive: 3,
  });
});

test('with the temperature off the fixed limit applies, and never both', () => {
  let contact = newContact(0);
  for (let i = 0; i < 3; i += 1) contact = afterOutbound(contact, 0);
  assert.deepEqual(checkConsecutive(contact, temperatureOff, 0), {
    code: 'BLOCKED_NO_RECIPROCITY',
    count: 3,
    threshold: 3,
  });
  assert.equal(checkConsecutive(contact, off, 0), null);
});

test('an answer starts the count anew and warms the contact; silence cools it by half in a week', () => {
  let contact = afterOutbound(newContact(0), 0);
  contact = afterInbound(contact, 0);
  assert.equal(contact.outboundConsecutive, 0);
  assert.equal(scoreAt(contact, 0), 10);
  assert.equal(Math.round(scoreAt(contact, 7 * DAY_MS)), 5);
});

test('delete, edit, reaction and forward skip the duplicate rule; switching the guard off ends it', () => {
  for (const operation of ['delete', 'edit', 'reaction', 'forward'])
    assert.equal(checksDuplicates(operation, on), false);
  assert.equal(checksDuplicates('text', on), true);
  assert.equal(checksDuplicates('text', off), false);
});

test('the score stays within 0..100 for any exchange', () => {
  const move = fc.record({ inbound: fc.boolean(), afterMs: fc.integer({ min: 0, max: 30 * DAY_MS }) });
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
      let contact = newContact(0);
      let nowMs = 0;
      for (const { inbound, afterMs } of moves) {
        nowMs += afterMs;
        contact = inbound ? afterInbound(contact, nowMs) : afterOutbound(contact, nowMs);
        assert.ok(contact.score >= 0 && contact.score <= 100);
        assert.ok(contact.outboundConsecutive >= 0);
      }
    }),
  );
});
